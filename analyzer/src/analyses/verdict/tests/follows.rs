//! What followed of packets that this host lost stands under them.

use super::super::follows::{Of, follows};
use super::super::{Line, Tone};
use crate::analyses::Answers;
use crate::analyses::drops::Drops;

/// Answers to a recording, and what each line of its verdict that is on the head of the page follows.
fn of_sample(path: &str) -> (Answers, Vec<(&'static str, Option<&'static str>)>) {
    let capture = crate::tests::sample(path);
    let facts = crate::analyze(&capture, &Default::default());
    let answers = crate::analyses::answer(&facts);
    let heads = answers.verdict.iter().filter(|l| !l.headline.is_empty());
    let heads = heads.map(|l| (l.subject, l.follows)).collect();
    (answers, heads)
}

/// tbf drops packets of one connection: its receiver waits for what is missing, and it sends again. What its congestion window held is no such thing.
#[test]
fn a_connections_losses_have_their_retransmissions_and_holes_under_them() {
    for path in ["sawtooth/sawtooth.nmb", "overlay/overlay.nmb"] {
        let (answers, heads) = of_sample(path);
        let of = |subject| heads.iter().find(|(s, _)| *s == subject).map(|(_, f)| *f);
        assert_eq!(of("drops"), Some(None), "{path}");
        assert_eq!(of("tcp"), Some(Some("drops")), "{path}");
        assert_eq!(of("receive"), Some(Some("drops")), "{path}");
        assert_eq!(of("transmit"), Some(None), "{path}");
        // Were the losses those of another connection, nothing would follow.
        let mut drops = answers.drops.findings().unwrap().clone();
        drops.hurt.losses = [(u32::MAX, vec![0])].into();
        (drops.hurt.again, drops.hurt.behind) = (0, false);
        assert!(
            again(&answers, answers.verdict.clone(), &drops)
                .iter()
                .all(|l| l.follows.is_none())
        );
    }
}

fn of<'a>(answers: &'a Answers, drops: &'a Drops) -> Of<'a> {
    Of {
        drops: Some(drops),
        opens: answers.opens.findings(),
        udp: answers.datagrams.findings(),
        application: answers.application.findings(),
        receive: answers.receive.findings(),
        transmit: answers.transmit.findings(),
        tcp: answers.tcp.findings(),
    }
}

fn again(answers: &Answers, lines: Vec<Line>, drops: &Drops) -> Vec<Line> {
    follows(lines, &of(answers, drops))
}

/// Late answers by the end that they name; headlines of several things, and causes of their own, stand for themselves.
#[test]
fn only_what_says_one_thing_of_these_ends_follows() {
    let (answers, _) = of_sample("sawtooth/sawtooth.nmb");
    let mut drops = answers.drops.findings().unwrap().clone();
    drops.hurt.late = ["10.77.2.1:520".into()].into();
    let line = |subject, headline: &str, names_cause| Line {
        subject,
        tone: Tone::Notice,
        sentence: String::new(),
        headline: headline.into(),
        minor: false,
        names_cause,
        neutral: false,
        follows: None,
    };
    let follows = |headline: &str, cause: bool| {
        let lines = vec![line("drops", "x", false), line("application", headline, cause)];
        again(&answers, lines, &drops)[1].follows
    };
    let late = "7 of 76 answers from 10.77.2.1:520 took p50 206 ms, 99.9 % of it on the way there";
    assert_eq!(follows(late, false), Some("drops"));
    for (headline, cause) in [
        (late, true),
        (&format!("{late}; it answered nobody") as &str, false),
        (&late.replace(":520", ":5201"), false),
        (&late.replace("on the way there", "in the server"), false),
        // A queue of the flow that lost packets: they wait for that.
        (
            &late.replace(":520 ", ":7112 ").replace(
                "there",
                "there, 100 % of it in the queue of rs, 100 % of whose bytes were 10.1.1.1:9 > 10.77.2.1:520",
            ),
            false,
        ),
        (&late.replace("10.77", "110.77"), false),
        ("", false),
    ] {
        assert_eq!(follows(headline, cause), None, "{headline}");
    }
    // Requests without an answer, by what their connection lost meanwhile.
    let no_answer = |losses: Vec<i64>| {
        let unanswered = crate::analyses::application::Unanswered {
            connection: 2,
            label: "10.77.1.1:9 > 10.77.2.1:520".into(),
            task: String::new(),
            send_ns: 100,
            waited_ns: 50,
            until: "closed",
            retransmits: 1,
            others: true,
            patient: false,
            held: None,
            stream: false,
        };
        let application = crate::analyses::application::Application {
            unanswered: vec![unanswered],
            ..Default::default()
        };
        let mut drops = drops.clone();
        drops.hurt.losses = [(2, losses), (3, vec![120])].into();
        let headline = "1 request to 10.77.2.1:520 had no answer";
        let lines = vec![line("drops", "x", false), line("application", headline, false)];
        let of = Of {
            application: Some(&application),
            ..of(&answers, &drops)
        };
        super::super::follows::follows(lines, &of)[1].follows
    };
    assert_eq!(no_answer(vec![20, 101]), Some("drops"));
    assert_eq!(no_answer(vec![20, 151]), None, "what it lost before and behind");
    // What is wrong does not stand under what is only worth a look.
    let mut lines = vec![line("drops", "x", false), line("application", late, false)];
    lines[1].tone = Tone::Bad;
    assert_eq!(again(&answers, lines.clone(), &drops)[1].follows, None);
    lines[0].tone = Tone::Bad;
    assert_eq!(again(&answers, lines, &drops)[1].follows, Some("drops"));
    // Far more was sent again than was lost here.
    drops.hurt.lost = 2;
    let verdict = again(&answers, answers.verdict.clone(), &drops);
    assert!(verdict.iter().all(|l| l.subject != "tcp" || l.follows.is_none()));
    // Nothing stands under a line that is not on the head of the page.
    let lines = vec![line("drops", "", false), line("application", late, false)];
    assert_eq!(again(&answers, lines, &drops)[1].follows, None);
}

