//! Throughput of the way from a trace.dat to records: opens the file, decodes every chunk, walks every record on one
//! thread and counts per event id. Prints the most frequent events and M events/s.
//!
//! ```text
//! cargo run --release -p netmortem-formats --example walk_trace_dat -- trace.dat
//! ```
#![allow(clippy::print_stdout)] // a program that measures has to say what it measured

use std::path::Path;
use std::time::Instant;

use netmortem_formats::sub_buffer::sub_buffers;
use netmortem_formats::{Locus, StreamItem, open_path};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: walk_trace_dat FILE")?;
    let start = Instant::now();
    let capture = open_path(Path::new(&path))??;
    let opened = start.elapsed();
    let start = Instant::now();
    let mut by_id = vec![0_u64; 1 << 16];
    let (mut records, mut losses, mut lost, mut errors, mut decoded) = (0_u64, 0_u64, 0_u64, 0_u64, 0_u64);
    let mut last_ts = 0_u64;
    for stream in &capture.streams {
        for chunk in &stream.chunks {
            let locus = Locus {
                member: chunk.member,
                stream: stream.cpu,
                offset: 0,
            };
            let Ok(bytes) = capture.chunk_bytes(chunk) else {
                errors += 1;
                continue;
            };
            decoded += bytes.len() as u64;
            for sub_buffer in sub_buffers(stream.page, &bytes, locus) {
                let Ok(sub_buffer) = sub_buffer else {
                    errors += 1;
                    continue;
                };
                for item in sub_buffer.records(stream.page, locus) {
                    match item {
                        Ok(StreamItem::Record(r)) => {
                            records += 1;
                            last_ts = last_ts.max(r.ts);
                            let id = stream.page.endian.u16(r.payload, 0).unwrap_or(0);
                            if let Some(n) = by_id.get_mut(usize::from(id)) {
                                *n += 1;
                            }
                        }
                        Ok(StreamItem::Lost(l)) => {
                            losses += 1;
                            lost += l.count.unwrap_or(0);
                        }
                        Err(_) => errors += 1,
                    }
                }
            }
        }
    }
    let walked = start.elapsed();
    let mut named: Vec<_> = by_id
        .iter()
        .enumerate()
        .filter(|(_, n)| **n > 0)
        .map(|(id, n)| {
            (
                *n,
                capture
                    .event_formats
                    .iter()
                    .find(|f| usize::from(f.id) == id)
                    .map_or("?", |f| &f.name),
            )
        })
        .collect();
    named.sort_unstable_by(|a, b| b.cmp(a));
    for (n, name) in named {
        println!("{n:>10} {name}");
    }
    let formats = capture.event_formats.len();
    println!("open: {:.1} ms ({formats} format texts)", opened.as_secs_f64() * 1e3);
    println!("{records} records, last {last_ts}, {losses} losses ({lost} events), {errors} errors");
    println!(
        "walk: {:.3} s, {:.1} M events/s, {:.0} MB/s decoded, one thread",
        walked.as_secs_f64(),
        records as f64 / walked.as_secs_f64() / 1e6,
        decoded as f64 / walked.as_secs_f64() / 1e6
    );
    Ok(())
}
