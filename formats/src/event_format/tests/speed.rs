//! How fast a capture's formats are parsed: `cargo test -p netmortem-formats --release -- --ignored speed --nocapture`.

use std::time::Instant;

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
    for _ in 0..3 {
        let start = Instant::now();
        let all: Vec<EventFormat> = texts.iter().map(|(s, t)| EventFormat::parse(s, t).unwrap()).collect();
        let parsed = start.elapsed();
        let start = Instant::now();
        let tables = all.iter().flat_map(|f| f.fields.iter().map(move |g| (f, g)));
        let tables = tables.filter(|(f, g)| ValueTable::of(f, &g.name).is_some()).count();
        println!(
            "{} formats, {bytes} bytes: {parsed:?}; {tables} value tables of all their fields: {:?}",
            all.len(),
            start.elapsed()
        );
        assert!(parsed.as_millis() < 100, "far from a few ms: {parsed:?}");
    }
}
