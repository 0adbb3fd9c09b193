//! What slices say of themselves: the field of the manifest, and of older ones the notes.

use netmortem_formats::bundle::{Slice, Whose};
use netmortem_formats::{Bytes, Capture, open_bytes};
use serde_json::{Value, json};

use super::rpc;
use crate::Told;
use crate::export::bundle::{Change, rewrite};
use crate::export::slice::{Subject, cut};
use crate::told::Part;
use crate::told::slice::{BEFORE_TIME, CUT_DROPS, NOT_KNOWN, REDACTED, from_notes};

fn netem() -> Capture {
    let file = format!("{}/../sample-data/kernel-6.1/netem.nmb", env!("CARGO_MANIFEST_DIR"));
    netmortem_formats::open_path(file.as_ref()).unwrap().unwrap()
}

fn made(of: &Capture, change: &Change) -> Capture {
    let (bytes, _) = rewrite(of, change, vec![]).unwrap();
    open_bytes("slice.nmb", Bytes::Owned(bytes)).unwrap()
}

/// Its middle half, or the second half of what that left.
fn window(of: &Capture) -> (u64, u64) {
    let info = crate::ingest::check(of, &Default::default());
    let start = info.start_ns.unwrap() as u64;
    (
        start + info.duration_ns as u64 / 4,
        start + info.duration_ns as u64 / 4 * 3,
    )
}

fn in_time(of: &Capture) -> Change {
    Change {
        window: Some(window(of)),
        ..Change::default()
    }
}

fn by_flow(of: &Capture, flow: &str) -> Change {
    let facts = crate::analyze(of, &Default::default());
    let subject = Subject {
        flows: vec![flow.parse().unwrap()],
        devs: vec![],
    };
    Change {
        cut: Some(cut(of, &facts, &subject).unwrap().0),
        ..Change::default()
    }
}

fn redact() -> Change {
    Change {
        redact: true,
        ..Change::default()
    }
}

fn field(of: &Capture) -> Slice {
    Part::of(of).slice.unwrap()
}

fn notes(of: &Capture) -> Vec<String> {
    netmortem_formats::join::notes(of)
}

fn by_notes(of: &Capture) -> Option<Slice> {
    from_notes(notes(of).iter().map(String::as_str))
}

/// As an older writer made it.
fn without_field(mut of: Capture) -> Capture {
    let manifest = of.manifest.as_mut().unwrap().as_object_mut().unwrap();
    manifest.remove("slice").unwrap();
    manifest.remove("redacted");
    of
}

fn events(of: &Capture) -> u64 {
    crate::ingest::check(of, &Default::default()).total_events
}

/// Whether counts of drops are told with what they are of.
fn drops_note(of: &Capture) -> String {
    let told = Told::sentences(of);
    told.drops().next().unwrap().to_owned()
}

#[test]
fn field_and_notes_say_the_same_and_cuts_add_up() {
    let whole = netem();
    assert_eq!((Part::of(&whole), events(&whole)), (Part::default(), 70_397));
    let flow = made(&whole, &by_flow(&whole, "conn:0"));
    let time = made(&whole, &in_time(&whole));
    let both = made(
        &whole,
        &Change {
            window: in_time(&whole).window,
            ..by_flow(&whole, "conn:0")
        },
    );
    let after = made(&flow, &in_time(&flow));
    let before = made(&time, &by_flow(&time, "conn:0"));
    for (what, of) in [
        ("flow", &flow),
        ("time", &time),
        ("both", &both),
        ("flow, then time", &after),
        ("time, then flow", &before),
    ] {
        let said = field(of);
        // What the records of the file say: all that is not in it was cut, however often it was cut.
        assert_eq!(said.events_kept, Some(events(of)), "{what}");
        assert_eq!(said.events_kept.unwrap() + said.events_cut.unwrap(), 70_397, "{what}");
        assert_eq!(by_notes(of), Some(said.clone()), "{what}");
        assert_eq!(
            of.manifest.as_ref().unwrap()["slice"]["events_kept"],
            events(of),
            "{what}"
        );
        assert!(!Part::of(of).redacted && netmortem_formats::bundle::verify(of).is_empty());
    }
    assert_eq!(
        (field(&time).time, field(&flow).time),
        (Some(window(&whole)).map(|w| [w.0, w.1]), None)
    );
    assert_eq!(field(&flow).subject, ["flow conn:0"]);
    // By the tables: drops and lives that are in the file are those that were kept.
    let facts = crate::analyze(&flow, &Default::default());
    let (drops, packets) = (field(&flow).drops.unwrap(), field(&flow).packets.unwrap());
    assert_eq!(drops.own + drops.others_kept + drops.unknown, facts.drops.len() as u64);
    assert_eq!(
        packets.own + packets.others_kept + packets.unknown,
        facts.skbs.len() as u64
    );
    assert!(packets.others_cut > 0);
    // Of a slice that is cut in time later, counts are of before that, and say so.
    for (of, is) in [(&flow, false), (&both, true), (&after, true), (&before, false)] {
        assert_eq!(field(of).counted_before_time, is);
        let said = notes(of).join("\n");
        assert_eq!(
            drops_note(of).starts_with(&format!("{CUT_DROPS}{BEFORE_TIME}")),
            is,
            "{said}"
        );
        assert_eq!(
            said.contains("Packets in it before the cut in time (lives"),
            is,
            "{said}"
        );
        assert_eq!(said.contains("Before the cut in time, of the"), is, "{said}");
    }
    // A slice of a slice by flows: drops that were cut add up.
    let all = field(&flow).drops.unwrap();
    let again = made(&flow, &by_flow(&flow, ":51830"));
    assert_eq!(field(&again).subject, ["flow conn:0", "flow :51830"]);
    let now = crate::analyze(&again, &Default::default()).drops.len() as u64;
    let cut = field(&again).drops.unwrap();
    assert_eq!(cut.others_cut, all.others_cut + facts.drops.len() as u64 - now);
}

