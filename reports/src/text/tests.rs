use std::path::PathBuf;

use super::*;
use crate::document::{Finding, Findings, Section};
use crate::layout;

#[test]
fn strips_and_paths_one_per_line() {
    let strip = |severity, sentence: &str, detail: Option<&str>| {
        Block::Strip(Strip {
            severity,
            sentence: sentence.into(),
            detail: detail.map(Into::into),
            see: None,
        })
    };
    let document = Document {
        title: "incident.nmb".into(),
        subtitle: "30.0 s".into(),
        sections: vec![Section {
            id: "verdict",
            title: "Verdict".into(),
            lead: "Worth a look: readers.".into(),
            blocks: vec![
                strip(Severity::Bad, "Readers are late.", Some("n = 12")),
                strip(Severity::Good, "No loss.", None),
            ],
        }],
        footer: "".into(),
        input: None,
        one_recording: true,
    };
    let expected = "incident.nmb\n30.0 s\nWorth a look: readers.\nbad      Readers are late.\n         n = 12\ngood     No loss.\n";
    assert_eq!(text(&document, Colors::None, None), expected);
    let colored = text(&document, Colors::Ansi, None);
    assert!(
        colored.contains("\x1b[1;31mbad     \x1b[0m Readers are late.\n"),
        "{colored:?}"
    );
}

#[test]
fn no_escape_sequence_of_a_name_reaches_the_terminal() {
    let strips = layout::HOSTILE.iter().map(|name| {
        Block::Strip(Strip {
            severity: Severity::Info,
            sentence: (*name).into(),
            detail: None,
            see: None,
        })
    });
    let verdict = Section {
        id: "verdict",
        title: "Verdict".into(),
        lead: "".into(),
        blocks: strips.collect(),
    };
    let shown = text(
        &Document {
            sections: vec![verdict],
            ..Document::default()
        },
        Colors::None,
        None,
    );
    assert!(shown.contains("gpj.exe"), "the hostile strip is in it");
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
    assert!(!shown.contains('\u{202e}'));
}

#[test]
fn long_lines_are_broken_under_their_word() {
    let strip = Strip {
        severity: Severity::Bad,
        sentence: "10 packets were dropped (a; b) on rb; 64 % of it by one; 2 more.".into(),
        detail: None,
        see: None,
    };
    let found = Findings {
        severity: Severity::Bad,
        title: "Something is wrong".into(),
        said: vec![Finding {
            text: "10 packets were dropped by this host at rb; of one flow".into(),
            see: Some("drops"),
            so: vec![("12 segments were sent again".into(), Some("tcp"))],
        }],
        more: 2,
    };
    let document = Document {
        title: "a".into(),
        sections: vec![Section {
            id: "verdict",
            title: "Verdict".into(),
            lead: "Something is wrong: 10 packets.".into(),
            blocks: vec![Block::Findings(vec![found]), Block::Strip(strip)],
        }],
        ..Document::default()
    };
    let narrow = "a\nSomething is wrong:\n  - 10 packets were dropped by this host\n    at rb\n      of one flow\n      effects on the same connections:\n        - 12 segments were sent again\n  - and 2 more, marked “bad” below\n\
                  bad      10 packets were dropped (a; b) on\n         rb\n         - 64 % of it by one\n         - 2 more\n";
    assert_eq!(text(&document, Colors::None, Some(42)), narrow);
    // Colours take no columns.
    let bare = |t: String| {
        ["\x1b[1;31m", "\x1b[1m", "\x1b[0m"]
            .iter()
            .fold(t, |t, s| t.replace(s, ""))
    };
    assert_eq!(bare(text(&document, Colors::Ansi, Some(42))), narrow);
    let wide = "a\nSomething is wrong:\n  - 10 packets were dropped by this host at rb\n      of one flow\n      effects on the same connections:\n        - 12 segments were sent again\n  - and 2 more, marked “bad” below\n\
                bad      10 packets were dropped (a; b) on rb\n         - 64 % of it by one\n         - 2 more\n";
    for none in [None, Some(1), Some(39)] {
        assert_eq!(text(&document, Colors::None, none), wide);
    }
}

/// A hundred paths would push what matters out of the window.
#[test]
fn pictures_are_one_line_and_the_other_files_have_one_each() {
    let pictures = (0..164).map(|n| PathBuf::from(format!("my pics/{n}.png")));
    let written: Vec<PathBuf> = [PathBuf::from("r.html"), PathBuf::from("r.json")]
        .into_iter()
        .chain(pictures)
        .collect();
    let told = wrote(&written, Colors::None);
    assert_eq!(
        told,
        "wrote    r.html\nwrote    r.json\nwrote    164 pictures into my pics\n"
    );
    let told = wrote(&[PathBuf::from("pics/one.png")], Colors::None);
    assert_eq!(told, "wrote    pics/one.png\n");
}
