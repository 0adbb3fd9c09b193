//! A few of the planted incidents, recorded now: the first page names their causes, and a healthy recording has none. All of them, and
//! the figures: docs/incidents.md. Needs root, tracefs, python3, tc, nft, iperf3.

use std::process::Command;

use netmortem_lab::incidents::{Kind, Said, judge, scenes};

/// Causes that do not depend on how busy the machine is: a rule, a setting, a program of its own will.
const SURE: [&str; 11] = [
    "accept_queue",
    "fast_open_dropped",
    "firewall_reset",
    "healthy_calls",
    "ipv6_silent",
    "md5_one_end",
    "ports_used_up",
    "reverse_path",
    "slow_server",
    "stopped",
    "udp_one_in_seventy",
];

#[test]
fn the_first_page_names_what_was_planted() {
    if let Some(why) = netmortem_lab::runner::unable() {
        println!("skipped: the incidents: {why}");
        return;
    }
    let out = std::env::temp_dir().join(format!("netmortem-incidents-{}", std::process::id()));
    let lab = Command::new(env!("CARGO_BIN_EXE_netmortem-lab"))
        .args(["incidents", "--verbose", "--out"])
        .arg(&out)
        .args(SURE)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&lab.stderr);
    println!("{}", String::from_utf8_lossy(&lab.stdout));
    let names = SURE.map(str::to_owned);
    for judged in judge(&out, &scenes(&names).unwrap(), None).0 {
        if judged.said == Said::Absent {
            // A program is missing here; anything else is a defect.
            let why = told.lines().find(|l| l.starts_with(&judged.scene)).unwrap_or("");
            assert!(why.contains("not recorded: no "), "{}: {told}", judged.scene);
            println!("skipped: {why}");
            continue;
        }
        let wanted: &[Said] = match judged.kind {
            Kind::Healthy | Kind::Harmless => &[Said::First],
            Kind::Single | Kind::Pair => &[Said::First, Said::Page],
        };
        assert!(wanted.contains(&judged.said), "{judged:?}");
    }
    std::fs::remove_dir_all(&out).unwrap();
}
