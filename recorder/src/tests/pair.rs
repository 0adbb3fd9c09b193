//! Two network namespaces to send packets between.

use std::process::{Command, Stdio};

use super::harness::wait_for;

/// Runs ip with these words; whether it did.
pub fn ip(args: &str) -> bool {
    let done = Command::new("ip").args(args.split(' ')).stderr(Stdio::null()).status();
    done.is_ok_and(|s| s.success())
}

/// Two namespaces joined by a veth (v0 10.9.0.1, v1 10.9.0.2) that know each other's address; removed when dropped.
pub struct Pair(pub [String; 2]);

const MACS: [&str; 2] = ["02:09:00:00:00:01", "02:09:00:00:00:02"];

impl Pair {
    pub fn new(label: &str) -> Option<Pair> {
        let p = Pair(["a", "b"].map(|s| format!("rec-pcap-{label}{}-{s}", std::process::id())));
        let [a, b] = &p.0;
        let made = ip(&format!("netns add {a}"))
            && ip(&format!("netns add {b}"))
            && ip(&format!(
                "link add v0 address {} netns {a} type veth peer name v1 address {} netns {b}",
                MACS[0], MACS[1]
            ));
        if !made {
            println!("skipped: no namespaces joined by a veth can be made here");
            return None;
        }
        for (ns, dev, address) in [(a, "v0", "10.9.0.1/24"), (b, "v1", "10.9.0.2/24")] {
            assert!(ip(&format!("-n {ns} addr add {address} dev {dev}")));
            for dev in [dev, "lo"] {
                assert!(ip(&format!("-n {ns} link set {dev} up")));
            }
        }
        // Nothing is lost or late by address resolution; and until the kernel has noticed the carrier, what is sent is dropped.
        for (ns, dev, other, mac) in [(a, "v0", "10.9.0.2", MACS[1]), (b, "v1", "10.9.0.1", MACS[0])] {
            assert!(ip(&format!(
                "-n {ns} neigh add {other} lladdr {mac} dev {dev} nud permanent"
            )));
            wait_for("the veth is not up", || {
                let shown = Command::new("ip")
                    .args(["-n", ns, "link", "show", dev])
                    .output()
                    .unwrap();
                let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
                shown.contains(" state UP ") && !shown.contains("qdisc noop ")
            });
        }
        Some(p)
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for ns in &self.0 {
            ip(&format!("netns del {ns}"));
        }
    }
}
