//! The quick rigs under Debian's 6.1 and 6.12, booted by `boot-kernel`: kernels that lack events and fields of newer ones.
//! Prints a table per kernel. Needs qemu, busybox, cpio, xz and apt; without them it says so.

use std::path::Path;
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

/// Plays them under a kernel into `out/rigs`. False when that cannot be done here.
fn play(series: &str, out: &Path) -> bool {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("boot-kernel");
    let lab = env!("CARGO_BIN_EXE_netmortem-lab");
    // Cards that look at what is queued every 60 ms, for the rigs about full rings and byte queue limits.
    let mut boot = Command::new(script);
    boot.args(["-t", "400", "-l", "60000000", "-p", "ethtool", "-p", lab, series]);
    boot.arg(out).args([
        "env",
        "NETMORTEM_LAB_CARDS=eth0,eth1",
        "netmortem-lab",
        "run",
        "--out",
        "/out/rigs",
    ]);
    let done = boot.args(QUICK).output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr);
    if done.status.code() == Some(77) {
        println!(
            "skipped: the rigs under Linux {series}: {}",
            told.trim().trim_start_matches("skipped: ")
        );
        return false;
    }
    let played = std::fs::read_to_string(out.join("stderr")).unwrap_or_default();
    assert!(done.status.success(), "{told}{played}");
    true
}

#[test]
fn older_kernels_answer_right_or_weaker() {
    for series in ["6.1", "6.12"] {
        let out = std::env::temp_dir().join(format!("netmortem-lab-{series}-{}", std::process::id()));
        if !play(series, &out) {
            continue;
        }
        let reports: Vec<_> = QUICK
            .iter()
            .map(|r| evaluate(&out.join("rigs").join(r)).unwrap())
            .collect();
        println!("Linux {}\n{}", reports[0].kernel, print(&reports, true));
        assert!(reports.iter().all(|r| r.kernel.starts_with(&format!("{series}."))));
        let figures = Figures::of(&reports);
        assert!(figures.cases >= 40, "{figures:?}");
        std::fs::remove_dir_all(&out).unwrap();
    }
}
