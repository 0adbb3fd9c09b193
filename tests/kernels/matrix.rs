//! Record -> report on this machine's kernel, and on 4.15, 5.4, 5.10, 5.15, 6.1, 6.12 and 6.12 with PREEMPT_RT of Debian and Ubuntu in an emulated
//! machine, 6.1 and 6.12 on aarch64, too.
//! Each records under its own kernel (`guest/`), the analysis is done here, as for any bundle that comes from elsewhere.
//!
//! Asserted: what the kernel's own counters say is in the tables; nothing was lost; every setting is as it was, also after a
//! recorder that was killed. Needs root and tracefs for this kernel; qemu, busybox, cpio, xz and apt for the others. Without
//! them it says so.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)] // all of this file is the test

mod backends;
#[path = "guest/counters.rs"]
mod counters;
#[path = "delays.rs"]
mod delays;
#[path = "limits.rs"]
mod limits;
#[path = "records.rs"]
mod records;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use netmortem_analyzer::analyses::answer;
use netmortem_analyzer::reconstruct::tcp::role::{Role, RoleBy};
use netmortem_analyzer::reconstruct::tcp::tables::ConnectionRow;
use netmortem_analyzer::table::Cell;
use netmortem_analyzer::{Facts, analyze, ingest};
use netmortem_formats::bundle::{End, Manifest};
use netmortem_formats::{Capture, open_path};

use netmortem_analyzer::reconstruct::tcp::states::CLOSE;
use records::{each_record, sleeps, went_and_came};

const GUEST: &str = env!("CARGO_BIN_EXE_netmortem-guest");

/// An emulated machine takes all the CPUs there are.
static ONE: Mutex<()> = Mutex::new(());

/// Gone when the test has passed.
fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("netmortem-kernels-{}-{name}", std::process::id()))
}

#[test]
fn this_kernel() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if !rustix::process::geteuid().is_root() || !Path::new("/sys/kernel/tracing/instances").is_dir() {
        println!("skipped: recording under this kernel: no root, or no tracefs");
        return;
    }
    let out = folder("own");
    let done = Command::new(GUEST).arg("play").arg(&out).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    if said.contains("tc:") {
        println!("skipped: recording under this kernel: no qdisc tbf");
        return;
    }
    assert!(done.status.success(), "{said}");
    judge(&out, None);
    std::fs::remove_dir_all(out).unwrap();
}

