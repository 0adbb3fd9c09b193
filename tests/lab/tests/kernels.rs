//! The quick rigs under Debian's 6.1 and 6.12, booted by `boot-kernel`: kernels that lack events and fields of newer ones.
//! An answer is right, or unknown, or labelled weak: never another wait with confidence. Prints a table per kernel. Needs qemu, busybox, cpio, xz and apt; without them it says so.

use std::path::{Path, PathBuf};
use std::process::Command;

use netmortem_lab::evaluate::{Figures, evaluate, print};

/// Of each kind of wait one: an emulated machine takes seconds to start a recording.
const QUICK: [&str; 9] = [
    "slow_reader",
    "run_queue",
    "tx_cwnd",
    "tx_rwnd",
    "tx_pacing",
    "tx_neighbour",
    "tx_tbf",
    "tx_rto",
    "tx_ring_card",
];

/// Plays them under a kernel; the folders of those that were played. An error says why nothing was.
fn play(series: &str, out: &Path) -> Result<Vec<PathBuf>, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("boot-kernel");
    let lab = env!("CARGO_BIN_EXE_netmortem-lab");
    // Cards that look at what is queued every 60 ms, for the rigs about full rings and byte queue limits.
    let mut boot = Command::new(script);
    boot.args(["-t", "300", "-l", "60000000", "-p", "ethtool", "-p", lab, series]);
    boot.arg(out);
    boot.args([
        "env",
        "NETMORTEM_LAB_CARDS=eth0,eth1",
        "netmortem-lab",
        "run",
        "--out",
        "/out/rigs",
    ]);
    let done = boot.args(QUICK).output().map_err(|e| format!("boot-kernel: {e}"))?;
    let told = String::from_utf8_lossy(&done.stderr);
    if done.status.code() == Some(77) {
        return Err(told.trim().trim_start_matches("skipped: ").to_owned());
    }
    let folders = QUICK.map(|r| out.join("rigs").join(r));
    let played: Vec<PathBuf> = folders.into_iter().filter(|d| d.join("truth.json").is_file()).collect();
    if played.is_empty() {
        // 124, 143: a machine too busy to emulate another one in time says nothing about the ledger.
        assert!(matches!(done.status.code(), Some(124 | 143)), "{told}");
        return Err(format!("no rig was done in time: {}", told.trim()));
    }
    Ok(played)
}

#[test]
fn older_kernels_answer_right_or_weaker() {
    for series in ["6.1", "6.12"] {
        let out = std::env::temp_dir().join(format!("netmortem-lab-{series}-{}", std::process::id()));
        let played = match play(series, &out) {
            Ok(played) => played,
            Err(why) => {
                println!("skipped: the rigs under Linux {series}: {why}");
                continue;
            }
        };
        let reports: Vec<_> = played.iter().map(|d| evaluate(d).unwrap()).collect();
        println!("Linux {}, {} of {} rigs", reports[0].kernel, reports.len(), QUICK.len());
        println!("{}", print(&reports, true));
        assert!(reports.iter().all(|r| r.kernel.starts_with(&format!("{series}."))));
        // Sizes are printed, not asserted: stamps of a program that is emulated on a busy host come late by milliseconds.
        let figures = Figures::of(&reports);
        assert!(figures.cases > 0 && figures.misled * 20 <= figures.cases, "{figures:?}");
        std::fs::remove_dir_all(&out).unwrap();
    }
}
