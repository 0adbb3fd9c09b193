//! Parts that need no kernel.

use clap::Parser;

use crate::cli::RecordArgs;
use crate::host::parse_cpu_list;
use crate::instance::parse_stats;
use crate::plan::{find_symbol, lines_with};

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
    let a = args(&["-d", "500ms", "-b", "512"]).unwrap();
    assert_eq!((a.duration.unwrap().as_millis(), a.buffer_size), (500, Some(512)));
    for bad in [
        &["-d", "3 parsecs"][..],
        &["-d", "-1s"],
        &["-b", "1"],
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
        let lines = lines_with(kallsyms, [name].iter());
        find_symbol(&lines, name).map(|(a, n)| (a.to_owned(), n.to_owned()))
    };
    let pair = |a: &str, n: &str| Some((a.to_owned(), n.to_owned()));
    assert_eq!(
        found("tcp_write_timer"),
        pair("ffffffff81000020", "tcp_write_timer.isra.0")
    );
    assert_eq!(found("tcp_pace_kick"), pair("ffffffff81000030", "tcp_pace_kick"));
    // Addresses hidden by kptr_restrict are zero: no address to filter on.
    assert_eq!(found("tcp_hidden"), None);
    assert_eq!(found("absent"), None);
}
