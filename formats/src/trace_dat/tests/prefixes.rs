//! Every cut and every damage: opening and walking ends without a panic, and a cut file never gives other records.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::parts::small;
use super::walk::{Item, each, items, open, sample, sample_bytes};
use super::writer::Code;
use crate::{Bytes, Capture, StreamItem, open_bytes};

type Streams = HashMap<(String, u32), Vec<Item>>;

fn all(c: &Capture) -> Streams {
    c.streams
        .iter()
        .map(|s| ((s.instance.clone(), s.cpu), items(c, s)))
        .collect()
}

/// What can be read of each stream is a beginning of it; the cut is said.
fn assert_beginning(c: &Capture, whole: &Streams, cut: usize) {
    for s in &c.streams {
        let expected = &whole[&(s.instance.clone(), s.cpu)];
        let mut n = 0;
        let errors = each(c, s, |item| {
            let got = match item {
                StreamItem::Record(r) => Item::Record {
                    ts: r.ts,
                    payload: r.payload.to_vec(),
                },
                StreamItem::Lost(l) => Item::Lost(l.count),
            };
            // The number of lost events stands at the end of its sub-buffer: cut off, it is unknown.
            let number_cut_off = got == Item::Lost(None) && matches!(expected.get(n), Some(Item::Lost(Some(_))));
            assert!(
                number_cut_off || Some(&got) == expected.get(n),
                "cut at {cut}, {} cpu {}, item {n}: {got:?}",
                s.instance,
                s.cpu
            );
            n += 1;
        });
        assert!(
            n == expected.len() || !errors.is_empty() || !c.complete,
            "cut at {cut}: a loss that nothing says"
        );
    }
}

/// Opens the file cut at `steps` places, and at every byte of its first 100.
fn cuts(file: &[u8], steps: usize, whole: &Streams) -> usize {
    let mut opened = 0;
    let places = (0..100).chain((0..steps).map(|i| i * file.len() / steps));
    for cut in places {
        let Ok(c) = open_bytes("cut", Bytes::Owned(file[..cut].to_vec())) else {
            continue;
        };
        assert!(!c.complete && !c.problems.is_empty(), "cut at {cut} of {}", file.len());
        assert_beginning(&c, whole, cut);
        opened += 1;
    }
    opened
}

#[test]
fn every_prefix_of_the_sample_opens() {
    let file = sample_bytes();
    assert_eq!(file.len(), 209_434);
    // All cuts behind the prologue of 37 bytes open.
    assert_eq!(cuts(&file, 200, &all(&sample())), 63 + 199);
}

#[test]
fn every_prefix_of_every_variant_opens() {
    let parts = small();
    for (w, prologue) in [
        (parts.v6(), 18),
        (parts.v7(Code::None), 32),
        (parts.v7(Code::Zlib), 35),
        (parts.v7(Code::Zstd), 35),
    ] {
        let whole = all(&open(w.bytes.clone()));
        assert_eq!(whole.len(), 6);
        assert_eq!(cuts(&w.bytes, 200, &whole), 100 - prologue + 199);
    }
}

/// xorshift64: the same damage in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

#[test]
fn damage_at_random_ends_without_a_panic() {
    let parts = small();
    let files = [
        parts.v6(),
        parts.v7(Code::None),
        parts.v7(Code::Zlib),
        parts.v7(Code::Zstd),
    ]
    .map(|w| w.bytes);
    let mut random = Random(0x6e65_746d_6f72_7465);
    let start = Instant::now();
    let (mut runs, mut opened) = (0, 0);
    // 400 runs at least, also on a slow machine; seconds, not minutes.
    while runs < 400 || (runs < 4000 && start.elapsed() < Duration::from_secs(3)) {
        let file = &files[runs % files.len()];
        let mut b = file.clone();
        for _ in 0..1 + random.below(8) {
            // Half of the damage where the numbers are: in front, and behind the last pages.
            let at = match random.below(4) {
                0 => random.below(200),
                1 => b.len() - 1 - random.below(1000),
                _ => random.below(b.len()),
            };
            match random.below(4) {
                0 => b[at] ^= 1 << random.below(8),
                1 => b[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
                2 => {
                    let end = (at + 8).min(b.len());
                    b[at..end].fill(if random.below(2) == 0 { 0xff } else { 0 });
                }
                _ => {
                    let from = random.below(b.len() - 16);
                    let at = at.min(b.len() - 16);
                    b.copy_within(from..from + 16, at);
                }
            }
        }
        runs += 1;
        let Ok(c) = open_bytes("damaged", Bytes::Owned(b)) else {
            continue;
        };
        opened += 1;
        for s in &c.streams {
            let decoded: usize = s
                .chunks
                .iter()
                .filter_map(|ch| c.chunk_bytes(ch).ok())
                .map(|b| b.len())
                .sum();
            let mut n = 0;
            each(&c, s, |_| n += 1);
            // A record has 4 bytes at least, a loss a page header.
            assert!(n * 4 <= decoded, "{n} items in {decoded} bytes");
        }
    }
    assert!(
        opened > runs / 2,
        "most damage is behind the prologue: {opened} of {runs}"
    );
}
