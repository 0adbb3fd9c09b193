//! What the page must hold, whatever is in it.

use super::{SCRIPT, base64, html, policy};
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Document, Finding, Findings, Section, Severity, Strip, Table, Tile};
use crate::layout;

fn page() -> String {
    html(&layout::document())
}

#[test]
fn the_policy_forbids_everything_but_the_inline_style_and_the_one_script() {
    let page = page();
    // `openssl dgst -sha256 -binary script.js | base64` of the script as it stands in the page.
    let (before, rest) = page.split_once("<script>").unwrap();
    let (script, after) = rest.split_once("</script>").unwrap();
    assert_eq!(script, SCRIPT);
    assert!(!after.contains("<script") && !before.contains("<script"));
    let policy = policy();
    assert!(policy.starts_with("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-"));
    assert!(!policy.contains("unsafe-eval") && policy.matches("unsafe-inline").count() == 1);
    let shown = policy.replace('\'', "&#39;");
    assert!(page.contains(&format!("content=\"{policy}\"")) || page.contains(&format!("content=\"{shown}\"")));
    // The policy stands before anything it could forbid.
    assert!(page.find("Content-Security-Policy") < page.find("<style>"));
}

#[test]
fn base64_is_that_of_the_rfc() {
    // RFC 4648, section 10.
    let cases = [
        ("", ""),
        ("f", "Zg=="),
        ("fo", "Zm8="),
        ("foo", "Zm9v"),
        ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ];
    for (plain, coded) in cases {
        assert_eq!(base64(plain.as_bytes()), coded, "{plain}");
    }
}

#[test]
fn nothing_refers_to_the_outside() {
    let page = page();
    for outside in [
        "http:",
        "https:",
        "//",
        "url(",
        "@import",
        "<link",
        "<img",
        "<iframe",
        "<object",
        " src=",
        "javascript:",
    ] {
        // The script clips charts by their own ids: `url(#clip0)`.
        let page = page.replace("url(#", "");
        // The gallery's hostile names hold some of these as text; there they are escaped.
        let hits = page
            .match_indices(outside)
            .filter(|(at, _)| !page.get(at.saturating_sub(24)..*at).unwrap_or("").contains("&lt;img"));
        assert_eq!(hits.count(), 0, "{outside}");
    }
    for (at, _) in page.match_indices("href=\"") {
        assert_eq!(page.get(at + 6..at + 7), Some("#"), "a link that leaves the page");
    }
}

#[test]
fn hostile_names_stay_text() {
    let page = page();
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(page.contains("&quot;&gt;&lt;img src=x onerror=alert(1)&gt;"));
    assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}') && !page.contains('\0'));
}

#[test]
fn every_section_is_reached_from_the_contents_and_every_figure_is_drawn() {
    let (page, document) = (page(), layout::document());
    for section in &document.sections {
        assert!(
            page.contains(&format!("<a href=\"#{}\">", section.id)),
            "{}",
            section.id
        );
        assert!(
            page.contains(&format!("<section id=\"{}\"", section.id)),
            "{}",
            section.id
        );
    }
    for (section, figure) in document.figures() {
        assert!(page.contains(&format!("<figure id=\"{section}-{}\"", figure.id)));
    }
    assert_eq!(page.matches("<svg ").count(), document.figures().len());
    assert!(!page.contains("could not be drawn"));
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
}

#[test]
fn every_tag_is_closed() {
    // The page is HTML, not XML: what differs (doctype, void elements, the style's text) is taken out, the rest must parse.
    let page = page();
    let (before, rest) = page.split_once("<style>").unwrap();
    let (_, after) = rest.split_once("</style>").unwrap();
    let (body, rest) = after.split_once("<script>").unwrap();
    let (_, end) = rest.split_once("</script>").unwrap();
    let mut xml = format!("{before}{body}{end}").replace("<!DOCTYPE html>", "");
    let mut from = 0;
    while let Some(at) = xml.get(from..).and_then(|rest| rest.find("<meta")) {
        let end = from + at + xml[from + at..].find('>').unwrap();
        xml.insert(end, '/');
        from = end;
    }
    let tree = roxmltree::Document::parse(&xml).unwrap();
    let mut ids: Vec<&str> = tree.descendants().filter_map(|node| node.attribute("id")).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "an id twice");
}

#[test]
fn numbers_are_right_aligned_with_the_unit_in_the_heading() {
    let page = page();
    assert!(
        page.contains("<th scope=\"col\" class=\"n\" data-u=\"ns\">p99 <i>(µs)</i></th>"),
        "unit in the heading"
    );
    assert!(
        page.contains("<td class=\"n\">812\u{202f}004</td>"),
        "grouped digits, right aligned"
    );
    assert!(page.contains("<td class=\"n u\">–</td>"), "unknown");
}

