use super::{name, quoted};
use crate::document::{Block, Document, Finding, Findings, Section, Severity, Strip, Table};

/// `sh -c 'printf %s WORD'` gives the name back.
#[test]
fn a_shell_reads_the_name_back() {
    for source in [
        "trace.dat",
        "/tmp/a b/incident 4711.nmb",
        "it's; rm -rf $HOME `id` \"x\" & < > | * ? ~ # !",
        "-o",
        "~root/x",
        "\u{e9}t\u{e9}.nmb",
    ] {
        let word = quoted(source).unwrap();
        let script = format!("printf %s {word}");
        let out = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        let read = String::from_utf8(out.stdout).unwrap();
        let path = if source.starts_with('-') {
            format!("./{source}")
        } else {
            source.to_owned()
        };
        assert_eq!(read, path, "{word}");
    }
    assert_eq!(quoted("trace.dat").unwrap().as_str(), "trace.dat");
}

/// From a pipe, or not to be typed: no name.
#[test]
fn what_cannot_be_typed_stays_input() {
    let long = "x".repeat(500);
    for source in ["", "-", "a\nb", "a\x1b[31m", "a\u{202e}b", "a\u{fffd}", &long] {
        assert_eq!(quoted(source), None, "{source:?}");
    }
}

#[test]
fn commands_get_the_name_and_other_words_stay() {
    let table = Table {
        note: Some("2 of 9 rows shown; all of them: netmortem show rx INPUT".into()),
        ..Table::default()
    };
    let other = Table {
        note: Some("INPUT is a chain of iptables".into()),
        ..Table::default()
    };
    let mut document = Document {
        sections: vec![Section {
            id: "a",
            title: "A".into(),
            lead: "INPUT".into(),
            blocks: vec![
                Block::Paragraph("busy elsewhere. Rows: netmortem show rx INPUT".into()),
                Block::Code(vec![
                    "netmortem explain INPUT rx:4".into(),
                    "netmortem check INPUTS".into(),
                ]),
                Block::Details {
                    summary: "more".into(),
                    blocks: vec![Block::Table(table), Block::Table(other)],
                },
            ],
        }],
        ..Document::default()
    };
    name(&mut document, "a b.nmb", None);
    assert_eq!(document.input(), "'a b.nmb'");
    let [
        Block::Paragraph(prose),
        Block::Code(lines),
        Block::Details { blocks, .. },
    ] = document.sections[0].blocks.as_slice()
    else {
        panic!()
    };
    assert_eq!(prose.as_str(), "busy elsewhere. Rows: netmortem show rx 'a b.nmb'");
    let lines: Vec<&str> = lines.iter().map(|l| l.as_str()).collect();
    assert_eq!(lines, ["netmortem explain 'a b.nmb' rx:4", "netmortem check INPUTS"]);
    let notes: Vec<String> = blocks
        .iter()
        .filter_map(|b| match b {
            Block::Table(t) => t.note.as_ref().map(ToString::to_string),
            _ => None,
        })
        .collect();
    assert_eq!(
        notes,
        [
            "2 of 9 rows shown; all of them: netmortem show rx 'a b.nmb'",
            "INPUT is a chain of iptables"
        ]
    );
    assert_eq!(Document::default().input(), "INPUT");
}

/// A verdict's lines have commands, too; both places of a comparison are named; a chain of iptables beside a process of our name is none.
#[test]
fn findings_and_strips_are_named_and_chains_are_not() {
    let strip = |text: &str| {
        Block::Strip(Strip {
            severity: Severity::Info,
            sentence: text.into(),
            detail: Some("see `netmortem show observer INPUT`".into()),
            see: None,
        })
    };
    let finding = Finding {
        text: "changed (`netmortem show changes INPUT`)".into(),
        see: None,
        so: vec![("so (`netmortem show rx INPUT`)".into(), None)],
    };
    let findings = Findings {
        severity: Severity::Bad,
        title: "Wrong".into(),
        said: vec![finding],
        more: 0,
    };
    let mut document = Document {
        sections: vec![Section {
            id: "a",
            title: "A".into(),
            lead: "netmortem show drops INPUT".into(),
            blocks: vec![
                strip("behind netmortem in 51 % of it, dropped by a rule of INPUT"),
                Block::Findings(vec![findings]),
                Block::List(vec!["netmortem diff INPUT INPUT --before-time 1ms..2ms".into()]),
            ],
        }],
        ..Document::default()
    };
    name(&mut document, "a.nmb", None);
    let section = &document.sections[0];
    assert_eq!(section.lead.as_str(), "netmortem show drops a.nmb");
    let [Block::Strip(strip), Block::Findings(findings), Block::List(lines)] = section.blocks.as_slice() else {
        panic!()
    };
    assert_eq!(
        strip.sentence.as_str(),
        "behind netmortem in 51 % of it, dropped by a rule of INPUT"
    );
    let detail = strip.detail.as_ref().map(|d| d.as_str());
    assert_eq!(detail, Some("see `netmortem show observer a.nmb`"));
    let told = &findings[0].said[0];
    assert_eq!(told.text.as_str(), "changed (`netmortem show changes a.nmb`)");
    assert_eq!(told.so[0].0.as_str(), "so (`netmortem show rx a.nmb`)");
    assert_eq!(lines[0].as_str(), "netmortem diff a.nmb a.nmb --before-time 1ms..2ms");
}
