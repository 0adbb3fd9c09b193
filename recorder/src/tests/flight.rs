//! Flights against this kernel, with triggers that are planted: is the planted moment in the bundle, do before and after
//! hold, does it arm again, does nothing stay behind.

use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use netmortem_formats::Capture;
use netmortem_formats::bundle::{End, Flight, Manifest, Second, seconds};

use super::kernel_state::{instances_of, kernel_state};
use super::live::{open, options, sh, tracefs_or_skip, tracing_is_on, transfer, wait_for};
use super::reading::{payloads, timestamps, totals};
use crate::clock::now_ns;
use crate::flight::{FlightEvent, FlightOptions, FlightSummary, On, flight};
use crate::options::{Profile, RecordOptions};

fn mono() -> i64 {
    now_ns(rustix::time::ClockId::Monotonic)
}

fn flying(on: &[&str]) -> FlightOptions {
    FlightOptions {
        on: on.iter().map(|s| On::parse(s).unwrap()).collect(),
        before: Duration::from_secs(2),
        after: Duration::from_millis(500),
        max_bundles: 1,
        every: Duration::ZERO,
    }
}

/// A folder of its own; gone when the test is.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("netmortem-flight-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
    fn options(&self) -> RecordOptions {
        let mut o = options(&self.0.join("f.nmb"));
        o.profile = Profile::Drops;
        o.duration = Some(Duration::from_secs(30));
        o
    }
    fn bundles(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut out: Vec<_> = entries.map(|e| e.unwrap().path()).collect();
        out.sort();
        out
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Flies while `plant` runs beside it, from when it is armed. `plant` is told of each bundle that is complete.
fn fly<T: Send>(
    o: &RecordOptions,
    f: &FlightOptions,
    plant: impl FnOnce(&mpsc::Receiver<()>) -> T + Send,
) -> (FlightSummary, T) {
    let (armed, is_armed) = mpsc::channel();
    std::thread::scope(|scope| {
        let planter = scope.spawn(move || {
            is_armed.recv_timeout(Duration::from_secs(30)).unwrap();
            plant(&is_armed)
        });
        let summary = flight(o, f, &mut |e| {
            if matches!(e, FlightEvent::Armed(_) | FlightEvent::Written(_)) {
                let _ = armed.send(());
            }
        });
        (summary.unwrap(), planter.join().unwrap())
    })
}

/// Overflows a UDP socket; returns the times around it, ns.
fn overflow() -> (i64, i64) {
    let to = UdpSocket::bind("127.0.0.1:0").unwrap();
    let from = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = mono();
    for _ in 0..2000 {
        from.send_to(&[7; 500], to.local_addr().unwrap()).unwrap();
    }
    (at, mono())
}

fn flight_of(m: &Manifest) -> Flight {
    m.flight.clone().unwrap()
}

/// What holds for every bundle of a flight.
fn hold(c: &Capture, m: &Manifest, end: &End) {
    assert!(c.complete, "{:?}", c.problems);
    let f = flight_of(m);
    let t = f.trigger.clock.monotonic_ns;
    let before = i64::try_from(f.before_ns).unwrap();
    assert_eq!(f.window_start_ns, (t - before).max(f.armed.monotonic_ns));
    if end.stop_reason == "trigger" {
        assert!(end.clock.monotonic_ns - t >= i64::try_from(f.after_ns).unwrap());
    }
    // The kernel's count of what was read, less what was cut, is what is in the bundle.
    let totals = totals(c);
    for (s, cpu) in end.cpu_stats.iter().zip(&end.flight.as_ref().unwrap().cpus) {
        assert_eq!(s.cpu, cpu.cpu);
        assert_eq!(
            (s.entries, s.read_events),
            (0, totals.get(&s.cpu).map_or(0, |t| t.records))
        );
    }
    let times: Vec<i64> = timestamps(c).collect();
    assert!(
        times
            .iter()
            .all(|t| *t >= f.armed.monotonic_ns - 1_000_000 && *t <= end.clock.monotonic_ns + 1_000_000)
    );
    let all: Vec<Second> = seconds(c).map(Result::unwrap).collect();
    assert!(all.iter().any(|s| s.clock.monotonic_ns <= t));
    assert_eq!(m.clocks.start, all[0].clock);
}

#[test]
fn a_planted_drop_is_in_the_bundle_and_it_arms_again_unless_it_comes_too_soon() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let state = kernel_state(&root);
    let folder = Folder::new("drop");
    let mut f = flying(&["drop:SOCKET_RCVBUFF"]);
    (f.max_bundles, f.every) = (2, Duration::from_secs(3));
    let ((summary, planted), planted_twice) = {
        let (s, p) = fly(&folder.options(), &f, |written| {
            let first = overflow();
            written.recv_timeout(Duration::from_secs(20)).unwrap();
            // Too soon.
            overflow();
            std::thread::sleep(Duration::from_secs(3));
            (first, overflow())
        });
        ((s, p.0), p.1)
    };
    assert_eq!((summary.bundles, summary.stop_reason.as_str()), (2, "max_bundles"));
    assert_eq!(kernel_state(&root), state);
    let bundles = folder.bundles();
    assert_eq!(bundles.len(), 2);
    for (n, (path, (from, to))) in bundles.iter().zip([planted, planted_twice]).enumerate() {
        let (c, m, end) = open(path);
        hold(&c, &m, &end);
        let f = flight_of(&m);
        assert_eq!(
            (f.sequence, f.trigger.on.as_str()),
            (n as u64 + 1, "drop:SOCKET_RCVBUFF")
        );
        assert!(
            f.trigger.evidence[0].contains("kfree_skb:") && f.trigger.evidence[0].ends_with("reason: SOCKET_RCVBUFF")
        );
        // Noticed at once, not at the next second.
        let noticed = f.trigger.clock.monotonic_ns;
        assert!(noticed >= from && noticed - from < 900_000_000, "{}", noticed - from);
        // The planted drops themselves.
        let id = c.event_formats.iter().find(|e| e.name == "kfree_skb").unwrap().id;
        let planted = payloads(&c, id).len();
        assert!(planted >= 1000, "{planted}");
        assert!(timestamps(&c).filter(|t| (from..=to).contains(t)).count() >= 1000);
    }
    let (_, second, _) = open(&bundles[1]);
    let (_, first, end) = open(&bundles[0]);
    assert!(flight_of(&second).armed.monotonic_ns > end.clock.monotonic_ns);
    assert_eq!(flight_of(&first).suppressed, 0);
}

