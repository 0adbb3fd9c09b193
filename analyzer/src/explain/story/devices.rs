//! A pass over a device, and an event of a neighbour entry.

use super::ledgers::most;
use super::turns::by;
use super::{Id, Kind, Pin, Story, places};
use crate::analyses::verdict::{counted, duration, times};
use crate::explain::fields::Value;
use crate::explain::rows::rows;
use crate::explain::stages;
use crate::reconstruct::neighbours::tables::{Held, NeighbourRow, state_word};
use crate::reconstruct::xmits::{Pass, PassEnd};

const QUEUED: [&str; 1] = ["net_dev_queue"];
const STARTED: [&str; 1] = ["net_dev_start_xmit"];
const ENDED: [&str; 3] = ["net_dev_xmit", "kfree_skb", "consume_skb"];
const FREED: [&str; 2] = ["consume_skb", "kfree_skb"];
const DONE: &str = "neigh_update_done";
/// An update's end comes before this: it is in one call.
const DONE_NS: i64 = 10_000_000;

impl Story<'_, '_> {
    pub(super) fn xmit(&mut self, n: usize) -> Option<()> {
        let f = self.facts;
        let r = f.xmits.get(n)?;
        let steps = stages::pass(r);
        let bytes = r
            .bytes
            .map_or_else(|| "a packet".into(), |b| counted(b.into(), "byte", "bytes"));
        let qdisc = match (r.bypass, r.qdisc.is_empty()) {
            (Some(true), _) => ", past its queue".to_owned(),
            (_, true) => String::new(),
            (_, false) => format!(", qdisc {}", r.qdisc.text()),
        };
        let queue = r.queue.map_or_else(String::new, |q| format!(", queue {q}"));
        let refused = match r.requeues {
            0 => String::new(),
            n => format!("; the driver refused it {}", times(n.into())),
        };
        self.summary = format!(
            "{bytes} over {}{queue}{qdisc}, {}: {}; {}confidence {}{refused}.",
            r.dev.text(),
            r.end.word(),
            duration(r.total_ns),
            most(&steps),
            r.confidence.word()
        );
        let first = r.queued_ns.or(r.started_ns).or(r.ended_ns).unwrap_or_default();
        let last = first.saturating_add(r.total_ns);
        self.rows.extend(rows(f, "xmits", &[n]));
        self.wanted.since = first;
        self.parts((first, steps), r.confidence.word());
        self.ends_of_pass(r);
        for skb in [r.skb_id, r.parent].into_iter().flatten() {
            // The driver's return may come behind the end of the pass, which a free on another CPU is.
            let until = last.max(r.ended_ns.unwrap_or(last));
            self.wanted.skbs_within.push((skb, first, until));
            self.related.push(Id::new(Kind::Skb, skb.0));
            let tx = f.tx.iter().any(|t| t.skb_id == skb);
            self.related.extend(tx.then(|| Id::new(Kind::Tx, skb.0)));
            if r.end == PassEnd::Dropped {
                let drops = places(&f.drops, |d| d.skb_id == Some(skb));
                self.related
                    .extend(drops.iter().map(|at| Id::new(Kind::Drop, *at as u32)));
            }
        }
        if r.skb_id.is_none() {
            self.notes
                .push("no event introduced this segment: it was dropped by the queue that built it".into());
        }
        Some(())
    }

    fn ends_of_pass(&mut self, r: &Pass) {
        if let Some(at) = r.queued_ns {
            self.pin(Pin::new("that it was queued", at, &QUEUED));
        }
        if let Some(at) = r.started_ns {
            self.pin(Pin::new("that the driver got it", at, &STARTED));
        }
        match r.ended_ns {
            Some(at) if r.started_ns.is_some() => {
                self.pin(Pin::new("the driver's return", at, &ENDED));
            }
            Some(at) => self.pin(Pin::new("the end of the pass", at, &ENDED)),
            None => self.notes.push("its end was not seen".into()),
        }
        if let Some(at) = r.completed_ns {
            self.pin(Pin::new("its free by the driver", at, &FREED));
        }
    }

