//! What two analyses of one recording claim, one of which was given less of it: a solid row of the one with less must be
//! a row of the other, and say nothing else of it. For the views `tx`, `xmits`, `softirqs`, `polls`, `lineage`, `balances`.

use std::fmt::Debug;

use rustc_hash::FxHashMap;

use crate::confidence::Confidence;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::reconstruct::balances::tables::BalanceRow;
use crate::reconstruct::context::{Part, RunBy};
use crate::reconstruct::lineage::tables::Conserved;
use crate::reconstruct::napi::tables::PollContext;
use crate::reconstruct::softirq::tables::SoftirqRow;
use crate::reconstruct::tcp::tables::RetransmitClass;
use crate::reconstruct::transmit::Stage;
use crate::reconstruct::transmit::tables::{TxEnd, TxKind, TxRow};
use crate::reconstruct::xmits::PassEnd;

/// Waits shorter than this are not claims that anybody acts upon.
const CLAIM_NS: i64 = 50_000;

/// Contradictions found, and how many rows were compared, by view.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) wrong: Vec<String>,
    pub(super) compared: FxHashMap<&'static str, usize>,
}

/// The two, and how an address of `whole` reads in `less`.
struct Both<'f, A> {
    whole: &'f Facts,
    less: &'f Facts,
    address: A,
    verdict: Verdict,
}

/// Everything of the six views.
pub(super) fn contradictions(whole: &Facts, less: &Facts, address: impl Fn(u64) -> u64) -> Verdict {
    let mut b = Both {
        whole,
        less,
        address,
        verdict: Verdict::default(),
    };
    b.tx();
    b.xmits();
    b.softirqs();
    b.polls();
    b.lineage();
    b.balances();
    b.verdict
}

/// Both know it and it differs.
fn differ<T: PartialEq>(now: Option<T>, was: Option<T>) -> bool {
    matches!((now, was), (Some(a), Some(b)) if a != b)
}

/// Another culprit, or one that had less than half of the time.
fn other_blame(now: &SoftirqRow, was: &SoftirqRow) -> bool {
    let (Some(blame), Some(before)) = (now.blame, was.blame) else {
        return false;
    };
    if blame.part == Part::Unknown {
        return false;
    }
    let had = was.wait.map_or(0, |w| w[blame.part as usize]);
    let named = blame.part == before.part && !blame.who.is_empty();
    had < blame.ns / 2 || named && blame.who != before.who
}

/// Softirqs of both whose blame is known and another one, in anything.
pub(super) fn other_blames(whole: &Facts, less: &Facts) -> Vec<String> {
    let rows: FxHashMap<_, _> = whole.softirqs.iter().map(|r| ((r.cpu, r.start_ns), r)).collect();
    let other = |r: &&SoftirqRow| {
        let was = rows.get(&(r.cpu, r.start_ns)).and_then(|was| was.blame);
        let known = r.blame.filter(|b| b.part != Part::Unknown);
        let long = r.raise_ns.is_some_and(|x| r.start_ns - x > CLAIM_NS);
        r.confidence.is_solid() && long && differ(known, was)
    };
    let of = less.softirqs.iter().filter(other);
    of.map(|r| format!("softirqs: another blame, exactly\n  now {r:?}"))
        .collect()
}

