//! What is said of CPU quotas, with lists of cgroups planted.

use crate::analyses::verdict::turns::HELD_OFF;
use crate::analyses::verdict::{Line, Tone, with_the_quotas};
use crate::facts::Facts;
use crate::snapshots::cgroups::cpu_limits;
use crate::testing::rows::sent;
use netmortem_formats::capture::SnapshotWhen::{End, Start};

const PATH: &str = "path=/kubepods/x/web quota_us=20000 period_us=100000";

fn line(subject: &'static str, tone: Tone, sentence: &str) -> Line {
    Line {
        subject,
        tone,
        sentence: sentence.into(),
        headline: if tone == Tone::Ok {
            String::new()
        } else {
            sentence.into()
        },
        minor: false,
        names_cause: false,
        neutral: false,
        follows: None,
    }
}

/// The two lines where so many of 100 periods were stopped; `inside`: the thread is in it.
fn said(throttled: u64, inside: bool, words: &str) -> Vec<Line> {
    of_facts(throttled, inside, words, &|_| {}, Tone::Ok)
}

fn of_facts(throttled: u64, inside: bool, words: &str, change: &dyn Fn(&mut Facts), napi: Tone) -> Vec<Line> {
    let head = "hierarchy=v2 visited=9 limited=1 whole=yes\n";
    let pids = if inside { "9560" } else { "77" };
    let text = |periods: u64, throttled: u64| {
        format!(
            "{head}id=1 {PATH} nr_periods={periods} nr_throttled={throttled} throttled_usec={}\nid=1 pids={pids}\n",
            throttled * 50_000
        )
    };
    let mut f = Facts::empty();
    f.cpu_limits = cpu_limits(&[
        ("cgroups", Start, &text(7, 5)),
        ("cgroups", End, &text(107, throttled + 5)),
        ("tasks", End, "9560 9560 python3\n9561 9560 worker\n"),
    ]);
    let mut row = sent();
    row.pid = 9561;
    f.tx.push(row);
    change(&mut f);
    let lines = vec![
        line("application", Tone::Notice, words),
        line("napi", napi, "NET_RX took at most 1.0 % of a CPU (CPU 0)."),
    ];
    with_the_quotas(lines, &f, None)
}

fn inferred() -> String {
    format!(
        "between answers and its next requests python3/9561 was runnable but not run for 2.300 s of 3.900 s, {HELD_OFF}"
    )
}

#[test]
fn a_quota_is_told_with_the_figures_of_the_kernel() {
    let lines = said(87, true, &inferred());
    let expected = "between answers and its next requests python3/9561 was runnable but not run for 2.300 s of 3.900 s, while its CPU was idle: its cgroup /kubepods/x/web may use 20 ms of CPU per 100 ms (cpu.max) and was stopped in 87 of its 100 periods while this was recorded, 4.350 s summed over its CPUs (cpu.stat)";
    assert_eq!(
        (lines[0].sentence.as_str(), lines[0].headline.as_str()),
        (expected, expected)
    );
    // It is not told twice.
    assert_eq!(lines[1].tone, Tone::Ok);
    assert!(!lines[1].sentence.contains("cgroup"));
    // In few periods: inferred, with what is counted.
    let few = &said(2, true, &inferred())[0].sentence;
    assert!(
        few.contains(&format!("{HELD_OFF}; its cgroup /kubepods/x/web may use"))
            && few.contains("in 2 of its 100 periods"),
        "{few}"
    );
}

