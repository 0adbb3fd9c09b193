//! A flight's bundle, recorded here and now, through the analyzer: how a queue and a socket of another namespace grew in the seconds before the trigger,
//! against tc, ss and /proc there.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use netmortem_analyzer::counters::over_time::{self, OverTime};
use netmortem_recorder::flight::flight;
use netmortem_recorder::{FlightEvent, FlightOptions, Output, Profile, RecordOptions};
use netmortem_tests::open;

/// Long enough for a kind that took some ms to be read again.
const SOME_READINGS: Duration = Duration::from_millis(4_500);

fn sh(script: &str) -> Option<String> {
    let out = Command::new("bash").args(["-c", script]).output().ok()?;
    out.status
        .success()
        .then(|| String::from_utf8_lossy(&out.stdout).into_owned())
}

/// A namespace with a device behind which nobody answers; gone when the test is.
struct Space(String);

impl Drop for Space {
    fn drop(&mut self) {
        sh(&format!("ip netns del {}", self.0));
    }
}

impl Space {
    fn inside(&self, script: &str) -> Option<String> {
        sh(&format!("ip netns exec {} bash -c '{script}'", self.0))
    }

    fn new() -> Option<Space> {
        let space = Space(format!("nmit{}flight", std::process::id()));
        sh(&format!("ip netns add {}", space.0))?;
        space.inside(
            "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 && ip link add d0 type veth peer name d1 && ip addr add 10.9.7.1/24 dev d0 && ip link set d0 up && ip link set d1 up && \
             ip neigh add 10.9.7.2 lladdr 02:09:07:00:00:02 nud permanent dev d0 && tc qdisc add dev d0 root tbf rate 8bit burst 1600 limit 9000 && tc -V && ss -V",
        )?;
        Some(space)
    }

    /// Drops of the queue, datagrams sent.
    fn says(&self) -> [u64; 2] {
        let tc = self.inside("tc -s -j qdisc show dev d0").unwrap();
        let tc: serde_json::Value = serde_json::from_str(&tc).unwrap();
        let snmp = self.inside("cat /proc/net/snmp").unwrap();
        let udp: Vec<Vec<&str>> = snmp
            .lines()
            .filter(|l| l.starts_with("Udp: "))
            .map(|l| l.split(' ').collect())
            .collect();
        let at = udp[0].iter().position(|n| *n == "OutDatagrams").unwrap();
        [tc[0]["drops"].as_u64().unwrap(), udp[1][at].parse().unwrap()]
    }

    fn send(&self, datagrams: u32) {
        self.inside(&format!(
            "for i in $(seq {datagrams}); do echo 0123456789 > /dev/udp/10.9.7.2/9; done 2>/dev/null; true"
        ));
    }
}

fn options(path: &Path) -> RecordOptions {
    RecordOptions {
        output: Output::File(path.into()),
        force: false,
        duration: Some(Duration::from_secs(90)),
        profile: Profile::Drops,
        filters: Default::default(),
        extra_kprobes: false,
        pcap: Default::default(),
        perf: Default::default(),
        buffer_kib: None,
        max_buffers_kib: None,
        max_bytes: None,
        // The load of this test is in its own process.
        max_cpu_percent: Some(100_000),
        command: vec![],
        command_line: vec!["test".into()],
    }
}

/// Flies while `plant` runs beside it, from when it is armed.
fn fly<T: Send>(path: &Path, plant: impl FnOnce(&Receiver<()>) -> T + Send) -> Result<T, String> {
    let how = FlightOptions {
        on: vec![],
        before: Duration::from_secs(60),
        after: Duration::from_millis(200),
        max_bundles: 1,
        max_bundles_is_default: false,
        every: Duration::ZERO,
    };
    std::thread::scope(|s| {
        let (armed, is_armed) = channel();
        let flies = s.spawn(move || {
            flight(&options(path), &how, &mut |e| {
                if matches!(e, FlightEvent::Armed(_)) {
                    let _ = armed.send(());
                }
            })
        });
        let planted = is_armed.recv().is_ok().then(|| plant(&is_armed));
        let done = flies.join().unwrap().map_err(|e| e.to_string())?;
        assert_eq!(done.bundles, 1);
        Ok(planted.unwrap())
    })
}

