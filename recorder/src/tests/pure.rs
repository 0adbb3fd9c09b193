//! Parts that need no kernel.

use std::time::{Duration, Instant};

use clap::Parser;

use crate::cli::RecordArgs;
use crate::host::parse_cpu_list;
use crate::instance::parse_stats;
use crate::limits::{Limits, buffer_kib};
use crate::options::Profile;
use crate::plan::{find_symbol, is_hidden};
use crate::snapshot::second::{LeftOut, MOST_BYTES, Pace, interval, take};
use crate::symbols::Symbols;
use crate::watch::CpuShare;

#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    record: RecordArgs,
}

fn args(line: &[&str]) -> Result<RecordArgs, clap::Error> {
    Args::try_parse_from([&["netmortem-record"], line].concat()).map(|a| a.record)
}

#[test]
fn sizes_and_durations_have_units() {
    let a = args(&["-d", "1.5m", "-b", "2M", "--max-bytes", "3K", "-o", "-"]).unwrap();
    assert_eq!(a.duration.unwrap().as_millis(), 90_000);
    assert_eq!(a.buffer_size, Some(2048));
    assert_eq!(a.max_bytes, Some(3072));
    let a = args(&[
        "--cpu",
        "3,0-1",
        "--port",
        "80,443",
        "--port",
        "22",
        "--profile",
        "lean",
    ])
    .unwrap()
    .options();
    assert_eq!((a.filters.cpus, a.filters.ports), (vec![0, 1, 3], vec![80, 443, 22]));
    assert_eq!(a.profile, Profile::Lean);
    let a = args(&["-d", "500ms", "-b", "512"]).unwrap();
    assert_eq!((a.duration.unwrap().as_millis(), a.buffer_size), (500, Some(512)));
    for bad in [
        &["-d", "3 parsecs"][..],
        &["-d", "-1s"],
        &["-b", "1"],
        &["--cpu", "3-1"],
        &["--cpu", "0-4000000000"],
        &["--cpu", ""],
        &["--port", "65536"],
        &["--profile", "everything"],
        &["-b", "x"],
        &["--profile", "none"],
    ] {
        assert!(args(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn the_command_keeps_its_own_options() {
    let a = args(&["-o", "x", "--", "iperf3", "-c", "host", "-o"]).unwrap();
    assert_eq!(a.command, ["iperf3", "-c", "host", "-o"]);
}

#[test]
fn stats_of_the_kernel() {
    // As printed by Linux 6.18.
    let text = "entries: 2\noverrun: 30\ncommit overrun: 4\nbytes: 500\noldest event ts:  2744.021234\n\
                now ts:  2745.000000\ndropped events: 6\nread events: 70\n";
    let s = parse_stats("i", 9, text);
    assert_eq!((s.cpu, s.entries, s.overrun, s.commit_overrun), (9, 2, 30, 4));
    assert_eq!((s.bytes, s.dropped_events, s.read_events), (500, 6, 70));
}

#[test]
fn cpu_lists() {
    assert_eq!(parse_cpu_list("0-3,8,10-11"), [0, 1, 2, 3, 8, 10, 11]);
    assert_eq!(parse_cpu_list(""), [0u32; 0]);
}

#[test]
fn a_function_is_found_under_the_names_compilers_give_it() {
    let kallsyms = b"ffffffff81000000 t tcp_write_timer_handler\nffffffff81000010 t tcp_write_timer.cold\n\
        ffffffff81000020 t tcp_write_timer.isra.0\nffffffff81000030 T tcp_pace_kick\t[m]\n0000000000000000 t tcp_hidden\n";
    let found = |name: &'static str| {
        let symbols = Symbols::of(&kallsyms[..], &[name]);
        find_symbol(symbols.functions(), name).map(|(a, n)| (a.to_owned(), n.to_owned()))
    };
    let pair = |a: &str, n: &str| Some((a.to_owned(), n.to_owned()));
    assert_eq!(
        found("tcp_write_timer"),
        pair("ffffffff81000020", "tcp_write_timer.isra.0")
    );
    assert_eq!(found("tcp_pace_kick"), pair("ffffffff81000030", "tcp_pace_kick"));
    // Addresses hidden by kptr_restrict are zero: only the name is left to filter on.
    assert_eq!(found("tcp_hidden"), pair("0000000000000000", "tcp_hidden"));
    assert!(is_hidden("0000000000000000") && !is_hidden("ffffffff81000000"));
    assert_eq!(found("absent"), None);
}

#[test]
fn symbols_are_the_text_symbols_with_their_addresses() {
    // A line that is longer than what is read at once, one without an end, and some that are not text.
    let long = "x".repeat(40_000);
    let text = format!(
        "0000000000000000 A percpu\nffffffff81000000 T _text\nffffffff81000010 d data\nffffffff81000020 t {long}\t[m]\n\
         ffffffff81000010 w weak\n\nffffffff81000030 W last"
    );
    let symbols = Symbols::of(text.as_bytes(), &[]);
    let deltas = zstd_text(&symbols.frame().unwrap());
    let kept = text
        .lines()
        .filter(|l| l.len() > 17 && b"tTwW".contains(&l.as_bytes()[17]));
    let kept: String = kept.map(|l| format!("{l}\n")).collect();
    assert_eq!(netmortem_formats::kallsyms::expand(&deltas), Some(kept.into_bytes()));
    assert!(!symbols.are_hidden());
    let hidden = Symbols::of(&b"0000000000000000 T _text\n0000000000000000 t b\n"[..], &[]);
    assert!(hidden.are_hidden() && hidden.frame().unwrap().is_empty());
    let none = Symbols::of(&b""[..], &[]);
    assert!(!none.are_hidden() && none.frame().unwrap().is_empty());
}

fn zstd_text(frame: &[u8]) -> Vec<u8> {
    let locus = netmortem_formats::Locus::default();
    let coding = netmortem_formats::Coding::Zstd { size: None };
    let text = netmortem_formats::bytes_decode::decode(frame, coding, locus);
    text.unwrap().into_owned()
}

#[test]
fn seconds_become_rare_and_a_day_of_them_is_bounded() {
    let secs = |n| interval(n).as_secs();
    assert_eq!([0, 599, 600, 899, 900, 1200].map(secs), [1, 1, 2, 2, 4, 8]);
    let (mut t, mut n) = (0, 0);
    while t < 86_400 {
        t += secs(n);
        n += 1;
    }
    assert!((2_700..2_800).contains(&n), "{n}");
    // A loop that comes late skips what it missed.
    let start = Instant::now();
    let mut pace = Pace::new(start);
    assert!(!pace.is_due(start + Duration::from_millis(999)));
    assert!(pace.is_due(start + Duration::from_millis(1000)));
    assert!(pace.is_due(start + Duration::from_secs(10)));
    assert!(!pace.is_due(start + Duration::from_millis(10_999)));
    assert!(pace.is_due(start + Duration::from_secs(11)));
}

#[test]
fn the_share_of_cpu_is_of_the_last_five_seconds() {
    let start = Instant::now();
    let at = |s: u64| start + Duration::from_secs(s);
    let base = 123_000_000;
    let mut share = CpuShare::from(start, base);
    // Half a second of CPU in each second, not judged before the window is full; then idle.
    let got: Vec<_> = (1..=5).map(|s| share.percent(at(s), base + s * 500_000_000)).collect();
    assert_eq!(got, [None, None, None, None, Some(50)]);
    let idle: Vec<_> = (6..=11)
        .map(|s| share.percent(at(s), base + 2_500_000_000).unwrap())
        .collect();
    assert_eq!(idle, [40, 30, 20, 10, 0, 0]);
}

#[test]
fn limits_have_defaults() {
    let limits = |line: &[&str]| Limits::of(&args(line).unwrap().options(), 4);
    let l = limits(&[]);
    assert_eq!(
        (l.duration, l.duration_is_default, l.cpu_percent),
        (Some(Duration::from_secs(3600)), true, 100)
    );
    assert!(l.bytes_is_default && l.bytes.is_some_and(|b| b > 0 && b <= 4 << 30));
    // A quarter of a small machine, two CPUs of a large one.
    let cpu = |cpus| Limits::of(&args(&[]).unwrap().options(), cpus).cpu_percent;
    assert_eq!([1, 2, 4, 8, 64].map(cpu), [50, 50, 100, 200, 200]);
    // A command is never cut short by a limit that nobody asked for; a stream is not of this disk.
    let l = limits(&["-o", "-", "--", "true"]);
    assert_eq!((l.duration, l.bytes), (None, None));
    let l = limits(&["-d", "2s", "--max-bytes", "5M", "--max-cpu", "7"]);
    assert_eq!(
        l,
        Limits {
            duration: Some(Duration::from_secs(2)),
            duration_is_default: false,
            bytes: Some(5 << 20),
            bytes_is_default: false,
            cpu_percent: 7,
            cpu_is_default: false,
        }
    );
    let buffers = |line: &[&str], cpus| {
        let mut notes = Vec::new();
        (
            buffer_kib(&args(line).unwrap().options(), cpus, &mut notes),
            notes.len(),
        )
    };
    assert_eq!(buffers(&["--max-buffers", "16M"], 2), (8192, 0));
    assert_eq!(buffers(&["--max-buffers", "16M"], 8), (2048, 1));
    assert_eq!(buffers(&["-b", "1M", "--max-buffers", "16M"], 8), (1024, 0));
    assert_eq!(buffers(&["-b", "1G", "--max-buffers", "16M"], 2), (8192, 1));
}

#[test]
fn a_text_that_is_too_long_for_a_second_is_said() {
    let mut left_out = LeftOut::default();
    let all = take(MOST_BYTES, &mut left_out);
    assert_eq!(left_out.sentence(MOST_BYTES), None);
    let (_, stat) = all.texts.iter().find(|(w, _)| w == "stat").unwrap();
    // As on a host of hundreds of CPUs; the short ones stay.
    let most = stat.len() / 2;
    let short = take(most, &mut left_out);
    assert!(short.texts.iter().all(|(w, t)| w != "stat" && t.len() <= most));
    assert!(short.texts.iter().any(|(w, _)| w == "net/sockstat"));
    let said = left_out.sentence(most).unwrap();
    assert!(
        said.contains("left out as longer than") && said.contains("stat ("),
        "{said}"
    );
}

/// What never happens is not foretold.
#[test]
fn the_limit_of_bytes_is_told_only_where_it_comes_first() {
    let mut l = Limits {
        duration: Some(std::time::Duration::from_secs(3600)),
        duration_is_default: true,
        bytes: Some(7200),
        bytes_is_default: true,
        cpu_percent: 50,
        cpu_is_default: true,
    };
    assert_eq!(l.bytes_end(4.0), Some(1800.0));
    assert_eq!(l.bytes_end(1.0), None);
    assert_eq!(l.bytes_end(0.0), None);
    l.duration = None;
    assert_eq!(l.bytes_end(1.0), Some(7200.0));
    l.bytes = None;
    assert_eq!(l.bytes_end(1.0), None);
}
