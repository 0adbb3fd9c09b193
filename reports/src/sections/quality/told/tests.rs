use netmortem_analyzer::export::packets::JoinedFile;

use super::*;
use crate::sections::{document, fixture};
use crate::{Colors, html, markdown, text};

fn told() -> Told {
    Told {
        slice: vec!["This is a cut from a.nmb to flow :9: 5 of 7 events kept; <b>2</b>\u{1b}[31m.".into()],
        notes: vec!["Names of tasks are pseudonyms & \u{202e}so on".into()],
        left_out: 0,
        packets: vec![JoinedFile {
            file: "d.pcap".into(),
            device: "va".into(),
            packets: 4,
            unmatched: 4,
            errors: 1,
            ..JoinedFile::default()
        }],
    }
}

/// Page, summary and terminal: on the first page, escaped.
#[test]
fn what_a_recording_says_of_itself_is_on_the_first_page() {
    let facts = fixture::facts();
    let answers = netmortem_analyzer::analyses::answer_told(&facts, told());
    assert!(answers.verdict[0].sentence.starts_with("A slice of a recording"));
    let document = document(&facts, &answers);
    let terminal = text(&document, Colors::None, None);
    let cut = "This is a cut from a.nmb to flow :9: 5 of 7 events kept; <b>2</b>\\x1b[31m.";
    // What it means is on the page.
    let short = "look     This is a cut from a.nmb to flow :9: 5 of 7 events kept\n";
    assert!(terminal.contains(short) && !terminal.contains("<b>2"), "{terminal}");
    let joined = "d.pcap (device va) was joined: 4 packets, 0 matched with events of the kernel, 4 not (0 because several events fit, 4 because none is known to)\n         - 1 part of it could not be read\n";
    assert!(terminal.contains(joined), "{terminal}");
    assert!(
        terminal.contains("None of the 4 packets of d.pcap fits an event"),
        "{terminal}"
    );
    assert!(terminal.contains("pseudonyms & \\u{202e}so on"), "{terminal}");
    let summary = markdown(&document);
    assert!(
        summary.contains("flow :9: 5 of 7 events kept\n") && !summary.contains("<b>2"),
        "{summary}"
    );
    let page = html(&document);
    assert!(page.contains("5 of 7 events kept; &lt;b&gt;2&lt;/b&gt;") && page.contains("<li>&lt;b&gt;2&lt;/b&gt;"));
    assert!(!page.contains("<b>2</b>") && !page.contains('\u{1b}') && !page.contains('\u{202e}'));
    // In the section on quality, too.
    let section = document.sections.iter().find(|s| s.id == "quality").unwrap();
    let said = |b: &Block| matches!(b, Block::Strip(s) if s.sentence.as_str() == cut);
    assert!(section.blocks.iter().any(said));
}

#[test]
fn a_hostile_number_of_notes_is_cut_and_counted() {
    let notes = (0..500).map(|i| format!("note {i}")).collect();
    let many = Told {
        notes,
        left_out: 7,
        ..Told::default()
    };
    let shown = strips(&many, FIRST_PAGE);
    assert_eq!(shown.len(), FIRST_PAGE + 1);
    let last = matches!(shown.last(), Some(Block::Strip(s)) if s.sentence.as_str().starts_with("495 more sentences"));
    assert!(last, "{:?}", shown.last());
}

#[test]
fn a_recording_that_says_nothing_has_no_strip() {
    assert!(strips(&Told::default(), FIRST_PAGE).is_empty());
}