/// By how much a counter of a namespace rose until the trigger.
fn rose(of: &OverTime, netns: u64, (source, name): (&str, &str), until: i64) -> u64 {
    let mine = of.rows.iter().filter(|r| {
        let k = &r.counter;
        // What a queue below the root drops is in the root's.
        (k.netns, k.source, k.name.as_str()) == (Some(netns), source, name)
            && (source != "qdisc" || k.of.ends_with(" root"))
            && r.to_ns.is_some_and(|to| to <= until)
    });
    let rises = mine.map(|r| {
        // Nothing reaches back to before the first reading.
        assert!(r.from_ns.is_some() && r.whole, "{r:?}");
        r.rise.unwrap()
    });
    rises.sum()
}

#[test]
fn growth_before_a_trigger_is_what_the_tools_say() {
    let folders = ["/sys/kernel/tracing/instances", "/sys/kernel/debug/tracing/instances"];
    if !rustix::process::geteuid().is_root() || !folders.iter().any(|f| Path::new(f).is_dir()) {
        println!("skipped: not root, or no tracefs");
        return;
    }
    let Some(space) = Space::new() else {
        println!("skipped: no network namespace with a veth and a tbf can be made here, or no tc or ss");
        return;
    };
    // On a machine that stands still, or is busy with the tests beside this one, a kind rests for longer than there is to wait.
    assert!(
        (0..10).any(|_| planted(&space)),
        "no flight had a reading of each kind in time"
    );
}

/// Flies and compares; whether each kind was read often enough for that.
fn planted(space: &Space) -> bool {
    let netns = std::fs::metadata(format!("/run/netns/{}", space.0)).unwrap().ino();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (receiver, _) = listener.accept().unwrap();
    let (local, peer) = (
        receiver.local_addr().unwrap().to_string(),
        receiver.peer_addr().unwrap().to_string(),
    );
    let path: PathBuf = std::env::temp_dir().join(format!("netmortem-it-flight-{}.nmb", std::process::id()));
    let flown = fly(&path, |_| {
        std::thread::sleep(SOME_READINGS);
        let before = space.says();
        space.send(400);
        sender.write_all(&[7; 4_321]).unwrap();
        std::thread::sleep(SOME_READINGS);
        let after = space.says();
        let ss = sh(&format!("ss -tnHO src {local} dst {peer}")).unwrap();
        let unread: u64 = ss.split_whitespace().nth(1).unwrap().parse().unwrap();
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::USR1).unwrap();
        (before, after, unread)
    });
    let (before, after, unread) = flown.unwrap();
    let bundle = path.with_file_name(format!("netmortem-it-flight-{}-000001.nmb", std::process::id()));
    let capture = open(&bundle).unwrap();
    std::fs::remove_file(bundle).unwrap();
    let readings = capture.end.as_ref().unwrap()["readings"].clone();
    let longest = readings
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["longest_ns"].as_u64().unwrap());
    if longest.max() > Some(15_000_000) {
        return false;
    }
    let until = capture.manifest.as_ref().unwrap()["flight"]["trigger"]["clock"]["monotonic_ns"]
        .as_i64()
        .unwrap();
    let told = over_time::of(&capture);
    assert!(told.unknown.is_empty() && told.joined == 1, "{:?}", told.unknown);
    let grew = [("qdisc", "drops"), ("snmp", "UdpOutDatagrams")].map(|c| rose(&told, netns, c, until));
    assert_eq!(grew, [after[0] - before[0], after[1] - before[1]]);
    assert!(grew[0] > 100, "{grew:?}");
    // The socket, as it was at first and before the trigger.
    let mine: Vec<_> = told
        .sockets
        .iter()
        .filter(|r| r.at_ns <= until && (&r.ends.src, &r.ends.dst) == (&local, &peer))
        .collect();
    assert_eq!((mine[0].numbers[0], mine[0].state.as_str()), (Some(0), "established"));
    assert_eq!((mine.last().unwrap().numbers[0], unread), (Some(4_321), 4_321));
    true
}