/// What was sent again for losses that nobody misses does not stand under others.
#[test]
fn losses_that_nobody_misses_have_nothing_under_them() {
    let (answers, _) = of_sample("sawtooth/sawtooth.nmb");
    let mut drops = answers.drops.findings().unwrap().clone();
    let other = crate::analyses::drops::Group {
        reason: "A".into(),
        expected: Some(false),
        count: 7,
        times: vec![1; 7],
        ..Default::default()
    };
    drops.groups.iter_mut().for_each(|g| g.finds_rate = Some(0));
    drops.groups.push(other);
    drops.lost += 7;
    let told = |drops: &Drops| {
        let mut lines = answers.verdict.clone();
        lines.iter_mut().for_each(|l| l.follows = None);
        let lines = again(&answers, lines, drops);
        let line = lines.into_iter().find(|l| l.subject == "tcp").unwrap();
        (line.follows, line.headline.ends_with("that nobody is known to miss"))
    };
    assert_eq!(told(&drops), (None, true));
    drops
        .groups
        .iter_mut()
        .for_each(|g| (g.finds_rate, g.line_full) = (None, None));
    assert_eq!(told(&drops), (Some("drops"), false));
}

/// SYNs of attempts were all that was dropped: that is told once, with the attempts where more is known of these, else with the drops.
#[test]
fn drops_that_attempts_tell_are_told_once() {
    let (answers, _) = of_sample("opens/opens.nmb");
    let mut drops = answers.drops.findings().unwrap().clone();
    drops.groups.retain(|g| g.expected == Some(false) && !g.background);
    drops.groups.truncate(1);
    let mut opens = answers.opens.findings().unwrap().clone();
    opens.failed.retain(|f| f.shut.is_some());
    opens.failed.truncate(1);
    opens.failed[0].aside = None;
    let shut = opens.failed[0].shut.clone().unwrap();
    drops.lost = shut.syns;
    let line = |subject, headline: &str, names_cause, follows| Line {
        names_cause,
        follows,
        ..Line::of(subject, Tone::Bad, String::new(), headline.into())
    };
    let said = |opens: &crate::analyses::opens::Opens, headline: &str, cause| {
        let mut lines = vec![
            line("opens", headline, cause, None),
            line("drops", "2 packets were dropped", false, None),
            line("tcp", "x", false, Some("drops")),
        ];
        let all = Of {
            opens: Some(opens),
            ..of(&answers, &drops)
        };
        super::super::follows::told_with_the_attempts(&mut lines, &all);
        super::super::follows::below_the_drops(&mut lines, &all);
        lines
            .into_iter()
            .map(|l| (l.headline, l.names_cause, l.follows))
            .collect::<Vec<_>>()
    };
    let full = format!(
        "2 attempts: 2 SYNs were dropped by this host for {}, a rule",
        shut.place
    );
    let row = |headline: &str, cause, follows| (headline.to_owned(), cause, follows);
    let below = [
        row("2 attempts", false, Some("drops")),
        row("2 packets were dropped", true, None),
        row("x", false, Some("drops")),
    ];
    assert_eq!(said(&opens, &full, true), below);
    let mut more = opens.clone();
    more.failed[0].after_udp = 2;
    let with_them = [
        row(&full, true, None),
        row("", false, None),
        row("x", false, Some("opens")),
    ];
    assert_eq!(said(&more, &full, true), with_them);
    // Not where its headline does not say it, or has no cause of its own; nor where more was dropped than these.
    let apart = |headline: &str, cause| {
        [
            row(headline, cause, None),
            row("2 packets were dropped", false, None),
            row("x", false, Some("drops")),
        ]
    };
    let none = "2 attempts had no answer";
    assert_eq!(said(&opens, none, true), apart(none, true));
    assert_eq!(said(&opens, &full, false), apart(&full, false));
    opens.failed[0].shut.as_mut().unwrap().syns += 1;
    assert_eq!(said(&opens, &full, true), apart(&full, true));
}