/// Whatever a section calls a column, durations in it have their unit in the heading, or each its own.
#[test]
fn durations_have_a_unit_in_any_column() {
    use crate::document::{Block, Cell, Column, Document, Section, Table};
    let page = |values: [i64; 2]| {
        let table = Table {
            columns: vec![Column::number("took")],
            rows: values.map(|ns| vec![Cell::Ns(ns)]).to_vec(),
            ..Table::default()
        };
        let section = Section {
            id: "t",
            title: "T".into(),
            lead: "".into(),
            blocks: vec![Block::Table(table)],
        };
        html(&Document {
            sections: vec![section],
            ..Document::default()
        })
    };
    let one = page([5_000_000, 7_000_000]);
    assert!(one.contains("data-u=\"ns\">took <i>(ms)</i></th>"), "{one}");
    let apart = page([5_000, 7_000_000_000]);
    assert!(apart.contains("data-u=\"ns\">took</th>"), "{apart}");
    assert!(
        apart.contains("5.00\u{202f}µs") || apart.contains("5\u{202f}µs"),
        "{apart}"
    );
}

#[test]
fn every_column_has_a_heading_for_who_cannot_see_it() {
    let page = page();
    let heads: Vec<&str> = page.match_indices("<th ").map(|(at, _)| &page[at..]).collect();
    assert!(heads.len() > 10);
    for head in heads {
        let inside = head.split_once('>').unwrap().1.split("</th>").next().unwrap();
        let text: String = inside.split('<').map(|part| part.rsplit('>').next().unwrap()).collect();
        assert!(!text.trim().is_empty(), "{inside}");
    }
    let table = Table {
        columns: vec![Column::text("")],
        ..Table::default()
    };
    let section = Section {
        id: "x",
        title: "x".into(),
        lead: "".into(),
        blocks: vec![Block::Table(table)],
    };
    let document = Document {
        sections: vec![section],
        ..Document::default()
    };
    assert!(html(&document).contains("<span class=\"vh\">badge</span></th>"));
}

#[test]
fn the_same_document_gives_the_same_bytes() {
    assert_eq!(page(), page());
}

#[test]
fn an_empty_document_is_a_page() {
    assert!(html(&Document::default()).contains("<main"));
    let section = Section {
        id: "x",
        title: "x".into(),
        lead: "".into(),
        blocks: vec![Block::List(Vec::new())],
    };
    assert!(
        html(&Document {
            sections: vec![section],
            ..Document::default()
        })
        .contains("<section id=\"x\"")
    );
}

#[test]
fn ids_lead_on_from_every_kind_of_text() {
    let said = || Text::from("the worst: drop:7");
    let finding = Finding {
        text: "many were lost; the worst: drop:7".into(),
        see: None,
        so: vec![(said(), None)],
    };
    let blocks = vec![
        Block::Paragraph(said()),
        Block::List(vec![said()]),
        Block::Strip(Strip {
            severity: Severity::Bad,
            sentence: "many were lost; the worst: drop:7".into(),
            detail: Some(said()),
            see: None,
        }),
        Block::KeyValues(vec![("worst".into(), said())]),
        Block::Tiles(vec![Tile {
            severity: Severity::Bad,
            label: "lost".into(),
            value: "9".into(),
            detail: said(),
        }]),
        Block::Table(Table {
            columns: vec![Column::text("what"), Column::text("more")],
            rows: vec![vec![Cell::Text(said()), Cell::More("first".into(), said())]],
            note: Some(said()),
            ..Table::default()
        }),
    ];
    // A lead stands where no findings are.
    let section = |blocks| Section {
        id: "x",
        title: "x".into(),
        lead: said(),
        blocks,
    };
    let of = |blocks, one| {
        let document = Document {
            sections: vec![section(blocks)],
            input: Some("a.nmb".into()),
            one_recording: one,
            ..Document::default()
        };
        let link = "<a class=\"id\" href=\"#drop=7\" title=\"netmortem explain a.nmb drop:7\">drop:7</a>";
        html(&document).matches(link).count()
    };
    assert_eq!(
        of(blocks.clone(), false),
        0,
        "an index of several has no recording to ask"
    );
    assert_eq!(of(blocks, true), 10, "the lead and nine below it");
    let found = Findings {
        severity: Severity::Bad,
        title: "Wrong".into(),
        said: vec![finding],
        more: 0,
    };
    assert_eq!(
        of(vec![Block::Findings(vec![found])], true),
        2,
        "what was found, and what followed"
    );
}

/// A link is not between a colon and the list that it announces.
#[test]
fn the_reason_is_linked_behind_what_was_found() {
    let what = "43 packets were dropped by this host (a rule: of nftables) on rc, nobody sent them again while it was recorded:";
    let page = |text: String| {
        let finding = Finding {
            text: text.into(),
            see: Some("drops"),
            so: vec![],
        };
        let found = Findings {
            severity: Severity::Bad,
            title: "Wrong".into(),
            said: vec![finding],
            more: 0,
        };
        html(&Document {
            sections: vec![Section {
                id: "x",
                title: "x".into(),
                lead: Text::default(),
                blocks: vec![Block::Findings(vec![found])],
            }],
            ..Document::default()
        })
    };
    let link = " <a href=\"#drops\" aria-label=\"See why: drops\">See why</a>";
    let several = page(format!("{what} of one flow; all at once"));
    assert!(
        several.contains(&format!(
            "{what}</strong><ul><li>of one flow</li><li>all at once{link}</li></ul>"
        )),
        "{several}"
    );
    let one = page("9 packets were dropped".into());
    assert!(
        one.contains(&format!("9 packets were dropped</strong>{link}</li>")),
        "{one}"
    );
}
