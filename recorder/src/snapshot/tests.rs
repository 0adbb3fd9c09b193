//! Against tc, ss, ethtool and sysctl at the same time, in network namespaces of our own; and damaged bytes.

mod addresses;
mod beside;
mod cgroups;
mod changes;
mod groups;
mod links;
mod settings;
mod visits;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

use super::netlink::attributes;
use super::netns::{Netns, list};
use super::owners::Owners;
use super::{Texts, tcp_info, visit};
use crate::tests::harness::{PATIENCE, wait_for};
use netmortem_formats::SnapshotWhen;

type Line = BTreeMap<String, String>;

fn lines(text: &str) -> Vec<Line> {
    let word = |w: &str| w.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()));
    text.lines().map(|l| l.split(' ').filter_map(word).collect()).collect()
}

fn run(program: &str, args: &[&str]) -> String {
    let out = Command::new(program).args(args).output();
    let out = out.unwrap_or_else(|e| panic!("{program}: {e}"));
    assert!(
        out.status.success(),
        "{program} {args:?}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8(out.stdout).unwrap()
}

/// What `ours` says while `theirs` says the same before and after it: nothing moved between the two. Gives up after [`PATIENCE`].
fn while_steady<T, E: PartialEq>(mut theirs: impl FnMut() -> E, mut ours: impl FnMut() -> T) -> (E, T) {
    let started = Instant::now();
    let mut before = theirs();
    loop {
        let taken = ours();
        let after = theirs();
        if before == after {
            return (after, taken);
        }
        assert!(started.elapsed() < PATIENCE, "it never stands still");
        std::thread::sleep(Duration::from_millis(100));
        before = theirs();
    }
}

/// Two namespaces joined by a veth; removed when dropped.
struct Pair([String; 2]);

impl Pair {
    /// None, and the reason printed, when this process may not make namespaces, or a tool to compare with is missing.
    fn new(label: &str, tool: &str) -> Option<Pair> {
        let why = match Command::new(tool).arg("-V").output() {
            _ if !rustix::process::geteuid().is_root() => "not root".to_owned(),
            Err(e) => format!("{tool}: {e}"),
            Ok(_) => match Command::new("ip").args(["netns", "list"]).output() {
                Err(e) => format!("ip: {e}"),
                Ok(_) => String::new(),
            },
        };
        if !why.is_empty() {
            println!("skipped: {why}");
            return None;
        }
        let pair = Pair(["a", "b"].map(|s| format!("rec-{label}{}-{s}", std::process::id())));
        for ns in &pair.0 {
            let made = Command::new("ip").args(["netns", "add", ns]).output().unwrap();
            if !made.status.success() {
                println!("skipped: no namespaces: {}", String::from_utf8_lossy(&made.stderr));
                return None;
            }
            // Neighbour discovery would send between the two readings that are compared.
            for conf in ["all", "default"] {
                let off = format!("echo 1 > /proc/sys/net/ipv6/conf/{conf}/disable_ipv6 || true");
                pair.exec(ns, &["sh", "-c", &off]);
            }
        }
        let [a, b] = &pair.0;
        run(
            "ip",
            &[
                "-n", a, "link", "add", "v0", "type", "veth", "peer", "name", "v1", "netns", b,
            ],
        );
        for (ns, dev, address) in [(a, "v0", "10.97.0.1/24"), (b, "v1", "10.97.0.2/24")] {
            run("ip", &["-n", ns, "addr", "add", address, "dev", dev]);
            run("ip", &["-n", ns, "link", "set", dev, "up"]);
        }
        // Until the kernel has noticed the carrier, what is sent is dropped.
        for (ns, dev) in [(a, "v0"), (b, "v1")] {
            wait_for("the veth is not up", || {
                run("ip", &["-n", ns, "link", "show", dev]).contains(" state UP ")
            });
        }
        Some(pair)
    }

    fn exec(&self, ns: &str, command: &[&str]) -> String {
        run("ip", &[&["netns", "exec", ns], command].concat())
    }

    fn first(&self) -> Netns {
        let name = format!("name={}", self.0[0]);
        let all = list();
        let text = super::netns::text(&all);
        let at = text.lines().position(|l| l.split(' ').any(|w| w == name)).unwrap();
        all[at].clone()
    }

    /// Sends large datagrams from the first namespace to the second.
    fn send(&self, datagrams: usize) {
        let send = || {
            let socket = UdpSocket::bind("10.97.0.1:0").unwrap();
            for _ in 0..datagrams {
                // The address is resolved before all but the first of them; the queue refuses some.
                let _ = socket.send_to(&[0; 1400], "10.97.0.2:9");
            }
        };
        self.first().inside(send).unwrap();
    }

    /// All texts of the first namespace.
    fn texts(&self) -> (u64, Texts) {
        let (space, owners) = (self.first(), Owners::read());
        let visit = || visit(&space, SnapshotWhen::Start, (&owners, ""), Texts::default());
        let t = space.inside(visit).unwrap();
        assert_eq!(t.problems, [""; 0]);
        (space.inode, t)
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for ns in &self.0 {
            let _ = Command::new("ip").args(["netns", "delete", ns]).status();
        }
    }
}

#[test]
fn qdiscs_and_classes_are_what_tc_says() {
    let Some(pair) = Pair::new("tc", "tc") else { return };
    let a = &pair.0[0];
    for line in [
        "tc qdisc add dev v0 root handle 7: htb default 10",
        "tc class add dev v0 parent 7: classid 7:10 htb rate 8mbit",
        "tc qdisc add dev v0 parent 7:10 handle 70: pfifo limit 3",
    ] {
        pair.exec(a, &line.split(' ').collect::<Vec<_>>());
    }
    let tc = |what: &str| pair.exec(a, &["tc", "-s", "-j", what, "show", "dev", "v0"]);
    // Faster than 8 Mbit/s into three places: some are dropped, unless the sender itself is kept waiting.
    wait_for("nothing is dropped", || {
        pair.send(30);
        let all: serde_json::Value = serde_json::from_str(&tc("qdisc")).unwrap();
        let pfifo = all.as_array().unwrap().iter().find(|q| q["kind"] == "pfifo").unwrap();
        pfifo["drops"].as_u64().unwrap() > 0
    });
    let ([expected, classes], (inode, t)) = while_steady(|| ["qdisc", "class"].map(tc), || pair.texts());
    let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
    let links = lines(&t.links);
    let v0 = links.iter().find(|l| l["name"] == "v0").unwrap();
    assert_eq!(
        (&v0["kind"], &v0["mtu"], &v0["qdisc"]),
        (&"veth".into(), &"1500".into(), &"htb".into())
    );
    let ours = lines(&t.qdiscs);
    let of_v0: Vec<&Line> = ours.iter().filter(|l| l["ifindex"] == v0["ifindex"]).collect();
    assert_eq!(of_v0.len(), 2);
    for q in expected.as_array().unwrap() {
        let handle = u32::from_str_radix(q["handle"].as_str().unwrap().trim_end_matches(':'), 16).unwrap() << 16;
        let l = of_v0.iter().find(|l| l["handle"] == format!("{handle:#010x}")).unwrap();
        assert_eq!(
            (q["kind"].as_str().unwrap(), inode.to_string()),
            (l["kind"].as_str(), l["netns"].clone())
        );
        let keys = ["bytes", "packets", "drops", "overlimits", "requeues", "backlog", "qlen"];
        let ours: [u64; 7] = keys.map(|k| l[if k == "backlog" { "backlog_bytes" } else { k }].parse().unwrap());
        assert_eq!(ours, keys.map(|k| q[k].as_u64().unwrap()), "{keys:?} of {l:?}");
    }
    let pfifo = of_v0.iter().find(|l| l["kind"] == "pfifo").unwrap();
    assert_eq!(
        (pfifo["handle"].as_str(), pfifo["parent"].as_str()),
        ("0x00700000", "0x00070010")
    );
    assert!(
        pfifo["drops"].parse::<u64>().unwrap() > 0,
        "the flood was too weak: {pfifo:?}"
    );
    // tc writes no JSON for classes: "class htb 7:10 root leaf 70: ...", then "Sent 12 bytes 3 pkt (...".
    let class = lines(&t.classes);
    let class = class.iter().find(|l| l["ifindex"] == v0["ifindex"]).unwrap();
    assert_eq!(
        [&class["kind"], &class["handle"], &class["parent"], &class["leaf"]],
        ["htb", "0x00070010", "0xffffffff", "0x00700000"]
    );
    assert!(classes.contains(&format!("Sent {} bytes {} pkt", class["bytes"], class["packets"])));
}

#[test]
fn sockets_are_what_ss_says() {
    if Command::new("ss").arg("-V").output().is_err() {
        println!("skipped: no ss");
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    client.write_all(&[1; 50_000]).unwrap();
    server.read_exact(&mut [0; 40_000]).unwrap();
    let of_port = format!(":{port}");
    let args = ["-tniepmOH", "state", "established", "sport", "=", &of_port];
    // Times since something last happened go on.
    let still = |w: &&str| {
        let moves = ["lastsnd:", "lastrcv:", "lastack:"];
        !moves.iter().any(|m| w.starts_with(m))
    };
    let ss = || {
        let text = run("ss", &args);
        text.split(' ').filter(still).collect::<Vec<_>>().join(" ")
    };
    let (ss, text) = while_steady(ss, || {
        let mut text = String::new();
        super::sockets::sockets(1, &Owners::read(), &mut 10_000, &mut text).unwrap();
        text
    });
    let (ours, me) = (lines(&text), std::process::id().to_string());
    let l = ours
        .iter()
        .find(|l| l["proto"] == "tcp" && l["state"] == "established" && l["src"] == format!("127.0.0.1:{port}"));
    let l = l.unwrap();
    assert_eq!(l["rqueue"], "10000");
    assert!(ss.trim_start().starts_with("10000 "), "{ss}");
    let mem = [
        "rmem_alloc",
        "rcvbuf",
        "wmem_alloc",
        "sndbuf",
        "fwd_alloc",
        "wmem_queued",
        "optmem",
        "backlog",
        "drops",
    ];
    let m = mem.map(|k| l[&format!("mem.{k}")].clone());
    let skmem = format!(
        "skmem:(r{},rb{},t{},tb{},f{},w{},o{},bl{},d{})",
        m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8]
    );
    let t = |k: &str| l[&format!("tcp.{k}")].parse::<u64>().unwrap();
    let ms = |k| {
        let us = t(k);
        format!("{}.{:03}", us / 1000, us % 1000)
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned()
    };
    for expected in [
        skmem,
        format!("ino:{} sk:{}", l["inode"], l["cookie"].trim_start_matches("0x")),
        format!("pid={me},"),
        format!(" {} wscale:{},{}", l["cong"], t("snd_wscale"), t("rcv_wscale")),
        format!(" rto:{} ", ms("rto")),
        format!(" rtt:{}/{} ", ms("rtt"), ms("rttvar")),
        format!(
            " mss:{} pmtu:{} rcvmss:{} advmss:{} cwnd:{} ",
            t("snd_mss"),
            t("pmtu"),
            t("rcv_mss"),
            t("advmss"),
            t("snd_cwnd")
        ),
        format!(" bytes_received:{} ", t("bytes_received")),
        format!(" segs_in:{} data_segs_in:{} ", t("segs_in"), t("data_segs_in")),
        format!(" rcv_space:{} rcv_ssthresh:{} ", t("rcv_space"), t("rcv_ssthresh")),
        format!(" minrtt:{}", ms("min_rtt")),
        format!(" snd_wnd:{}", t("snd_wnd")),
    ] {
        assert!(
            ss.replace('\n', " ").contains(&expected),
            "{expected:?} is not in {ss:?}; ours: {l:?}"
        );
    }
    assert_eq!((t("bytes_received"), t("state")), (50_000, 1));
    // Between fork and exec a child of another test has our sockets, too.
    assert!(l["pids"].split(',').any(|p| p == me), "{l:?}");
}

#[test]
fn cards_are_what_ethtool_says() {
    let Some(pair) = Pair::new("eth", "ethtool") else {
        return;
    };
    let a = &pair.0[0];
    pair.exec(a, &["ethtool", "-K", "v0", "gro", "on", "tso", "off"]);
    pair.send(3);
    let ethtool = |flag: &str| -> Vec<(String, String)> {
        let text = pair.exec(a, &["ethtool", flag, "v0"]);
        let pair = |l: &str| {
            l.split_once(':')
                .map(|(k, v)| (k.trim().to_owned(), v.trim().to_owned()))
        };
        text.lines().filter_map(pair).filter(|(_, v)| !v.is_empty()).collect()
    };
    let (counted, (_, t)) = while_steady(|| ethtool("-S"), || pair.texts());
    let group = |name: &str| {
        let all = lines(&t.nics);
        all.into_iter()
            .find(|l| l["dev"] == "v0" && l["group"] == name)
            .unwrap()
    };
    let features = group("features");
    let theirs = ethtool("-k");
    // ethtool has names of its own for groups of features; the kernel's own are compared.
    let both: Vec<_> = theirs.iter().filter_map(|(k, v)| Some((v, features.get(k)?))).collect();
    assert!(both.len() > 30, "{both:?}");
    for (theirs, ours) in both {
        let expected = theirs
            .replace(" [fixed]", ":fixed")
            .replace(" [requested on]", ":requested");
        assert_eq!(&expected.replace(" [requested off]", ":requested"), ours);
    }
    assert_eq!(features["rx-gro"], "on");
    assert!(features["tx-tcp-segmentation"].starts_with("off"));
    let stats = group("stats");
    assert_eq!(counted.len() + 4, stats.len());
    for (key, value) in counted {
        assert_eq!(stats[&key], value, "{key}");
    }
    assert_eq!(group("driver")["driver"], "veth");
    // Twice: the maximum and the current setting.
    let rx: Vec<String> = ethtool("-l")
        .into_iter()
        .filter(|(k, _)| k == "RX")
        .map(|(_, v)| v.trim().to_owned())
        .collect();
    assert_eq!(
        rx,
        [&group("channels")["max_rx"], &group("channels")["rx_count"]].map(String::clone)
    );
}

#[test]
fn tcp_info_of_any_length_is_read_as_far_as_it_goes() {
    // Each byte its own offset: fields are where they are by the kernel's header, little-endian here.
    let info: Vec<u8> = (0..=255).collect();
    let read = |n: usize| {
        let mut out = String::new();
        tcp_info::append(&info[..n], &mut out);
        out
    };
    if cfg!(target_endian = "little") {
        // rto at 8; snd_wscale is the low half of byte 6; total_rto_time ends at 248; what is newer stays hex.
        let all = read(252);
        for expected in [
            " tcp.state=0 ",
            " tcp.snd_wscale=6 tcp.rcv_wscale=0 tcp.delivery_rate_app_limited=1 tcp.rto=185207048 ",
            " tcp.total_rto=61936 tcp.total_rto_recoveries=62450 tcp.total_rto_time=4160157172 tcp.more=f8f9fafb",
        ] {
            assert!(all.contains(expected), "{expected}: {all}");
        }
        // Kernel 4.15 ends after sndbuf_limited (192); an end inside a field leaves that field out.
        assert!(read(192).ends_with(&format!(
            " tcp.sndbuf_limited={}",
            u64::from_le_bytes(std::array::from_fn(|i| 184 + i as u8))
        )));
        assert_eq!(read(190), format!("{} tcp.more={}", read(184), "b8b9babbbcbd"));
    }
    assert_eq!(read(0), "");
}

#[test]
fn damaged_attributes_end_the_reading_only() {
    // length 8, type 5, value; then a length beyond the end.
    let bytes = [8, 0, 5, 0x80, 1, 2, 3, 4, 200, 0, 1, 0];
    if cfg!(target_endian = "little") {
        let all: Vec<(u16, &[u8])> = attributes(&bytes).collect();
        assert_eq!(all, [(5, &[1u8, 2, 3, 4][..])]);
    }
    // Every cut, and lengths too small for a header.
    for n in 0..bytes.len() {
        assert!(attributes(&bytes[..n]).count() <= 1);
    }
    assert_eq!(attributes(&[3, 0, 0, 0, 0, 0, 0, 0]).count(), 0);
}