macro_rules! kernels {
    ($($(#[$about:meta])* $name:ident: $series:literal $architecture:literal;)*) => {
        $($(#[$about])* #[test] fn $name() { under($series, $architecture); })*
    };
}

kernels! {
    /// The oldest that the recorder is for: states of sockets have another event, `tcp_probe` and the exits of the receive path are not there.
    linux_4_15: "4.15" "amd64";
    linux_5_4: "5.4" "amd64";
    /// Built without histogram triggers.
    linux_5_10: "5.10" "amd64";
    linux_5_15: "5.15" "amd64";
    linux_6_1: "6.1" "amd64";
    linux_6_12: "6.12" "amd64";
    /// PREEMPT_RT: softirqs run in threads and are preempted.
    linux_6_12_rt: "6.12-rt" "amd64";
    linux_6_1_aarch64: "6.1" "arm64";
    linux_6_12_aarch64: "6.12" "arm64";
}

/// The program for another architecture is built apart, which takes minutes that `.ci/run` does not have.
fn guest(architecture: &str) -> Option<PathBuf> {
    if architecture == "amd64" {
        return Some(GUEST.into());
    }
    let target = Path::new(GUEST).parent()?.parent()?;
    let guest = target.join("aarch64/build/aarch64-unknown-linux-gnu/debug/netmortem-guest");
    guest.exists().then_some(guest)
}

fn under(series: &str, architecture: &str) {
    let Some(guest) = guest(architecture) else {
        println!("skipped: Linux {series} on {architecture}: no program for it (tests/lab/build-aarch64 --tests)");
        return;
    };
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let boot = Path::new(env!("CARGO_MANIFEST_DIR")).join("lab/boot-kernel");
    let out = folder(&format!("{series}-{architecture}"));
    let mut c = Command::new(boot);
    c.args(["-a", architecture, "-t", "240", "-p", "chrt", "-p"])
        .arg(&guest);
    c.arg(series).arg(&out);
    c.args(["env", "NETMORTEM_GUEST_HOTPLUG=1", "netmortem-guest", "play", "/out"]);
    let done = c.output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr);
    let said = std::fs::read_to_string(out.join("stderr")).unwrap_or_default();
    match done.status.code() {
        Some(0) => judge(&out, series.split('-').next()),
        Some(77) => println!(
            "skipped: Linux {series}: {}",
            told.trim().trim_start_matches("skipped: ")
        ),
        // A machine too busy to emulate another one in time says nothing about the recorder; where tests must run (CI) nothing was proven.
        Some(124 | 143) if std::env::var_os("CI").is_none() => {
            println!("skipped: Linux {series}: not done in time: {} {said}", told.trim())
        }
        other => panic!("{other:?}: {told} {said}"),
    }
    let _ = std::fs::remove_dir_all(out);
}

/// `name value` lines.
fn numbers(dir: &Path, file: &str) -> BTreeMap<String, i64> {
    let text = std::fs::read_to_string(dir.join(file)).unwrap();
    let pair = |l: &str| l.split_once(' ').map(|(k, v)| (k.to_owned(), v.parse().unwrap()));
    text.lines().filter_map(pair).collect()
}

/// By how much the counters of a namespace grew from before the recording until after it, named as `nstat` names them.
fn growth(dir: &Path, who: &str, name: &str) -> u64 {
    growth_between(dir, who, name, ["before", "after"])
}

fn growth_between(dir: &Path, who: &str, name: &str, when: [&str; 2]) -> u64 {
    counters::growth(dir, who, name, when).unwrap()
}

fn open(path: &Path) -> (Capture, Manifest, End) {
    let c = open_path(path).unwrap().unwrap();
    assert!(c.complete, "{:?}", c.problems);
    let manifest = serde_json::from_value(c.manifest.clone().unwrap()).unwrap();
    let end = serde_json::from_value(c.end.clone().unwrap()).unwrap();
    (c, manifest, end)
}

fn lost(end: &End) -> u64 {
    end.cpu_stats
        .iter()
        .map(|s| s.overrun + s.commit_overrun + s.dropped_events + s.entries)
        .sum()
}

/// Drops by UDP: TCP has no socket either for a segment that is sent again when its connection is over.
fn dropped_for(facts: &Facts, reason: &str) -> u64 {
    let text = |cell: Cell<'_>| match cell {
        Cell::Str(s) => s.into_owned(),
        _ => String::new(),
    };
    let by_udp = |location| text(facts.names.location(location)).contains("udp");
    let mine = facts.drops.iter().filter(|d| by_udp(d.location));
    mine.filter(|d| text(facts.names.drop_reason(d.reason)) == reason)
        .count() as u64
}

fn judge(dir: &Path, series: Option<&str>) {
    let (c, manifest, end) = open(&dir.join("traffic.nmb"));
    let release = &manifest.host.kernel_release;
    assert!(
        series.is_none_or(|s| release.starts_with(&format!("{s}."))),
        "{release}"
    );
    assert_eq!(lost(&end), 0, "{:?}", end.cpu_stats);

    // Record -> report.
    let facts = analyze(&c, &ingest::Options::default());
    let answers = answer(&facts);
    let page = netmortem_reports::html(&netmortem_reports::sections::document(&facts, &answers));
    assert!(page.contains(release.as_str()), "the report does not name the kernel");
    assert!(page.trim_end().ends_with("</html>"));

    // Every event that the kernel says was written is in the analysis.
    let read: u64 = end.cpu_stats.iter().map(|s| s.read_events).sum();
    assert_eq!((facts.capture.total_events, facts.capture.lost_events), (read, 0));

    // Counters against tables. Others of this machine may drop and send, too: those of the two namespaces are among them.
    let truth = numbers(dir, "truth");
    let (no_ports, full) = (
        growth(dir, "server", "UdpNoPorts"),
        growth(dir, "server", "UdpRcvbufErrors"),
    );
    let again = growth(dir, "client", "TcpRetransSegs") + growth(dir, "server", "TcpRetransSegs");
    assert_eq!(no_ports, truth["to_closed_port"] as u64);
    assert!(full > 500 && again > 0, "{full} {again}");
    let port = truth["port"] as u16;
    let mine = |id: Option<netmortem_analyzer::ConnectionId>| {
        let of = facts.connections.iter().find(|c| Some(c.connection) == id);
        of.is_some_and(|c| c.sport == port || c.dport == port)
    };
    // An event for each skb; before Linux 4.20 one has several segments here, too. A SYN's answer that is sent again has an event of its own kind; what the
    // device below refused is counted, and has none. A last FIN may be sent again when the recording is over.
    let within = |who| growth_between(dir, who, "TcpRetransSegs", ["first", "last"]);
    let again_within = within("client") + within("server");
    let refused = growth(dir, "client", "TcpExtTCPRetransFail") + growth(dir, "server", "TcpExtTCPRetransFail");
    let segments = |c: &ConnectionRow| c.retransmit_segments.unwrap();
    let all: u64 = facts.connections.iter().map(segments).sum();
    let of_traffic: u64 = facts
        .connections
        .iter()
        .filter(|c| mine(Some(c.connection)))
        .map(segments)
        .sum();
    let answers_again = facts
        .capture
        .events
        .get("tcp:tcp_retransmit_synack")
        .copied()
        .unwrap_or(0);
    assert!(
        of_traffic <= again && again_within <= all + answers_again + refused,
        "{of_traffic} <= {again}, {again_within} <= {all} + {answers_again} + {refused}"
    );
    if series.is_some() {
        assert!(all <= again, "{all} {again}");
    }
    let alone = series.is_some();
    for (reason, counted) in [("NO_SOCKET", no_ports), ("SOCKET_RCVBUFF", full)] {
        let seen = dropped_for(&facts, reason);
        assert!(
            seen == counted || (!alone && seen > counted),
            "{reason}: {seen} of {counted}"
        );
    }
    // The recorder's own snapshots of the counters enclose the recording, as `before` and `after` enclose both.
    let risen = |name: &str| -> u64 {
        let of = facts.counters.iter().filter(|r| r.name == name);
        of.filter_map(netmortem_analyzer::counters::tables::CounterRow::rise)
            .sum()
    };
    for (name, truth) in [("UdpNoPorts", no_ports), ("UdpRcvbufErrors", full)] {
        let risen = risen(name);
        assert!(
            risen == truth || (!alone && risen > truth),
            "{name}: {risen} of {truth}"
        );
    }
    let risen = risen("TcpRetransSegs");
    assert!(
        again_within <= risen && (risen <= again || !alone),
        "{again_within} <= {risen} <= {again}"
    );
    let server: Vec<_> = facts.connections.iter().filter(|c| c.sport == port).collect();
    let client: Vec<_> = facts.connections.iter().filter(|c| c.dport == port).collect();
    let connections = truth["connections"] as usize;
    assert_eq!(client.len(), connections, "{client:?}");
    // The listener is a socket with this port, too; and where two CPUs complete one handshake, the child of one is closed at once.
    let lost = |c: &ConnectionRow| c.born == Some(CLOSE) && c.samples == 0 && c.bytes_in == 0;
    let talked = server.iter().filter(|c| c.dport != 0 && !lost(c)).count();
    assert_eq!(talked, connections, "{server:?}");
    // Who opened them is known from the states of sockets on each of these kernels.
    let role = |of: &[&ConnectionRow], role| {
        of.iter()
            .filter(|c| c.dport != 0 && !lost(c))
            .all(|c| c.role() == (role, RoleBy::Handshake))
    };
    assert!(
        role(&client, Role::Client) && role(&server, Role::Server),
        "{client:?} {server:?}"
    );
    // What was read is known where the kernel has the event, exactly; never something else.
    let bytes: Option<u64> = server.iter().filter(|c| c.dport != 0).map(|c| c.bytes_read).sum();
    assert!(bytes.is_none_or(|b| b == truth["bytes_read"] as u64), "{bytes:?}");

    // A recorder that was killed left a bundle up to its end; the next one cleaned up and said so.
    let killed = open_path(&dir.join("killed.nmb")).unwrap().unwrap();
    assert!(!killed.complete && killed.manifest.is_some() && killed.streams.iter().any(|s| !s.chunks.is_empty()));
    let name = std::fs::read_to_string(dir.join("killed.name")).unwrap();
    let said = std::fs::read_to_string(dir.join("next.said")).unwrap();
    assert!(
        said.contains(&format!("removed tracing instance or probe {name}")) || !alone,
        "{said}"
    );
    let state = |when: &str| -> Vec<String> {
        let text = std::fs::read_to_string(dir.join(format!("{when}.state"))).unwrap();
        text.lines().map(str::to_owned).collect()
    };
    let [before, after] = ["before", "after"].map(state);
    assert!(
        before.len() > 100 && before.iter().any(|l| l == "instances: []" || !alone),
        "{before:?}"
    );
    assert_eq!(after, before);

    let both = dir.join("both");
    match std::fs::read_to_string(both.join("refused")) {
        Ok(why) => println!("skipped: both backends at once under Linux {release}: {}", why.trim()),
        Err(_) => println!(
            "{}",
            backends::compare(&both).replacen("skipped: ", &format!("skipped: Linux {release}: "), 1)
        ),
    }

    probed(&c, &manifest, truth["connections"] as u64, alone, series);
    if dir.join("squeeze-000001.nmb").exists() {
        let (_, manifest, _) = open(&dir.join("squeeze-000001.nmb"));
        let trigger = manifest.flight.unwrap().trigger;
        let grown = trigger.evidence[0].strip_prefix("softnet.time_squeeze +").unwrap();
        assert_eq!(
            (trigger.on.as_str(), grown.parse().ok()),
            ("time-squeeze", trigger.count)
        );
    }
    if let Ok(said) = std::fs::read_to_string(dir.join("softirq.said")) {
        let because = match series {
            Some("4.15") => "the histogram triggers of this kernel keep no times",
            _ => "this one was built without histogram triggers",
        };
        assert!(said.contains(because), "{said}");
    } else if dir.join("softirq-000001.nmb").exists() {
        delays::late_softirq(dir, series.is_some());
        delays::late_reads(dir);
    }
    if series.is_some() {
        limits::told(dir);
    }
    if dir.join("hotplug.nmb").exists() {
        went_and_came(dir);
    }
    if series.is_some() {
        sleeps(dir);
    }
    println!(
        "Linux {release}: {read} events, {again} retransmits, {no_ports} without a socket, {full} at a full one, {connections} \
         connections, {} kinds of events, {} absent",
        manifest.plan.events.len(),
        manifest.plan.absent.len()
    );
}

/// Probes of the recorder's own: which of them there are on Debian's kernels is known, on this machine's it is not.
fn probed(c: &Capture, manifest: &Manifest, connections: u64, alone: bool, series: Option<&str>) {
    let mut counts = BTreeMap::new();
    each_record(c, |_, _, payload| {
        *counts.entry(c.endian.u16(payload, 0)).or_insert(0u64) += 1
    });
    let (mut there, mut reasons) = (BTreeMap::new(), BTreeMap::new());
    for name in ["accept_queue", "backlog", "push", "getaddrinfo", "getaddrinfo_return"] {
        let ends = |full: &str| full.starts_with("netmortem_") && full.ends_with(&format!(":{name}"));
        if let Some(absent) = manifest.plan.absent.iter().find(|a| ends(&a.name)) {
            println!("  without {name}: {}", absent.because);
            reasons.insert(name, absent.because.as_str());
            continue;
        }
        let format = c.event_formats.iter().find(|f| ends(&f.key())).unwrap();
        let n = counts.get(&Some(format.id)).copied().unwrap_or(0);
        if name == "accept_queue" {
            assert!(n == connections || (!alone && n > connections), "{n}");
        }
        println!("  {name}: {n}");
        there.insert(name, n);
    }
    let kernels_own = ["accept_queue", "backlog", "push"];
    match series {
        // A sender of 60 kB holds its socket when the first acknowledgements come; what is written is pushed.
        Some("6.12") => {
            let some = |name: &str| there.get(name).is_some_and(|n| *n > 0);
            assert!(kernels_own.into_iter().all(some), "{there:?} {reasons:?}");
            assert!(there["push"] >= connections, "{there:?}");
        }
        // Fields by BTF came with 6.4.
        Some(_) => {
            for name in kernels_own {
                let because = reasons.get(name).copied().unwrap_or("it is there");
                assert!(
                    because.starts_with("the kernel refused p:netmortem_"),
                    "{name}: {because}"
                );
            }
        }
        None => {}
    }
}
