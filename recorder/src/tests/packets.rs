//! Packets of interfaces against tcpdump on the same interface, against what was sent, and against the kernel's counters.

use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use netmortem_formats::pcapng::{Item, items, taps};
use netmortem_formats::{Capture, Locus, SnapshotWhen, bytes_decode, open_path};

use super::harness::{PATIENCE, open, options, record_while, refused_by, scratch, sh, tracefs_or_skip, wait_for};
use super::pair::{Pair, ip};
use crate::options::Profile;
use crate::pcap::PcapOptions;
use crate::record::record;

/// A shell line that sends `n` datagrams of 213 bytes from inside a namespace.
fn send(ns: &str, to: &str, port: u16, n: u32) -> String {
    let payload = "SECRET".repeat(35);
    format!("ip netns exec {ns} bash -c 'for i in $(seq {n}); do printf %s {payload}abc > /dev/udp/{to}/{port}; done'")
}

/// A shell line that waits until `n` datagrams have found nobody at their port in a namespace: they have passed every tap.
/// A minute at most; then what is missing fails the test.
fn arrived(ns: &str, n: u32) -> String {
    let come = format!("ip netns exec {ns} awk '/^Udp: [0-9]/ {{exit $3 < {n}}}' /proc/net/snmp");
    format!("for i in $(seq 1200); do {come} && break; sleep 0.05; done")
}

/// (ns, original bytes, kept bytes) of every packet of tap 0, or of a file.
fn packets(c: &Capture) -> Vec<(i64, u32, Vec<u8>)> {
    let mut out = Vec::new();
    let mut read = |bytes: &[u8]| {
        let mut interface = None;
        for item in items(bytes, Locus::default()) {
            match item.unwrap() {
                Item::Interface(i) => interface = Some(i),
                Item::Packet(p) => {
                    let ns = interface.as_ref().unwrap().realtime_ns(p.ts.unwrap()).unwrap();
                    out.push((ns, p.original_bytes, p.data.to_vec()));
                }
                _ => {}
            }
        }
    };
    if c.format != "bundle" {
        read(&c.bytes);
    }
    for m in c.members.iter().filter(|m| m.name.starts_with("packets/0/")) {
        let coded = &c.bytes[m.range.start as usize..m.range.end as usize];
        let coding = netmortem_formats::Coding::Zstd { size: None };
        read(&bytes_decode::decode(coded, coding, Locus::default()).unwrap());
    }
    out
}

