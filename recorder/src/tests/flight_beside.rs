//! What a flight reads beside the counters in the seconds before its trigger, against tc, ss, ip and ethtool at the same time.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Command, Stdio};
use std::time::Duration;

use netmortem_formats::Capture;
use netmortem_formats::bundle::{End, NOTICES, Second, seconds};

use super::child::become_nobody;
use super::flight::{Folder, flight_of, fly, flying};
use super::harness::{PATIENCE, open, out_datagrams, sh, tracefs_or_skip};
use super::pair::Pair;

const KINDS: [&str; 4] = ["nics", "qdiscs", "sockets", "counters"];
/// Long enough for a kind that took some ms to be read again.
const SOME_READINGS: Duration = Duration::from_millis(4_500);

/// Numbers by name, as they were at a moment.
type State = BTreeMap<String, u64>;

fn run(words: &str) -> String {
    let mut all = words.split(' ');
    let out = Command::new(all.next().unwrap()).args(all).output();
    let out = out.unwrap_or_else(|e| panic!("{words}: {e}"));
    assert!(
        out.status.success(),
        "{words}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8(out.stdout).unwrap()
}

fn json(words: &str) -> serde_json::Value {
    serde_json::from_str(&run(words)).unwrap()
}

fn number(v: &serde_json::Value) -> u64 {
    v.as_u64().unwrap_or_else(|| panic!("{v}"))
}

/// Lays a second over what was known: numbers of v0 in namespace `netns`, of the socket with this cookie, and `gone`.
fn lay(state: &mut State, second: &Second, netns: u64, cookie: &str) {
    for (what, text) in &second.texts {
        let text = String::from_utf8_lossy(text);
        for line in text.lines() {
            let words: BTreeMap<&str, &str> = line.split(' ').filter_map(|w| w.split_once('=')).collect();
            let mine = words.get("netns").is_some_and(|n| *n == netns.to_string());
            let of = match what.as_str() {
                "nics" if mine && words.get("dev") == Some(&"v0") => "nic",
                "qdiscs" if mine && words.get("kind") == Some(&"tbf") => "tbf",
                "sockets" if words.get("cookie") == Some(&cookie) => "socket",
                _ => continue,
            };
            let numbers = words
                .iter()
                .filter_map(|(k, v)| Some((format!("{of} {k}"), v.parse().ok()?)));
            state.extend(numbers);
        }
        if *what == format!("netns/{netns}/net/dev") {
            let line = text.lines().find_map(|l| l.trim_start().strip_prefix("v0:"));
            let columns: Vec<u64> = line.map_or(vec![], |l| l.split_whitespace().map(|n| n.parse().unwrap()).collect());
            let named = [(8, "tx_bytes"), (9, "tx_packets"), (11, "tx_drop")];
            state.extend(
                named
                    .iter()
                    .filter_map(|(n, k)| Some((format!("dev {k}"), *columns.get(*n)?))),
            );
        }
        if *what == format!("netns/{netns}/net/snmp") {
            let udp: Vec<Vec<&str>> = text
                .lines()
                .filter(|l| l.starts_with("Udp: "))
                .map(|l| l.split(' ').collect())
                .collect();
            let [names, values] = &udp[..] else { continue };
            let both = names
                .iter()
                .zip(values)
                .filter_map(|(k, v)| Some((format!("Udp {k}"), v.parse().ok()?)));
            state.extend(both);
        }
    }
}

/// The same by tc, ip, ethtool and ss.
fn theirs(a: &str, socket: &TcpStream) -> State {
    let mut all = State::new();
    let qdiscs = json(&format!("tc -n {a} -s -j qdisc show dev v0"));
    let tbf = qdiscs.as_array().unwrap().iter().find(|q| q["kind"] == "tbf").unwrap();
    for (name, ours) in [
        ("bytes", "bytes"),
        ("packets", "packets"),
        ("drops", "drops"),
        ("backlog", "backlog_bytes"),
        ("qlen", "qlen"),
    ] {
        all.insert(format!("tbf {ours}"), number(&tbf[name]));
    }
    let links = json(&format!("ip -n {a} -s -j link show dev v0"));
    let tx = &links[0]["stats64"]["tx"];
    for (name, ours) in [("bytes", "tx_bytes"), ("packets", "tx_packets"), ("dropped", "tx_drop")] {
        all.insert(format!("dev {ours}"), number(&tx[name]));
    }
    for line in run(&format!("ip netns exec {a} ethtool -S v0")).lines().skip(1) {
        let (name, value) = line.trim().split_once(": ").unwrap();
        all.insert(format!("nic {name}"), value.parse().unwrap());
    }
    let snmp = run(&format!("ip netns exec {a} cat /proc/net/snmp"));
    all.insert("Udp OutDatagrams".into(), out_datagrams(&snmp));
    // ESTAB 1234 0 127.0.0.1:1 127.0.0.1:2, then skmem:(r2304,rb131072,...)
    let (local, peer) = (socket.local_addr().unwrap().port(), socket.peer_addr().unwrap().port());
    let ss = run(&format!("ss -tnHOm src 127.0.0.1:{local} dst 127.0.0.1:{peer}"));
    all.insert(
        "socket rqueue".into(),
        ss.split_whitespace().nth(1).unwrap().parse().unwrap(),
    );
    let rmem = ss.split_once("skmem:(r").unwrap().1;
    all.insert(
        "socket mem.rmem_alloc".into(),
        rmem.split(',').next().unwrap().parse().unwrap(),
    );
    all
}

/// `sk:` of `ss -e`, as the readings have it.
fn cookie(socket: &TcpStream) -> String {
    let (local, peer) = (socket.local_addr().unwrap().port(), socket.peer_addr().unwrap().port());
    let ss = run(&format!("ss -tnHOe src 127.0.0.1:{local} dst 127.0.0.1:{peer}"));
    let sk = ss.split_whitespace().find_map(|w| w.strip_prefix("sk:")).unwrap();
    format!("{:#x}", u64::from_str_radix(sk, 16).unwrap())
}

/// A queue that lets a burst of some packets pass and keeps what follows.
fn jam(pair: &Pair) {
    for ns in &pair.0 {
        // Nothing but what is sent here comes to the queue.
        run(&format!(
            "ip netns exec {ns} sysctl -qw net.ipv6.conf.all.disable_ipv6=1"
        ));
    }
    let a = &pair.0[0];
    run(&format!(
        "tc -n {a} qdisc add dev v0 root tbf rate 8bit burst 1600 limit 20000"
    ));
}

fn send(a: &str, datagrams: u32) {
    let script =
        format!("for i in $(seq {datagrams}); do echo 0123456789 > /dev/udp/10.9.0.2/9; done 2>/dev/null; true");
    let done = Command::new("ip")
        .args(["netns", "exec", a, "bash", "-c", &script])
        .status();
    assert!(done.unwrap().success());
}

fn trigger() {
    let me = rustix::process::getpid();
    rustix::process::kill_process(me, rustix::process::Signal::USR1).unwrap();
}

fn readings(second: &Second) -> String {
    let text = second
        .texts
        .iter()
        .find(|(w, _)| w == "readings")
        .map(|(_, t)| t.clone());
    String::from_utf8(text.unwrap_or_default()).unwrap()
}

/// The chain of each kind begins whole, has no gap, and is as long as `end.json` says.
fn assert_chained(c: &Capture, end: &End) {
    let all: Vec<Second> = seconds(c).map(Result::unwrap).collect();
    // What was heard last has no reading.
    let read = |s: &Second| s.texts.iter().any(|(what, _)| what != NOTICES);
    let all: Vec<Second> = all.into_iter().filter(read).collect();
    let names: Vec<&str> = end.readings.iter().map(|r| r.what.as_str()).collect();
    assert_eq!(names, KINDS);
    for r in &end.readings {
        let lines = all
            .iter()
            .flat_map(|s| readings(s).lines().map(str::to_owned).collect::<Vec<_>>());
        let mine: Vec<String> = lines.filter(|l| l.split(' ').next() == Some(&r.what)).collect();
        let after = |n: usize| match n {
            0 => format!("{} 1", r.what),
            n => format!("{} {} after {n}", r.what, n + 1),
        };
        assert_eq!(mine, (0..mine.len()).map(after).collect::<Vec<_>>());
        assert_eq!(mine.len() as u64, r.read);
        assert_eq!(r.read + r.skipped + r.failed, all.len() as u64, "{r:?}");
        assert!(r.read > 0 && r.longest_ns > 0, "{r:?} {:?}", end.problems);
    }
}

/// What was known at each of these moments (CLOCK_MONOTONIC).
fn at(c: &Capture, moments: &[i64], netns: u64, cookie: &str) -> Vec<State> {
    let all: Vec<Second> = seconds(c).map(Result::unwrap).collect();
    let until = |ns: &i64| {
        let mut state = State::new();
        let before = all.iter().filter(|s| s.clock.monotonic_ns <= *ns);
        before.for_each(|s| lay(&mut state, s, netns, cookie));
        state
    };
    moments.iter().map(until).collect()
}

#[test]
fn seconds_before_a_trigger_tell_queues_sockets_and_namespaces_as_other_tools_do() {
    let Some((_, _one)) = tracefs_or_skip() else { return };
    for (tool, says) in [("tc", "-V"), ("ss", "-V"), ("ethtool", "--version")] {
        if Command::new(tool).arg(says).stdout(Stdio::null()).status().is_err() {
            println!("skipped: no {tool}");
            return;
        }
    }
    // On a machine that stands still a kind rests for longer than there is to wait.
    assert!((0..5).any(planted), "no flight had a reading of each kind in time");
}

/// Flies twice and compares; whether each kind was read often enough for that.
fn planted(again: u32) -> bool {
    let Some(pair) = Pair::new(&format!("fb{again}")) else {
        return true;
    };
    jam(&pair);
    let a = pair.0[0].clone();
    let netns = std::fs::metadata(format!("/run/netns/{a}")).unwrap().ino();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (receiver, _) = listener.accept().unwrap();
    let cookie = cookie(&receiver);
    let folder = Folder::new(&format!("beside{again}"));
    let mut f = flying(&[]);
    (f.max_bundles, f.after) = (2, Duration::from_millis(2_500));
    let (summary, (moments, said)) = fly(&folder.options(), &f, |written| {
        let (mut moments, mut said) = (vec![], vec![]);
        let mut look = || {
            std::thread::sleep(SOME_READINGS);
            moments.push(super::flight::mono());
            said.push(theirs(&a, &receiver));
        };
        look();
        send(&a, 60);
        sender.write_all(&[7; 1_234]).unwrap();
        look();
        send(&a, 500);
        sender.write_all(&[7; 4_321]).unwrap();
        look();
        trigger();
        written.recv_timeout(PATIENCE).unwrap();
        // Armed again: what was before is not in the next.
        send(&a, 7);
        look();
        trigger();
        (moments, said)
    });
    assert_eq!(summary.bundles, 2);
    let bundles = folder.bundles();
    let (c, m, end) = open(&bundles[0]);
    let (c2, _, end2) = open(&bundles[1]);
    let longest = end.readings.iter().chain(&end2.readings).map(|r| r.longest_ns).max();
    if longest.unwrap() > 15_000_000 {
        return false;
    }
    assert_chained(&c, &end);
    let ours = at(&c, &moments[..3], netns, &cookie);
    for (ours, theirs) in ours.iter().zip(&said) {
        for (name, value) in theirs {
            assert_eq!(
                ours.get(name),
                Some(value),
                "{name}: {ours:?} {theirs:?} {:?}",
                end.readings
            );
        }
    }
    // Something did grow: what is sent is on its way, or was refused.
    let grew = |name: &str, n: usize| said[n][name] - said[n - 1][name];
    for (state, sent) in said.iter().zip([0, 60, 560, 567]) {
        assert_eq!(state["Udp OutDatagrams"] + state["tbf drops"], sent, "{said:?}");
    }
    assert!(
        grew("tbf backlog_bytes", 1) > 1_000 && said[1]["tbf drops"] == 0,
        "{said:?}"
    );
    assert!(grew("tbf qlen", 2) > 100 && grew("tbf drops", 2) > 50 && said[2]["dev tx_packets"] < 60);
    assert_eq!((grew("socket rqueue", 1), grew("socket rqueue", 2)), (1_234, 4_321));
    assert!(grew("socket mem.rmem_alloc", 2) > 0 && said[2]["nic peer_ifindex"] > 0);
    // The trigger came after all of it, and readings went on after it.
    let noticed = flight_of(&m).trigger.clock.monotonic_ns;
    assert!(noticed > moments[2]);
    let after = seconds(&c)
        .map(Result::unwrap)
        .filter(|s| s.clock.monotonic_ns > noticed);
    assert!(
        after.map(|s| readings(&s)).any(|r| r.contains(" after ")),
        "{:?}",
        end.readings
    );
    assert_chained(&c2, &end2);
    let began = seconds(&c2).next().unwrap().unwrap().clock.monotonic_ns;
    assert!(began >= end.clock.monotonic_ns);
    let ours = at(&c2, &moments[3..], netns, &cookie);
    for (name, value) in &said[3] {
        assert_eq!(ours[0].get(name), Some(value), "{name}: {ours:?}");
    }
    assert_eq!(said[3]["tbf drops"] - said[2]["tbf drops"], 7);
    true
}

#[test]
#[ignore = "runs only as a child of the test below"]
fn child_flight_of_nobody() {
    become_nobody("DAC_OVERRIDE");
    let folder = std::path::PathBuf::from(std::env::var_os("NETMORTEM_TEST_OUT").unwrap());
    let mut o = super::harness::options(&folder.join("f.nmb"));
    o.profile = crate::options::Profile::Drops;
    o.command = sh("sleep 4; exit 3");
    let done = crate::flight::flight(&o, &flying(&["exit:3"]), &mut |_| {});
    std::process::exit(i32::from(done.is_err()));
}

/// Who may not enter other network namespaces has what is in his own.
#[test]
fn without_other_namespaces_its_own_is_read() {
    let Some((_, _one)) = tracefs_or_skip() else { return };
    let Some(pair) = Pair::new("fn") else { return };
    let folder = Folder::new("nobody");
    std::fs::set_permissions(&folder.0, std::fs::Permissions::from_mode(0o777)).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args([
        "--exact",
        "tests::flight_beside::child_flight_of_nobody",
        "--nocapture",
        "--ignored",
    ]);
    child.env("NETMORTEM_TEST_OUT", &folder.0).stdout(Stdio::null());
    assert!(child.status().unwrap().success());
    let (c, _, end) = open(&folder.bundles()[0]);
    assert!(c.complete, "{:?}", c.problems);
    let read = |what: &str| end.readings.iter().find(|r| r.what == what).unwrap().clone();
    assert!(read("sockets").read > 0, "{:?}", end.readings);
    // Those that may not be entered fail no reading.
    assert!(end.readings.iter().all(|r| r.failed == 0), "{:?}", end.readings);
    let all: Vec<Second> = seconds(&c).map(Result::unwrap).collect();
    let whats = all.iter().flat_map(|s| &s.texts).map(|(w, _)| w.as_str());
    assert!(whats.clone().any(|w| w == "sockets") && !whats.clone().any(|w| w.starts_with("netns/")));
    drop(pair);
}
