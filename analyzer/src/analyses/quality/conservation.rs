//! Do the bytes add up, and how sure are the links: the views `balances` and `lineage`, summed by kind.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::Confidence;
use crate::facts::Facts;
use crate::reconstruct::balances::tables::BalanceKind;
use crate::reconstruct::lineage::tables::{Conserved, LineageKind};

/// Share of the expected bytes from which what is unexplained is worth a look.
pub const UNEXPLAINED_SHARE: f64 = 0.005;

/// Balances of one kind that can be trusted alike.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Balance {
    /// `gro_head`, `gso_children`, `coalesce_fifo`, `tx_payload`.
    pub kind: &'static str,
    /// How far the comparison itself can be trusted: confidence word.
    pub confidence: &'static str,
    /// Units compared.
    pub units: u64,
    /// Of them, those that add up exactly.
    pub matched: u64,
    /// What the kernel's own numbers say, bytes.
    pub bytes_expected: u64,
    /// What the links account for, bytes.
    pub bytes_found: u64,
    /// Differences of the units, summed without sign, bytes.
    pub unexplained_bytes: u64,
    /// Why some do not add up, or cannot be judged: each reason once.
    pub because: Vec<&'static str>,
}

/// Edges of one kind between lives of skbs.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Links {
    /// As in the view `lineage`.
    pub kind: &'static str,
    /// Edges.
    pub edges: u64,
    /// Edges by confidence word.
    pub by_confidence: BTreeMap<&'static str, u64>,
    /// Edges whose bytes do not add up.
    pub not_conserved: u64,
    /// Edges of which a length is not known.
    pub not_comparable: u64,
}

pub(super) fn balances(facts: &Facts) -> Vec<Balance> {
    let mut by: BTreeMap<(BalanceKind, std::cmp::Reverse<Confidence>), Balance> = BTreeMap::new();
    for r in &facts.balances {
        let of = by
            .entry((r.kind, std::cmp::Reverse(r.confidence)))
            .or_insert_with(|| Balance {
                kind: r.kind.word(),
                confidence: r.confidence.word(),
                units: 0,
                matched: 0,
                bytes_expected: 0,
                bytes_found: 0,
                unexplained_bytes: 0,
                because: vec![],
            });
        of.units = of.units.saturating_add(r.units);
        of.matched = of.matched.saturating_add(r.matched);
        of.bytes_expected = of.bytes_expected.saturating_add(r.bytes_expected);
        of.bytes_found = of.bytes_found.saturating_add(r.bytes_found);
        of.unexplained_bytes = of.unexplained_bytes.saturating_add(r.unexplained_bytes);
        if !r.because.is_empty() && !of.because.contains(&r.because) {
            of.because.push(r.because);
        }
    }
    by.into_values().collect()
}

pub(super) fn links(facts: &Facts) -> Vec<Links> {
    // Few kinds, many edges.
    let mut counts: FxHashMap<(LineageKind, Confidence, Conserved), u64> = FxHashMap::default();
    for r in &facts.lineage {
        *counts.entry((r.kind, r.confidence, r.conserved)).or_insert(0) += 1;
    }
    let mut by: BTreeMap<LineageKind, Links> = BTreeMap::new();
    for ((kind, confidence, conserved), n) in counts {
        let of = by.entry(kind).or_insert_with(|| Links {
            kind: kind.word(),
            edges: 0,
            by_confidence: BTreeMap::new(),
            not_conserved: 0,
            not_comparable: 0,
        });
        of.edges += n;
        *of.by_confidence.entry(confidence.word()).or_insert(0) += n;
        match conserved {
            Conserved::No => of.not_conserved += n,
            Conserved::Unknown => of.not_comparable += n,
            _ => {}
        }
    }
    by.into_values().collect()
}
