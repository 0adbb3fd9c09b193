//! The comparison on recordings made now: two plants far above what can be seen are found in their stage, and what repeats
//! of the same scene differ by is not taken for either. Needs root, tracefs, tc with tbf, nft.

use std::path::PathBuf;
use std::process::Command;

use netmortem_analyzer::diff::{Diff, Outcome};
use netmortem_lab::pairs::{LARGE, Plant, between, bundle};

/// Two pairs of each plant: a before, an after, and another before.
const PAIRS: usize = 4;

/// A metric called worse that may name this plant: by how much, and from when it would have been seen.
fn worse<'d>(d: &'d Diff, plant: &Plant) -> Vec<(&'d str, f64)> {
    let mine = |name: &str| {
        let any_dev = name.split('[').next().unwrap_or(name);
        plant.names.contains(&name) || plant.names.contains(&any_dev)
    };
    let metrics = d.metrics.iter().filter(|m| m.outcome == Outcome::Worse);
    let metrics = metrics.map(|m| {
        let largest = m.shifts.iter().map(|s| s.shift).max().unwrap_or(0);
        (m.metric.as_str(), largest as f64)
    });
    let rates = d.rates.iter().filter(|r| r.outcome == Outcome::Worse);
    let rates = rates.map(|r| (r.metric.as_str(), r.difference));
    metrics.chain(rates).filter(|(name, _)| mine(name)).collect()
}

#[test]
fn large_plants_are_found_in_their_stage_and_repeats_are_none() {
    if let Some(why) = netmortem_lab::runner::unable() {
        println!("skipped: live pairs: {why}");
        return;
    }
    let out = std::env::temp_dir().join(format!("netmortem-pairs-{}", std::process::id()));
    let lab = Command::new(env!("CARGO_BIN_EXE_netmortem-lab"))
        .args(["pairs", "--large", &PAIRS.to_string(), "--out"])
        .arg(&out)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&lab.stderr);
    assert!(lab.status.success(), "{told}");
    for plant in LARGE {
        let of = |n, side| -> PathBuf { bundle(&out, plant, n, side) };
        let (before, again, after) = (of(0, "before"), of(1, "before"), of(0, "after"));
        if ![&before, &again, &after].iter().all(|p| p.exists()) {
            // The qdisc or nft is not on this machine.
            let why = told
                .lines()
                .find(|l| l.contains(plant.name) && l.contains("not recorded"));
            let why = why.unwrap_or_else(|| panic!("{} is missing: {told}", plant.name));
            assert!(why.contains("tc ") || why.contains("nft "), "{why}");
            println!("skipped: {why}");
            continue;
        }
        let planted = between(&before, &after).unwrap();
        let found = worse(&planted, plant);
        let said = &planted.verdict;
        assert!(!found.is_empty(), "{}: {said:?} {:?}", plant.name, planted.withheld);
        assert_eq!(said.outcome, Outcome::Worse);
        // A repeat may differ in the mood of the machine, never by half of what was planted.
        let repeat = between(&before, &again).unwrap();
        assert!(repeat.tests > 20, "{}: {} tests", plant.name, repeat.tests);
        for (name, by) in worse(&repeat, plant) {
            let planted = found.iter().find(|f| f.0 == name).map_or(0.0, |f| f.1);
            assert!(by < planted / 2.0, "{}: {name} {by} of {planted}", plant.name);
        }
        println!("{}: {found:?}; {}", plant.name, repeat.verdict.sentence);
    }
    std::fs::remove_dir_all(out).unwrap();
}
