//! How fast a capture's formats are parsed: `cargo test -p netmortem-formats --release -- --ignored speed --nocapture`.

use std::time::{Duration, Instant};

use super::texts::live;
use crate::event_format::{EventFormat, ValueTable};

#[test]
#[ignore = "a measurement"]
fn speed_of_parsing_all_formats() {
    let texts = match live() {
        Ok(t) => t,
        Err(why) => return println!("skipped: {why}"),
    };
    let bytes: usize = texts.iter().map(|(_, t)| t.len()).sum();
    // The machine may be busy: the best of some runs.
    let (mut parse, mut tables, mut found) = (Duration::MAX, Duration::MAX, 0);
    for _ in 0..20 {
        let start = Instant::now();
        let all: Vec<EventFormat> = texts.iter().map(|(s, t)| EventFormat::parse(s, t).unwrap()).collect();
        parse = parse.min(start.elapsed());
        let start = Instant::now();
        let fields = all.iter().flat_map(|f| f.fields.iter().map(move |g| (f, g)));
        found = fields.filter(|(f, g)| ValueTable::of(f, &g.name).is_some()).count();
        tables = tables.min(start.elapsed());
    }
    println!(
        "{} formats, {bytes} bytes: {parse:?}; the {found} value tables of all their fields: {tables:?}",
        texts.len()
    );
    assert!(parse.as_millis() < 100, "far from a few ms: {parse:?}");
}
