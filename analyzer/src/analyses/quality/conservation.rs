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

/// A kind of balance of the whole recording that leaves more than [`UNEXPLAINED_SHARE`] unexplained.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Unexplained {
    /// As in [`Balance::kind`].
    pub kind: &'static str,
    /// Differences of the units, summed without sign, bytes.
    pub bytes: u64,
    /// What the kernel's own numbers say, bytes.
    pub bytes_expected: u64,
    /// The one of the other; 1 where nothing was expected.
    pub share: f64,
    /// How far the comparisons that leave most of it can be trusted: confidence word.
    pub confidence: &'static str,
}

impl Unexplained {
    /// `12000 of 1000000 bytes (1.20 %) do not add up in received = read + waiting (coalesce_fifo)`
    pub(super) fn words(&self) -> String {
        let weak = match self.confidence {
            "weak" => ", a weak comparison",
            _ => "",
        };
        let equation = match self.kind {
            "gro_head" => "a GRO head's growth = what was merged into it",
            "gso_children" => "a packet cut = its segments",
            "coalesce_fifo" => "what TCP received = read + waiting",
            _ => "what snd_nxt advanced by = what TCP sent",
        };
        format!(
            "{} of {} bytes ({:.2} %) do not add up in: {equation} ({}{weak})",
            self.bytes,
            self.bytes_expected,
            self.share * 100.0,
            self.kind
        )
    }
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
    /// Edges whose bytes are not compared: a length is not known.
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

/// Kinds of which much is unexplained, by comparisons that judge anything (not of unknown trust).
pub(super) fn unexplained(balances: &[Balance]) -> Vec<Unexplained> {
    let mut by: BTreeMap<&'static str, Vec<&Balance>> = BTreeMap::new();
    for b in balances.iter().filter(|b| b.confidence != Confidence::Unknown.word()) {
        by.entry(b.kind).or_default().push(b);
    }
    let of = |(kind, of): (&'static str, Vec<&Balance>)| {
        let sum = |get: fn(&Balance) -> u64| of.iter().map(|b| get(b)).fold(0, u64::saturating_add);
        let (bytes, bytes_expected) = (sum(|b| b.unexplained_bytes), sum(|b| b.bytes_expected));
        let share = match bytes_expected {
            0 => 1.0,
            all => bytes as f64 / all as f64,
        };
        let most = of.iter().max_by_key(|b| b.unexplained_bytes)?;
        (bytes > 0 && share > UNEXPLAINED_SHARE).then_some(Unexplained {
            kind,
            bytes,
            bytes_expected,
            share,
            confidence: most.confidence,
        })
    };
    by.into_iter().filter_map(of).collect()
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
