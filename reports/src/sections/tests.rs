//! The registry, and what holds for the document of any recording.

use std::path::Path;

use netmortem_analyzer::explain::{Explainer, Id};
use netmortem_analyzer::{Facts, analyses};
use netmortem_formats::{Bytes, Capture};

use super::*;
use crate::document::{Block, Severity};
use crate::{Colors, html, text};

/// Every figure and table of a section, folded ones included.
pub fn tables(section: &Section) -> Vec<&crate::document::Table> {
    fn walk<'a>(blocks: &'a [Block], out: &mut Vec<&'a crate::document::Table>) {
        for block in blocks {
            match block {
                Block::Table(table) => out.push(table),
                Block::Details { blocks, .. } => walk(blocks, out),
                _ => {}
            }
        }
    }
    let mut out = Vec::new();
    walk(&section.blocks, &mut out);
    out
}

#[test]
fn every_folder_is_registered_documented_and_tested() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sections");
    let mut folders: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(&here).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !path.is_dir() || name == "fixture" {
            continue;
        }
        let module = std::fs::read_to_string(path.join("mod.rs")).unwrap();
        assert!(module.starts_with("//! "), "{name}/mod.rs has no header");
        assert!(
            module.contains("#[cfg(test)]\nmod tests;"),
            "{name}/mod.rs does not name its tests"
        );
        let tests = std::fs::read_to_string(path.join("tests.rs")).unwrap();
        assert!(
            tests.contains("#[test]") && tests.contains("assert"),
            "{name}/tests.rs tests nothing"
        );
        folders.push(name);
    }
    folders.sort();
    let mut registered: Vec<&str> = SECTIONS.iter().map(|section| section.folder).collect();
    registered.sort_unstable();
    assert_eq!(folders, registered);
}

#[test]
fn an_empty_recording_gives_all_sections_and_says_unknown() {
    let facts = Facts::empty();
    let document = document(&facts, &fixture::answers(&facts));
    let ids: Vec<&str> = document.sections.iter().map(|section| section.id).collect();
    assert_eq!(
        ids,
        [
            "verdict",
            "over-time",
            "changes",
            "opens",
            "datagrams",
            "application",
            "receive-path",
            "transmit-path",
            "skb-lifetimes",
            "napi",
            "placement",
            "drops",
            "tcp",
            "counters",
            "quality",
            "method"
        ]
    );
    for id in [
        "application",
        "receive-path",
        "transmit-path",
        "skb-lifetimes",
        "napi",
        "tcp",
    ] {
        let section = document.sections.iter().find(|section| section.id == id).unwrap();
        let unknown = section
            .blocks
            .iter()
            .all(|block| matches!(block, Block::Strip(strip) if strip.severity == Severity::Unknown));
        assert!(unknown && !section.blocks.is_empty(), "{id}");
    }
    let page = html(&document);
    assert!(page.contains("No answer, because"));
}

#[test]
fn every_row_is_as_long_as_its_heading_and_every_figure_can_be_drawn() {
    let facts = fixture::facts();
    let document = document(&facts, &fixture::answers(&facts));
    for section in &document.sections {
        for table in tables(section) {
            for row in &table.rows {
                assert_eq!(row.len(), table.columns.len(), "{}: {}", section.id, table.caption);
            }
        }
    }
    assert!(document.figures().len() >= 15, "{}", document.figures().len());
    for (section, figure) in document.figures() {
        let (svg, texts) = crate::chart::render(&figure.chart, &figure.alt).unwrap();
        roxmltree::Document::parse(&svg).unwrap();
        let (width, height) = (
            f64::from(figure.chart.size.width()),
            f64::from(crate::chart::height(&figure.chart)),
        );
        for text in texts {
            let (left, top, right, bottom) = text.edges;
            let inside = left >= 0.0 && top >= 0.0 && right <= width && bottom <= height;
            assert!(inside, "{section}-{}: {:?} is cut", figure.id, text.text);
        }
    }
    let mut ids: Vec<String> = document
        .figures()
        .iter()
        .map(|(section, figure)| format!("{section}-{}", figure.id))
        .collect();
    ids.sort();
    let all = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), all, "figure ids are file names");
}

#[test]
fn hostile_names_of_a_recording_stay_text() {
    let facts = fixture::facts();
    let page = html(&document(&facts, &fixture::answers(&facts)));
    assert!(page.contains("&lt;script&gt;alert(1)"));
    // The page's own script is the only one.
    assert!(page.matches("<script").count() == 1 && !page.contains("<b>bold"));
}

#[test]
fn the_terminal_gets_the_nine_lines() {
    let facts = fixture::facts();
    let shown = text(&document(&facts, &fixture::answers(&facts)), Colors::None, None);
    let all: Vec<&str> = shown.lines().collect();
    assert_eq!(all[2], "Something is wrong:");
    assert!(all[3].starts_with("  - 2 packets were dropped"), "{shown}");
    assert_eq!(all[4], "Worth a look:");
    let apart = "10000 of 1000000 bytes (1.00 %) do not add up in: what TCP received = read + waiting (coalesce_fifo)";
    assert!(
        all[5].ends_with("1204 events were lost (0.120 % of all)") && all[6].ends_with(apart),
        "{shown}"
    );
    assert_eq!(all[9], "  - and 1 more, marked “look” below");
    // Clauses behind the first of a line are under it.
    let lines: Vec<&str> = all.iter().copied().filter(|l| !l.starts_with(' ')).collect();
    assert_eq!(lines.len(), 13, "title, subtitle, two headings, nine lines:\n{shown}");
    assert!(lines[0].starts_with("Postmortem of <b>incident.nmb"));
    assert!(lines[1].contains("host db-17 · Linux 6.18.5 · x86_64 · 2 CPUs · 10.0\u{202f}s · from "));
    assert!(
        lines[4].starts_with("look     Mind that 1204 events were lost"),
        "{}",
        lines[4]
    );
    assert!(
        lines[9].starts_with("look     Sent TCP segments were acknowledged p50 "),
        "{}",
        lines[9]
    );
    assert!(shown.contains("\n         - most held of all "), "{shown}");
    assert!(
        lines[10].starts_with("bad      2 packets were dropped"),
        "{}",
        lines[10]
    );
}

