//! CPU time, with /proc/stat planted, and of a shipped recording by hand.

use netmortem_formats::capture::Snapshot;
use netmortem_formats::capture::SnapshotWhen::{End, Start};

use super::*;
use crate::analyses::verdict::Tone;

/// `cpu0 user nice system idle iowait irq softirq steal guest guest_nice`, and the lines around.
fn stat(cpus: [[u64; 8]; 2]) -> String {
    let line = |name: &str, of: &[u64; 8]| {
        let of: Vec<String> = of.iter().map(u64::to_string).collect();
        format!("{name} {} 0 0\n", of.join(" "))
    };
    let both: Vec<u64> = (0..8).map(|i| cpus[0][i] + cpus[1][i]).collect();
    let both: [u64; 8] = both.try_into().unwrap();
    format!(
        "{}{}{}intr 5 1 2\nctxt 77\n",
        line("cpu ", &both),
        line("cpu0", &cpus[0]),
        line("cpu1", &cpus[1])
    )
}

const BEFORE: [[u64; 8]; 2] = [
    [1_000, 50, 500, 9_000, 10, 1, 20, 400],
    [2_000, 0, 700, 8_000, 0, 0, 30, 100],
];

/// Ten seconds: CPU 0 as said, CPU 1 idle but for 100 ticks of programs.
fn recorded(cpu0: [u64; 8]) -> Facts {
    let mut c = crate::testing::Script::new("6.18.44", &[]).capture();
    let mut after = BEFORE;
    for (at, rise) in cpu0.iter().enumerate() {
        after[0][at] += rise;
    }
    after[1][0] += 100;
    after[1][3] += 900;
    for (when, of) in [(Start, BEFORE), (End, after)] {
        c.snapshots.push(Snapshot {
            what: "stat".into(),
            when,
            text: stat(of).into_bytes(),
        });
    }
    let mut f = Facts::empty();
    f.counters = crate::counters::of(&c).0;
    f
}

#[test]
fn shares_are_of_what_was_counted_between_the_snapshots() {
    let f = recorded([300, 100, 150, 250, 50, 10, 40, 100]);
    let Outcome::Findings(c) = answer(&f) else { panic!() };
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
    let of = |n: usize| c.cpus[n].shares;
    assert_eq!((c.cpus[0].cpu, c.cpus[0].ticks), (0, 1_000));
    near(of(0).user, 0.4);
    near(of(0).system, 0.15);
    near(of(0).softirq, 0.04);
    near(of(0).irq, 0.01);
    near(of(0).steal, 0.1);
    near(of(0).busy(), 0.6);
    near(of(0).iowait + of(0).idle, 0.3);
    near(of(1).busy(), 0.1);
    near(c.all.steal, 0.05);
    near(c.all.busy(), 0.35);
    assert_eq!(c.most_stolen().unwrap().cpu, 0);
}

#[test]
fn stolen_time_is_said_first_where_it_is_much() {
    let line = |stolen: u64| {
        let f = recorded([500 - stolen, 0, 100, 400, 0, 0, 0, stolen]);
        let answers = crate::analyses::answer(&f);
        let line = answers.verdict.iter().find(|l| l.subject == "napi").unwrap().clone();
        (line.tone, line.headline, line.sentence)
    };
    let (tone, headline, _) = line(310);
    assert_eq!(tone, Tone::Bad);
    assert_eq!(
        headline,
        "the hypervisor did not run CPU 0 for 31 % of the time, though it had work (steal, by /proc/stat): for other guests, or for a limit of this one; no event tells when, so any \
         wait here may have some of it"
    );
    let (tone, headline, _) = line(60);
    assert_eq!(tone, Tone::Notice);
    assert!(headline.contains("CPU 0 for 6.0 % of the time"), "{headline}");
    let (tone, headline, sentence) = line(20);
    assert_eq!((tone, headline.as_str()), (Tone::Unknown, ""));
    assert!(
        sentence.ends_with("CPUs were busy 34 % of the time (programs 29 %, kernel 5.0 %, softirqs 0.0 %), most CPU 0 with 58 %; the hypervisor did not run them for 1.0 % of it, though they had work (steal)."),
        "{sentence}"
    );
}

/// `idle` may go back: then the other kinds are no shares of that CPU's time. Nor are a few ticks.
#[test]
fn a_cpu_of_which_a_kind_fell_or_little_was_counted_has_no_shares() {
    let mut f = recorded([300, 100, 150, 250, 50, 10, 40, 100]);
    let idle = f
        .counters
        .iter_mut()
        .find(|c| (c.of.as_str(), c.name.as_str()) == ("CPU 0", "idle_ticks"))
        .unwrap();
    idle.end = idle.start.map(|n| n - 5);
    let Outcome::Findings(c) = answer(&f) else { panic!() };
    assert_eq!(c.cpus.iter().map(|c| c.cpu).collect::<Vec<_>>(), [1]);
    assert!((c.all.busy() - 0.1).abs() < 1e-9);
    let f = recorded([10, 0, 0, 10, 0, 0, 0, 20]);
    let Outcome::Findings(c) = answer(&f) else { panic!() };
    assert_eq!(c.cpus.len(), 1);
}

#[test]
fn no_counter_is_no_answer() {
    let mut f = recorded([100; 8]);
    f.counters.clear();
    assert!(matches!(answer(&f), Outcome::Unknown(_)));
}

/// The same files, read by other means: fields by their place.
#[test]
fn a_real_recording_has_the_shares_of_its_files() {
    let c = crate::tests::sample("rpc/rpc.nmb");
    let text = |when| {
        let s = c.snapshots.iter().find(|s| s.what == "stat" && s.when == when).unwrap();
        String::from_utf8(s.text.clone()).unwrap()
    };
    let fields = |text: &str| -> Vec<u64> {
        let line = text.lines().next().unwrap();
        line.split_whitespace().skip(1).map(|n| n.parse().unwrap()).collect()
    };
    let (start, end) = (fields(&text(Start)), fields(&text(End)));
    let rise: Vec<u64> = end.iter().zip(&start).take(8).map(|(e, s)| e - s).collect();
    let all: u64 = rise.iter().sum();
    let facts = crate::analyze(&c, &crate::ingest::Options::default());
    let Outcome::Findings(of) = answer(&facts) else {
        panic!()
    };
    // The kernel rounds each CPU and their sum by themselves.
    let near = |share: f64, ticks: u64| {
        let err = (share - ticks as f64 / all as f64).abs();
        assert!(err <= 4.0 / all as f64, "{share} {ticks} of {all}");
    };
    near(of.all.user, rise[0] + rise[1]);
    near(of.all.system, rise[2]);
    near(of.all.idle, rise[3]);
    near(of.all.softirq, rise[6]);
    near(of.all.steal, rise[7]);
    assert!(all > 100, "{all}");
}