#[test]
fn rates_of_counters_trigger_above_their_limit_only() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let state = kernel_state(&root);
    let folder = Folder::new("rate");
    let mut o = folder.options();
    // 2000 datagrams, some hundred of which fit.
    let mut f = flying(&["counter:Udp.RcvbufErrors>100000000/s", "counter:Udp.RcvbufErrors>100/s"]);
    f.max_bundles = 1;
    let (summary, (from, _)) = fly(&o, &f, |_| overflow());
    assert_eq!(summary.bundles, 1);
    let (c, m, end) = open(&folder.bundles()[0]);
    hold(&c, &m, &end);
    let t = flight_of(&m).trigger;
    assert_eq!(
        (t.on.as_str(), t.threshold_per_s),
        ("counter:Udp.RcvbufErrors>100/s", Some(100))
    );
    assert!(t.count.unwrap() >= 1000, "{t:?}");
    assert_eq!(t.evidence, [format!("Udp.RcvbufErrors +{}", t.count.unwrap())]);
    let noticed = t.clock.monotonic_ns;
    assert!(noticed > from && noticed - from < 3_000_000_000);
    assert!(timestamps(&c).any(|t| t >= from));
    // A limit that is not reached writes nothing, and the limit of time ends the flight.
    f.on.pop();
    o.duration = Some(Duration::from_secs(3));
    let (summary, _) = fly(&o, &f, |_| overflow());
    assert_eq!((summary.bundles, summary.stop_reason.as_str()), (0, "duration"));
    assert_eq!(folder.bundles().len(), 1);
    assert_eq!(kernel_state(&root), state);
}

#[test]
fn the_exit_of_a_command_and_a_signal_trigger() {
    let Some((_, _one)) = tracefs_or_skip() else { return };
    let folder = Folder::new("exit");
    let mut o = folder.options();
    o.command = sh("sleep 0.5; exit 3");
    let mut f = flying(&["exit:4"]);
    f.max_bundles = 9;
    let (summary, ()) = fly(&o, &f, |_| ());
    assert_eq!((summary.bundles, summary.stop_reason.as_str()), (0, "command"));
    f.on = vec![On::parse("exit:3").unwrap()];
    // Even right after another bundle.
    f.every = Duration::from_secs(60);
    let (summary, ()) = fly(&o, &f, |_| {
        let me = rustix::process::getpid();
        rustix::process::kill_process(me, rustix::process::Signal::USR1).unwrap();
    });
    assert_eq!((summary.bundles, summary.stop_reason.as_str()), (2, "command"));
    let bundles = folder.bundles();
    let (c, m, end) = open(&bundles[0]);
    hold(&c, &m, &end);
    assert_eq!(flight_of(&m).trigger.sentence, "SIGUSR1 came");
    let (c, m, end) = open(&bundles[1]);
    hold(&c, &m, &end);
    assert_eq!(
        (flight_of(&m).trigger.exit_status, end.command.unwrap().exit_code),
        (Some(3), Some(3))
    );
}

