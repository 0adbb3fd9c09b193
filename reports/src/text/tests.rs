use std::path::PathBuf;

use super::*;
use crate::document::Section;
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
    };
    let expected = "incident.nmb\n30.0 s\nWorth a look: readers.\nbad      Readers are late.\n         n = 12\ngood     No loss.\nwrote    report.html\n";
    assert_eq!(text(&document, &[PathBuf::from("report.html")], Colors::None), expected);
    let colored = text(&document, &[], Colors::Ansi);
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
        &[],
        Colors::None,
    );
    assert!(shown.contains("gpj.exe"), "the hostile strip is in it");
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
    assert!(!shown.contains('\u{202e}'));
}
