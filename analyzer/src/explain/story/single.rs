//! A connection, a drop, a retransmission, a softirq run, a poll.

use rustc_hash::FxHashSet;

use super::{Id, Kind, Story, Why, places};
use crate::analyses::verdict::{counted, duration};
use crate::explain::rows::rows;
use crate::facts::{ConnectionId, SkbId};
use crate::reconstruct::tcp::tables::RetransmitClass;

/// Events that rows of these kinds are told by.
const DROP: [&str; 1] = ["kfree_skb"];
const SOFTIRQ: [&str; 3] = ["softirq_raise", "softirq_entry", "softirq_exit"];
const POLL: [&str; 1] = ["napi_poll"];
pub(super) const SAMPLES: [&str; 6] = [
    "tcp_probe",
    "tcp_cong_state_set",
    "inet_sock_set_state",
    "tcp_set_state",
    "tcp_retransmit_skb",
    "tcp_retransmit_synack",
];

/// What made TCP send again, as half a sentence. RECONSTRUCTION 3e.
fn why(class: RetransmitClass) -> &'static str {
    match class {
        RetransmitClass::Fast => {
            "a fast retransmit, as an ACK (duplicate or with SACK blocks) told that later bytes arrived and these did not"
        }
        RetransmitClass::RackTimer => {
            "the reordering timer (RACK) ran out after later bytes had arrived, and these still had not"
        }
        RetransmitClass::Tlp => "a tail loss probe, as no ACK came for about two round trips after the last segment",
        RetransmitClass::Rto => "the retransmission timer (RTO) ran out without an ACK",
        RetransmitClass::LossRecovery => {
            "an ACK came after a retransmission timeout, and what was outstanding then counts as lost"
        }
        RetransmitClass::Pmtu => {
            "a router told that it was too big for the next link (path MTU), and it is sent again in smaller segments"
        }
        RetransmitClass::Syn => "a SYN or SYN-ACK had no answer in time",
        RetransmitClass::Unknown => "why is not known",
    }
}

impl Story<'_, '_> {
    pub(super) fn connection(&mut self, n: usize) -> Option<()> {
        let f = self.facts;
        let c = f.connections.get(n)?;
        let id = ConnectionId(n as u32);
        // Only samples tell how many, as in the view.
        let bytes = match c.samples {
            0 => "bytes in and out not known, as no tcp_probe told of it".to_owned(),
            _ => format!(
                "{} in, {} out",
                counted(c.bytes_in, "byte", "bytes"),
                counted(c.bytes_out, "byte", "bytes")
            ),
        };
        self.summary = format!(
            "TCP socket {}: {bytes}, {}, {}; confidence {}.",
            crate::analyses::tcp::label(c),
            c.retransmits.map_or_else(
                || "retransmissions not recorded".into(),
                |calls| crate::analyses::tcp::sent_again(
                    c.retransmit_segments.unwrap_or(0),
                    calls,
                    if c.retransmit_segments.is_some() { 0 } else { calls }
                )
            ),
            counted(c.samples, "sample", "samples"),
            c.confidence.word()
        );
        self.rows.extend(rows(f, "connections", &[n]));
        let balances = places(&f.balances, |b| b.connection == Some(id));
        self.rows.extend(rows(f, "balances", &balances));
        let sent_again = places(&f.retransmits, |r| r.connection == Some(id));
        self.wanted.since = c.first_ns;
        self.wanted.moments_are = Some(Why::Row);
        let times = f.tcp_samples.iter().filter(|s| s.connection == id).map(|s| s.time_ns);
        let states = f.tcp_states.iter().filter(|s| s.connection == id).map(|s| s.time_ns);
        let retransmits = sent_again.iter().filter_map(|i| Some(f.retransmits.get(*i)?.time_ns));
        for t in times.chain(states).chain(retransmits) {
            self.wanted.moments.insert(t, &SAMPLES);
        }
        let worst_rx =
            f.rx.iter()
                .filter(|r| r.connection == Some(id))
                .max_by_key(|r| (r.total_ns, r.skb_id));
        let worst_tx =
            f.tx.iter()
                .filter(|r| r.connection == Some(id))
                .max_by_key(|r| (r.total_ns, r.skb_id));
        self.related.extend(worst_rx.map(|r| Id::new(Kind::Rx, r.skb_id.0)));
        self.related.extend(worst_tx.map(|r| Id::new(Kind::Tx, r.skb_id.0)));
        self.related
            .extend(sent_again.iter().take(10).map(|i| Id::new(Kind::Retransmit, *i as u32)));
        Some(())
    }

