//! Flights in processes of their own: two at once, one that is killed, one in a network namespace with a short queue.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::flight::{Folder, flight_of, fly, flying, hold, overflow};
use super::harness::{open, tracefs_or_skip, tracing_is_on, transfer, wait_for};
use super::kernel_state::{assert_restored, instances_of, kernel_state};
use super::reading::each_record;
use crate::flight::flight;

#[test]
#[ignore = "runs only as a child of the tests below"]
fn child_flight() {
    let folder = Folder(std::env::var_os("NETMORTEM_TEST_OUT").unwrap().into());
    let on = std::env::var("NETMORTEM_TEST_ON").unwrap();
    let o = folder.options();
    let ok = match std::env::var_os("NETMORTEM_TEST_TRANSFER") {
        None => flight(&o, &flying(&[&on]), &mut |_| {}).is_ok(),
        Some(_) => {
            let (s, ()) = fly(&o, &flying(&[&on]), |_| transfer(400_000));
            s.bundles == 1
        }
    };
    std::process::exit(i32::from(!ok));
}

fn spawn(through: &[&str], folder: &Folder, on: &str) -> Child {
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
    if !through.is_empty() {
        c.env("NETMORTEM_TEST_TRANSFER", "1");
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
    let mut a = spawn(&[], &folder, "drop:SOCKET_RCVBUFF");
    let mut b = spawn(&[], &folder, "drop:SOCKET_RCVBUFF");
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
        hold(&c, &m, &end);
        assert_eq!(instances_of(&root, child.id()), [""; 0]);
    }
}

#[test]
fn what_a_killed_flight_left_is_removed_by_the_next() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let state = kernel_state(&root);
    let folder = Folder::new("killed");
    let mut child = spawn(&[], &folder, "drop:SOCKET_RCVBUFF");
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

#[test]
fn retransmits_of_a_short_queue_trigger() {
    let Some((_, _one)) = tracefs_or_skip() else { return };
    let name = format!("nmflight{}", std::process::id());
    let path = format!("/run/netns/{name}");
    let net = format!("--net={path}");
    if !ip(&["ip", "netns", "add", &name]) {
        println!("skipped: no network namespace can be made");
        return;
    }
    let lo = ["ip", "-n", &name, "link", "set", "lo", "mtu", "1500", "up"];
    let tbf = "qdisc add dev lo root tbf rate 8mbit burst 4kb limit 9000";
    let tbf: Vec<&str> = ["tc", "-n", &name].into_iter().chain(tbf.split(' ')).collect();
    let made = ip(&lo) && ip(&tbf) && Path::new(&path).exists();
    let folder = Folder::new("tbf");
    let flown = made.then(|| {
        spawn(&["nsenter", &net], &folder, "retransmits>2/s")
            .wait()
            .unwrap()
            .success()
    });
    ip(&["ip", "netns", "del", &name]);
    match flown {
        None => println!("skipped: no tbf here"),
        Some(ok) => assert!(ok),
    }
    if flown.is_none() {
        return;
    }
    // The child's own Folder is gone with it only when it is dropped; exit() drops nothing.
    let (c, m, end) = open(&folder.bundles()[0]);
    hold(&c, &m, &end);
    let t = flight_of(&m).trigger;
    assert_eq!(t.on, "retransmits>2/s");
    let id = c
        .event_formats
        .iter()
        .find(|e| e.name == "tcp_retransmit_skb")
        .unwrap()
        .id;
    // The counter counts segments, the event fires once for each skb, of several segments: so many at most. What was sent
    // again near the two readings may be on either side of them.
    let count = t.count.unwrap();
    assert_eq!(t.evidence, [format!("Tcp.RetransSegs +{count}")]);
    let noticed = t.clock.monotonic_ns;
    let from = noticed - i64::try_from(t.interval_ns.unwrap()).unwrap();
    let between = |from: i64, to: i64| {
        let mut n = 0u64;
        each_record(&c, |ts, p| {
            let at = i64::try_from(ts).unwrap();
            n += u64::from(c.endian.u16(p, 0) == Some(id) && from <= at && at <= to);
        });
        n
    };
    const NEAR: i64 = 200_000_000;
    let (surely, perhaps) = (
        between(from + NEAR, noticed - NEAR),
        between(from - NEAR, noticed + NEAR),
    );
    assert!(surely <= count && count <= perhaps * 45, "{count} {surely} {perhaps}");
}