/// Of joined recordings no file alone has the ids.
#[test]
fn commands_of_joined_recordings_name_no_file() {
    let mut facts = fixture::facts();
    facts.capture.source = "first.nmb".into();
    let input = |facts: &Facts| document(facts, &fixture::answers(facts)).input;
    assert_eq!(input(&facts).unwrap().as_str(), "first.nmb");
    facts.capture.joined = vec!["second.nmb".into()];
    assert_eq!(input(&facts), None);
}

fn sample(path: &str) -> Capture {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sample-data").join(path);
    let bytes = std::fs::read(file).unwrap();
    let bytes = match path.ends_with(".zst") {
        true => zstd::decode_all(bytes.as_slice()).unwrap(),
        false => bytes,
    };
    netmortem_formats::open_bytes(path, Bytes::Owned(bytes)).unwrap()
}

/// Ids in sentences: `from drop:9`, `the slowest: response:12`.
fn ids_in(text: &str) -> Vec<Id> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'));
    words.filter_map(|w| w.parse().ok()).collect()
}

/// Tables of which no row is one thing; `docs/report.md` says what leads on from them. Those without a caption are words, counts of events
/// by name, and how the lives of the table above them ended.
const WITHOUT_IDS: [&str; 18] = [
    "",
    "Confidence of a link",
    "Thresholds",
    "What could not be answered",
    "Do the bytes add up?",
    "Links between lives of packets",
    "Streams",
    "Counters of the analysis",
    "Gaps",
    "CPU time of the host",
    "Forwarding: time of a CPU for each packet",
    "Counters that rose and mean something",
    "Counters beside the events that tell the same",
    "What the classes of these queues sent",
    "NUMA nodes",
    "Clients all of whose answers take long, alike",
    "Connections that waited to be accepted",
    "Names resolved (getaddrinfo of the host's libc)",
];

/// Bytes of a page that a mail takes.
const MOST: usize = 3_000_000;

/// Every id that a page of a sample shows, in a cell or in a sentence, is one that `explain` knows, with events behind it.
#[test]
fn every_id_of_a_page_is_explained() {
    let mut kinds = std::collections::BTreeMap::new();
    for path in [
        "rpc/rpc.nmb",
        "opens/opens.nmb",
        "lookups/lookups.nmb.zst",
        "probes/probes.nmb.zst",
        "datagrams/datagrams.nmb.zst",
        "neighbour/neighbour.nmb",
        "tracedat-loopback/trace.dat",
        "one-side/loss.nmb.zst",
    ] {
        let capture = sample(path);
        let facts = netmortem_analyzer::analyze(&capture, &Default::default());
        let page = document(&facts, &analyses::answer(&facts));
        let mut ids: Vec<Id> = vec![];
        for section in &page.sections {
            for table in tables(section) {
                let has = table
                    .rows
                    .iter()
                    .flatten()
                    .any(|cell| matches!(cell, crate::document::Cell::Id(_)));
                let caption = table.caption.as_str();
                // Where all units are weak there is none to look at.
                let mut n = table.rows.iter().filter_map(|row| row.get(1));
                let weak =
                    (caption == "Stages" || table.rows.is_empty()) && n.all(|n| *n == crate::document::Cell::Count(0));
                assert!(
                    has || weak || WITHOUT_IDS.contains(&caption),
                    "{path}: no row of `{caption}` has an id"
                );
            }
            for cell in tables(section).iter().flat_map(|t| t.rows.iter().flatten()) {
                if let crate::document::Cell::Id(id) = cell {
                    ids.push(
                        id.as_str()
                            .parse()
                            .unwrap_or_else(|e| panic!("{path} {}: {e}", section.id)),
                    );
                }
            }
        }
        let in_cells = ids.len();
        let page = html(&page);
        assert!(page.len() < MOST, "{path}: {} bytes", page.len());
        ids.extend(ids_in(&page));
        assert!(in_cells > 0 && ids.len() > in_cells, "{path}");
        ids.sort_unstable();
        ids.dedup();
        let explainer = Explainer::new(&capture, &Default::default());
        for id in ids {
            let told = explainer.explain(&facts, id, 50);
            let told = told.unwrap_or_else(|e| panic!("{path} {id}: {}", e.what));
            assert!(!told.rows.is_empty() && !told.events.is_empty(), "{path} {id}");
            *kinds.entry(id.kind.word()).or_insert(0) += 1;
        }
    }
    for kind in [
        "skb",
        "rx",
        "tx",
        "conn",
        "drop",
        "softirq",
        "poll",
        "response",
        "turnaround",
        "open",
        "reset",
        "udp_turn",
        "udp_socket",
        "xmit",
        "neighbour",
        "retransmit",
    ] {
        assert!(kinds.contains_key(kind), "no page shows a {kind}: {kinds:?}");
    }
}
