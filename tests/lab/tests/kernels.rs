//! The most telling rigs under Debian's 6.1 and 6.12, booted side by side by `boot-kernel`: kernels that lack events and fields
//! of newer ones. An answer is right, or unknown, or labelled weak: never another wait with confidence. Prints a table per
//! kernel; all rigs on all kernels: docs/truth.md. Needs qemu, busybox, cpio, xz and apt; without them it says so.

use std::path::{Path, PathBuf};
use std::process::Command;

use netmortem_lab::evaluate::{BY_ALLOCATOR, Figures, Report, SEEN, WAYS, evaluate, print};

/// Of each kind of wait one, those first that older kernels' events tell in another way: an emulated machine takes seconds
/// to start a recording, and what is not done in time is not judged.
const QUICK: [&str; 17] = [
    "slow_reader",
    "tx_nagle",
    "uring_copy",
    "run_queue",
    "tx_cwnd",
    "tx_neighbour",
    "backlog",
    "tx_stamps_udp",
    "tx_rwnd",
    "out_of_order",
    "tx_pacing",
    "napi_threaded",
    "tx_tbf",
    "tx_rto",
    "busy_poll",
    "tx_ring_card",
    "overlay",
];

/// The longest that a guest may live, s.
const LIMIT: &str = "270";

/// So many of them must be played, or the figures are of too little: on a machine with little else to do both kernels play
/// all 17 (docs/truth.md); what is missing may be what a limit or a failed rig took.
const PLAYED: usize = 12;

/// Links that must be compared: 186 were under 6.1. Of these rigs `overlay` alone has the slab allocator's.
const LINKS: u64 = 100;
/// Of those, what tells originals that are told as several.
const CUT: &str = BY_ALLOCATOR[3];

/// Plays them under a kernel; the folders of those that were played. An error says why nothing was.
fn play(series: &str, out: &Path) -> Result<Vec<PathBuf>, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("boot-kernel");
    let lab = env!("CARGO_BIN_EXE_netmortem-lab");
    // Cards that look at what is queued every 200 ms, for the rig about full rings. Plants of receivers are long: the guest's own
    // delays are milliseconds.
    let mut boot = Command::new(script);
    boot.args(["-t", LIMIT, "-l", "200000000", "-p", "ethtool", "-p", lab, series]);
    boot.arg(out);
    boot.args([
        "env",
        "NETMORTEM_LAB_SLOW=8",
        "NETMORTEM_LAB_CARDS=eth0,eth1",
        "netmortem-lab",
        "run",
        "--tries",
        "1",
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
    if played.len() < PLAYED {
        // 124, 143: a machine too busy to emulate another one in time says nothing about the ledger. An idle one has no excuse.
        let late = matches!(done.status.code(), Some(124 | 143));
        let few = format!("{} of {} rigs were done, {PLAYED} must be", played.len(), QUICK.len());
        assert!(late && busy(), "{series}: {few}: {told}");
    }
    if played.is_empty() {
        return Err(format!("no rig was done in time: {}", told.trim()));
    }
    Ok(played)
}

/// Whether others than our two guests, of two CPUs each, keep this machine's CPUs: by its load of the last five minutes.
fn busy() -> bool {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let five = load.split(' ').nth(1).and_then(|l| l.parse::<f64>().ok());
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    five.is_some_and(|five| five > 4.0 + cpus as f64)
}

/// Judges a kernel's reports; why they say nothing, if so.
fn judge(series: &str, reports: &[Report]) -> Option<String> {
    assert!(reports.iter().all(|r| r.kernel.starts_with(&format!("{series}."))));
    // Sizes are printed, not asserted: stamps of a program that is emulated on a busy host come late by milliseconds.
    let figures = Figures::of(reports);
    // Docs: no other wait was claimed with confidence in 128 and in 110 cases. One of a hundred may be a plant that failed
    // and whose stamps do not show it.
    assert!(figures.misled * 100 <= figures.cases, "{figures:?}");
    // Rows sum, nothing is negative, and bytes add up, whatever the kernel and however slow its machine. What others counted is printed: of segments that an
    // emulated host sends twice 6.1 does not tell which is which.
    let held = |b: &&String| {
        ["parts sum to total", "nothing negative", SEEN]
            .iter()
            .any(|name| b.contains(name))
    };
    let broken: Vec<&String> = figures.broken.iter().filter(held).collect();
    assert!(broken.is_empty(), "{broken:?}");
    assert!(figures.unexplained * 200 <= figures.bytes, "{figures:?}");
    // Events of every kernel tell which way a packet went; some steps are bounded in time, which an emulated machine may exceed.
    for o in reports.iter().flat_map(|r| &r.oracles).filter(|o| o.name == WAYS) {
        assert!(o.wrong * 5 <= o.checked, "{o:?}");
    }
    // No original is told as several: that of `overlay`, whose first segment waits for a neighbour below its tunnel, was.
    let all = reports.iter().flat_map(|r| &r.oracles);
    let cut: Vec<_> = all.filter(|o| o.name == CUT && o.wrong > 0).collect();
    assert!(cut.is_empty(), "{cut:?}");
    assert!(figures.wrong_links * 1000 < figures.links.max(1), "{figures:?}");
    if reports.len() < PLAYED {
        return Some(format!("{} rigs are too few", reports.len()));
    }
    assert!(figures.links >= LINKS, "{figures:?}");
    if figures.void > figures.cases {
        return Some(format!("{} plants failed by their own stamps", figures.void));
    }
    None
}

#[test]
fn older_kernels_answer_right_or_weaker() {
    let series = ["6.1", "6.12"];
    let out = |series: &str| std::env::temp_dir().join(format!("netmortem-lab-{series}-{}", std::process::id()));
    let played = std::thread::scope(|s| {
        let guests = series.map(|k| s.spawn(move || play(k, &out(k))));
        guests.map(|g| g.join().unwrap_or_else(|e| std::panic::resume_unwind(e)))
    });
    for (series, played) in series.into_iter().zip(played) {
        match played {
            Err(why) => println!("skipped: the rigs under Linux {series}: {why}"),
            Ok(played) => {
                let reports: Vec<_> = played.iter().map(|d| evaluate(d).unwrap()).collect();
                println!("Linux {}, {} of {} rigs", reports[0].kernel, reports.len(), QUICK.len());
                println!("{}", print(&reports, true));
                if let Some(why) = judge(series, &reports) {
                    println!("skipped: the figures of the rigs under Linux {series}: {why}");
                }
                std::fs::remove_dir_all(out(series)).unwrap();
            }
        }
    }
}
