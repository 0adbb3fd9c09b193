mod slices;

use netmortem_formats::join::join;
use netmortem_formats::{Bytes, Capture, open_bytes};
use serde_json::{Value, json};

use super::{MOST, Told};
use crate::export::bundle::{Change, rewrite};

fn rpc() -> Capture {
    let file = format!("{}/../sample-data/rpc/rpc.nmb", env!("CARGO_MANIFEST_DIR"));
    netmortem_formats::open_path(file.as_ref()).unwrap().unwrap()
}

fn with(notes: Value, problems: Value) -> Capture {
    let mut capture = rpc();
    capture.manifest.as_mut().unwrap()["notes"] = notes;
    capture.end.as_mut().unwrap()["problems"] = problems;
    capture
}

#[test]
fn notes_and_problems_are_told_once() {
    let capture = with(
        json!(["tcp_probe is missing", "buffers made smaller", 7]),
        json!(["buffers made smaller", "the disk was full"]),
    );
    let told = Told::sentences(&capture);
    assert_eq!(
        told.notes,
        ["tcp_probe is missing", "buffers made smaller", "the disk was full"]
    );
    assert!(told.slice.is_empty() && told.packets.is_empty());
    assert_eq!(Told::sentences(&rpc()), Told::default());
}

#[test]
fn a_hostile_number_of_sentences_is_counted() {
    let many: Vec<String> = (0..1_000).map(|i| format!("<{i}>")).collect();
    let told = Told::sentences(&with(json!(many), json!([])));
    assert_eq!((told.notes.len(), told.left_out), (MOST, 1_000 - MOST as u64));
    // The largest is a bundle of 4.6 MB; each compared with all before it, these are 20,000,000,000 comparisons, a hundred times those of the other.
    let took = |n: usize| {
        let many: Vec<String> = (0..n).map(|i| format!("a sentence {i}")).collect();
        let start = std::time::Instant::now();
        let told = Told::sentences(&with(json!(many), json!(many)));
        assert_eq!((told.notes.len(), told.left_out), (MOST, (n - MOST) as u64));
        let capture = join(
            with(json!(many), json!([])),
            &other("b.nmb", json!([]), json!(many)),
            None,
        )
        .unwrap();
        assert_eq!(Told::sentences(&capture).left_out, (2 * n - MOST) as u64);
        start.elapsed().as_secs_f64()
    };
    let (few, many) = (took(20_000), took(200_000));
    assert!(many < 50.0 * few, "{few} s, {many} s");
}

/// A cut in time is a slice, says how much of it is kept, and is no good recording however complete.
#[test]
fn a_cut_in_time_is_told() {
    let capture = rpc();
    let before = crate::analyze(&capture, &Default::default());
    let from = before.capture.start_ns.unwrap() as u64;
    let change = Change {
        window: Some((from, from + before.capture.duration_ns as u64 / 2)),
        ..Change::default()
    };
    let (bytes, done) = rewrite(&capture, &change, vec![]).unwrap();
    let slice = open_bytes("slice.nmb", Bytes::Owned(bytes)).unwrap();
    let facts = crate::analyze(&slice, &Default::default());
    let told = Told::of(&slice, &facts);
    let kept = format!(
        "This is a cut from rpc.nmb: {} of {} events",
        facts.capture.total_events, before.capture.total_events
    );
    assert_eq!(done.events, facts.capture.total_events);
    assert!(told.slice.len() == 1 && told.slice[0].starts_with(&kept), "{told:?}");
    assert!(told.slice[0].contains("counters of the host"), "{told:?}");
    assert!(
        told.notes.iter().any(|n| n.contains("members of the original")),
        "{told:?}"
    );
    let whole = crate::analyses::answer(&facts).quality;
    let answers = crate::analyses::answer_told(&facts, told.clone());
    assert_eq!(whole.level, crate::analyses::quality::Level::Good);
    assert_eq!(answers.quality.level, crate::analyses::quality::Level::Degraded);
    assert_eq!(
        answers.verdict[0].sentence,
        format!("A slice of a recording, not all of it. {}", whole.sentence)
    );
    assert_eq!(answers.quality.told, told);
}