    pub(super) fn dropped(&mut self, n: usize) -> Option<()> {
        let f = self.facts;
        let d = f.drops.get(n)?;
        let all = rows(f, "drops", &[n]);
        let cell = |name: &str| {
            let cells = all.iter().flat_map(|r| &r.cells);
            let value = cells.filter(|c| c.name == name).find_map(|c| c.value.as_ref());
            value.map_or_else(|| "not recorded".into(), ToString::to_string)
        };
        self.summary = format!(
            "skb freed as dropped on CPU {}{}: reason {}, by {}; expected: {} ({}); confidence {}.",
            d.cpu,
            crate::analyses::drops::owner(f, d).map_or_else(String::new, |whose| format!(" ({whose})")),
            cell("reason"),
            cell("location"),
            d.expected.map_or("not known", |e| if e { "yes" } else { "no" }),
            d.why,
            d.confidence.word()
        );
        self.rows.extend(all);
        self.wanted.since = d.time_ns;
        self.wanted.moments.insert(d.time_ns, &DROP);
        self.wanted.moments_are = Some(Why::Row);
        // A segment that no event saw has the packet that it was cut from.
        match (d.skb_id, d.cut_from) {
            (None, None) => self
                .notes
                .push("no life was open at its address: what it was before is not recorded".into()),
            (None, Some(packet)) => self.notes.push(format!(
                "a qdisc cut it from {} and dropped it before any event saw it",
                Id::new(Kind::Skb, packet.0)
            )),
            (Some(_), _) => {}
        }
        if let Some(skb) = d.skb_id.or(d.cut_from) {
            self.wanted.skbs.push(skb);
            self.rows.extend(rows(f, "skbs", &[skb.0 as usize]));
            self.related.push(Id::new(Kind::Skb, skb.0));
        }
        self.related
            .extend(d.repair.map(|r| Id::new(Kind::Retransmit, r.retransmit)));
        Some(())
    }

    pub(super) fn retransmit(&mut self, n: usize) -> Option<()> {
        let f = self.facts;
        let r = f.retransmits.get(n)?;
        // The event names the original; what was sent for it are its companions and copies.
        let original = self.explainer.identity.of(r.index);
        let sent = self.sendings(original);
        // The event comes behind what it sends: what that repairs is the sending before.
        let this = sent.partition_point(|(ts, _)| *ts <= r.time_ns);
        let before = this.checked_sub(2).and_then(|i| sent.get(i)).map(|s| s.1);
        let repaired = places(&f.drops, |d| d.repair.is_some_and(|r| r.retransmit as usize == n));
        let lost = match repaired.is_empty() {
            true => before.map(|skb| self.freed(&[skb])).unwrap_or_default(),
            false => repaired.clone(),
        };
        let lost = match (r.class, lost.first()) {
            (_, Some(at)) => format!(
                "; what it sends again was lost on this host ({}: {})",
                Id::new(Kind::Drop, *at as u32),
                f.drops.get(*at).map_or("", |d| d.why)
            ),
            (RetransmitClass::Tlp, None) => "; it need not have been lost".into(),
            _ => String::new(),
        };
        self.summary = format!(
            "{} {}{lost}; {}; confidence {}.",
            r.segments.map_or_else(
                || "Segments (how many is not known) were retransmitted:".into(),
                |n| format!("{} retransmitted:", counted(n.into(), "segment was", "segments were"))
            ),
            why(r.class),
            r.bytes.map_or_else(
                || "in a frame of unknown size".into(),
                |b| format!("in a frame of {b} bytes with headers")
            ),
            r.confidence.word()
        );
        self.rows.extend(rows(f, "retransmits", &[n]));
        self.wanted.since = r.time_ns;
        self.wanted.positions.push(r.index);
        self.related.extend(r.connection.map(|c| Id::new(Kind::Conn, c.0)));
        self.related
            .extend(repaired.into_iter().map(|at| Id::new(Kind::Drop, at as u32)));
        if let Some(original) = original {
            let all: Vec<SkbId> = sent.iter().map(|s| s.1).collect();
            self.related
                .extend(self.freed(&all).into_iter().map(|at| Id::new(Kind::Drop, at as u32)));
            self.wanted.skbs.push(original);
            self.related.push(Id::new(Kind::Skb, original.0));
            let of = f.tx.iter().filter(|t| t.original == Some(original));
            self.related.extend(of.map(|t| Id::new(Kind::Tx, t.skb_id.0)));
            let sent = f.lineage.iter().filter(|l| l.parent == original);
            self.wanted.skbs.extend(sent.map(|l| l.child));
        } else {
            self.notes.push("the event names no skb that is known".into());
        }
        Some(())
    }