#[test]
fn counters_that_did_not_move_are_no_quota() {
    let still = &said(0, true, &inferred())[0].sentence;
    assert!(still.ends_with("while its CPU was idle: no CPU quota, as its cgroup /kubepods/x/web was not stopped while this was recorded, in any of its 100 periods (cpu.stat); it was frozen, or the hypervisor did not run that CPU (inferred)"), "{still}");
    let none = &said(87, false, &inferred())[0].sentence;
    assert!(
        none.contains("no CPU quota, as it is in no cgroup that has one; it was frozen"),
        "{none}"
    );
    // Several threads, one that no list has, none that is named: as before.
    for who in ["several threads", "reader", "x/y"] {
        let words = format!("{who} runnable but not run 90 % of it, mostly {HELD_OFF}");
        assert_eq!(said(87, false, &words)[0].sentence, words);
    }
    // Of a thread that came and went the one that was stopped is said, as not known to be its.
    let words = format!("python3/4711 runnable but not run 90 % of it, mostly {HELD_OFF}.");
    let of = &said(87, false, &words)[0].sentence;
    assert!(
        of.contains(&format!("{HELD_OFF}; the cgroup /kubepods/x/web may use 20 ms"))
            && of.ends_with(
                "summed over its CPUs (cpu.stat) (whether that thread was in it is not known: it was there neither before nor after)."
            ),
        "{of}"
    );
    assert_eq!(said(2, false, &words)[0].sentence, words);
}

#[test]
fn a_cgroup_that_was_stopped_is_a_finding_of_its_own() {
    let lines = said(87, true, "Requests were answered.");
    let expected = "the cgroup of python3/9560, /kubepods/x/web may use 20 ms of CPU per 100 ms (cpu.max) and was stopped in 87 of its 100 periods while this was recorded, 4.350 s summed over its CPUs (cpu.stat): what is in it stands still then, whatever comes for it; which of the times here were that, events do not tell";
    assert_eq!((lines[1].tone, lines[1].headline.as_str()), (Tone::Notice, expected));
    assert!(
        lines[1].names_cause
            && lines[1]
                .sentence
                .ends_with(". NET_RX took at most 1.0 % of a CPU (CPU 0).")
    );
    // Seldom, or nobody in it of whom anything was recorded.
    for lines in [said(4, true, "x"), said(87, false, "x")] {
        assert_eq!((lines[1].tone, lines[1].headline.as_str()), (Tone::Ok, ""));
    }
}

/// In a flight what was before the trigger was not counted: standing counters deny nothing.
#[test]
fn what_a_flight_did_not_count_is_not_denied() {
    let flight = |f: &mut Facts| f.cpu_limits.since_trigger = true;
    for inside in [true, false] {
        let lines = of_facts(0, inside, &inferred(), &flight, Tone::Ok);
        assert_eq!(lines[0].sentence, inferred(), "{inside}");
    }
}

/// What is worse stays before it; where few periods were stopped it names no cause and stands behind others.
#[test]
fn a_cgroup_that_was_stopped_stands_behind_what_is_worse() {
    let lines = of_facts(87, true, "x", &|_| {}, Tone::Bad);
    assert_eq!(lines[1].tone, Tone::Bad);
    assert!(
        lines[1].headline.starts_with("NET_RX took at most 1.0 %") && lines[1].headline.contains("; the cgroup of "),
        "{}",
        lines[1].headline
    );
    let lines = said(20, true, "x");
    assert_eq!(
        (lines[1].tone, lines[1].minor, lines[1].names_cause),
        (Tone::Notice, true, false)
    );
}

/// In one of ten periods only: where the slow answers of its threads waited for a CPU, that is their cause.
#[test]
fn what_slow_answers_waited_for_is_a_cause() {
    const MS: i64 = 1_000_000;
    let of = |n: i64, waited: i64| {
        let slow = move |f: &mut Facts| {
            for at in 0..n {
                let mut t = crate::testing::rows::turnaround(0, 9561, (at * 200 * MS, (at * 200 + 100) * MS));
                t.split.run_queue_ns = waited * MS;
                f.turnarounds.push(t);
            }
        };
        let lines = of_facts(10, true, "Requests were answered.", &slow, Tone::Notice);
        assert!(
            lines[1].headline.contains("in 10 of its 100 periods"),
            "{}",
            lines[1].headline
        );
        (lines[1].names_cause, lines[1].minor)
    };
    // It was stopped for 0.5 s, and these were under way for 1 s.
    assert_eq!(of(10, 60), (true, false));
    assert_eq!(of(9, 60), (false, true));
    assert_eq!(of(10, 40), (false, true));
    // Of 1.2 s it is too little to be what they waited for.
    assert_eq!(of(12, 60), (false, true));
}
