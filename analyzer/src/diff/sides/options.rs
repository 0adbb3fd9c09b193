//! How to compare, with every threshold by name; and a recording with the part of it that is compared.

use std::collections::BTreeSet;

use super::common::LeftOut;
use crate::diff::Side;
use crate::diff::servers::clients::Apart;
use crate::diff::values::usual::Usual;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;

/// Chance of a false alarm in a whole comparison.
pub const LEVEL: f64 = 0.05;
/// Smallest change of a median that matters, as a part of what was before.
pub const MEDIAN_RELATIVE: f64 = 0.10;
/// The same of a p90 or p99: the tail varies more from run to run.
pub const TAIL_RELATIVE: f64 = 0.25;
/// Smallest change of a median duration that matters, ns.
pub const MEDIAN_NS: i64 = 5_000;
/// The same of a p90 or p99, ns.
pub const TAIL_NS: i64 = 20_000;
/// One recording a side: what varies between runs of the same is not known, so a change must be larger. Repeats of the lab's
/// scenes on a busy virtual machine differed by up to 27 us in a median (docs/diff.md).
pub const SINGLE_MEDIAN_RELATIVE: f64 = 0.25;
/// The same of a p90 or p99.
pub const SINGLE_TAIL_RELATIVE: f64 = 0.50;
/// The same of a median duration, ns.
pub const SINGLE_MEDIAN_NS: i64 = 30_000;
/// The same of a p90 or p99, ns.
pub const SINGLE_TAIL_NS: i64 = 60_000;
/// The same of a share of time.
pub const SINGLE_SHARE: f64 = 0.15;
/// Smallest relative change of a mean size that matters.
pub const SIZE_RELATIVE: f64 = 0.25;
/// Smallest relative change of a transfer's speed that matters.
pub const SPEED_RELATIVE: f64 = 0.15;
/// The same, one recording a side.
pub const SINGLE_SPEED_RELATIVE: f64 = 0.25;
/// Smallest change of a count per unit that load does not explain: so many times as much, or as little.
pub const COUNTS: f64 = 2.0;
/// Smallest change of events per unit that matters: one in a thousand.
pub const EVENTS: f64 = 0.001;
/// Smallest change of the part of the units that meet a stage: one in two hundred.
pub const UNITS: f64 = 0.005;
/// Smallest change of a share of time that matters.
pub const SHARE: f64 = 0.05;

/// Part of a recording, ns since its start; half-open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Window {
    /// First moment.
    pub from_ns: i64,
    /// First moment after it; `i64::MAX` (in JSON null): to the end.
    #[serde(serialize_with = "open_end")]
    pub to_ns: i64,
}

fn open_end<S: serde::Serializer>(to_ns: &i64, out: S) -> Result<S::Ok, S::Error> {
    match *to_ns {
        i64::MAX => out.serialize_none(),
        ns => out.serialize_i64(ns),
    }
}

/// How to compare.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct DiffOptions {
    /// Chance of any false alarm in the comparison.
    pub level: f64,
    /// Smallest relative change of a median that is called a change.
    pub median_relative: f64,
    /// Smallest relative change of p90 and p99.
    pub tail_relative: f64,
    /// Smallest change of a median duration, ns.
    pub median_ns: i64,
    /// Smallest change of p90 and p99 of a duration, ns.
    pub tail_ns: i64,
    /// Smallest relative change of a mean size.
    pub size_relative: f64,
    /// Smallest relative change of a transfer's speed.
    pub speed_relative: f64,
    /// Smallest change of a count per unit, as a factor.
    pub counts: f64,
    /// Smallest change of events per unit.
    pub events: f64,
    /// Smallest change of the part of the units that meet a stage.
    pub units: f64,
    /// Smallest change of a share of time.
    pub share: f64,
    /// Resamples of each bootstrap.
    pub draws: usize,
    /// Only traffic of these devices; empty: all. What belongs to no device (softirqs) is left out then.
    pub devices: Vec<String>,
    /// Only this part of every recording before.
    pub before_window: Option<Window>,
    /// Only this part of every recording after.
    pub after_window: Option<Window>,
}

impl DiffOptions {
    /// What a percentile of a duration must move by to be called: a part of it, and ns.
    pub(in crate::diff) fn least(&self, percent: u64) -> (f64, i64) {
        match percent {
            50 => (self.median_relative, self.median_ns),
            _ => (self.tail_relative, self.tail_ns),
        }
    }
    /// For several recordings a side: what varies between them is measured, so that smaller changes can be called.
    pub fn groups() -> DiffOptions {
        DiffOptions {
            median_relative: MEDIAN_RELATIVE,
            tail_relative: TAIL_RELATIVE,
            median_ns: MEDIAN_NS,
            tail_ns: TAIL_NS,
            share: SHARE,
            speed_relative: SPEED_RELATIVE,
            ..DiffOptions::default()
        }
    }
}

/// For one recording a side.
impl Default for DiffOptions {
    fn default() -> Self {
        DiffOptions {
            level: LEVEL,
            median_relative: SINGLE_MEDIAN_RELATIVE,
            tail_relative: SINGLE_TAIL_RELATIVE,
            median_ns: SINGLE_MEDIAN_NS,
            tail_ns: SINGLE_TAIL_NS,
            size_relative: SIZE_RELATIVE,
            speed_relative: SINGLE_SPEED_RELATIVE,
            devices: vec![],
            counts: COUNTS,
            events: EVENTS,
            units: UNITS,
            share: SINGLE_SHARE,
            draws: 400,
            before_window: None,
            after_window: None,
        }
    }
}

