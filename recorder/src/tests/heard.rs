//! What the kernel announces, in the bundles of recordings and of flights.

use std::time::Duration;

use netmortem_formats::Capture;
use netmortem_formats::bundle::{NOTICES, seconds};

use super::flight::{Folder, fly, flying};
use super::harness::{open, options, tracefs_or_skip};
use crate::{Profile, record};

fn sh(script: &str) -> bool {
    let done = std::process::Command::new("sh").args(["-c", script]).status();
    done.is_ok_and(|s| s.success())
}

/// A device of this host, gone with it.
struct Device(&'static str);

impl Device {
    fn new(name: &'static str) -> Device {
        _ = sh(&format!("ip link del {name} 2>/dev/null"));
        assert!(sh(&format!("ip link add {name} type veth peer name {name}p")));
        Device(name)
    }

    /// A change that is like no other.
    fn set(&self, length: u32) {
        assert!(sh(&format!("ip link set {} txqueuelen {length}", self.0)));
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        _ = sh(&format!("ip link del {} 2>/dev/null", self.0));
    }
}

/// Lengths of the queue of `dev` that were announced, in their order, and that all of them have one, ascending, time.
fn lengths(c: &Capture, dev: &str) -> Vec<u32> {
    let (mut found, mut last) = (vec![], 0i64);
    for second in seconds(c).map(Result::unwrap) {
        for (_, text) in second.texts.iter().filter(|(what, _)| what == NOTICES) {
            for line in std::str::from_utf8(text).unwrap().lines() {
                let of = |key: &str| line.split(' ').find_map(|w| w.strip_prefix(key)?.strip_prefix('='));
                let at: i64 = of("at").unwrap().parse().unwrap();
                assert!(at >= last, "{line}");
                last = at;
                if of("what") == Some("link") && of("name") == Some(dev) {
                    found.push(of("txqlen").unwrap().parse().unwrap());
                }
            }
        }
    }
    found
}

#[test]
fn a_recording_has_what_was_announced_until_its_end() {
    let Some((_, _one)) = tracefs_or_skip() else { return };
    let folder = Folder::new("heard");
    let device = Device::new("nmheard0");
    let mut o = options(&folder.0.join("r.nmb"));
    o.profile = Profile::Drops;
    o.duration = Some(Duration::from_millis(3_500));
    std::thread::scope(|s| {
        s.spawn(|| {
            // One each while nothing is read, and one after the last reading.
            for n in 0..5 {
                std::thread::sleep(Duration::from_millis(if n == 0 { 1_300 } else { 500 }));
                device.set(700 + n);
            }
        });
        record(&o, &mut |_| {}).unwrap();
    });
    let (c, ..) = open(&folder.0.join("r.nmb"));
    assert_eq!(lengths(&c, "nmheard0"), [700, 701, 702, 703, 704]);
}

/// Before and after its trigger; and nothing that was before its window.
#[test]
fn a_flight_has_what_was_announced_in_its_window() {
    let Some((_, _one)) = tracefs_or_skip() else { return };
    let folder = Folder::new("heard-flight");
    let device = Device::new("nmheard1");
    let mut f = flying(&[]);
    (f.before, f.after) = (Duration::from_secs(3), Duration::from_millis(1_500));
    fly(&folder.options(), &f, |_| {
        std::thread::sleep(Duration::from_millis(500));
        device.set(800);
        std::thread::sleep(Duration::from_millis(5_000));
        device.set(801);
        std::thread::sleep(Duration::from_millis(500));
        let me = rustix::process::getpid();
        rustix::process::kill_process(me, rustix::process::Signal::USR1).unwrap();
        std::thread::sleep(Duration::from_millis(900));
        device.set(802);
    });
    let (c, ..) = open(&folder.bundles()[0]);
    assert_eq!(lengths(&c, "nmheard1"), [801, 802]);
}
