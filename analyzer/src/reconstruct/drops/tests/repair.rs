//! Repairs against a capture of packets at the sender.

use std::path::PathBuf;

/// The packets of the data connection as tshark reads them from the capture at the sender: what was sent again, with the first ACK
/// that reaches its end; times are of CLOCK_REALTIME.
fn repairs_by_tshark() -> Option<Vec<(i64, i64)>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../sample-data/sawtooth/sender.pcap.zst");
    let pcap = zstd::decode_all(std::fs::File::open(path).ok()?).ok()?;
    let path = std::env::temp_dir().join(format!("netmortem-sawtooth-{}.pcap", std::process::id()));
    std::fs::write(&path, pcap).ok()?;
    let fields = [
        "frame.time_epoch",
        "tcp.srcport",
        "tcp.seq",
        "tcp.len",
        "tcp.ack",
        "tcp.analysis.retransmission",
    ];
    let mut tshark = std::process::Command::new("tshark");
    tshark
        .arg("-n")
        .arg("-r")
        .arg(&path)
        .args(["-Y", "tcp.port == 35914", "-T", "fields"]);
    for field in fields {
        tshark.args(["-e", field]);
    }
    let out = tshark.output();
    let _ = std::fs::remove_file(&path);
    let text = String::from_utf8(out.ok().filter(|o| o.status.success())?.stdout).ok()?;
    let ns = |epoch: &str| -> i64 {
        let (s, part) = epoch.split_once('.').unwrap();
        s.parse::<i64>().unwrap() * 1_000_000_000 + format!("{part:0<9}")[..9].parse::<i64>().unwrap()
    };
    let rows: Vec<Vec<&str>> = text.lines().map(|l| l.split('\t').collect()).collect();
    let number = |text: &str| text.parse::<u64>().unwrap();
    let mut repairs = vec![];
    for (at, row) in rows
        .iter()
        .enumerate()
        .filter(|(_, r)| r[1] == "35914" && !r[5].is_empty())
    {
        let end = number(row[2]) + number(row[3]);
        let ack = rows[at..].iter().find(|r| r[1] == "5201" && number(r[4]) >= end);
        repairs.push((ns(row[0]), ns(ack.unwrap()[0])));
    }
    Some(repairs)
}

/// Each of the ten drops was repaired by one retransmission: the one that the capture at the sender shows, and at the time of its ACK.
#[test]
fn drops_are_repaired_when_the_capture_says() {
    let Some(repairs) = repairs_by_tshark() else {
        println!("skipped: tshark is not installed");
        return;
    };
    let f = crate::analyze(&crate::tests::sample("sawtooth/sawtooth.nmb"), &Default::default());
    let offset = f.capture.realtime_offset_ns.unwrap();
    let lost: Vec<_> = f.drops.iter().filter(|d| d.expected == Some(false)).collect();
    assert_eq!((lost.len(), repairs.len()), (10, 10));
    for (drop, (sent, acked)) in lost.iter().zip(repairs) {
        let repair = drop.repair.unwrap();
        let again = &f.retransmits[repair.retransmit as usize];
        // The event follows the frame; the capture's clock and the kernel's are read apart.
        assert!(
            (again.time_ns + offset - sent).abs() < 1_000_000,
            "{drop:?} {again:?} {sent}"
        );
        let ours = drop.time_ns + repair.after_ns.unwrap() + offset;
        assert!((ours - acked).abs() < 1_000_000, "{drop:?}: {ours}, {acked}");
    }
}
