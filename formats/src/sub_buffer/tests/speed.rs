//! How fast the record loop is: `cargo test -p netmortem-formats --release -- --ignored speed --nocapture`.

use std::time::Instant;

use super::synthetic::{Page, shapes};
use crate::item::{Locus, StreamItem};
use crate::sub_buffer::sub_buffers;

/// 64 MiB of records as a network capture has them: 24 to 48 bytes of payload, a time extend now and then.
#[test]
#[ignore = "a measurement"]
fn speed_of_records() {
    for layout in [shapes()[0], shapes()[2]] {
        let mut page = Page::new(layout, 1 << 50);
        let mut written = 0u64;
        while page.data.len() < 4000 {
            let n = [24, 28, 36, 48][written as usize % 4];
            page.short(700, &vec![written as u8; n]);
            written += 1;
            if written.is_multiple_of(30) {
                page.time(30, 1 << 30);
            }
        }
        let one = page.bytes();
        let chunk: Vec<u8> = one.iter().copied().cycle().take(one.len() * 16384).collect();
        let (mut best, mut count, mut sum) = (f64::MAX, 0u64, 0u64);
        for _ in 0..5 {
            let start = Instant::now();
            (count, sum) = (0, 0);
            for sub in sub_buffers(layout, &chunk, Locus::default()) {
                for item in sub.unwrap().records(layout, Locus::default()) {
                    if let StreamItem::Record(r) = item.unwrap() {
                        count += 1;
                        // What every consumer does: the time and the id.
                        sum = sum
                            .wrapping_add(r.ts)
                            .wrapping_add(r.payload.first_chunk().map_or(0, |a| u16::from_le_bytes(*a)).into());
                    }
                }
            }
            best = best.min(start.elapsed().as_secs_f64());
        }
        assert_eq!(count, written * 16384);
        println!(
            "{:?}: {:.1} M records/s, {:.2} GB/s (sum {sum})",
            layout.endian,
            count as f64 / best / 1e6,
            chunk.len() as f64 / best / 1e9
        );
    }
}
