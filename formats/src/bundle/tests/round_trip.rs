//! What is written is read; GNU tar, zstd and sha256sum agree with both.

use std::io::Write;
use std::process::{Command, Stdio};

use super::*;
use crate::bundle::{Flight, FlightCpu, FlightEnd, Slice, Trigger, Whose, verify};

#[test]
fn what_is_written_is_read() {
    let c = open(bundle());
    assert_eq!(c.problems, []);
    assert!(c.complete);
    assert_eq!(
        (c.format, c.format_version.as_str(), c.host.hostname.as_str()),
        ("bundle", "1", "host")
    );
    assert_eq!(events(&c, 0), (0..200).collect::<Vec<_>>());
    assert_eq!(events(&c, 1), (0..40).collect::<Vec<_>>());
    // A CPU that was drained and stayed silent is a stream without chunks.
    assert_eq!(
        c.streams.iter().map(|s| (s.cpu, s.chunks.len())).collect::<Vec<_>>(),
        [(0, 3), (1, 1), (2, 0)]
    );
    assert!(
        c.streams
            .iter()
            .all(|s| s.clock == "mono" && s.instance == "i" && s.page.size == 4096)
    );
    assert_eq!(
        c.event_formats.iter().map(|f| (f.key(), f.id)).collect::<Vec<_>>(),
        [("sys:probe".to_owned(), 77)]
    );
    assert_eq!(c.kallsyms.resolve(0xffff_ffff_8100_0104), Some(("middle", 4)));
    assert_eq!(c.clock_pairs, [pair(10), pair(50), pair(90)]);
    let comms = [(1, "init"), (7, "new name"), (9, "a b")].map(|(pid, comm)| (pid, comm.to_owned()));
    assert_eq!(c.comms, comms);
    let texts: Vec<_> = c
        .snapshots
        .iter()
        .filter(|s| s.what == "net/netstat")
        .map(|s| (s.when, &s.text[..]))
        .collect();
    assert_eq!(
        texts,
        [
            (SnapshotWhen::Start, &b"before"[..]),
            (SnapshotWhen::End, &b"after"[..])
        ]
    );
    assert_eq!(c.cpu_stats, end().cpu_stats);
    assert_eq!(verify(&c), []);
}

#[test]
fn two_writers_give_the_same_bytes() {
    assert_eq!(bundle(), bundle());
}

#[test]
fn verify_finds_a_flipped_bit_that_opening_does_not_look_for() {
    let mut bytes = bundle();
    let c = open(bytes.clone());
    let m = c
        .members
        .iter()
        .find(|m| m.name == "snapshots/net/netstat/start")
        .unwrap();
    bytes[usize::try_from(m.range.start).unwrap()] ^= 1;
    let c = open(bytes);
    assert!(c.complete);
    let found: Vec<_> = verify(&c).into_iter().map(|p| p.member).collect();
    assert_eq!(found, ["snapshots/net/netstat/start"]);
}

#[test]
fn a_format_from_the_future_is_refused() {
    let m = Manifest {
        format_version: FORMAT_VERSION + 1,
        ..manifest()
    };
    let bytes = BundleWriter::new(Vec::new(), &m)
        .unwrap()
        .finish(End::default())
        .unwrap()
        .0;
    let e = crate::open_bytes("test", Bytes::Owned(bytes)).unwrap_err();
    assert_eq!(
        (e.kind, e.need, e.have),
        (crate::FormatErrorKind::UnsupportedVersion, 2, 1)
    );
}

fn pipe(command: &mut Command, input: &[u8]) -> Vec<u8> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
    let feeder = std::thread::spawn(move || {
        let _ = stdin.write_all(&input);
    });
    let out = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    assert!(out.status.success());
    out.stdout
}

fn has(tool: &str) -> bool {
    let found = Command::new(tool)
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok();
    if !found {
        println!("skipped: no {tool} here");
    }
    found
}

