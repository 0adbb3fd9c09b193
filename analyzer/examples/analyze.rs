//! The whole reconstruction and nothing else: every table is made, none is written.
//!
//! ```text
//! cargo run --release -p netmortem-analyzer --example analyze -- FILE              {"events": …, "rows": …, "seconds": …}
//! cargo run --release -p netmortem-analyzer --example analyze -- --digest FILE     rows and a hash of the cells of each table
//! ```
//!
//! The scripts of `tests/benches` measure it. Two builds whose digests are equal made the same tables of one file.
#![allow(clippy::print_stdout)] // a program that measures has to say what it measured

use std::hash::{Hash, Hasher};
use std::path::Path;
use std::time::Instant;

use netmortem_analyzer::ingest::Options;
use rustc_hash::FxHasher;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (digest, file) = match words.as_slice() {
        [file] => (false, file),
        [flag, file] if flag == "--digest" => (true, file),
        _ => return Err("usage: analyze [--digest] FILE".into()),
    };
    let started = Instant::now();
    let capture = netmortem_formats::open_path(Path::new(file))??;
    let facts = netmortem_analyzer::analyze(&capture, &Options::default());
    let seconds = started.elapsed().as_secs_f64();
    let tables = facts.tables();
    if digest {
        for t in &tables {
            let mut hasher = FxHasher::default();
            let columns = t.columns().len();
            for row in 0..t.len() {
                for column in 0..columns {
                    format!("{:?}", t.cell(row, column)).hash(&mut hasher);
                }
            }
            println!("{:016x} {:>9} {}", hasher.finish(), t.len(), t.name());
        }
        return Ok(());
    }
    let rows: usize = tables.iter().map(|t| t.len()).sum();
    let told = serde_json::json!({"events": facts.capture.total_events, "rows": rows, "seconds": seconds});
    println!("{told}");
    // The process ends: its memory is given back at once, not row by row.
    drop(tables);
    std::mem::forget((facts, capture));
    Ok(())
}
