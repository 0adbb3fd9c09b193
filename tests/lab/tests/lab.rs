//! Every rig, played on this machine, and the figures the ledger must reach. Prints the table. Needs root and tracefs.

use std::process::Command;

/// What the program ends with when the machine let too few plants succeed.
const INCONCLUSIVE: i32 = 5;

#[test]
fn the_ledger_tells_the_planted_truth() {
    if let Some(why) = netmortem_lab::runner::unable() {
        println!("skipped: the truth rigs: {why}");
        return;
    }
    let out = std::env::temp_dir().join(format!("netmortem-lab-{}", std::process::id()));
    let lab = Command::new(env!("CARGO_BIN_EXE_netmortem-lab"))
        .args(["all", "--verbose", "--out"])
        .arg(&out)
        .output();
    let lab = lab.unwrap();
    let (table, told) = (
        String::from_utf8_lossy(&lab.stdout),
        String::from_utf8_lossy(&lab.stderr),
    );
    println!("{table}");
    for line in told
        .lines()
        .filter(|l| l.starts_with("skipped: ") || l.contains("FAILED"))
    {
        println!("{line}");
    }
    // Too busy a machine says nothing of the ledger: plants failed, by their own stamps.
    if let (Some(INCONCLUSIVE), Some(why)) = (
        lab.status.code(),
        table.lines().find_map(|l| l.strip_prefix("inconclusive: ")),
    ) {
        println!("skipped: the figures of the truth rigs: {why}");
        return;
    }
    assert!(lab.status.success(), "bundles are in {}\n{told}", out.display());
    // Some rig was played, or the figures say nothing.
    assert!(table.contains("slow_reader"), "{told}");
    std::fs::remove_dir_all(&out).unwrap();
}