fn tcpdump(ns: &str, dev: &str, file: &Path) -> Option<Child> {
    let mut c = Command::new("ip");
    c.args(["netns", "exec", ns, "tcpdump", "-i", dev, "-U", "-Z", "root"]);
    // Otherwise the kernel hands packets over in blocks, up to a second late, and an interrupt throws the last block away.
    // The buffer then has slots as large as the snaplen: with the default one there would be eight.
    c.args(["--immediate-mode", "-s", "512", "-B", "8192"]);
    c.args(["--time-stamp-precision=nano", "-w"]).arg(file);
    let child = c.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    let started = std::time::Instant::now();
    while std::fs::metadata(file).map_or(0, |m| m.len()) < 24 {
        if started.elapsed() > PATIENCE {
            println!("skipped: tcpdump does not begin");
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Some(child)
}

fn options_of(path: &Path, taps: &[&str]) -> crate::RecordOptions {
    let mut o = options(path);
    o.profile = Profile::Drops;
    o.pcap = PcapOptions {
        taps: taps.iter().map(|t| t.parse().unwrap()).collect(),
        ..PcapOptions::default()
    };
    o
}

/// UDP to 10.9.0.2 of these packets.
fn udp(packets: Vec<(i64, u32, Vec<u8>)>) -> Vec<(i64, u32, Vec<u8>)> {
    packets.into_iter().filter(|(_, _, d)| is_udp(d)).collect()
}

fn is_udp(packet: &[u8]) -> bool {
    packet.get(12..14) == Some(&[8, 0]) && packet.get(23) == Some(&17)
}

#[test]
fn the_packets_are_those_of_tcpdump_without_their_payload() {
    let Some((_root, _one)) = tracefs_or_skip() else { return };
    let Some(pair) = Pair::new("td") else { return };
    let [a, b] = &pair.0;
    let (path, other) = (
        scratch("pcap"),
        PathBuf::from(format!("{}.pcap", scratch("td").display())),
    );
    let Some(mut peer) = tcpdump(b, "v1", &other) else {
        return;
    };
    let mut o = options_of(&path, &[&format!("netns:{b}/v1")]);
    let (one, two) = (send(a, "10.9.0.2", 7777, 300), send(a, "10.9.0.2", 8888, 20));
    o.command = sh(&format!("{one}; {two}; {}", arrived(b, 320)));
    let summary = record(&o, &mut |_| {}).unwrap();
    wait_for("tcpdump's packets", || {
        let file = std::fs::read(&other).unwrap();
        // The last one may be half written; ARP and ICMP errors are among them.
        let whole = |i: &Item| matches!(i, Item::Packet(p) if is_udp(p.data));
        items(&file, Locus::default()).flatten().filter(whole).count() >= 320
    });
    let pid = rustix::process::Pid::from_child(&peer);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    peer.wait().unwrap();

    let (c, manifest, end) = open(&path);
    assert!(c.complete, "{:?}", c.problems);
    let (ours, theirs) = (udp(packets(&c)), udp(packets(&open_path(&other).unwrap().unwrap())));
    assert_eq!((ours.len(), theirs.len()), (320, 320));
    let mut apart = Vec::new();
    for ((ns, bytes, data), (their_ns, their_bytes, their_data)) in ours.iter().zip(&theirs) {
        assert_eq!(bytes, their_bytes);
        assert_eq!(data[..], their_data[..14 + 20 + 8]);
        apart.push((ns - their_ns).abs());
    }
    // Each tap reads the clock for itself; an interrupt, or another guest of the host, may lie between.
    apart.sort();
    assert!(apart[160] < 20_000_000 && apart[319] < 10_000_000_000, "{apart:?}");
    assert!(
        packets(&c)
            .iter()
            .all(|(_, _, d)| !d.windows(6).any(|w| w == b"SECRET"))
    );
    let [tap] = &taps(&c)[..] else { panic!() };
    let [end] = &end.packets[..] else { panic!() };
    assert_eq!(
        (tap.packets, tap.received, tap.dropped),
        (end.packets, end.received, end.dropped)
    );
    assert_eq!(
        (end.received, end.dropped, end.notes.len()),
        (Some(end.packets), Some(0), 0)
    );
    assert_eq!(summary.packets[0], *end);
    let plan = &manifest.plan.packets[0];
    assert_eq!((plan.name.as_str(), &plan.netns_name, plan.snaplen), ("v1", b, None));
    for p in [path, other] {
        std::fs::remove_file(p).unwrap();
    }
}

#[test]
fn ports_are_filtered_and_a_snaplen_keeps_payload() {
    let Some((_root, _one)) = tracefs_or_skip() else { return };
    let Some(pair) = Pair::new("port") else { return };
    let [a, _] = &pair.0;
    let path = scratch("pcap-port");
    let mut o = options_of(&path, &[&format!("netns:{a}/lo"), &format!("netns:{a}/v0")]);
    o.pcap.snaplen = Some(60);
    o.filters.ports = vec![7777];
    let (one, two) = (send(a, "127.0.0.1", 7777, 50), send(a, "127.0.0.1", 8888, 20));
    o.command = sh(&format!("{two}; {one}; {}", arrived(a, 70)));
    record(&o, &mut |_| {}).unwrap();
    let (c, _, end) = open(&path);
    // Once each, though each passes lo twice.
    assert_eq!((end.packets[0].packets, end.packets[1].packets), (50, 0));
    let ours = packets(&c);
    assert_eq!(ours.len(), 50);
    for (_, bytes, data) in ours {
        assert_eq!((bytes, data.len()), (14 + 20 + 8 + 213, 60));
        assert_eq!(&data[42..48], b"SECRET");
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_ring_that_overflows_counts_every_packet() {
    let Some((_root, _one)) = tracefs_or_skip() else { return };
    // Where its reader keeps up with the sender there is no overflow to judge.
    assert!((0..5).any(|_| overflown() > 1000), "the ring never overflowed");
}

/// Sends more than a ring of 8 KiB holds; how many packets the kernel dropped for the tap.
fn overflown() -> u64 {
    let path = scratch("pcap-drops");
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = socket.local_addr().unwrap();
    let mut o = options_of(&path, &["lo"]);
    o.pcap.ring_kib = Some(8);
    o.pcap.snaplen = Some(0);
    o.filters.ports = vec![to.port()];
    const SENT: u64 = 20_000;
    let before = backlog_dropped();
    let (c, summary) = record_while(&mut o, || {
        (0..SENT).for_each(|_| assert_eq!(socket.send_to(&[7; 100], to).unwrap(), 100));
        // What a softirq has still to deliver is before the tap.
        socket.set_nonblocking(true).unwrap();
        let mut read = 0;
        wait_for("datagrams are neither read nor refused", || {
            while socket.recv(&mut [0; 200]).is_ok() {
                read += 1;
            }
            read + refused_by(&socket) + backlog_dropped() - before >= SENT
        });
    });
    let refused = backlog_dropped() - before;
    let (_, _, end) = open(&path);
    let end = &end.packets[0];
    let (received, dropped) = (end.received.unwrap(), end.dropped.unwrap());
    // A backlog that is full drops before any tap: by whom, its counter does not say.
    assert!(
        received <= SENT && received + refused >= SENT,
        "{end:?}, {refused} refused"
    );
    assert_eq!(received, end.packets + dropped);
    assert_eq!(end.freezes.unwrap() > 0, dropped > 0, "{end:?}");
    let tap = &taps(&c)[0];
    assert_eq!(
        (tap.packets, tap.received, tap.dropped),
        (end.packets, Some(received), Some(dropped))
    );
    assert_eq!(packets(&c).len() as u64, end.packets);
    let said = format!("{dropped} packets lost");
    assert_eq!(summary.notes.iter().any(|n| n.contains(&said)), dropped > 0);
    std::fs::remove_file(path).unwrap();
    dropped
}

/// Packets that full backlogs of all CPUs dropped: the second column.
fn backlog_dropped() -> u64 {
    let text = std::fs::read_to_string("/proc/net/softnet_stat").unwrap();
    let second = |l: &str| u64::from_str_radix(l.split(' ').nth(1).unwrap(), 16).unwrap();
    text.lines().map(second).sum()
}

#[test]
fn an_interface_that_vanishes_ends_its_capture_and_not_the_recording() {
    let Some((_root, _one)) = tracefs_or_skip() else { return };
    let Some(pair) = Pair::new("gone") else { return };
    let [a, b] = &pair.0;
    let path = scratch("pcap-gone");
    let mut o = options_of(&path, &[&format!("netns:{b}/v1"), &format!("netns:{a}/lo")]);
    let (before, after) = (send(a, "10.9.0.2", 7777, 10), send(a, "127.0.0.1", 7777, 10));
    let gone = format!("{}; ip -n {a} link del v0", arrived(b, 10));
    o.command = sh(&format!("{before}; {gone}; {after}; {}", arrived(a, 10)));
    let summary = record(&o, &mut |_| {}).unwrap();
    assert_eq!(summary.stop_reason, "command");
    let (c, _, end) = open(&path);
    assert_eq!(udp(packets(&c)).len(), 10);
    assert!(
        end.packets[0].notes[0].contains("the interface is gone"),
        "{:?}",
        end.packets[0]
    );
    assert_eq!(end.packets[0].dropped, Some(0));
    // On lo each is answered by an ICMP error.
    assert!(
        end.packets[1].packets >= 10 && end.packets[1].notes.is_empty(),
        "{:?}",
        end.packets[1]
    );
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_namespace_that_is_deleted_lives_until_the_recording_ends() {
    let Some((_root, _one)) = tracefs_or_skip() else { return };
    let Some(pair) = Pair::new("del") else { return };
    let [a, b] = &pair.0;
    let path = scratch("pcap-del");
    let mut o = options_of(&path, &[&format!("netns:{b}/v1")]);
    let (before, after) = (send(a, "10.9.0.2", 7777, 10), send(a, "10.9.0.2", 7777, 7));
    let sh = |script: &str| assert!(Command::new("sh").args(["-c", script]).status().unwrap().success());
    let (c, summary) = record_while(&mut o, || {
        sh(&before);
        assert!(ip(&format!("netns del {b}")));
        sh(&after);
        wait_for("not all are in the growing file", || {
            open_path(&path).is_ok_and(|c| c.is_ok_and(|c| udp(packets(&c)).len() >= 17))
        });
    });
    assert!(c.complete, "{:?}", c.problems);
    assert_eq!(udp(packets(&c)).len(), 17);
    assert_eq!(summary.packets[0].notes, [""; 0]);
    // By name at the start, and no longer at the end.
    let named = |when| {
        let s = c
            .snapshots
            .iter()
            .find(|s| s.what == "namespaces" && s.when == when)
            .unwrap();
        String::from_utf8_lossy(&s.text).contains(&format!("name={b}"))
    };
    assert!(named(SnapshotWhen::Start) && !named(SnapshotWhen::End));
    // Our socket held it: with the recording it goes, and its end of the veth with it.
    wait_for("the namespace stays", || !ip(&format!("-n {a} link show v0")));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_cannot_be_recorded_is_said_before_anything_is_written() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let before = super::kernel_state::kernel_state(&root);
    let path = scratch("pcap-refused");
    for (tap, said) in [
        ("no-such-if", "there is no such interface"),
        ("netns:no-such-ns/eth0", "there is no network namespace no-such-ns"),
    ] {
        let e = record(&options_of(&path, &[tap]), &mut |_| {}).unwrap_err().to_string();
        assert!(e.contains(said), "{e}");
        assert!(!path.exists());
    }
    super::kernel_state::assert_restored(&root, &before);
}

#[test]
fn the_growing_file_has_the_packets_of_all_but_the_last_second_or_two() {
    let Some((_root, _one)) = tracefs_or_skip() else { return };
    let Some(pair) = Pair::new("kill") else { return };
    let [a, _] = &pair.0;
    let path = scratch("pcap-kill");
    let mut o = options_of(&path, &[&format!("netns:{a}/lo")]);
    let script = send(a, "127.0.0.1", 7777, 25);
    // As after kill -9: the file is copied while the recording goes on.
    let copy = PathBuf::from(format!("{}.copy", path.display()));
    record_while(&mut o, || {
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
        wait_for("no packets in the growing file", || {
            std::fs::copy(&path, &copy).unwrap();
            let c = open_path(&copy).unwrap().unwrap();
            taps(&c).first().is_some_and(|t| t.packets >= 25)
        });
    });
    let c = open_path(&copy).unwrap().unwrap();
    assert!(!c.complete);
    let tap = &taps(&c)[0];
    assert_eq!(tap.name, "lo");
    assert_eq!(tap.dropped, Some(0));
    for p in [path, copy] {
        std::fs::remove_file(p).unwrap();
    }
}
