use netmortem_analyzer::diff::{Diff, DiffOptions, Outcome, SettingChange, compare};
use netmortem_analyzer::{Facts, analyze};

use super::{document, terminal};
use crate::text::Colors;
use crate::{html, text};

fn rpc() -> Facts {
    let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../sample-data/rpc/rpc.nmb");
    analyze(
        &netmortem_formats::open_path(&path).unwrap().unwrap(),
        &Default::default(),
    )
}

/// A recording and the same with 50 us more in `stage_copy_ns` of every unit.
fn worse() -> Diff {
    let (b, mut a) = (rpc(), rpc());
    for r in &mut a.rx {
        let copy = netmortem_analyzer::reconstruct::receive::tables::Stage::Copy;
        r.stages.set(copy, r.stage(copy).map(|ns| ns + 50_000));
        r.total_ns += 50_000;
    }
    compare(&[&b], &[&a], &DiffOptions::default())
}

#[test]
fn the_page_says_what_changed_and_draws_both_curves() {
    let d = worse();
    let doc = document(&d);
    let ids: Vec<&str> = doc.sections.iter().map(|s| s.id).collect();
    assert_eq!(
        ids,
        [
            "verdict",
            "comparable",
            "changes",
            "where",
            "rates",
            "settings",
            "all",
            "method"
        ]
    );
    let page = html(&doc);
    assert!(page.contains("Worse in ") && page.contains("rx.copy"));
    // Shift, interval and smallest detectable change in the table.
    assert!(page.contains("50.0\u{202f}µs"), "the shift");
    let figures = doc.figures();
    assert_eq!(
        figures.len(),
        d.metrics.iter().filter(|m| m.outcome != Outcome::Same).count()
    );
    assert!(!page.contains("could not be drawn"));
    let png = crate::encode_png(&figures[0].1.chart).unwrap();
    assert!(png.len() > 5_000, "{} bytes", png.len());
    assert!(figures[0].1.alt.as_str().contains("before"));
}

#[test]
fn the_terminal_names_the_metric_and_obeys_colours() {
    let d = worse();
    let plain = terminal(&d, Colors::None) + &text(&document(&d), &[], Colors::None);
    assert!(!plain.contains('\x1b'));
    let row = plain.lines().find(|l| l.starts_with("rx.copy")).unwrap();
    assert!(row.ends_with("worse"), "{row}");
    assert!(
        plain.lines().any(|l| l.starts_with("bad") && l.contains("Worse in ")),
        "{plain}"
    );
    assert!(terminal(&d, Colors::Ansi).contains("\x1b[1;31m"));
}

#[test]
fn nothing_to_compare_and_hostile_names_make_a_page_too() {
    let empty = compare(&[&Facts::empty()], &[&Facts::empty()], &DiffOptions::default());
    assert_eq!(terminal(&empty, Colors::None), "");
    let page = html(&document(&empty));
    assert!(page.contains("Not comparable"));
    let mut d = worse();
    d.before[0].source = "/tmp/<script>alert(1)</script>".into();
    d.settings.push(SettingChange {
        name: "<img src=x onerror=alert(1)>".into(),
        before: "\x1b[31m".into(),
        after: "\u{202e}".into(),
    });
    let page = html(&document(&d));
    assert!(page.contains("script&gt;") && !page.contains("<script>alert") && !page.contains("<img"));
    assert!(!page.contains('\x1b') && !page.contains('\u{202e}'));
}