impl<A: Fn(u64) -> u64> Both<'_, A> {
    fn wrong(&mut self, view: &str, what: &str, was: &impl Debug, now: &impl Debug) {
        self.verdict
            .wrong
            .push(format!("{view}: {what}\n  was {was:?}\n  now {now:?}"));
    }
    fn compared(&mut self, view: &'static str) {
        *self.verdict.compared.entry(view).or_default() += 1;
    }
    fn was_address(&self, skb: SkbId) -> u64 {
        (self.address)(self.whole.skbs[skb.0 as usize].skbaddr)
    }
    fn is_address(&self, skb: SkbId) -> u64 {
        self.less.skbs[skb.0 as usize].skbaddr
    }
    fn ports(f: &Facts, c: Option<ConnectionId>) -> Option<(u16, u16)> {
        let row = f.connections.iter().find(|r| Some(r.connection) == c)?;
        Some((row.sport, row.dport))
    }

    fn tx(&mut self) {
        let (whole, less) = (self.whole, self.less);
        let rows: FxHashMap<(u64, i64), &TxRow> = whole
            .tx
            .iter()
            .map(|r| ((self.was_address(r.skb_id), r.t_sched_ns), r))
            .collect();
        let label = |f: &Facts, c| Self::ports(f, c);
        let class = |r: &TxRow| r.recovery_by.filter(|c| *c != RetransmitClass::Unknown);
        for r in less.tx.iter().filter(|r| r.confidence.is_solid()) {
            let Some(was) = rows.get(&(self.is_address(r.skb_id), r.t_sched_ns)).copied() else {
                // What is not told apart from a first transmission is a row of its own, and says no more than that.
                if !matches!(r.kind, TxKind::TcpUnknown | TxKind::Other) {
                    self.wrong("tx", "a packet that was none", &"", r);
                }
                continue;
            };
            self.compared("tx");
            for (what, bad) in [
                (
                    "another kind",
                    r.kind != was.kind && !matches!(r.kind, TxKind::TcpUnknown | TxKind::Other),
                ),
                (
                    "another socket",
                    differ(label(less, r.connection), label(whole, was.connection)),
                ),
                ("another thread", r.pid != 0 && was.pid != 0 && r.pid != was.pid),
                ("other bytes", differ(r.bytes, was.bytes)),
                ("another ACK", differ(r.t_ack_ns, was.t_ack_ns)),
                (
                    "an ACK that was none",
                    r.t_ack_ns.is_some() && was.t_ack_ns.is_none() && was.confidence.is_solid(),
                ),
                ("another first transmission", differ(r.t_snd_ns, was.t_snd_ns)),
                (
                    "a drop that was none",
                    r.end == TxEnd::Dropped && was.end != TxEnd::Dropped,
                ),
                ("more retransmissions", r.retransmits > was.retransmits),
                (
                    "another reason to retransmit",
                    r.retransmits == was.retransmits && differ(class(r), class(was)),
                ),
            ] {
                if bad {
                    self.wrong("tx", what, was, r);
                }
            }
            let top = Stage::ALL.into_iter().filter_map(|s| Some((r.stage(s)?, s))).max();
            let claimed = top.filter(|(ns, _)| *ns > CLAIM_NS && *ns > r.unattributed_ns);
            if let Some((ns, s)) = claimed.filter(|(ns, s)| was.stage(*s).unwrap_or(0) < ns / 2) {
                self.wrong("tx", &format!("another wait, {s:?} {ns}"), was, r);
            }
        }
    }

    fn xmits(&mut self) {
        let (whole, less) = (self.whole, self.less);
        let of = |at: Option<u64>, started: Option<i64>, queued: Option<i64>| Some((at?, started.or(queued)?));
        let mut rows = FxHashMap::default();
        for r in &whole.xmits {
            let at = r.skb_id.map(|s| self.was_address(s));
            for key in [of(at, r.started_ns, None), of(at, None, r.queued_ns)]
                .into_iter()
                .flatten()
            {
                rows.entry(key).or_insert(r);
            }
        }
        for r in less.xmits.iter().filter(|r| r.confidence.is_solid()) {
            let at = r.skb_id.map(|s| self.is_address(s));
            let Some(key) = of(at, r.started_ns, r.queued_ns) else {
                continue;
            };
            let Some(was) = rows.get(&key).copied() else {
                self.wrong("xmits", "a pass that was none", &"", r);
                continue;
            };
            self.compared("xmits");
            let fewer = matches!(
                (r.end, was.end),
                (PassEnd::Open, _) | (PassEnd::Sent, PassEnd::Completed) | (PassEnd::Consumed, PassEnd::Segmented)
            );
            for (what, bad) in [
                ("another end", r.end != was.end && !fewer),
                ("another queueing", differ(r.queued_ns, was.queued_ns)),
                ("another end of the driver's function", differ(r.ended_ns, was.ended_ns)),
                ("another completion", differ(r.completed_ns, was.completed_ns)),
                ("bypass", differ(r.bypass, was.bypass)),
                ("more refusals", r.requeues > was.requeues),
            ] {
                if bad {
                    self.wrong("xmits", what, was, r);
                }
            }
            for ((name, now), (_, then)) in r.parts().into_iter().zip(was.parts()) {
                if now.is_some_and(|ns| ns > CLAIM_NS && then.unwrap_or(0) < ns / 2) {
                    self.wrong("xmits", &format!("another wait, {name}"), was, r);
                }
            }
        }
    }

    fn softirqs(&mut self) {
        let (whole, less) = (self.whole, self.less);
        let rows: FxHashMap<_, _> = whole.softirqs.iter().map(|r| ((r.cpu, r.start_ns), r)).collect();
        for r in less.softirqs.iter().filter(|r| r.confidence.is_solid()) {
            let Some(was) = rows.get(&(r.cpu, r.start_ns)).copied() else {
                self.wrong("softirqs", "a run that was none", &"", r);
                continue;
            };
            self.compared("softirqs");
            let known = |b: RunBy| (b != RunBy::Unknown).then_some(b);
            let long = r.raise_ns.is_some_and(|x| r.start_ns - x > CLAIM_NS);
            for (what, bad) in [
                ("another end", differ(r.end_ns, was.end_ns)),
                ("another raise", differ(r.raise_ns, was.raise_ns)),
                ("run by another", differ(known(r.run_by), known(was.run_by))),
                (
                    "run by one not known before",
                    known(r.run_by).is_some() && known(was.run_by).is_none(),
                ),
                ("squeezed", differ(r.squeezed, was.squeezed)),
                ("another blame", long && other_blame(r, was)),
            ] {
                if bad {
                    self.wrong("softirqs", what, was, r);
                }
            }
        }
    }

    fn polls(&mut self) {
        let (whole, less) = (self.whole, self.less);
        let rows: FxHashMap<_, _> = whole.polls.iter().map(|r| ((r.cpu, r.end_ns), r)).collect();
        for r in less.polls.iter().filter(|r| r.confidence.is_solid()) {
            let Some(was) = rows.get(&(r.cpu, r.end_ns)).copied() else {
                self.wrong("polls", "a poll that was none", &"", r);
                continue;
            };
            self.compared("polls");
            let known = |b: RunBy| (b != RunBy::Unknown).then_some(b);
            let place = |c: PollContext| (c != PollContext::Unknown).then_some(c);
            for (what, bad) in [
                ("another start", differ(r.start_ns, was.start_ns)),
                ("another place", differ(r.nth, was.nth)),
                ("another context", differ(place(r.context), place(was.context))),
                ("run by another", differ(known(r.run_by), known(was.run_by))),
                (
                    "another flush",
                    r.flush_end_ns.is_some_and(|t| was.flush_end_ns.is_none_or(|w| t > w)),
                ),
            ] {
                if bad {
                    self.wrong("polls", what, was, r);
                }
            }
        }
    }

    fn lineage(&mut self) {
        let (whole, less) = (self.whole, self.less);
        let mut rows: FxHashMap<_, Vec<_>> = FxHashMap::default();
        for r in &whole.lineage {
            let key = (self.was_address(r.parent), self.was_address(r.child), r.kind);
            rows.entry(key).or_default().push(r);
        }
        for r in less.lineage.iter().filter(|r| r.confidence.is_solid()) {
            let key = (self.is_address(r.parent), self.is_address(r.child), r.kind);
            let (child, near) = (&less.skbs[r.child.0 as usize], rows.get(&key));
            // The same child: its life of then overlaps.
            let was = near.into_iter().flatten().copied().find(|w| {
                let c = &whole.skbs[w.child.0 as usize];
                c.birth_ns <= child.last_ns && child.birth_ns <= c.last_ns
            });
            let Some(was) = was else {
                let first = near.and_then(|v| v.first());
                self.wrong("lineage", "an edge that was none", &(first, child), r);
                continue;
            };
            self.compared("lineage");
            if r.conserved == Conserved::Yes && was.conserved == Conserved::No {
                self.wrong("lineage", "adds up, but did not", &was, r);
            }
            if r.kind == was.kind && r.rule == was.rule && differ(r.bytes, was.bytes) {
                self.wrong("lineage", "other bytes", &was, r);
            }
        }
    }

    fn balances(&mut self) {
        let (whole, less) = (self.whole, self.less);
        for r in less.balances.iter().filter(|r| r.confidence.is_solid()) {
            let ports = Self::ports(less, r.connection);
            // One of no socket is of all that are not told apart.
            let of = |w: &&BalanceRow| {
                w.kind == r.kind && (r.connection.is_none() || Self::ports(whole, w.connection) == ports)
            };
            let was: Vec<&BalanceRow> = whole.balances.iter().filter(of).collect();
            if was.is_empty() {
                self.wrong("balances", "a balance that was none", &"", r);
                continue;
            }
            self.compared("balances");
            if r.unexplained_bytes > was.iter().map(|w| w.unexplained_bytes).sum() {
                self.wrong("balances", "more is unexplained, and surely", &was, r);
            }
        }
    }
}

