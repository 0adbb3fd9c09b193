use netmortem_analyzer::diff::{Diff, DiffOptions, Kind, Measured, Outcome, SettingChange, Window, compare};
use netmortem_analyzer::{Facts, analyze};

use super::{document, measured, terminal};
use crate::text::Colors;
use crate::{html, text};

fn rpc() -> Facts {
    sample("rpc/rpc.nmb")
}

fn sample(name: &str) -> Facts {
    let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../sample-data")
        .join(name);
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
    // That sysctls do not differ is said of those that were read.
    assert!(page.contains("recorder's own network namespace"));
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
    let plain = terminal(&d, Colors::None) + &text(&document(&d), Colors::None, None);
    assert!(!plain.contains('\x1b'));
    let row = plain.lines().find(|l| l.starts_with("rx.copy")).unwrap();
    assert!(row.ends_with("worse"), "{row}");
    let bad = plain.split("\nbad ").nth(1).unwrap();
    // What did not change heads nothing.
    assert!(bad.trim_start().starts_with("Worse in "), "{plain}");
    let first = bad.split("\nbad ").next().unwrap();
    assert!(first.contains("\n         - Answers: no difference found ("), "{plain}");
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
        beside: vec![],
    });
    let page = html(&document(&d));
    assert!(page.contains("1 setting differ") && page.contains("recorder's own network namespace"));
    assert!(page.contains("script&gt;") && !page.contains("<script>alert") && !page.contains("<img"));
    assert!(!page.contains('\x1b') && !page.contains('\u{202e}'));
}

#[test]
fn a_rate_states_its_unit_once() {
    let m = |value, low, high| Measured {
        of: 0.0,
        out_of: 0.0,
        value,
        interval: (low, high),
    };
    assert_eq!(
        measured(Kind::Events, &m(0.012, 0.005, 0.02)),
        "12.0 (5.00 to 20.0) in 1000"
    );
    assert_eq!(measured(Kind::Time, &m(0.25, 0.2, 0.3)), "25.0 (20.0 to 30.0) %");
    assert_eq!(measured(Kind::Units, &m(0.0, 0.0, 0.0)), "0 %");
    assert_eq!(
        measured(Kind::Size, &m(1448.0, 1440.0, 1450.0)),
        "1\u{202f}448 (1\u{202f}440 to 1\u{202f}450)"
    );
}

/// Two parts of one recording say so, and that the events told are those of the whole; what nobody knows is counted apart.
#[test]
fn parts_and_what_is_not_known_are_told_as_that() {
    let f = rpc();
    let half = f.capture.duration_ns / 2;
    let window = |from_ns, to_ns| Some(Window { from_ns, to_ns });
    let options = DiffOptions {
        before_window: window(0, half),
        after_window: window(half, i64::MAX),
        ..DiffOptions::default()
    };
    let mut d = compare(&[&f], &[&f], &options);
    let page = html(&document(&d));
    assert_eq!(page.matches(" of 954\u{202f}ms with 29\u{202f}117 events").count(), 2);
    assert!(page.contains("0 lost (0.000 %) in the whole recording"));
    assert!(!page.contains("nobody knows"));
    for c in &mut d.parity {
        c.level = netmortem_analyzer::diff::Level::Same;
    }
    d.parity[0].level = netmortem_analyzer::diff::Level::Unknown;
    let page = html(&document(&d));
    assert!(page.contains("Nothing that was looked at here differs. Of 1 nobody knows.") && page.contains("not known"));
}

/// Two parts of one real recording, and two recordings of other traffic: what the page says is what the comparison holds.
#[test]
fn pages_of_real_pairs_say_what_was_compared() {
    let saw = sample("sawtooth/sawtooth.nmb");
    let half = saw.capture.duration_ns / 2;
    let window = |from_ns, to_ns| Some(Window { from_ns, to_ns });
    let options = DiffOptions {
        before_window: window(0, half),
        after_window: window(half, i64::MAX),
        ..DiffOptions::default()
    };
    // Of other work nothing is compared.
    assert_eq!(compare(&[&rpc()], &[&saw], &DiffOptions::default()).rates, []);
    let netem = sample("kernel-6.1/netem.nmb");
    for d in [
        compare(&[&saw], &[&saw], &options),
        compare(&[&netem], &[&saw], &DiffOptions::default()),
    ] {
        let page = html(&document(&d));
        assert!(d.rates.len() > 10, "{}", d.rates.len());
        // Every rate with both of its values, in the order of the comparison.
        let mut rest = page.split_once("id=\"rates\"").unwrap().1;
        for r in &d.rates {
            for text in [
                r.metric.clone(),
                measured(r.kind, &r.before),
                measured(r.kind, &r.after),
            ] {
                rest = rest
                    .split_once(&text)
                    .unwrap_or_else(|| panic!("{text} of {}", r.metric))
                    .1;
            }
        }
        let told = terminal(&d, Colors::None);
        assert!(told.lines().all(|l| l.chars().count() <= 100), "{told}");
    }
}

/// Of each side it is told once, on the page and on the terminal, that it is a slice; of recordings with the same sentences together.
#[test]
fn slices_are_told_of_each_side() {
    use netmortem_formats::bundle::Slice;
    let cut = |name: &str, from: u64| {
        let mut f = rpc();
        f.capture.source = format!("/tmp/{name}");
        f.capture.part.slice = Some(Slice {
            time: Some([from, from + 5]),
            events_kept: Some(20),
            events_cut: Some(30),
            ..Slice::default()
        });
        f.capture.part.redacted = name.starts_with('c');
        f
    };
    let (whole, a, b, c) = (rpc(), cut("a.nmb", 1), cut("<b>.nmb", 1), cut("c.nmb", 2));
    let d = compare(&[&whole, &a, &b], &[&c], &DiffOptions::default());
    let doc = document(&d);
    let said = [
        "Before, a.nmb, <b>.nmb: This is a cut from another recording: 20 of 50 events, from 1 to 6",
        "After, c.nmb: This is a cut from another recording: 20 of 50 events, from 2 to 7",
    ];
    let told = text(&doc, Colors::None, None);
    let page = html(&doc).replace("&lt;", "<").replace("&gt;", ">");
    for line in said {
        assert_eq!(
            (told.matches(line).count(), page.matches(line).count()),
            (1, 1),
            "{line}: {told}"
        );
    }
    assert_eq!(told.matches("addresses are pseudonyms").count(), 1, "{told}");
    assert!(page.contains("They are not cut in time alike"));
    assert!(!text(&document(&worse()), Colors::None, None).contains("This is a cut"));
}
