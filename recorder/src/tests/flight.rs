//! Flights against this kernel, with triggers that are planted: is the planted moment in the bundle, do before and after
//! hold, does it arm again, does nothing stay behind.

use std::path::PathBuf;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use netmortem_formats::Capture;
use netmortem_formats::bundle::{End, Flight, Manifest, Second, seconds};

use super::harness::{PATIENCE, on_cpu, open, options, sh, tracefs_or_skip, transfer};
use super::kernel_state::{assert_restored, kernel_state};
use super::overflow::{Overflow, overflow};
use super::reading::{assert_between, timestamps, totals};
use crate::clock::now_ns;
use crate::flight::{FlightEvent, FlightOptions, FlightSummary, On, flight};
use crate::options::{Profile, RecordOptions};

pub fn mono() -> i64 {
    now_ns(rustix::time::ClockId::Monotonic)
}

pub fn flying(on: &[&str]) -> FlightOptions {
    FlightOptions {
        on: on.iter().map(|s| On::parse(s).unwrap()).collect(),
        // A machine that stands still for a while does not move the plant out of the window.
        before: Duration::from_secs(30),
        after: Duration::from_millis(500),
        max_bundles: 1,
        max_bundles_is_default: false,
        every: Duration::ZERO,
    }
}

/// A folder of its own; gone when the test is.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("netmortem-flight-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
    pub fn options(&self) -> RecordOptions {
        let mut o = options(&self.0.join("f.nmb"));
        o.profile = Profile::Drops;
        o.duration = Some(Duration::from_secs(90));
        o
    }
    pub fn bundles(&self) -> Vec<PathBuf> {
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

/// Plants again until it is noticed: a reading may lie in the middle of a plant, or late.
pub fn until_noticed(written: &mpsc::Receiver<()>) -> Vec<Overflow> {
    let mut all = vec![overflow()];
    while all.len() < 60 && written.recv_timeout(Duration::from_secs(2)).is_err() {
        all.push(overflow());
    }
    all
}

/// Flies while `plant` runs beside it, from when it is armed. `plant` is told of each bundle that is complete.
pub fn fly<T: Send>(
    o: &RecordOptions,
    f: &FlightOptions,
    plant: impl FnOnce(&mpsc::Receiver<()>) -> T + Send,
) -> (FlightSummary, T) {
    let (armed, is_armed) = mpsc::channel();
    std::thread::scope(|scope| {
        let planter = scope.spawn(move || {
            is_armed.recv_timeout(PATIENCE).unwrap();
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

pub fn flight_of(m: &Manifest) -> Flight {
    m.flight.clone().unwrap()
}

/// What holds for every bundle of a flight that was switched on after `on`.
pub fn hold(c: &Capture, m: &Manifest, end: &End, on: i64) {
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
    // `armed` is read when the rings are on already: events before it are not promised, and may be there.
    assert!(f.armed.monotonic_ns > on);
    assert_between(c, on, end.clock.monotonic_ns);
    let all: Vec<Second> = seconds(c).map(Result::unwrap).collect();
    assert!(all.iter().any(|s| s.clock.monotonic_ns <= t));
    assert_eq!(m.clocks.start, all[0].clock);
}

#[test]
fn a_planted_drop_is_in_the_bundle_and_it_arms_again_unless_it_comes_too_soon() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let state = kernel_state(&root);
    // A machine that stands still in the middle of a plant has moved its end out of the window.
    assert!((0..5).any(|_| planted_drops()), "no plant was done in time");
    assert_restored(&root, &state);
}

/// Flies and plants; whether both plants lie in their windows.
fn planted_drops() -> bool {
    let folder = Folder::new("drop");
    let on = mono();
    let mut f = flying(&["drop:SOCKET_RCVBUFF"]);
    (f.max_bundles, f.every) = (2, Duration::from_secs(10));
    let (summary, planted) = fly(&folder.options(), &f, |written| {
        let first = overflow();
        written.recv_timeout(PATIENCE).unwrap();
        // Too soon, as long as the ten seconds are not over; then at last not.
        let mut later = Vec::new();
        loop {
            later.push(overflow());
            if written.recv_timeout(Duration::from_millis(500)).is_ok() {
                return (first, later);
            }
            assert!(later.len() < 80, "it never armed again");
        }
    });
    assert_eq!((summary.bundles, summary.stop_reason.as_str()), (2, "max_bundles"));
    let bundles = folder.bundles();
    assert_eq!(bundles.len(), 2);
    let noticed = |path| flight_of(&open(path).1).trigger.clock.monotonic_ns;
    let (first, second) = (noticed(&bundles[0]), noticed(&bundles[1]));
    assert!(second - first >= 10_000_000_000 - 100_000_000, "{first} {second}");
    // What fired is the last that began before it was noticed.
    let again = *planted.1.iter().rfind(|o| o.from <= second).unwrap();
    let mut all_in = true;
    let ended = open(&bundles[0]).2.clock.monotonic_ns;
    for (n, (path, plant)) in bundles.iter().zip([planted.0, again]).enumerate() {
        let (c, m, end) = open(path);
        hold(&c, &m, &end, [on, ended][n]);
        let f = flight_of(&m);
        assert_eq!(
            (f.sequence, f.trigger.on.as_str()),
            (n as u64 + 1, "drop:SOCKET_RCVBUFF")
        );
        assert!(
            f.trigger.evidence[0].contains("kfree_skb:") && f.trigger.evidence[0].ends_with("reason: SOCKET_RCVBUFF")
        );
        assert!(f.trigger.clock.monotonic_ns >= plant.from, "{plant:?}");
        if plant.is_in(&f) {
            plant.assert_recorded(&c);
        } else {
            all_in = false;
        }
    }
    let (_, second, _) = open(&bundles[1]);
    let (_, first, end) = open(&bundles[0]);
    assert!(flight_of(&second).armed.monotonic_ns > end.clock.monotonic_ns);
    assert_eq!(flight_of(&first).suppressed, 0);
    all_in
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
    let on = mono();
    let (summary, planted) = fly(&o, &f, until_noticed);
    assert_eq!(summary.bundles, 1);
    let (c, m, end) = open(&folder.bundles()[0]);
    hold(&c, &m, &end, on);
    let t = flight_of(&m).trigger;
    assert_eq!(
        (t.on.as_str(), t.threshold_per_s),
        ("counter:Udp.RcvbufErrors>100/s", Some(100))
    );
    let (count, interval) = (t.count.unwrap(), t.interval_ns.unwrap());
    assert!(count > 100 * interval / 1_000_000_000, "{t:?}");
    assert_eq!(t.evidence, [format!("Udp.RcvbufErrors +{}", t.count.unwrap())]);
    // The plants that were over when it was noticed are in the window, which begins 30 s before.
    assert!(t.clock.monotonic_ns > planted[0].from);
    for plant in planted.iter().filter(|p| p.is_in(&flight_of(&m))) {
        plant.assert_recorded(&c);
    }
    // A limit that is not reached writes nothing, and the limit of time ends the flight.
    f.on.pop();
    o.duration = Some(Duration::from_secs(3));
    let (summary, _) = fly(&o, &f, |_| overflow());
    assert_eq!((summary.bundles, summary.stop_reason.as_str()), (0, "duration"));
    assert_eq!(folder.bundles().len(), 1);
    assert_restored(&root, &state);
}

/// A number of bundles that nobody asked for is no reason to end a command.
#[test]
fn a_flight_that_wrote_its_bundles_lets_its_command_run_on_unless_it_was_told_how_many() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let state = kernel_state(&root);
    let me = rustix::process::getpid();
    for is_default in [true, false] {
        let folder = Folder::new(&format!("all-{is_default}"));
        let done = folder.0.join("done");
        let mut o = folder.options();
        o.command = sh(&format!("sleep 10; : > {}", done.display()));
        let mut f = flying(&[]);
        (f.max_bundles_is_default, f.after) = (is_default, Duration::from_millis(100));
        let mut said = Vec::new();
        let summary = flight(&o, &f, &mut |e| match e {
            FlightEvent::Armed(_) => rustix::process::kill_process(me, rustix::process::Signal::USR1).unwrap(),
            FlightEvent::Note(note) => said.push((note.to_string(), kernel_state(&root) == state)),
            _ => {}
        });
        let summary = summary.unwrap();
        assert_eq!((summary.bundles, summary.stop_reason.as_str()), (1, "max_bundles"));
        assert_eq!(done.exists(), is_default);
        // Once, while it runs.
        let expected = "stopped after 1 bundle, the limit when no --max-bundles is given; nobody asked for that limit: the command runs on, and is waited for";
        let expected = is_default.then(|| (expected.to_owned(), true));
        assert_eq!((said, summary.sentence), (Vec::from_iter(expected), None));
    }
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
    let flag = std::env::temp_dir().join(format!("netmortem-flight-{}-go", std::process::id()));
    let _ = std::fs::remove_file(&flag);
    o.command = sh(&format!("until [ -e {} ]; do sleep 0.05; done; exit 3", flag.display()));
    let on = mono();
    let (summary, ()) = fly(&o, &f, |written| {
        let me = rustix::process::getpid();
        rustix::process::kill_process(me, rustix::process::Signal::USR1).unwrap();
        written.recv_timeout(PATIENCE).unwrap();
        std::fs::write(&flag, "").unwrap();
    });
    std::fs::remove_file(flag).unwrap();
    assert_eq!((summary.bundles, summary.stop_reason.as_str()), (2, "command"));
    let bundles = folder.bundles();
    let (c, m, end) = open(&bundles[0]);
    hold(&c, &m, &end, on);
    assert_eq!(flight_of(&m).trigger.sentence, "SIGUSR1 came");
    let ended = end.clock.monotonic_ns;
    let (c, m, end) = open(&bundles[1]);
    hold(&c, &m, &end, ended);
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
    // So long at least, and so many transfers at least, all on one CPU.
    let busy = |for_ms: u64| {
        let work = || {
            let (mut n, started) = (0, Instant::now());
            while started.elapsed() < Duration::from_millis(for_ms) || n < 80 {
                transfer(20_000);
                std::thread::sleep(Duration::from_millis(15));
                n += 1;
            }
        };
        let allowed = crate::host::cpus_online();
        assert!(allowed.iter().any(|cpu| on_cpu(*cpu, work).is_some()));
        let me = rustix::process::getpid();
        rustix::process::kill_process(me, rustix::process::Signal::USR1).unwrap();
    };
    let on = mono();
    fly(&o, &f, |_| busy(2000));
    let (c, m, end) = open(&folder.bundles()[0]);
    hold(&c, &m, &end, on);
    let start = flight_of(&m).window_start_ns;
    let cpus = end.flight.unwrap().cpus;
    assert!(cpus.iter().map(|c| c.cut_events).sum::<u64>() > 100, "{cpus:?}");
    // What is older than the window is in the first sub-buffer of its CPU: 4 KiB hold fewer than 256 events.
    let old = timestamps(&c).filter(|t| *t < start).count();
    assert!(old < 256 * cpus.len(), "{old}");
    // A ring of 64 KiB cannot hold 80 transfers.
    o.buffer_kib = Some(64);
    f.before = Duration::from_secs(60);
    let on = mono();
    let (summary, ()) = fly(&o, &f, |_| busy(1500));
    assert_eq!(summary.bundles, 1);
    let (c, m, end) = open(&folder.bundles()[1]);
    hold(&c, &m, &end, on);
    let cpus = end.flight.unwrap().cpus;
    let short: Vec<_> = cpus.iter().filter(|c| !c.reaches_back).collect();
    assert!(!short.is_empty() && summary.bundles == 1);
    let overwritten: u64 = short.iter().map(|c| c.overwritten).sum();
    assert!(overwritten > 1000, "{overwritten}");
    for cpu in short {
        let first = i64::try_from(cpu.first_ts.unwrap()).unwrap();
        assert!(cpu.overwritten > 0 && first > flight_of(&m).window_start_ns);
        // The kernel's own mark in the first sub-buffer says the same.
        let marked = totals(&c)[&cpu.cpu];
        assert!(
            marked.lost == cpu.overwritten || marked.uncounted > 0,
            "{marked:?} {cpu:?}"
        );
        let sentence = format!("CPU {}: its ring ", cpu.cpu);
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
    if !root.join("events/irq/softirq_entry/hist").exists() {
        for on in ["softirq-delay=1ms", "read-wait=100ms"] {
            let e = flight(&folder.options(), &flying(&[on]), &mut |_| {});
            let e = e.unwrap_err().to_string();
            assert!(
                e.starts_with(&format!("--on {on}: ")) && e.contains("CONFIG_HIST_TRIGGERS"),
                "{e}"
            );
        }
    }
    let mut o = folder.options();
    o.output = crate::Output::Stdout;
    assert!(flight(&o, &flying(&[]), &mut |_| {}).is_err());
    assert!(folder.bundles().is_empty());
    assert_restored(&root, &state);
}
