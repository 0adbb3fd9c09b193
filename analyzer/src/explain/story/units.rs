//! An skb, a received unit, a sent segment.

use super::ledgers::most;
use super::{Id, Kind, Story, places};
use crate::analyses::verdict::{counted, duration, times};
use crate::explain::rows::rows;
use crate::explain::stages;
use crate::facts::SkbId;

impl Story<'_, '_> {
    pub(super) fn skb(&mut self, n: usize) -> Option<()> {
        let f = self.facts;
        let r = f.skbs.get(n)?;
        let skb = r.skb_id;
        let dev = match r.dev.is_empty() {
            true => String::new(),
            false => format!(" on {}", r.dev.text()),
        };
        let life = r.life_ns().map_or_else(
            || "its length in time is not known".into(),
            |ns| format!("it lived {}", duration(ns)),
        );
        self.summary = format!(
            "skb {n} ({}{dev}, address {:#x}): birth {}, {life}, end {}; {} through devices; confidence {}.",
            r.class.word(),
            r.skbaddr,
            r.birth_kind.word(),
            r.death_kind.word(),
            counted(r.hops.into(), "step", "steps"),
            r.confidence.word()
        );
        self.rows.extend(rows(f, "skbs", &[n]));
        let hops = places(&f.hops, |h| h.skb_id == skb);
        self.rows.extend(rows(f, "hops", &hops));
        self.wanted.since = r.birth_ns;
        self.wanted.moments.insert(r.birth_ns, &[]);
        self.wanted.moments.extend(r.death_ns.map(|t| (t, &[] as &[&str])));
        self.wanted.skbs.push(skb);
        for x in f.rx.iter().filter(|x| x.skb_id == skb) {
            self.receive_ledger(x);
        }
        for x in f.tx.iter().filter(|x| x.skb_id == skb || x.original == Some(skb)) {
            self.related.push(Id::new(Kind::Tx, x.skb_id.0));
            if x.skb_id == skb {
                self.transmit_ledger(x);
            }
        }
        self.related
            .extend(f.rx.iter().any(|x| x.skb_id == skb).then(|| Id::new(Kind::Rx, skb.0)));
        let drops = places(&f.drops, |d| d.skb_id.or(d.cut_from) == Some(skb));
        self.related
            .extend(drops.iter().map(|d| Id::new(Kind::Drop, *d as u32)));
        Some(())
    }

    pub(super) fn rx(&mut self, skb: SkbId) -> Option<()> {
        let f = self.facts;
        let places = places(&f.rx, |r| r.skb_id == skb);
        let r = f.rx.get(*places.first()?)?;
        let bytes = r.bytes.map_or_else(|| "a packet".into(), |b| format!("{b} bytes"));
        let by = match r.task.is_empty() {
            true => String::new(),
            false => format!(" by {} (thread {})", r.task.text(), r.pid),
        };
        self.summary = format!(
            "{bytes} received on {} by CPU {}, {}{by}: {} from {} on; {}confidence {}.",
            r.dev.text(),
            r.cpu,
            r.end.word(),
            duration(r.total_ns),
            r.start.word(),
            most(&self.steps_of_rx(r)),
            r.confidence.word()
        );
        self.rows.extend(rows(f, "rx", &places));
        self.wanted.since = r.start_ns;
        self.wanted.skbs.push(skb);
        for p in places {
            if let Some(r) = f.rx.get(p) {
                self.receive_ledger(r);
            }
        }
        self.related.push(Id::new(Kind::Skb, skb.0));
        Some(())
    }

    pub(super) fn tx(&mut self, skb: SkbId) -> Option<()> {
        let f = self.facts;
        let places_of = places(&f.tx, |r| r.skb_id == skb);
        let r = f.tx.get(*places_of.first()?)?;
        let bytes = r.bytes.map_or_else(|| "a packet".into(), |b| format!("{b} bytes"));
        let by = match r.task.is_empty() {
            true => String::new(),
            false => format!(" by {} (thread {})", r.task.text(), r.pid),
        };
        self.summary = format!(
            "{bytes} ({}) sent{by} on {} by CPU {}, {}: {} from {} on, sent again {}; {}confidence {}.",
            r.kind.word(),
            r.dev.text(),
            r.cpu,
            r.end.word(),
            duration(r.total_ns),
            r.start.word(),
            times(r.retransmits.into()),
            most(&stages::transmit(r)),
            r.confidence.word()
        );
        self.rows.extend(rows(f, "tx", &places_of));
        let passes = places(&f.xmits, |p| p.skb_id == Some(skb) || p.parent == Some(skb));
        self.rows.extend(rows(f, "xmits", &passes));
        self.wanted.since = r.start_ns;
        self.wanted.skbs.push(skb);
        for p in places_of {
            if let Some(r) = f.tx.get(p) {
                self.transmit_ledger(r);
            }
        }
        self.related.push(Id::new(Kind::Skb, skb.0));
        Some(())
    }
}