/// How often each kind of contradiction was found, with an example.
pub(super) fn summary(wrong: &[String]) -> String {
    let mut by_kind: std::collections::BTreeMap<&str, (usize, &str)> = Default::default();
    for w in wrong {
        let kind = w.lines().next().unwrap_or_default();
        by_kind.entry(kind).or_insert((0, w)).0 += 1;
    }
    by_kind.values().map(|(n, w)| format!("{n} x {w}\n")).collect()
}

/// Rows of both that are surer than they were: view and row. Compared where the whole recording was solid at all.
pub(super) fn surer(whole: &Facts, less: &Facts) -> Vec<String> {
    let mut out = vec![];
    let mut more = |view: &str, now: Confidence, was: Confidence, row: &dyn Debug| {
        if now > was && was.is_solid() {
            out.push(format!("{view}: surer than before\n  was {was:?}\n  now {row:?}"));
        }
    };
    let tx: FxHashMap<_, _> = whole
        .tx
        .iter()
        .map(|r| ((whole.skbs[r.skb_id.0 as usize].skbaddr, r.t_sched_ns), r.confidence))
        .collect();
    for r in &less.tx {
        if let Some(was) = tx.get(&(less.skbs[r.skb_id.0 as usize].skbaddr, r.t_sched_ns)) {
            more("tx", r.confidence, *was, r);
        }
    }
    let softirqs: FxHashMap<_, _> = whole
        .softirqs
        .iter()
        .map(|r| ((r.cpu, r.start_ns), r.confidence))
        .collect();
    for r in &less.softirqs {
        if let Some(was) = softirqs.get(&(r.cpu, r.start_ns)) {
            more("softirqs", r.confidence, *was, r);
        }
    }
    let polls: FxHashMap<_, _> = whole.polls.iter().map(|r| ((r.cpu, r.end_ns), r.confidence)).collect();
    for r in &less.polls {
        if let Some(was) = polls.get(&(r.cpu, r.end_ns)) {
            more("polls", r.confidence, *was, r);
        }
    }
    out
}
