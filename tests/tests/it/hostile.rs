//! Hostile captures: real ones whose ring buffers were damaged with care, so that most of it still decodes. Nothing
//! panics, every ledger still sums, and it takes no longer than honest input of its size.

use std::time::{Duration, Instant};

use netmortem_analyzer::{Facts, analyses, analyze, ingest};
use netmortem_formats::sub_buffer::sub_buffers;
use netmortem_formats::{Bytes, Capture, Chunk, ClockConversion, Coding, Locus, StreamItem};
use netmortem_reports::{html, sections};
use netmortem_tests::{SAMPLES, dump, open, sample};

/// Damaged variants of each sample.
const ROUNDS: usize = if cfg!(debug_assertions) { 24 } else { 120 };
/// Decoded bytes kept of each ring buffer, so that a round is short.
const KEPT: usize = 256 << 10;
/// Longest that one round may take: a hundred times what it takes on a busy machine; only a hang takes longer.
const LIMIT: Duration = Duration::from_secs(60);

/// xorshift64* (Vigna 2016).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 16) as usize % n.max(1)
    }
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// Values that break arithmetic.
const VALUES: [u64; 8] = [
    0,
    1,
    i64::MAX as u64,
    i64::MAX as u64 - 1,
    1 << 63,
    u64::MAX,
    0x7fff_ffff,
    0xffff_ffff,
];

/// The decoded bytes of a stream, as far as they are kept.
fn decoded(c: &Capture, stream: usize) -> Vec<u8> {
    let s = &c.streams[stream];
    let mut out = vec![];
    for chunk in &s.chunks {
        out.extend_from_slice(&c.chunk_bytes(chunk).unwrap());
        if out.len() >= KEPT {
            break;
        }
    }
    out.truncate(KEPT.max(s.page.size as usize));
    out
}

/// Place of every payload in decoded bytes.
fn payloads(c: &Capture, stream: usize, bytes: &[u8]) -> Vec<(usize, usize)> {
    let page = c.streams[stream].page;
    let mut out = vec![];
    for sub in sub_buffers(page, bytes, Locus::default()).flatten() {
        for item in sub.records(page, Locus::default()).flatten() {
            if let StreamItem::Record(r) = item {
                out.push((r.offset as usize, r.payload.len()));
            }
        }
    }
    out
}

/// Changes of `share` per mille of the records and pages; each keeps the structure that the rest needs to be read.
fn damage(r: &mut Random, bytes: &mut [u8], places: &[(usize, usize)], page: usize, share: usize) {
    for _ in 0..(places.len() * share / 1000).max(1) {
        let (at, len) = places[r.below(places.len())];
        let (from, from_len) = places[r.below(places.len())];
        let n = len.min(from_len);
        match r.below(9) {
            // another event's words in this one: addresses, sockets, threads meet that never did
            0 | 1 => {
                let word = r.below(n / 8) * 8;
                let end = (word + 8).min(n);
                bytes.copy_within(from + word..from + end, at + word);
            }
            // this event again in another's place
            2 => bytes.copy_within(from..from + n, at),
            // another kind of event with the same payload
            3 => bytes.copy_within(from..from + 2, at),
            4 => bytes[at + r.below(len)] ^= 1 << r.below(8),
            5 => {
                let value = VALUES[r.below(VALUES.len())].to_le_bytes();
                let word = r.below(len / 4) * 4;
                let end = (word + 8).min(len);
                bytes[at + word..at + end].copy_from_slice(&value[..end - word]);
            }
            // a time delta
            6 => {
                let header = at.saturating_sub(4);
                bytes[header + 1 + r.below(3)] = r.next() as u8;
            }
            // the time of a sub-buffer
            7 => {
                let start = at / page * page;
                let value = match r.below(3) {
                    0 => VALUES[r.below(VALUES.len())],
                    1 => r.next(),
                    _ => r.next() >> 34,
                };
                bytes[start..start + 8].copy_from_slice(&value.to_le_bytes());
            }
            // events lost, counted or not
            _ => {
                let start = at / page * page;
                bytes[start + 11] ^= 0x80 | (r.below(2) as u8) << 6;
            }
        }
    }
}

/// What texts and metadata of a container may claim.
fn claims(r: &mut Random, c: &mut Capture) {
    if r.one_in(3) {
        c.clock_conversions
            .push(ClockConversion::OffsetNs(VALUES[r.below(VALUES.len())] as i64));
    }
    if r.one_in(6) {
        let (mult, shift) = (r.next() as u32, r.below(70) as u32);
        let offset = 0;
        c.clock_conversions
            .push(ClockConversion::Tsc2Nsec { mult, shift, offset });
    }
    if r.one_in(3) {
        for s in &mut c.cpu_stats {
            s.overrun = VALUES[r.below(VALUES.len())];
        }
    }
    if r.one_in(6) {
        c.streams[0].cpu = [0, 65_534, 65_535, 65_536, u32::MAX][r.below(5)];
    }
}

/// What must hold of any facts.
fn check(facts: &Facts, what: &str) {
    for row in &facts.rx {
        assert_eq!(
            row.stages.sum().wrapping_add(row.unattributed_ns),
            row.total_ns,
            "{what}: {row:?}"
        );
    }
    for (at, life) in facts.skbs.iter().enumerate() {
        assert_eq!(life.skb_id.0 as usize, at, "{what}");
    }
    let answers = analyses::answer(facts);
    serde_json::to_string(&answers).unwrap();
    let page = html(&sections::document(facts, &answers));
    assert!(page.trim_end().ends_with("</html>"), "{what}");
}

#[test]
fn damaged_captures_are_analyzed_without_panic_and_ledgers_sum() {
    for path in SAMPLES {
        for round in 0..ROUNDS {
            let what = format!("{path} round {round}");
            let mut r = Random(0x9e37_79b9_7f4a_7c15 + round as u64);
            let mut c = open(&sample(path)).unwrap();
            let share = [2, 20, 200, 1000][round % 4];
            let mut file = vec![];
            for stream in 0..c.streams.len() {
                let mut bytes = decoded(&c, stream);
                let places = payloads(&c, stream, &bytes);
                if places.is_empty() {
                    c.streams[stream].chunks.clear();
                    continue;
                }
                let page = c.streams[stream].page.size as usize;
                damage(&mut r, &mut bytes, &places, page, share);
                let start = file.len() as u64;
                file.extend_from_slice(&bytes);
                let range = start..file.len() as u64;
                let (member, coding) = (c.streams[stream].chunks[0].member, Coding::Stored);
                c.streams[stream].chunks = vec![Chunk { member, range, coding }];
            }
            c.bytes = Bytes::Owned(file);
            claims(&mut r, &mut c);
            let started = Instant::now();
            let facts = analyze(&c, &ingest::Options::default());
            check(&facts, &what);
            assert!(started.elapsed() < LIMIT, "{what} took {:?}", started.elapsed());
            if round % 8 == 0 {
                let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
                let again = one.install(|| analyze(&c, &ingest::Options::default()));
                for (a, b) in facts.tables().iter().zip(again.tables()) {
                    assert!(dump(a.as_ref()) == dump(b.as_ref()), "{what}: {} differs", a.name());
                }
            }
        }
    }
}
