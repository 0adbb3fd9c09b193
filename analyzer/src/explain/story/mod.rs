//! From an id to what is told about it: one function per kind of id, each of which gathers rows, skbs and moments.

mod datagrams;
mod devices;
mod ledgers;
mod opens;
mod single;
mod turns;
mod units;

use super::events::{Wanted, Why};
use super::id::{Id, Kind};
use super::pins::Pin;
use super::rows::Row;
use super::{EVENTS, Explainer, Explanation, LINKS, Ledger, Link, NoSuch, dialogue};
use crate::facts::{ConnectionId, Facts, SkbId};

/// What is gathered.
pub(super) struct Story<'s, 'c> {
    explainer: &'s Explainer<'c>,
    facts: &'s Facts,
    id: Id,
    summary: String,
    rows: Vec<Row>,
    ledgers: Vec<Ledger>,
    related: Vec<Id>,
    wanted: Wanted,
    notes: Vec<String>,
}

impl<'s, 'c> Story<'s, 'c> {
    /// Gathers what an id is about.
    pub(super) fn of(explainer: &'s Explainer<'c>, facts: &'s Facts, id: Id) -> Result<Story<'s, 'c>, NoSuch> {
        let mut s = Story {
            explainer,
            facts,
            id,
            summary: String::new(),
            rows: vec![],
            ledgers: vec![],
            related: vec![],
            wanted: Wanted::default(),
            notes: vec![],
        };
        let n = id.number as usize;
        let told = match id.kind {
            Kind::Skb => s.skb(n),
            Kind::Rx => s.rx(SkbId(id.number)),
            Kind::Tx => s.tx(SkbId(id.number)),
            Kind::Conn => s.connection(n),
            Kind::Drop => s.dropped(n),
            Kind::Retransmit => s.retransmit(n),
            Kind::Softirq => s.softirq(n),
            Kind::Poll => s.poll(n),
            Kind::Response => s.response(n),
            Kind::Turnaround => s.turnaround(n),
            Kind::Open => s.open(n),
            Kind::Reset => s.reset(n),
            Kind::UdpTurn => s.udp_turn(n),
            Kind::UdpSocket => s.udp_socket(n),
            Kind::Xmit => s.xmit(n),
            Kind::Neighbour => s.neighbour(n),
        };
        told.ok_or_else(|| s.no_such())?;
        Ok(s)
    }

    fn no_such(&self) -> NoSuch {
        let f = self.facts;
        let by_skb: Option<Vec<SkbId>> = match self.id.kind {
            Kind::Rx => Some(f.rx.iter().map(|r| r.skb_id).collect()),
            Kind::Tx => Some(f.tx.iter().map(|r| r.skb_id).collect()),
            _ => None,
        };
        let (word, view) = (self.id.kind.word(), self.id.kind.view());
        let len = f.tables().iter().find(|t| t.name() == view).map_or(0, |t| t.len());
        if len == 0 {
            let because = f.unknown.iter().find(|r| r.subject == view);
            let because = because.map_or_else(String::new, |r| format!(": {}", r.because));
            return NoSuch {
                what: format!(
                    "there is no {}: the view {view} of this recording has no row{because}",
                    self.id
                ),
                next: "`netmortem check INPUT` lists what was recorded".into(),
            };
        }
        let what = match by_skb {
            None => format!(
                "there is no {}: this recording has {word}:0 to {word}:{}",
                self.id,
                len - 1
            ),
            Some(mut ids) => {
                ids.sort_unstable();
                let of = (ids.first().copied(), ids.last().copied());
                let (first, last) = (of.0.unwrap_or_default().0, of.1.unwrap_or_default().0);
                let wanted = SkbId(self.id.number);
                let near = ids.get(ids.partition_point(|i| *i < wanted)).or(ids.last());
                let near = near.copied().unwrap_or_default().0;
                format!(
                    "there is no {}: skb {} has no row in the view {view}; it has {len} rows, {word}:{first} to {word}:{last} by skb_id, the next is {word}:{near}",
                    self.id, self.id.number
                )
            }
        };
        NoSuch {
            what,
            next: format!(
                "`netmortem show {view} INPUT` lists them, in this order from 0 where they have no id of their own"
            ),
        }
    }

    /// Walks the trace.
    pub(super) fn tell(mut self, limit: usize) -> Result<Explanation, NoSuch> {
        self.wanted.skbs.sort_unstable();
        self.wanted.skbs.dedup();
        let subject: Vec<SkbId> = match self.id.kind {
            Kind::Skb | Kind::Rx | Kind::Tx => {
                let original = self.facts.tx.iter().filter(|t| t.skb_id.0 == self.id.number);
                let original = original.filter(|_| self.id.kind == Kind::Tx).filter_map(|t| t.original);
                std::iter::once(SkbId(self.id.number)).chain(original).collect()
            }
            _ => vec![],
        };
        let mut lineage: Vec<Link> = vec![];
        let mut left_out = 0;
        for l in &self.facts.lineage {
            let (is, other) = match (subject.contains(&l.child), subject.contains(&l.parent)) {
                (true, _) => ("parent", l.parent),
                (_, true) => ("child", l.child),
                _ => continue,
            };
            if lineage.len() >= LINKS {
                left_out += 1;
                continue;
            }
            lineage.push(Link {
                is,
                skb: format!("skb:{}", other.0),
                kind: l.kind.word(),
                rule: l.rule.word(),
                time_ns: l.ts_ns,
                bytes: l.bytes,
                conserved: l.conserved.word(),
                because: l.because(),
                confidence: l.confidence.word(),
            });
        }
        self.related.sort_unstable();
        self.related.dedup();
        self.related.retain(|r| *r != self.id);
        let lines = if limit > EVENTS {
            limit
        } else {
            dialogue::LINES.min(limit)
        };
        let dialogue = (self.id.kind == Kind::Conn)
            .then(|| dialogue::dialogue(self.explainer, self.facts, ConnectionId(self.id.number), lines));
        let listed = self.explainer.list(&self.wanted, limit);
        self.notes.extend(listed.not_found.iter().map(Pin::not_found));
        let hidden = self
            .ledgers
            .iter()
            .flat_map(|l| &l.steps)
            .any(|s| !s.exact && s.ns != 0);
        if hidden {
            self.notes.push(
                "a stage `within` an interval took its time somewhere in it: stages that take turns, or time in no stage, hide where".into(),
            );
        }
        Ok(Explanation {
            id: self.id.to_string(),
            summary: self.summary,
            rows: self.rows,
            ledgers: self.ledgers,
            lineage,
            lineage_left_out: left_out,
            dialogue: dialogue.flatten(),
            related: self.related.iter().map(ToString::to_string).collect(),
            events: listed.events,
            events_left_out: listed.left_out,
            notes: self.notes,
        })
    }
}

fn places<R>(rows: &[R], is: impl Fn(&R) -> bool) -> Vec<usize> {
    let of = rows.iter().enumerate().filter(|(_, r)| is(r));
    of.map(|(i, _)| i).collect()
}
