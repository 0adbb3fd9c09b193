//! Flights in processes of their own: two at once, one that is killed, one in a network namespace with a short queue.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use netmortem_formats::Capture;
use netmortem_formats::bundle::{End, Manifest, Second, seconds};
use netmortem_formats::event_format::IntAccess;

use super::flight::{Folder, flight_of, fly, flying, hold, mono};
use super::harness::{open, tracefs_or_skip, tracing_is_on, transfer, wait_for};
use super::kernel_state::{assert_restored, instances_of, kernel_state};
use super::overflow::overflow;
use super::reading::{each_record, payloads};
use crate::flight::flight;

#[test]
#[ignore = "runs only as a child of the tests below"]
fn child_flight() {
    let folder = Folder(std::env::var_os("NETMORTEM_TEST_OUT").unwrap().into());
    let on = std::env::var("NETMORTEM_TEST_ON").unwrap();
    let o = folder.options();
    let planted = |plant: fn(&Receiver<()>)| fly(&o, &flying(&[&on]), plant).0.bundles == 1;
    let ok = match std::env::var("NETMORTEM_TEST_PLANT").as_deref() {
        Err(_) => flight(&o, &flying(&[&on]), &mut |_| {}).is_ok(),
        // Until a reading of the counters has seen enough of it.
        Ok("transfer") => planted(|written| {
            while written.try_recv().is_err() {
                transfer(400_000);
            }
        }),
        Ok("silence") => planted(|_| {
            // Nobody answers: the SYN is sent again when its timer expires, after a second.
            let to = std::net::SocketAddr::from(([10, 98, 7, 7], 9));
            assert!(TcpStream::connect_timeout(&to, Duration::from_secs(5)).is_err());
        }),
        Ok("full") => planted(|_| {
            // Nobody reads: the window closes.
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let _server = listener.accept().unwrap();
            client.set_write_timeout(Some(Duration::from_secs(2))).unwrap();
            while client.write_all(&[7; 1 << 16]).is_ok() {}
        }),
        Ok(other) => panic!("{other}"),
    };
    std::process::exit(i32::from(!ok));
}

fn spawn(through: &[&str], folder: &Folder, on: &str, plant: Option<&str>) -> Child {
    let me = std::env::current_exe().unwrap();
    let mut argv: Vec<std::ffi::OsString> = through.iter().map(Into::into).collect();
    argv.push(me.into());
    let mut c = Command::new(&argv[0]);
    c.args(&argv[1..]);
    c.args([
        "--exact",
        "tests::flight_processes::child_flight",
        "--nocapture",
        "--ignored",
    ]);
    c.env("NETMORTEM_TEST_OUT", &folder.0).env("NETMORTEM_TEST_ON", on);
    if let Some(plant) = plant {
        c.env("NETMORTEM_TEST_PLANT", plant);
    }
    c.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn signal(child: &Child, s: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, s).unwrap();
}

#[test]
fn two_flights_at_once() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let folder = Folder::new("two");
    let on = mono();
    let mut a = spawn(&[], &folder, "drop:SOCKET_RCVBUFF", None);
    let mut b = spawn(&[], &folder, "drop:SOCKET_RCVBUFF", None);
    for child in [&a, &b] {
        wait_for("no flight", || tracing_is_on(&root, child.id()));
    }
    // Both see the same drops, and take different names.
    wait_for("not both wrote", || {
        overflow();
        std::thread::sleep(Duration::from_millis(300));
        folder.bundles().len() == 2
    });
    assert!(a.wait().unwrap().success() && b.wait().unwrap().success());
    for (path, child) in folder.bundles().iter().zip([&a, &b]) {
        let (c, m, end) = open(path);
        hold(&c, &m, &end, on);
        assert_eq!(instances_of(&root, child.id()), [""; 0]);
    }
}

#[test]
fn what_a_killed_flight_left_is_removed_by_the_next() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let state = kernel_state(&root);
    let folder = Folder::new("killed");
    let mut child = spawn(&[], &folder, "drop:SOCKET_RCVBUFF", None);
    let pid = child.id();
    wait_for("no flight", || {
        tracing_is_on(&root, pid) && instances_of(&root, pid).len() == 2
    });
    signal(&child, rustix::process::Signal::KILL);
    child.wait().unwrap();
    // Two are left, unless another recorder of this machine was the next one.
    let mut o = folder.options();
    o.duration = Some(Duration::from_millis(100));
    flight(&o, &flying(&[]), &mut |_| {}).unwrap();
    assert_eq!(instances_of(&root, pid), [""; 0]);
    assert_restored(&root, &state);
}

