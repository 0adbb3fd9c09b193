//! A place outside that leaves a part of a resolver's questions without an answer for a time.

use super::onward::{MS, answered, socket, turn};
use super::twenty_seconds;
use crate::analyses::answer;
use crate::analyses::datagrams::Partly;
use crate::analyses::verdict::Tone;
use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::datagrams::tables::TurnEnd;

/// dnsmasq asks 198.51.100.53 each 50 ms, is answered after 15 ms, but for each third of 5 to 10 s: then it asks 203.0.113.53, after `waited` ms.
fn facts(waited: i64) -> Facts {
    let mut f = twenty_seconds();
    f.processes.insert(7, (7, Name::new(b"dnsmasq")));
    socket(&mut f, 7, b"dnsmasq", "0.0.0.0:53", true);
    let own = socket(&mut f, 7, b"dnsmasq", "", false);
    let to = |name: &str| Some(name.parse().unwrap());
    for n in 0..300i64 {
        let at = n * 50 * MS;
        let t = turn(&mut f, own, 7, 0, at);
        (t.to, t.there, t.skb_id) = (to("198.51.100.53:53"), None, Some(SkbId(n as u32)));
        let in_vain = (100..200).contains(&n) && n % 3 == 0;
        match in_vain {
            false => answered(t, 15 * MS),
            true => {
                (t.end, t.end_ns) = (TurnEnd::AskedAgain, t.sent_ns + waited * MS);
                let t = turn(&mut f, own, 7, 0, at + waited * MS);
                (t.to, t.there) = (to("203.0.113.53:53"), None);
                answered(t, 20 * MS);
            }
        }
    }
    f.udp_turns.sort_by_key(|t| t.start_ns);
    f
}

fn partly(f: &Facts) -> Option<Partly> {
    answer(f).datagrams.findings().unwrap().partly.clone()
}

#[test]
fn a_part_without_an_answer_for_a_time_is_told() {
    let f = facts(2_000);
    let expect = Partly {
        task: "dnsmasq/7".into(),
        to: "198.51.100.53:53".parse().unwrap(),
        unanswered: 33,
        of: 97,
        within_ns: (5_100 * MS, 9_900 * MS),
        around: (102, 101),
        waited_ns: 2_000 * MS,
        // Those of the last two seconds are asked behind.
        other: Some(("203.0.113.53:53".parse().unwrap(), 19, 19)),
        serves: true,
        asks_back: (0, 0),
    };
    assert_eq!(partly(&f), Some(expect));
    let a = answer(&f);
    let line = super::line(&a);
    let says = "from 5.100 s to 9.900 s 33 of 97 questions of dnsmasq/7 to 198.51.100.53:53 had no answer in 2.000 s (median), while 102 before and 101 behind these had one, and 19 of 19 to 203.0.113.53:53 had meanwhile: they or their answers are lost beyond this host, or who is asked leaves them (inferred); who asked it may wait that long, as it serves others";
    assert_eq!(
        (line.tone, line.headline.contains(says)),
        (Tone::Bad, true),
        "{}",
        line.headline
    );
}

#[test]
fn what_had_no_time_or_is_told_elsewhere_is_not() {
    // A stream in both directions sends on before an answer could be there.
    assert_eq!(partly(&facts(60)), None);
    // Their packets were dropped here; they came to a socket of this recording.
    let mut f = facts(2_000);
    for t in f.udp_turns.iter().filter(|t| t.end == TurnEnd::AskedAgain) {
        f.drops.push(crate::reconstruct::drops::tables::DropRow {
            skb_id: t.skb_id,
            expected: Some(false),
            ..crate::testing::rows::drop_at(t.sent_ns)
        });
    }
    assert_eq!(partly(&f), None);
    let mut f = facts(2_000);
    f.udp_turns.iter_mut().for_each(|t| t.there = Some(0));
    assert_eq!(partly(&f), None);
    // Each exchange ends with a message that nobody answers, as with QUIC: all along.
    let exchanges = |port: u16| {
        let mut f = facts(2_000);
        f.udp_turns
            .retain(|t| t.start_ns >= 5_000 * MS && t.start_ns < 10_000 * MS);
        let turns = f
            .udp_turns
            .iter_mut()
            .filter(|t| t.to.is_some_and(|to| to.ip().to_string() == "198.51.100.53"));
        turns.for_each(|t| t.to = Some(format!("198.51.100.53:{port}").parse().unwrap()));
        partly(&f)
    };
    assert!(exchanges(53).is_some());
    assert_eq!(exchanges(443), None);
    // A few of many.
    let mut f = facts(2_000);
    let mut kept = 0;
    f.udp_turns.retain(|t| {
        let vain = t.end == TurnEnd::AskedAgain;
        kept += usize::from(vain);
        !vain || kept < 10
    });
    assert_eq!(partly(&f), None);
}

/// The place asks the program in turn, by the address that it is asked at: both forward to each other what neither knows.
#[test]
fn who_is_asked_and_asks_in_turn_makes_a_loop() {
    let mut f = facts(2_000);
    for n in 0..40i64 {
        let t = turn(&mut f, 0, 7, 0, (5_000 + n * 100) * MS + 7);
        (t.to, t.there) = (Some(format!("198.51.100.53:{}", 40_000 + n).parse().unwrap()), None);
        answered(t, MS);
    }
    f.udp_turns.sort_by_key(|t| t.start_ns);
    assert_eq!(partly(&f).map(|p| p.asks_back), Some((39, 1)));
    let a = answer(&f);
    let line = super::line(&a);
    let says = "had meanwhile: 198.51.100.53 asks dnsmasq/7 in turn (39 answers went there meanwhile, 1 in as long a time before): what one does not know each asks the other, a forwarding loop (inferred), unless these are lost; who asked";
    assert!(
        line.sentence.contains(says) && line.headline.contains(says),
        "{}",
        line.sentence
    );
}