/// Devices with traffic in any of these recordings: what [`DiffOptions::devices`] can name.
pub fn devices(of: &[&Facts]) -> BTreeSet<String> {
    let each = of.iter().flat_map(|f| {
        let rows = f.rx.iter().map(|r| r.dev).chain(f.tx.iter().map(|r| r.dev));
        rows.chain(f.xmits.iter().map(|x| x.dev))
            .chain(f.skbs.iter().map(|s| s.dev))
            .collect::<BTreeSet<Name>>()
    });
    let named = each.filter(|d| !d.is_empty());
    named.map(|d| d.text().into_owned()).collect()
}

/// The first recording of a side that has no moment inside the window, and its length, ns.
pub fn empty_window(side: &[&Facts], window: Option<Window>) -> Option<(String, i64)> {
    window?;
    let whole = Recording::all(side, &[], None);
    let parts = Recording::all(side, &[], window);
    let mut empty = whole.iter().zip(&parts).filter(|(_, part)| part.duration_ns() == 0);
    empty
        .next()
        .map(|(w, _)| (w.facts.capture.source.clone(), w.duration_ns()))
}

/// Length of all recordings of a side, ns. What a hostile one says of its time is no reason to fail.
pub(in crate::diff) fn length_ns(side: &[Recording<'_>]) -> i64 {
    let each = side.iter().map(Recording::duration_ns);
    each.fold(0, i64::saturating_add)
}

/// The same in seconds.
pub(in crate::diff) fn seconds(side: &[Recording<'_>]) -> f64 {
    length_ns(side) as f64 / 1e9
}

/// A recording and the part of it that counts, on the trace clock.
#[derive(Debug, Clone, Copy)]
pub(in crate::diff) struct Recording<'f> {
    pub facts: &'f Facts,
    pub devices: &'f [String],
    pub from_ns: i64,
    pub to_ns: i64,
    /// Units of these count in no duration.
    pub left_out: Option<&'f LeftOut>,
    /// Servers whose clients are compared one by one.
    pub apart: Option<&'f Apart>,
    /// What is usual with servers.
    pub usual: Option<&'f Usual>,
    /// Servers have the names of their ports: their addresses are pseudonyms that the other side does not share.
    pub by_port: bool,
}

impl<'f> Recording<'f> {
    pub fn all(side: &[&'f Facts], devices: &'f [String], window: Option<Window>) -> Vec<Recording<'f>> {
        let of = |f: &&'f Facts| {
            let (start, end) = (f.capture.start_ns.unwrap_or(0), f.capture.end_ns.unwrap_or(0));
            let end = end.saturating_add(1);
            let part = window.map_or((start, end), |w| {
                (start.saturating_add(w.from_ns), start.saturating_add(w.to_ns).min(end))
            });
            Recording {
                facts: f,
                devices,
                from_ns: part.0,
                to_ns: part.1.max(part.0),
                left_out: None,
                apart: None,
                usual: None,
                by_port: false,
            }
        };
        side.iter().map(of).collect()
    }
    pub fn has(&self, time_ns: i64) -> bool {
        (self.from_ns..self.to_ns).contains(&time_ns)
    }
    /// Whether a packet counts.
    pub fn sees(&self, time_ns: i64, dev: Name) -> bool {
        self.has(time_ns) && self.on(dev)
    }
    /// Whether a unit of this socket on this device counts.
    pub fn takes(&self, dev: Name, connection: Option<ConnectionId>) -> bool {
        let left = |c: ConnectionId| self.left_out.is_some_and(|l| l.connections.contains(&c));
        self.on(dev) && !connection.is_some_and(left)
    }
    /// Whether it is of a transfer that this side alone has.
    pub fn is_alone(&self, connection: Option<ConnectionId>) -> bool {
        let theirs = |c: ConnectionId| self.left_out.is_some_and(|l| l.transfers.contains(&c));
        connection.is_some_and(theirs)
    }
    /// Whether a device counts.
    pub fn on(&self, dev: Name) -> bool {
        self.devices.is_empty() || self.devices.iter().any(|d| d.as_bytes() == dev.bytes())
    }
    /// Sockets with packets on the devices that count; `None`: all count.
    pub fn connections(&self) -> Option<BTreeSet<ConnectionId>> {
        let (rx, tx) = (&self.facts.rx, &self.facts.tx);
        let rx = rx.iter().filter(|r| self.on(r.dev)).filter_map(|r| r.connection);
        let tx = tx.iter().filter(|r| self.on(r.dev)).filter_map(|r| r.connection);
        (!self.devices.is_empty()).then(|| rx.chain(tx).collect())
    }
    pub fn duration_ns(&self) -> i64 {
        self.to_ns.saturating_sub(self.from_ns)
    }
    /// Length of the whole recording, where this is a part of it.
    pub fn whole_ns(&self) -> Option<i64> {
        let [whole] = &Recording::all(&[self.facts], &[], None)[..] else {
            return None;
        };
        let is_part = (whole.from_ns, whole.to_ns) != (self.from_ns, self.to_ns);
        is_part.then(|| whole.duration_ns())
    }
    pub fn side(&self) -> Side {
        let c = &self.facts.capture;
        Side {
            source: c.source.clone(),
            hostname: c.hostname.clone(),
            kernel_release: c.kernel_release.clone(),
            duration_ns: self.duration_ns(),
            whole_ns: self.whole_ns(),
            events: c.total_events,
            lost_events: c.lost_events,
            told: super::slices::told(self),
        }
    }
}