    /// When an original was sent, and as which life: its companions and copies, by time.
    fn sendings(&self, original: Option<SkbId>) -> Vec<(i64, SkbId)> {
        let of = self.facts.lineage.iter().filter(|l| Some(l.parent) == original);
        let mut sent: Vec<(i64, SkbId)> = of.map(|l| (l.ts_ns, l.child)).collect();
        sent.sort_unstable();
        sent
    }

    /// Places in `drops` of lost frames: of these lives, or of what was cut from them.
    fn freed(&self, sent: &[SkbId]) -> Vec<usize> {
        let f = self.facts;
        let sent: FxHashSet<SkbId> = sent.iter().copied().collect();
        let edges = f.lineage.iter().filter(|l| sent.contains(&l.parent));
        let cut: FxHashSet<SkbId> = edges.map(|l| l.child).collect();
        let of = |skb: SkbId| sent.contains(&skb) || cut.contains(&skb);
        places(&f.drops, |d| {
            d.expected == Some(false) && d.skb_id.or(d.cut_from).is_some_and(of)
        })
    }

    pub(super) fn softirq(&mut self, n: usize) -> Option<()> {
        let f = self.facts;
        let r = f.softirqs.get(n)?;
        let vector = crate::reconstruct::softirq::tables::VECTORS.get(r.vec as usize);
        let vector = vector.map_or_else(|| format!("vector {}", r.vec), ToString::to_string);
        let ran = r.end_ns.map(|e| e.wrapping_sub(r.start_ns));
        let waited = r.raise_ns.map(|t| r.start_ns.wrapping_sub(t));
        let or_unknown = |ns: Option<i64>| ns.map_or_else(|| "an unknown time".into(), duration);
        self.summary = format!(
            "{vector} softirq on CPU {}, run by {}: waited {}, ran {}{}; confidence {}.",
            r.cpu,
            r.run_by.word(),
            or_unknown(waited),
            or_unknown(ran),
            r.blame.map_or_else(String::new, |b| format!(
                "; its CPU was busy longest with {} ({})",
                b.text(),
                duration(b.ns)
            )),
            r.confidence.word()
        );
        self.rows.extend(rows(f, "softirqs", &[n]));
        self.wanted.since = r.raise_ns.unwrap_or(r.start_ns);
        for t in [r.raise_ns, Some(r.start_ns), r.end_ns].into_iter().flatten() {
            self.wanted.moments.insert(t, &SOFTIRQ);
        }
        let (from, to) = (self.wanted.since, r.end_ns.unwrap_or(r.start_ns));
        self.wanted.cpus.push((r.cpu, from, to));
        let polls = places(&f.polls, |p| p.cpu == r.cpu && (r.start_ns..=to).contains(&p.end_ns));
        self.related
            .extend(polls.iter().map(|p| Id::new(Kind::Poll, *p as u32)));
        Some(())
    }

    pub(super) fn poll(&mut self, n: usize) -> Option<()> {
        let f = self.facts;
        let r = f.polls.get(n)?;
        let of = r.work.zip(r.budget).map_or_else(
            || "an unknown number of packets".into(),
            |(w, b)| format!("{w} packets of at most {b}"),
        );
        self.summary = format!(
            "NAPI poll of {} on CPU {}, run by {}: {of}, {}; confidence {}.",
            r.dev.text(),
            r.cpu,
            r.run_by.word(),
            r.start_ns.map_or_else(
                || "its begin was not seen".into(),
                |s| format!("{} long", duration(r.end_ns.wrapping_sub(s)))
            ),
            r.confidence.word()
        );
        self.rows.extend(rows(f, "polls", &[n]));
        let from = r.start_ns.unwrap_or(r.end_ns);
        self.wanted.since = from;
        self.wanted.moments.insert(r.end_ns, &POLL);
        let to = r.flush_end_ns.unwrap_or(r.end_ns).max(r.end_ns);
        self.wanted.cpus.push((r.cpu, from, to));
        let run = places(&f.softirqs, |s| {
            s.cpu == r.cpu && s.start_ns <= from && s.end_ns.is_some_and(|e| e >= r.end_ns)
        });
        self.related
            .extend(run.iter().map(|s| Id::new(Kind::Softirq, *s as u32)));
        Some(())
    }
}
