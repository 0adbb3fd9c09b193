//! A flight in the host's network namespace sees what another one counts: a container's own counters.

use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use super::flight::{Folder, flight_of, fly, flying};
use super::harness::{open, tracefs_or_skip};
use super::pair::ip;

/// Datagrams for a port that nobody has, in each plant: by `Udp.NoPorts` of that namespace.
const PLANTED: u64 = 300;

/// A network namespace; gone when the test is.
struct Space(String);

impl Drop for Space {
    fn drop(&mut self) {
        ip(&format!("netns del {}", self.0));
    }
}

impl Space {
    fn inside(&self, script: &str) -> String {
        let of = ["netns", "exec", &self.0, "bash", "-c", script];
        let out = Command::new("ip").args(of).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    fn no_ports(&self) -> u64 {
        let snmp = self.inside("cat /proc/self/net/snmp");
        let mut lines = snmp.lines().filter(|l| l.starts_with("Udp:"));
        let names: Vec<&str> = lines.next().unwrap().split_ascii_whitespace().collect();
        let at = names.iter().position(|n| *n == "NoPorts").unwrap();
        lines
            .next()
            .unwrap()
            .split_ascii_whitespace()
            .nth(at)
            .unwrap()
            .parse()
            .unwrap()
    }
}

#[test]
fn counters_of_another_namespace_trigger() {
    let Some((_, _one)) = tracefs_or_skip() else { return };
    let space = Space(format!("nmflight{}other", std::process::id()));
    if !ip(&format!("netns add {}", space.0)) {
        println!("skipped: no network namespace can be made");
        return;
    }
    space.inside("ip link set lo up");
    let folder = Folder::new("other");
    let mut o = folder.options();
    let on = "counter:Udp.NoPorts>40/s";
    let plant = |written: &mpsc::Receiver<()>| {
        for _ in 0..40 {
            space.inside(&format!(
                "for i in $(seq {PLANTED}); do echo x > /dev/udp/127.0.0.1/9; done 2>/dev/null; true"
            ));
            if written.recv_timeout(Duration::from_secs(1)).is_ok() {
                break;
            }
        }
    };
    // Where only the recorder's own is asked for they are not seen.
    o.duration = Some(Duration::from_secs(4));
    let own = format!("own:{on}");
    let (summary, ()) = fly(&o, &flying(&[&own]), |_| {
        space.inside(&format!(
            "for i in $(seq {PLANTED}); do echo x > /dev/udp/127.0.0.1/9; done 2>/dev/null; true"
        ));
    });
    assert_eq!((summary.bundles, summary.stop_reason.as_str()), (0, "duration"));

    o.duration = Some(Duration::from_secs(90));
    let (summary, ()) = fly(&o, &flying(&[on]), plant);
    assert_eq!(summary.bundles, 1);
    let (_, m, _) = open(&folder.bundles()[0]);
    let t = flight_of(&m).trigger;
    assert_eq!((t.on.as_str(), t.threshold_per_s), (on, Some(40)));
    let count = t.count.unwrap();
    assert_eq!(t.evidence, [format!("Udp.NoPorts in netns:{} +{count}", space.0)]);
    // No more than were sent, by the namespace's own counter.
    let all = space.no_ports();
    assert!(
        all.is_multiple_of(PLANTED) && count <= all && count > 0,
        "{count} of {all}"
    );
}