#[test]
fn tar_lists_it_and_zstd_and_sha256sum_read_its_members() {
    if !(has("tar") && has("zstd") && has("sha256sum")) {
        return;
    }
    let bytes = bundle();
    let c = open(bytes.clone());
    let listed = String::from_utf8(pipe(Command::new("tar").args(["tf", "-"]), &bytes)).unwrap();
    assert_eq!(
        listed.lines().collect::<Vec<_>>(),
        c.members.iter().map(|m| m.name.as_str()).collect::<Vec<_>>()
    );
    let verbose = String::from_utf8(pipe(Command::new("tar").args(["tvf", "-"]), &bytes)).unwrap();
    assert!(verbose.lines().all(|l| l.starts_with("-rw------- 0/0 ")), "{verbose}");

    let name = "trace/cpu0/000001.pages.zst";
    let frame = pipe(Command::new("tar").args(["xOf", "-", name]), &bytes);
    let pages = pipe(Command::new("zstd").args(["-d", "-c"]), &frame);
    assert_eq!(pages, [sub_buffer(0, 100), sub_buffer(100, 60)].concat());
    let sum = String::from_utf8(pipe(&mut Command::new("sha256sum"), &frame)).unwrap();
    let end: End = serde_json::from_value(c.end.clone().unwrap()).unwrap();
    let stated = end.members.iter().find(|m| m.name == name).unwrap();
    assert_eq!(
        (sum.split(' ').next().unwrap(), frame.len() as u64),
        (stated.sha256.as_str(), stated.size)
    );
}