/// Runs a command of iproute2 and says whether it worked.
fn ip(args: &[&str]) -> bool {
    Command::new(args[0])
        .args(&args[1..])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

/// Flies in a network namespace of its own, whose counters nobody else moves, while `plant` is done there. None, and the
/// reason printed, where `setup` (lines for ip or tc) is refused.
fn planted(name: &str, setup: &[&str], on: &str, plant: &str) -> Option<(Capture, Manifest, End)> {
    let namespace = format!("nmflight{}{name}", std::process::id());
    if !ip(&["ip", "netns", "add", &namespace]) {
        println!("skipped: no network namespace can be made");
        return None;
    }
    let up = "ip link set lo mtu 1500 up";
    let done = [up].iter().chain(setup).all(|line| {
        let (tool, rest) = line.split_once(' ').unwrap();
        let words: Vec<&str> = [tool, "-n", &namespace].into_iter().chain(rest.split(' ')).collect();
        ip(&words)
    });
    let folder = Folder::new(name);
    let net = format!("--net=/run/netns/{namespace}");
    let on_since = mono();
    let flown = done.then(|| {
        let mut child = spawn(&["nsenter", &net], &folder, on, Some(plant));
        child.wait().unwrap().success()
    });
    ip(&["ip", "netns", "del", &namespace]);
    match flown {
        Some(ok) => assert!(ok, "no bundle"),
        None => {
            println!("skipped: not possible here: {setup:?}");
            return None;
        }
    }
    // The child's own Folder is gone with it only when it is dropped; exit() drops nothing.
    let (c, m, end) = open(&folder.bundles()[0]);
    hold(&c, &m, &end, on_since);
    assert_eq!(flight_of(&m).trigger.on, on);
    Some((c, m, end))
}

#[test]
fn a_timeout_triggers() {
    let Some((_, _one)) = tracefs_or_skip() else { return };
    // Out by lo, where it is nobody's.
    let route = "ip route add 10.98.7.7 dev lo src 127.0.0.1";
    let Some((c, m, _)) = planted("rto", &[route], "own:rto", "silence") else {
        return;
    };
    let t = flight_of(&m).trigger;
    assert_eq!(t.evidence, [format!("TcpExt.TCPTimeouts +{}", t.count.unwrap())]);
    // The plant waits for five seconds, in which the timer expires four times at most, and an idle machine looks each second.
    assert!((1..=6).contains(&t.count.unwrap()), "{t:?}");
    // The SYN itself, sent again.
    let format = c.event_formats.iter().find(|e| e.name == "tcp_retransmit_skb").unwrap();
    let dport = IntAccess::bind(format, "dport", c.endian).unwrap();
    assert!(payloads(&c, format.id).iter().any(|p| dport.u64(p) == Some(9)));
}

#[test]
fn a_window_that_closes_triggers() {
    let Some((_, _one)) = tracefs_or_skip() else { return };
    let Some((_, m, _)) = planted("zero", &[], "own:zero-window", "full") else {
        return;
    };
    let t = flight_of(&m).trigger;
    let known = |e: &String| e.starts_with("TcpExt.TCPToZeroWindowAdv +") || e.starts_with("TcpExt.TCPWinProbe +");
    assert!(!t.evidence.is_empty() && t.evidence.iter().all(known), "{t:?}");
}

#[test]
fn retransmits_of_a_short_queue_trigger() {
    let Some((_, _one)) = tracefs_or_skip() else { return };
    let tbf = "tc qdisc add dev lo root tbf rate 8mbit burst 4kb limit 9000";
    let Some((c, m, _)) = planted("tbf", &[tbf], "own:retransmits>2/s", "transfer") else {
        return;
    };
    let t = flight_of(&m).trigger;
    let id = c
        .event_formats
        .iter()
        .find(|e| e.name == "tcp_retransmit_skb")
        .unwrap()
        .id;
    let count = t.count.unwrap();
    assert_eq!(t.evidence, [format!("Tcp.RetransSegs +{count}")]);
    // The readings of the counters, which begin at 0 in a new namespace: each is read after its clock.
    let counter = |s: &Second, file: &str, group: &str, name: &str| -> u64 {
        let text = &s.texts.iter().find(|(w, _)| w == file).unwrap().1;
        let text = String::from_utf8_lossy(text);
        let mut lines = text.lines().filter_map(|l| l.strip_prefix(group));
        let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
        let at = names.split(' ').position(|n| n == name).unwrap();
        values.split(' ').nth(at).unwrap().parse().unwrap()
    };
    let noticed = t.clock.monotonic_ns;
    let all: Vec<Second> = seconds(&c).map(Result::unwrap).collect();
    let read: Vec<&Second> = all.iter().filter(|s| s.clock.monotonic_ns <= noticed).collect();
    let [.., before, last] = &read[..] else {
        panic!("{} readings", read.len())
    };
    let again = |s: &Second| counter(s, "net/snmp", "Tcp: ", "RetransSegs");
    assert_eq!(again(last) - again(before), count);
    assert_eq!(
        u64::try_from(last.clock.monotonic_ns - before.clock.monotonic_ns).unwrap(),
        t.interval_ns.unwrap()
    );
    // The counter counts segments, the event fires once for each skb, of 45 segments at most, after the counter has grown, and not
    // for what the device refused.
    let refused = counter(last, "net/netstat", "TcpExt: ", "TCPRetransFail");
    let until = |to: i64| {
        let mut n = 0u64;
        each_record(&c, |ts, p| {
            n += u64::from(c.endian.u16(p, 0) == Some(id) && i64::try_from(ts).unwrap() <= to);
        });
        n
    };
    let (surely, perhaps) = (until(last.clock.monotonic_ns), until(noticed));
    let total = again(last);
    assert!(
        surely <= total && total <= (perhaps + refused) * 45,
        "{total} {surely} {perhaps} {refused}"
    );
}