#[test]
fn what_is_too_old_is_cut_and_a_ring_that_is_too_small_says_so() {
    let Some((_, _one)) = tracefs_or_skip() else { return };
    let folder = Folder::new("window");
    let mut o = folder.options();
    o.profile = Profile::Full;
    o.buffer_kib = Some(16 << 10);
    let mut f = flying(&[]);
    f.before = Duration::from_millis(600);
    f.after = Duration::from_millis(100);
    let busy = |for_ms: u64| {
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(for_ms) {
            transfer(20_000);
            std::thread::sleep(Duration::from_millis(20));
        }
        let me = rustix::process::getpid();
        rustix::process::kill_process(me, rustix::process::Signal::USR1).unwrap();
    };
    fly(&o, &f, |_| busy(2000));
    let (c, m, end) = open(&folder.bundles()[0]);
    hold(&c, &m, &end);
    let start = flight_of(&m).window_start_ns;
    let cpus = end.flight.unwrap().cpus;
    assert!(cpus.iter().map(|c| c.cut_events).sum::<u64>() > 100, "{cpus:?}");
    // What is older than the window is in the first sub-buffer of its CPU: 4 KiB hold fewer than 256 events.
    let old = timestamps(&c).filter(|t| *t < start).count();
    assert!(old < 256 * cpus.len(), "{old}");
    // A ring of 64 KiB cannot hold two seconds of this.
    o.buffer_kib = Some(64);
    f.before = Duration::from_secs(2);
    let (summary, ()) = fly(&o, &f, |_| busy(1500));
    assert_eq!(summary.bundles, 1);
    let (c, m, end) = open(&folder.bundles()[1]);
    hold(&c, &m, &end);
    let cpus = end.flight.unwrap().cpus;
    let short: Vec<_> = cpus.iter().filter(|c| !c.reaches_back).collect();
    assert!(!short.is_empty());
    for cpu in short {
        let first = i64::try_from(cpu.first_ts.unwrap()).unwrap();
        assert!(cpu.overwritten > 0 && first > flight_of(&m).window_start_ns);
        // The kernel's own mark in the first sub-buffer says the same.
        let marked = totals(&c)[&cpu.cpu];
        assert!(
            marked.lost == cpu.overwritten || marked.uncounted > 0,
            "{marked:?} {cpu:?}"
        );
        let sentence = format!("CPU {}: its ring reaches back", cpu.cpu);
        assert!(
            end.problems.iter().any(|p| p.starts_with(&sentence)),
            "{:?}",
            end.problems
        );
    }
}

#[test]
fn what_cannot_work_is_refused_before_it_flies() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let state = kernel_state(&root);
    let folder = Folder::new("refused");
    for (on, says) in [
        ("drop:NO_SUCH_REASON", "it knows: "),
        ("counter:NoSuchCounter>1/s", "no such counter"),
        ("exit:1", "no command"),
    ] {
        let e = flight(&folder.options(), &flying(&[on]), &mut |_| {})
            .unwrap_err()
            .to_string();
        assert!(e.starts_with(&format!("--on {on}: ")) && e.contains(says), "{e}");
    }
    let mut o = folder.options();
    o.output = crate::Output::Stdout;
    assert!(flight(&o, &flying(&[]), &mut |_| {}).is_err());
    assert_eq!(folder.bundles(), [PathBuf::new(); 0]);
    assert_eq!(kernel_state(&root), state);
}

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
    c.args(["--exact", "tests::flight::child_flight", "--nocapture", "--ignored"]);
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
    assert_eq!(instances_of(&root, pid).len(), 2, "kill -9 cannot clean up");
    let mut o = folder.options();
    o.duration = Some(Duration::from_millis(100));
    flight(&o, &flying(&[]), &mut |_| {}).unwrap();
    assert_eq!(instances_of(&root, pid), [""; 0]);
    assert_eq!(kernel_state(&root), state);
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
    // Each retransmission that was counted is in the window.
    assert!(payloads(&c, id).len() as u64 >= t.count.unwrap() / 2, "{t:?}");
}