#[test]
fn a_bundle_unpacked_and_packed_again_by_tar_still_opens() {
    if !has("tar") {
        return;
    }
    let folder = std::env::temp_dir().join(format!("netmortem-repack-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let bytes = bundle();
    let whole = open(bytes.clone());
    let names = whole.members.iter().map(|m| m.name.clone() + "\n").collect::<String>();
    pipe(Command::new("tar").arg("xf").arg("-").arg("-C").arg(&folder), &bytes);
    for format in ["gnu", "ustar", "pax", "v7"] {
        let list = folder.join("names");
        std::fs::write(&list, &names).unwrap();
        let mut tar = Command::new("tar");
        tar.arg("-C")
            .arg(&folder)
            .arg(format!("--format={format}"))
            .args(["-cf", "-", "-T"])
            .arg(&list);
        let c = open(pipe(&mut tar, b""));
        assert!(c.complete, "{format}: {}", messages(&c));
        assert_eq!(verify(&c), []);
        assert_eq!(events(&c, 0), events(&whole, 0));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn long_names_are_read_in_all_their_spellings() {
    let name = format!("snapshots/{}/start", "long/".repeat(60) + "x");
    let mut w = BundleWriter::new(Vec::new(), &manifest()).unwrap();
    w.append(&name, b"text").unwrap();
    let c = open(w.finish(End::default()).unwrap().0);
    assert_eq!(c.members[1].name, name);
    assert_eq!(c.snapshots[0].text, b"text");

    let mut tar = tar::Builder::new(Vec::new());
    let mut h = tar::Header::new_ustar();
    h.set_size(2);
    h.set_mode(0o600);
    tar.append_data(&mut h, "manifest.json", &b"{}"[..]).unwrap();
    tar.append_pax_extensions([("path", name.as_bytes())]).unwrap();
    h.set_size(4);
    tar.append_data(&mut h, "short", &b"text"[..]).unwrap();
    let (members, _) = super::super::layout::walk(&tar.into_inner().unwrap());
    assert_eq!(
        members.iter().map(|m| m.name.as_str()).collect::<Vec<_>>(),
        ["manifest.json", &name]
    );
}

#[test]
fn a_flight_is_in_the_manifest_and_the_end_and_an_ordinary_recording_has_no_such_key() {
    let trigger = Trigger {
        on: "drops>100/s".into(),
        clock: pair(50),
        count: Some(812),
        interval_ns: Some(1_000_000_000),
        threshold_per_s: Some(100),
        evidence: vec!["Udp.RcvbufErrors +812".into()],
        ..Default::default()
    };
    let m = Manifest {
        flight: Some(Flight {
            on: vec!["drops>100/s".into()],
            window_start_ns: 40,
            trigger,
            ..Default::default()
        }),
        ..manifest()
    };
    let e = End {
        stop_reason: "trigger".into(),
        flight: Some(FlightEnd {
            cpus: vec![FlightCpu {
                cpu: 1,
                first_ts: Some(45),
                overwritten: 9,
                ..Default::default()
            }],
        }),
        ..end()
    };
    let bytes = BundleWriter::new(Vec::new(), &m).unwrap().finish(e.clone()).unwrap().0;
    let c = open(bytes);
    let read: Manifest = serde_json::from_value(c.manifest.unwrap()).unwrap();
    assert_eq!(read, m);
    let read: End = serde_json::from_value(c.end.unwrap()).unwrap();
    assert_eq!(read.flight, e.flight);
    for plain in [
        serde_json::to_value(manifest()).unwrap(),
        serde_json::to_value(end()).unwrap(),
    ] {
        assert!(plain.get("flight").is_none());
    }
}

/// What a slice says comes back; nonsense in its place makes nothing else unreadable, and says nothing but that it is one.
#[test]
fn a_slice_is_written_and_read_and_nonsense_is_not_known() {
    let whose = Whose {
        own: 1,
        others_kept: 2,
        unknown: 3,
        others_cut: u64::MAX,
    };
    let slice = Slice {
        time: Some([0, u64::MAX]),
        subject: vec!["flow :443".into()],
        events_kept: Some(5),
        events_cut: Some(0),
        packets: Some(whose),
        drops: Some(whose),
        counted_before_time: true,
        lost_at_unknown_time: Some(u64::MAX - 1),
    };
    let with = |slice: serde_json::Value, redacted: serde_json::Value| -> Manifest {
        let mut m = serde_json::to_value(manifest()).unwrap();
        assert!(m.get("slice").is_none() && m.get("redacted").is_none());
        m["slice"] = slice;
        m["redacted"] = redacted;
        serde_json::from_value(m).unwrap()
    };
    let json = serde_json::to_value(&slice).unwrap();
    assert_eq!(with(json.clone(), true.into()).slice, Some(slice.clone()));
    assert!(with(json, true.into()).redacted);
    for nonsense in [
        serde_json::json!("x"),
        serde_json::json!(-5),
        serde_json::json!([[1, 2]]),
        serde_json::json!({"time": [-1, 5], "subject": {"a": 1}, "events_cut": 1.5, "drops": {"own": "1"}}),
        serde_json::json!({"lost_at_unknown_time": -1}),
    ] {
        let read = with(nonsense.clone(), nonsense);
        assert_eq!((read.slice, read.redacted), (Some(Slice::default()), false));
        assert_eq!(read.host, manifest().host);
    }
    assert_eq!(with(serde_json::Value::Null, false.into()).slice, None);
    // Cut once more: what stays is common, what was cut adds up and does not turn round.
    let more = Slice {
        time: Some([7, 9]),
        events_kept: Some(3),
        events_cut: Some(u64::MAX),
        ..Slice::default()
    };
    let both = slice.clone().then(more.clone());
    assert_eq!(
        (both.time, both.events_kept, both.events_cut),
        (Some([7, 9]), Some(3), Some(u64::MAX))
    );
    assert_eq!(
        (&both.subject, both.drops, both.counted_before_time),
        (&slice.subject, slice.drops, true)
    );
    assert_eq!(both.lost_at_unknown_time, slice.lost_at_unknown_time);
    let again = both.then(Slice {
        time: None,
        events_cut: None,
        ..slice.clone()
    });
    assert_eq!((again.subject.len(), again.events_cut), (2, None));
    assert_eq!(again.lost_at_unknown_time, Some(u64::MAX));
    assert_eq!(again.drops.unwrap().others_cut, u64::MAX);
    // Windows that have nothing in common are no window of a file with events: the one that was cut last is true.
    let wrong = Slice {
        time: Some([20, 30]),
        ..Slice::default()
    };
    assert_eq!(wrong.then(more).time, Some([7, 9]));
}