/// Lists of names and the clock's own numbers are folded away.
#[test]
fn the_first_page_says_what_was_cut_in_a_line() {
    let whole = "This is a cut from site.nmb: 5 of 7 events, from 59825822390457 to 59827322390457 (clock mono); 1 event before and 1 after were cut. Its figures are of this time alone.";
    let members = format!(
        "77 members of the original were left out, because of this: {}",
        "snapshots/net/dev/start, ".repeat(9)
    );
    let told = Told {
        slice: vec![whole.into()],
        notes: vec![members.clone(), "a short note: as it is".into()],
        ..Told::default()
    };
    let blocks = first_page(&told);
    let said = sentences(&blocks);
    let short = [
        "This is a cut from site.nmb: 5 of 7 events. Its figures are of this time alone",
        "77 members of the original were left out, because of this…",
        "a short note: as it is",
    ];
    assert_eq!(said, short);
    let Some(Block::Details { blocks, .. }) = blocks.last() else {
        panic!("{blocks:?}")
    };
    let [Block::List(all)] = blocks.as_slice() else {
        panic!("{blocks:?}")
    };
    assert_eq!(*all, [Text::from(whole), Text::from(members)]);
    assert_eq!(
        cut("This is a cut from a, from 7 to 8: 5 of 7 events."),
        "This is a cut from a, from 7 to 8: 5 of 7 events"
    );
}

/// Sentences of the strips.
fn sentences(blocks: &[Block]) -> Vec<&str> {
    let strips = blocks.iter().filter_map(|b| match b {
        Block::Strip(s) => Some(s.sentence.as_str()),
        _ => None,
    });
    strips.collect()
}

/// Of other notes, and of what a slice says of its figures, nothing is lost: in the terminal there is no place to unfold it.
#[test]
fn warnings_stay_whole_on_the_first_page() {
    let why = format!(
        "cannot read /sys/kernel/tracing/instances/{}/trace_pipe_raw: No such device; events after 1.5 s of this CPU are missing: their number is not known.",
        "netmortem".repeat(9)
    );
    let joined = format!(
        "host: a.nmb: 9 members of the original were left out, because they are not of this time: {}and 3 more",
        "snapshots/net/dev/start, ".repeat(6)
    );
    let of_flow = "This is a cut from a.nmb to flow :9: 5 of 7 events kept; 2 events that are proven to be of other flows or devices were cut (2 tcp). Interrupts and timers are whole: their figures are of the whole host. Counters of the host are not in it, because they count what was cut. 3 units in it (lives of sk_buffs): 1 of what was asked for, 2 of others that it waited with; 1 of others were cut. Nothing is to be concluded of others.";
    let of_time = "This is a cut from a.nmb: 5 of 7 events, from 1 to 2 (clock mono); 1 events before and 1 after were cut. What was under way at its ends is not known, as at the ends of any recording. Its figures are of this time alone; settings are the host's at the begin of the recording.";
    let told = Told {
        slice: vec![of_flow.into(), of_time.into()],
        notes: vec![why.clone(), joined.clone()],
        ..Told::default()
    };
    let blocks = first_page(&told);
    let said = sentences(&blocks);
    let expected = [
        "This is a cut from a.nmb to flow :9: 5 of 7 events kept. Interrupts and timers are whole: their figures are of the whole host. Counters of the host are not in it, because they count what was cut. Nothing is to be concluded of others",
        "This is a cut from a.nmb: 5 of 7 events. What was under way at its ends is not known, as at the ends of any recording. Its figures are of this time alone; settings are the host's at the begin of the recording",
        why.as_str(),
        "host: a.nmb: 9 members of the original were left out, because they are not of this time…",
    ];
    assert_eq!(said, expected);
    assert_eq!(headed(&joined[..100]), joined[..100]);
    // All of them in full, but what is whole already.
    let whole = [of_flow, of_time, joined.as_str()].map(Text::from);
    let all = blocks.iter().find_map(|b| match b {
        Block::Details { blocks, .. } => blocks.first(),
        _ => None,
    });
    assert!(matches!(all, Some(Block::List(all)) if *all == whole), "{all:?}");
    let facts = fixture::facts();
    let answers = netmortem_analyzer::analyses::answer_told(&facts, told);
    let terminal = text(&document(&facts, &answers), Colors::None, None);
    for whole in [
        "- events after 1.5 s of this CPU are missing: their number is not known",
        "- Counters of the host are not in it, because they count what was cut\n",
        "original were left out, because they are not of this time…\n",
    ] {
        assert!(terminal.contains(whole), "{whole}: {terminal}");
    }
}