/// Another recording of the same boot, of another instance.
fn other(source: &str, notes: Value, problems: Value) -> Capture {
    let mut more = with(notes, problems);
    more.streams.iter_mut().for_each(|s| s.instance = source.into());
    more.source = source.into();
    more
}

/// Of bundles that are joined, the notes of both, and whose they are.
#[test]
fn notes_of_a_joined_bundle_stay() {
    let lost = "CPU 1: 7 events lost; a larger --buffer-size loses fewer";
    let base = || with(json!(["one", "veth0: lost 5"]), json!([lost, "eth0: lost 5", "one"]));
    let own = ["one", "veth0: lost 5"].map(str::to_owned);
    let said = |file: &str, of: &[&str]| of.iter().map(|t| format!("{file}: {t}")).collect::<Vec<_>>();
    assert_eq!(
        Told::sentences(&base()).notes,
        ["one", "veth0: lost 5", lost, "eth0: lost 5"]
    );
    // Both lost the same, once with and once without an end of the other.
    let more = other("/tmp/b.nmb", json!(["two"]), json!([lost, "three"]));
    let of_base = said("rpc.nmb", &[lost, "eth0: lost 5"]);
    let told = Told::sentences(&join(base(), &more, None).unwrap());
    let of_more = said("b.nmb", &["two", lost, "three"]);
    assert_eq!(told.notes, [&own[..], &of_base, &of_more].concat());
    let mut cut = other("/tmp/b.nmb", json!(["two"]), json!([]));
    cut.end = None;
    let joined = join(base(), &cut, None).unwrap();
    assert_eq!(joined.end, None);
    let told = Told::sentences(&joined);
    assert_eq!(told.notes, [&own[..], &of_base, &said("b.nmb", &["two"])].concat());
    // And of files that are called the same.
    let joined = join(base(), &other("/a/rpc.nmb", json!([]), json!([lost])), None).unwrap();
    let told = Told::sentences(&join(joined, &other("/b/rpc.nmb", json!([]), json!([lost])), None).unwrap());
    let of_more = ["rpc.nmb (bundle 2)", "rpc.nmb (bundle 3)"].map(|f| said(f, &[lost]).concat());
    assert_eq!(told.notes, [&own[..], &of_base, &of_more].concat());
}

/// Redacted, a slice still says that it is one, how much of it is kept and how many drops were cut, and names nothing.
#[test]
fn a_redacted_slice_is_a_slice() {
    let notes = json!([
        "This is a cut from secret.nmb to flow 10.9.8.7:443 of 3: 20 of 50 events kept; 30 events that are proven to be of other flows or devices were cut (30 skb:kfree_skb).",
        "Drops in this slice: 5 of what was asked for, 2 of others, because the rows of what was asked for need them, and 7 of which nothing tells whose they are (7 NO_SOCKET at secret): these may be of others; 9 of others were cut.",
        "b.nmb: Drops in this slice: what the secret writer wrote",
        "secret",
    ]);
    let change = Change {
        redact: true,
        ..Change::default()
    };
    let (bytes, _) = rewrite(&with(notes, json!([])), &change, vec![]).unwrap();
    let new = open_bytes("red.nmb", Bytes::Owned(bytes)).unwrap();
    let told = Told::sentences(&new);
    assert_eq!(
        told.slice,
        [
            "This is a cut from another recording: 20 of 50 events; by what it was cut was left out of this redacted bundle. Nothing is to be concluded of what was cut.",
            "Drops in this slice: 5 of what was asked for, 2 of others, and 7 of which nothing tells whose they are: these may be of others; 9 of others were cut.",
            "Drops in this slice: how many were cut was left out of this redacted bundle.",
        ]
    );
    assert!(
        told.notes[0].starts_with("1 notes of the recorder were left out"),
        "{told:?}"
    );
    let facts = crate::analyze(&new, &Default::default());
    let all = new.manifest.unwrap()["notes"].to_string();
    assert!(!all.contains("secret") && !all.contains("10.9.8.7"), "{all}");
    let answers = crate::analyses::answer_told(&facts, told);
    assert_eq!(answers.quality.level, crate::analyses::quality::Level::Degraded);
}
