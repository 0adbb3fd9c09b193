//! The kinds that report sections are about: their parts sum, their events are there, and what others wrote of the samples says the same.

use std::collections::BTreeMap;

use super::{explained, open, records};
use crate::explain::{Explainer, Explanation, Id, Kind};
use crate::facts::Facts;

const SAMPLES: [&str; 7] = [
    "rpc/rpc.nmb",
    "opens/opens.nmb",
    "lookups/lookups.nmb.zst",
    "neighbour/neighbour.nmb",
    "datagrams/datagrams.nmb.zst",
    "sawtooth/sawtooth.nmb",
    "kernel-6.1/netem.nmb",
];

fn len(f: &Facts, kind: Kind) -> usize {
    f.tables().iter().find(|t| t.name() == kind.view()).map_or(0, |t| t.len())
}

#[test]
fn dump() {
    let mut by: BTreeMap<(&str, String), (usize, String)> = BTreeMap::new();
    for path in SAMPLES {
        let capture = open(path);
        let facts = crate::analyze(&capture, &Default::default());
        let e = Explainer::new(&capture, &Default::default());
        for kind in Kind::ALL.into_iter().skip(8) {
            let n = len(&facts, kind);
            println!("{path} {} {n}", kind.word());
            for at in (0..n).step_by(n / 60 + 1) {
                let id = Id::new(kind, at as u32).to_string();
                let x = explained(&e, &facts, &id);
                for note in x.notes {
                    let words: Vec<&str> = note.split(' ').collect();
                    let note: Vec<&str> = words.into_iter().filter(|w| w.parse::<i64>().is_err()).collect();
                    let of = by.entry((kind.word(), note.join(" "))).or_default();
                    of.0 += 1;
                    if of.0 == 1 { of.1 = format!("{path} {id}"); }
                }
                if at == n / 120 * 2 {
                    println!("{id}: {} EVENTS {}", x.summary, x.events.len());
                }
            }
        }
    }
    for (k, v) in by {
        println!("{k:?} {v:?}");
    }
}