#[test]
fn a_slice_that_is_redacted_keeps_its_numbers() {
    let whole = netem();
    let slice = made(
        &whole,
        &Change {
            window: in_time(&whole).window,
            ..by_flow(&whole, "conn:0")
        },
    );
    let want = field(&slice);
    assert!(want.counted_before_time);
    let redacted = made(&slice, &redact());
    let without_names = Slice {
        subject: vec![REDACTED.into()],
        ..want.clone()
    };
    assert_eq!(
        Part::of(&redacted),
        Part {
            slice: Some(without_names),
            redacted: true,
            pseudonyms: vec![],
        }
    );
    let (kept, all) = (want.events_kept.unwrap(), 70_397);
    let said = notes(&redacted);
    let begin = format!("This is a cut from another recording: {kept} of {all} events, from ");
    assert!(said[0].starts_with(&begin), "{said:?}");
    let counts = |d: Whose| format!("{} of others were cut.", d.others_cut);
    let drops = want.drops.unwrap();
    let before = format!("{CUT_DROPS}{BEFORE_TIME}{} of what was asked for", drops.own);
    assert!(
        said[1].starts_with(&before) && said[1].ends_with(&counts(drops)),
        "{said:?}"
    );
    assert!(!said.iter().any(|n| n.contains("conn:0")), "{said:?}");
    // By the notes alone, as of an older writer: the same counts of drops, and that they are of before the cut in time.
    let old = made(&without_field(slice), &redact());
    assert!(
        drops_note(&old).starts_with(&before) && drops_note(&old).ends_with(&counts(drops)),
        "{:?}",
        notes(&old)
    );
    assert_eq!(field(&old).drops, want.drops);
    assert!(field(&old).counted_before_time);
    // Redacted and cut in time afterwards.
    let flow = made(&whole, &by_flow(&whole, "conn:0"));
    let redacted = made(&flow, &redact());
    assert!(!drops_note(&redacted).contains(BEFORE_TIME));
    let later = made(&redacted, &in_time(&redacted));
    assert!(drops_note(&later).contains(BEFORE_TIME), "{:?}", notes(&later));
    assert!(Part::of(&later).redacted && field(&later).counted_before_time);
    // By what it was cut an older writer left out: redacted once more, it is no better known.
    let mut unknown = rpc();
    let note = "This is a cut from another recording: 20 of 50 events; by what it was cut was left out of this redacted bundle.";
    unknown.manifest.as_mut().unwrap()["notes"] = json!([note]);
    let unknown = made(&made(&unknown, &redact()), &redact());
    assert_eq!(field(&unknown).subject, [NOT_KNOWN]);
    // Not a slice, only redacted.
    let plain = made(&whole, &redact());
    assert_eq!(
        Part::of(&plain),
        Part {
            slice: None,
            redacted: true,
            pseudonyms: vec![],
        }
    );
    assert!(Part::of(&without_redacted(plain)).redacted, "its notes say so");
}

fn without_redacted(mut of: Capture) -> Capture {
    let manifest = of.manifest.as_mut().unwrap().as_object_mut().unwrap();
    assert_eq!(manifest.remove("redacted"), Some(Value::Bool(true)));
    of
}

/// An end that was not asked for is no number of 20 digits, and is read back as open.
#[test]
fn open_ends_are_words() {
    let whole = rpc();
    let (from, to) = window(&whole);
    for (window, words) in [
        ((from, u64::MAX), format!(" events, from {from} on (clock mono); ")),
        ((0, to), format!(" events, up to {to} (clock mono); ")),
        ((0, u64::MAX), " events, of any time (clock mono); ".to_owned()),
        ((from, to), format!(" events, from {from} to {to} (clock mono); ")),
    ] {
        let slice = made(
            &whole,
            &Change {
                window: Some(window),
                ..Change::default()
            },
        );
        let said = notes(&slice);
        assert!(said.iter().any(|n| n.contains(&words)), "{said:?}");
        assert!(!said.iter().any(|n| n.contains(&u64::MAX.to_string())), "{said:?}");
        assert_eq!(field(&without_field(slice)).time, Some([window.0, window.1]));
    }
    let old = "This is a cut from x.nmb: 12 of 20 events, from 7 to 18446744073709551615 (clock mono); 8 events before and 0 after were cut. What";
    assert_eq!(from_notes([old].into_iter()).unwrap().time, Some([7, u64::MAX]));
}

