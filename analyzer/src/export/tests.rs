use std::collections::BTreeMap;

use crate::Facts;
use netmortem_formats::Capture;

fn open(path: &str) -> (Capture, Facts) {
    let file = format!("{}/../sample-data/{path}", env!("CARGO_MANIFEST_DIR"));
    let capture = netmortem_formats::open_path(file.as_ref()).unwrap().unwrap();
    let facts = crate::analyze(&capture, &Default::default());
    (capture, facts)
}

/// A field of a message: number, and its value or bytes. Written apart from the encoder, by the protobuf documentation.
#[derive(Debug, Clone, PartialEq)]
enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

fn varint(b: &[u8], at: &mut usize) -> u64 {
    let (mut v, mut shift) = (0u64, 0);
    loop {
        let byte = b[*at];
        *at += 1;
        v |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return v;
        }
    }
}

fn message(b: &[u8]) -> Vec<(u64, Field)> {
    let (mut at, mut out) = (0, vec![]);
    while at < b.len() {
        let key = varint(b, &mut at);
        let value = match key & 7 {
            0 => Field::Number(varint(b, &mut at)),
            1 => {
                at += 8;
                Field::Number(u64::from_le_bytes(b[at - 8..at].try_into().unwrap()))
            }
            2 => {
                let n = varint(b, &mut at) as usize;
                at += n;
                Field::Bytes(b[at - n..at].to_vec())
            }
            w => panic!("wire type {w}"),
        };
        out.push((key >> 3, value));
    }
    out
}

fn number(of: &[(u64, Field)], field: u64) -> Option<u64> {
    of.iter().find(|f| f.0 == field).map(|f| match f.1 {
        Field::Number(n) => n,
        Field::Bytes(_) => panic!("field {field}"),
    })
}

fn part(of: &[(u64, Field)], field: u64) -> Option<Vec<u8>> {
    of.iter().find(|f| f.0 == field).map(|f| match &f.1 {
        Field::Bytes(b) => b.clone(),
        Field::Number(_) => panic!("field {field}"),
    })
}

/// The trace read back: every slice closed on its track and nested, every track described once, values and arrows as in the
/// tables.
#[test]
fn a_perfetto_trace_holds_what_the_tables_say() {
    for path in ["rpc/rpc.nmb", "sawtooth/sawtooth.nmb", "tracedat-loopback/trace.dat"] {
        let (capture, facts) = open(path);
        let mut bytes = vec![];
        let written = super::perfetto::write(&facts, &capture, &mut bytes).unwrap();
        let packets = message(&bytes);
        assert_eq!(packets.len() as u64, written.packets);
        let mut tracks: BTreeMap<u64, String> = BTreeMap::new();
        // (track) -> [(time, order, type)]
        let mut events: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
        let (mut flows, mut categories) = (BTreeMap::<u64, u64>::new(), BTreeMap::<String, u64>::new());
        let mut cwnd = 0u64;
        for (field, p) in packets {
            let Field::Bytes(p) = p else { panic!() };
            assert_eq!(field, 1);
            let p = message(&p);
            assert_eq!(number(&p, 10), Some(1), "one sequence");
            if let Some(d) = part(&p, 60) {
                let d = message(&d);
                let name = String::from_utf8(part(&d, 2).unwrap()).unwrap();
                assert_eq!(tracks.insert(number(&d, 1).unwrap(), name), None);
            }
            let Some(e) = part(&p, 11) else { continue };
            let (e, ts) = (message(&e), number(&p, 8).unwrap());
            assert_eq!(
                number(&p, 58).is_some(),
                facts.capture.clock == "mono" && !capture.clock_pairs.is_empty()
            );
            let (kind, track) = (number(&e, 9).unwrap(), number(&e, 11).unwrap());
            events.entry(track).or_default().push((ts, kind));
            for f in e.iter().filter(|f| f.0 == 47) {
                let Field::Number(n) = f.1 else { panic!() };
                *flows.entry(n).or_default() += 1;
            }
            if let Some(c) = part(&e, 22) {
                *categories.entry(String::from_utf8(c).unwrap()).or_default() += 1;
            }
            if kind == 4 && tracks.get(&track).is_some_and(|t| t == "cwnd") {
                cwnd += number(&e, 30).unwrap();
            }
        }
        for (track, of) in &mut events {
            assert!(tracks.contains_key(track), "{path}: no track {track:#x}");
            // As the importer does: by time, in the order of the file where equal.
            of.sort_by_key(|e| e.0);
            let mut depth = 0i64;
            for (_, kind) in of {
                depth += match kind {
                    1 => 1,
                    2 => -1,
                    _ => 0,
                };
                assert!((0..=1).contains(&depth), "{path}: slices of {track:#x} overlap");
            }
            assert_eq!(depth, 0);
        }
        let count = |c: &str| categories.get(c).copied().unwrap_or(0);
        let ended = facts.softirqs.iter().filter(|s| s.end_ns.is_some()).count() as u64;
        let begun = facts.polls.iter().filter(|p| p.start_ns.is_some()).count() as u64;
        assert_eq!((count("softirq"), count("napi")), (ended, begun), "{path}");
        assert_eq!(count("drop"), facts.drops.len() as u64);
        assert_eq!(count("retransmit"), facts.retransmits.len() as u64);
        assert_eq!(
            cwnd,
            facts.tcp_samples.iter().map(|s| u64::from(s.snd_cwnd)).sum::<u64>()
        );
        // Every unit that was read is joined to its reader.
        for r in facts.rx.iter().filter(|r| r.end.word() == "read") {
            assert!(flows[&(u64::from(r.skb_id.0) + 1)] >= 2, "{path} rx:{}", r.skb_id.0);
        }
        assert!(written.received > 100, "{path} {written:?}");
    }
}