    pub(super) fn neighbour(&mut self, n: usize) -> Option<()> {
        let f = self.facts;
        let r = f.neighbours.get(n)?;
        let held = |h: &Held| match h.lladdr {
            Some(a) => format!("{} {a}", state_word(h.state)),
            None => state_word(h.state),
        };
        let before = r.before.as_ref().map_or_else(String::new, |h| format!(": {}", held(h)));
        let after = r
            .after
            .as_ref()
            .map_or_else(String::new, |h| format!(" to {}", held(h)));
        let err = match (r.event, r.err) {
            (_, None | Some(0)) => String::new(),
            ("event_send_done", Some(1)) => "; the packet waits for the answer, or is freed".into(),
            (_, Some(e)) => format!("; result {e}"),
        };
        let how = match (r.pid, r.netlink) {
            (0, 0) => ", in a softirq or an interrupt".to_owned(),
            (0, port) => format!(", for netlink port {port}"),
            (_, 0) => format!(", in a call{}", by(&r.task, r.pid)),
            (_, port) => format!(", asked for over netlink{} (port {port})", by(&r.task, r.pid)),
        };
        self.summary = format!(
            "Neighbour {} on {}, {}{before}{after}{how}{err}; confidence {}.",
            r.address,
            r.dev.text(),
            r.event.replace('_', " "),
            r.confidence.word()
        );
        self.rows.extend(rows(f, "neighbours", &[n]));
        self.wanted.since = r.time_ns;
        let own = Pin::new("what the row tells", r.time_ns, &["neigh_*"]).on(r.cpu);
        self.pin(own);
        if r.event == "update" {
            self.update_done(&own, r);
        }
        let same = places(&f.neighbours, |x| (x.dev, x.address) == (r.dev, r.address));
        let at = same.partition_point(|x| *x < n);
        let around = [at.checked_sub(1), at.checked_add(1)];
        let around = around.into_iter().flatten().filter_map(|i| same.get(i));
        self.related
            .extend(around.map(|at| Id::new(Kind::Neighbour, *at as u32)));
        if same.len() > 1 {
            self.notes.push(format!(
                "{} of this address on a device of this name are in the view neighbours, perhaps of several namespaces: no event tells which",
                counted(same.len() as u64, "event", "events")
            ));
        }
        Some(())
    }

    /// The end of an update: the next one told on its CPU for the same device and address.
    fn update_done(&mut self, own: &Pin, r: &NeighbourRow) {
        let e = self.explainer;
        let keys = ["dev", "primary_key4", "primary_key6"];
        let key = |i: u32| -> Option<Vec<Value>> {
            let rec = e.trace.recs.get(i as usize)?;
            let (_, readers) = e.readers.get(&rec.kind)?;
            let of = readers.iter().filter(|f| keys.contains(&f.name.as_str()));
            Some(of.map(|f| f.value(e.trace.payload(rec))).collect())
        };
        let behind = |at: u32| {
            let mine = key(at)?;
            let later = e.trace.recs.iter().enumerate().skip(at as usize + 1);
            let mut later = later.take_while(|(_, x)| x.ts.saturating_sub(r.time_ns) <= DONE_NS);
            let done = later.find(|(i, x)| {
                let name = e.trace.schema.by_id(x.kind).map_or("", |f| f.name.as_str());
                x.cpu == r.cpu && name == DONE && key(*i as u32).as_ref() == Some(&mine)
            });
            done.map(|(i, x)| (i as u32, x.ts))
        };
        // Without it the row has what was asked for.
        let known = r.confidence == crate::confidence::Confidence::Certain;
        match e.find(own).and_then(behind).filter(|_| known) {
            None => self
                .notes
                .push("the end of the update was not recorded: what the entry had then is what was asked for".into()),
            Some((at, ts)) => {
                self.wanted.positions.push(at);
                self.wanted.cpus.push((r.cpu, r.time_ns, ts));
            }
        }
    }
}