/// Notes as older writers left them, word for word.
#[test]
fn notes_of_older_writers_are_read() {
    let whole = Whose {
        own: 5,
        others_kept: 2,
        unknown: 7,
        others_cut: 9,
    };
    let flow = "This is a cut from a to b: c.nmb to flow conn:0, and device va: 20 of 50 events kept; 30 events that are proven to be of other flows or devices were cut (30 skb:kfree_skb). Interrupts are whole. Packets in it (lives of sk_buffs): 5 of what was asked for, 2 of others that it waited with, 7 not known whose; 9 of others were cut. Nothing is to be concluded of others.";
    let drops = "Drops in this slice: before the cut in time, 5 of what was asked for, 2 of others, because the rows of what was asked for need them, and 7 of which nothing tells whose they are (7 NO_SOCKET at x): these may be of others; 9 of others were cut.";
    let want = Slice {
        subject: vec!["flow conn:0, and device va".into()],
        events_kept: Some(20),
        events_cut: Some(30),
        packets: Some(whole),
        drops: Some(whole),
        counted_before_time: true,
        ..Slice::default()
    };
    assert_eq!(from_notes([flow, drops].into_iter()), Some(want));
    // Redacted, and cut in time then: of how many events the first was is not to be had from the second.
    let redacted = "This is a cut from another recording: 20 of 50 events; by what it was cut was left out of this redacted bundle. Nothing is to be concluded of what was cut.";
    let time = "This is a cut from x.nmb: 12 of 20 events, from 7 to 9 (clock mono); 3 events before and 5 after were cut. What";
    let said = from_notes([redacted, redacted, time].into_iter()).unwrap();
    let want = Slice {
        time: Some([7, 9]),
        subject: vec![NOT_KNOWN.into()],
        events_kept: Some(12),
        events_cut: Some(38),
        counted_before_time: true,
        ..Slice::default()
    };
    assert_eq!(said, want);
    assert_eq!(from_notes(["buffers made smaller"].into_iter()), None);
    // What is no number is not known.
    for wrong in [
        "This is a cut from ",
        "This is a cut from x: -1 of 99999999999999999999 events, from a to b (clock c)",
        "This is a cut from x to y:  of  events kept; ",
        "Drops in this slice: ",
    ] {
        let said = from_notes([wrong].into_iter()).unwrap();
        assert_eq!(
            (said.events_cut, said.drops, said.packets, said.time),
            (None, None, None, None),
            "{wrong}"
        );
    }
}

/// A field that says nonsense is a slice of which nothing is known: no number of it is believed, and none is made up.
#[test]
fn hostile_fields_say_nothing() {
    for wrong in [
        json!("x"),
        json!(-1),
        json!([]),
        json!({}),
        json!({"time": [9, 7], "events_cut": -1, "events_kept": 1e300, "subject": "conn:0"}),
        json!({"time": [-9, 7], "events_cut": "30", "subject": [1, null, {}], "drops": {"own": -1}}),
        json!({"time": [1, 2, 3], "drops": [1, 2], "packets": {"own": 1}, "counted_before_time": 1}),
    ] {
        let mut capture = rpc();
        capture.manifest.as_mut().unwrap()["slice"] = wrong.clone();
        capture.manifest.as_mut().unwrap()["redacted"] = json!("no");
        let part = Part::of(&capture);
        assert_eq!(
            part,
            Part {
                slice: Some(Slice::default()),
                redacted: false,
                pseudonyms: vec![],
            },
            "{wrong}"
        );
        let told = Told::sentences(&capture);
        assert_eq!(
            told.slice,
            [
                "This is a cut from another recording: a part of its events; it does not say by what it was cut. Nothing is to be concluded of what was cut."
            ]
        );
        // It is written anew as what it is: cut once more, how much of the recording that is stays unknown.
        let again = made(&capture, &in_time(&capture));
        let said = field(&again);
        assert_eq!(
            (said.events_cut, said.events_kept),
            (None, Some(events(&again))),
            "{wrong}"
        );
    }
    let mut capture = rpc();
    let most = json!({"own": u64::MAX, "others_kept": u64::MAX, "unknown": 0, "others_cut": u64::MAX});
    capture.manifest.as_mut().unwrap()["slice"] = json!({
        "events_kept": u64::MAX, "events_cut": u64::MAX, "drops": most, "packets": most, "subject": vec!["x"; 1_000],
    });
    let again = made(&capture, &by_flow(&capture, "7000"));
    assert_eq!(field(&again).events_cut, Some(u64::MAX));
    assert!(Told::sentences(&capture).slice[0].len() < 300);
    let null = json!(null);
    capture.manifest.as_mut().unwrap()["slice"] = null;
    assert_eq!(Part::of(&capture), Part::default());
}
