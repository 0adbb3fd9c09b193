//! Where do received packets spend their time? Per stage of the receive ledger: distribution and share of all time.
//!
//! Needs the view `rx`. Censored units (not read in the recording, under way when it began, shadowed by a loss) have no
//! total but a lower bound: they are in no percentile, and counted by their cause in `excluded`. A stage that did not
//! happen or is not known for a unit is not in that stage's distribution. Solid = certain or strong; every figure is
//! given for these and for all.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::Confidence;
use crate::analyses::units::{Place, Units};
use crate::analyses::waits::StageTimes;
use crate::analyses::{Outcome, not_recorded, reasons};
use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::receive::tables::{Censored, RxEnd, RxRow, Stage};
use crate::stat::Distribution;

mod asked_meanwhile;
mod blamed;
mod busy_with;
mod children;
mod holes;
mod low_water;
mod read_of;
mod readers;
mod small_reads;
#[cfg(test)]
mod tests;
mod uneven;

pub use asked_meanwhile::AskedMeanwhile;
pub use blamed::{BLAMED, Blamed};
pub use busy_with::BusyWith;
pub use children::Children;
pub use holes::Holes;
pub use low_water::LowWater;
pub use read_of::ReadOf;
pub use readers::Reader;
pub use small_reads::SmallReads;
pub use uneven::Uneven;

/// Groups of events of which any one does: that a packet arrived, that TCP had it, that it was read.
const TOLD_BY: [&[&str]; 3] = [
    &["net:netif_receive_skb"],
    &["tcp:tcp_probe"],
    &["skb:skb_copy_datagram_iovec", "sock:sock_recv_length"],
];

/// How many worst units are kept as examples.
pub const EXAMPLES: usize = 10;

/// A unit worth looking at.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Example {
    /// The skb.
    pub skb_id: u32,
    /// Start on the trace clock.
    pub start_ns: i64,
    /// Total.
    pub total_ns: i64,
    /// Device.
    pub dev: String,
    /// Reader.
    pub task: String,
    /// TCP socket.
    pub connection: Option<u32>,
    /// Longest stage.
    pub top_stage: &'static str,
    /// Its time.
    pub top_ns: i64,
    /// Confidence word.
    pub confidence: &'static str,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Receive {
    /// Units read.
    pub read: u64,
    /// Segments without payload.
    pub protocol_only: u64,
    /// Units put in a receive queue and not seen read; of a slice by flow or device those of sockets that were read, as reads of others are cut.
    pub queued: u64,
    /// Those that were not seen read until their socket was closed; not among `queued`.
    pub closed: u64,
    /// The longest that one of these is known to have waited when the recording ended, ns.
    pub unread_at_least_ns: Option<i64>,
    /// Units in no percentile, by why: `censored_start`, `censored_end`, `closed`, `loss`; and `not_solid`, those in the percentiles
    /// of all but not in the solid ones. Causes that excluded nothing are not there.
    pub excluded: BTreeMap<&'static str, u64>,
    /// Units by confidence word.
    pub by_confidence: BTreeMap<&'static str, u64>,
    /// First event to end of read, read units only.
    pub total: StageTimes,
    /// Per stage, in the order of the path.
    pub stages: Vec<StageTimes>,
    /// Time in no stage.
    pub unattributed: StageTimes,
    /// Residence in the receive queue.
    pub rcvq: StageTimes,
    /// Totals of read units per receiving device.
    pub by_dev: BTreeMap<String, Distribution>,
    /// Totals of read units per reading task.
    pub by_task: BTreeMap<String, Distribution>,
    /// Who had most of the time.
    pub reader: Option<Reader>,
    /// What had the CPU while units waited for it, and the system call their reader slept in, by stage in the order of the path, most time first.
    pub blamed: Vec<Blamed>,
    /// The other connections that readers slept in a read of, where that is most of their sleep.
    pub read_of: Option<ReadOf>,
    /// The server that the reader with most of the sleep asked, and waited for, meanwhile.
    pub asked_meanwhile: Option<AskedMeanwhile>,
    /// Processes whose end the reader with most of the sleep in no recorded syscall waited for.
    pub children: Option<Children>,
    /// The other connections that readers were at while they ran, where that is most of it.
    pub busy_with: Option<BusyWith>,
    /// The units with the largest total, worst first.
    pub worst: Vec<Example>,
    /// The reader that took a few bytes with most calls, while more lay there.
    pub small_reads: Option<SmallReads>,
    /// Readers of one server of which some leave what it sends lying, and others do not.
    #[serde(skip)]
    pub uneven: Option<Uneven>,
    /// The socket with most of the time for which TCP kept data back, where nothing was missing before it.
    pub low_water: Option<LowWater>,
    /// Connections on which data came behind something missing, most time with such first; of peers outside the recording.
    pub holes: Vec<Holes>,
    /// Why units, or their reads, are missing: events that nothing says were recorded.
    pub lacks: Vec<String>,
}

/// Asks.
pub fn answer(facts: &Facts, units: &Units<'_, RxRow>) -> Outcome<Receive> {
    if facts.rx.is_empty() {
        let none = lacks(facts).into_iter().next();
        let none = none.unwrap_or_else(|| {
            "no packet with payload came to a socket in this recording (handshakes and ACKs alone have no reader)"
                .into()
        });
        return Outcome::Unknown(reasons(facts, "rx", &none));
    }
    let counts = Counts::of(facts);
    let blamed = blamed::blamed(units.rows());
    let mut stages = units.stages();
    if let (Some(words), Some(stage)) = (
        blamed::asleep(&blamed),
        stages.iter_mut().find(|s| s.stage == Stage::ReaderAsleep.name()),
    ) {
        stage.meaning = words;
    }
    let rcvq = "socket readable to the copy of its last byte";
    Outcome::Findings(Receive {
        read: units.rows().len() as u64,
        protocol_only: counts.protocol,
        queued: counts.queued,
        closed: counts.closed,
        unread_at_least_ns: counts.unread_at_least_ns,
        excluded: counts.excluded,
        by_confidence: counts.by_confidence.into_iter().map(|(c, n)| (c.word(), n)).collect(),
        total: units.total(),
        stages,
        unattributed: units.unattributed(),
        rcvq: units.times("rcvq", rcvq, |r| r.rcvq_ns),
        by_dev: totals(units, |p| p.dev),
        by_task: totals(units, |p| p.task),
        reader: readers::reader(facts, units.rows()),
        blamed,
        read_of: read_of::read_of(facts, units.rows()),
        asked_meanwhile: asked_meanwhile::asked_meanwhile(facts, units.rows()),
        children: children::children(facts, units.rows()),
        busy_with: busy_with::busy_with(facts, units.rows()),
        worst: worst(units.rows()),
        small_reads: small_reads::small_reads(facts, units),
        uneven: uneven::uneven(facts, units),
        low_water: low_water::low_water(facts, units.rows()),
        holes: holes::of_connections(facts),
        lacks: lacks(facts),
    })
}

/// What is counted of all rows.
#[derive(Default)]
struct Counts {
    protocol: u64,
    queued: u64,
    closed: u64,
    unread_at_least_ns: Option<i64>,
    excluded: BTreeMap<&'static str, u64>,
    by_confidence: BTreeMap<Confidence, u64>,
}

impl Counts {
    fn of(facts: &Facts) -> Counts {
        let rows = &facts.rx;
        let mut counts = Counts::default();
        // A cut by flow or device keeps packets of others, and not their reads.
        let slice = facts.capture.part.slice.as_ref();
        let cut = slice.is_some_and(|s| !s.subject.is_empty());
        let read = rows.iter().filter(|r| r.end == RxEnd::Read).map(|r| r.connection);
        let read: Option<FxHashSet<_>> = cut.then(|| read.collect());
        for r in rows {
            let seen = read.as_ref().is_none_or(|of| of.contains(&r.connection));
            let queued = r.end == RxEnd::Queued && seen;
            *counts.by_confidence.entry(r.confidence).or_insert(0) += 1;
            counts.protocol += u64::from(r.end == RxEnd::Protocol);
            counts.queued += u64::from(queued);
            counts.closed += u64::from(r.end == RxEnd::Closed && seen);
            if queued && r.censored == Some(Censored::End) {
                counts.unread_at_least_ns = counts.unread_at_least_ns.max(r.at_least_ns);
            }
            let why = match r.censored {
                _ if r.end == RxEnd::Protocol => continue,
                Some(Censored::Start) => "censored_start",
                Some(Censored::Loss) => "loss",
                Some(Censored::End) => "censored_end",
                None if r.end == RxEnd::Queued => "censored_end",
                None if r.end == RxEnd::Closed => "closed",
                None if !r.confidence.is_solid() => "not_solid",
                None => continue,
            };
            *counts.excluded.entry(why).or_insert(0) += 1;
        }
        counts
    }
}

/// Whole times of solid units by a name of their places.
fn totals(units: &Units<'_, RxRow>, name: impl Fn(&Place) -> Name) -> BTreeMap<String, Distribution> {
    let (places, at) = units.places();
    let names: Vec<Name> = places.iter().map(name).collect();
    let mut distinct: Vec<String> = names.iter().map(|n| n.text().into_owned()).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let nth = |name: &Name| distinct.binary_search_by(|d| d.as_str().cmp(&name.text())).unwrap_or(0);
    let of_place: Vec<usize> = names.iter().map(nth).collect();
    let mut values: Vec<Vec<i64>> = vec![vec![]; distinct.len()];
    for (r, place) in units.solid().iter().zip(at) {
        let of = of_place.get(*place as usize).and_then(|nth| values.get_mut(*nth));
        if let Some(of) = of {
            of.push(r.total_ns);
        }
    }
    let all = distinct.into_iter().zip(values);
    all.map(|(name, values)| (name, Distribution::of(values, 0))).collect()
}

/// Events of which one at least says what arrived, and of which one at least says what was read; nobody enabled them.
fn lacks(facts: &Facts) -> Vec<String> {
    let none = |keys: &[&str]| {
        let of = keys.iter().filter_map(|k| not_recorded(facts, &[k]));
        let of: Vec<String> = of.collect();
        (of.len() == keys.len()).then(|| of.into_iter().next()).flatten()
    };
    TOLD_BY.iter().filter_map(|keys| none(keys)).collect()
}

fn worst(read: &[&RxRow]) -> Vec<Example> {
    let mut order: Vec<(std::cmp::Reverse<i64>, SkbId, usize)> = read
        .iter()
        .enumerate()
        .map(|(nth, r)| (std::cmp::Reverse(r.total_ns), r.skb_id, nth))
        .collect();
    if order.len() > EXAMPLES {
        order.select_nth_unstable(EXAMPLES);
        order.truncate(EXAMPLES);
    }
    order.sort_unstable();
    let example = |r: &&RxRow| {
        let top = Stage::ALL.iter().filter_map(|s| Some((r.stage(*s)?, s.name())));
        let (top_ns, top_stage) = top
            .max_by_key(|(v, _)| *v)
            .unwrap_or((r.unattributed_ns, "unattributed"));
        Example {
            skb_id: r.skb_id.0,
            start_ns: r.start_ns,
            total_ns: r.total_ns,
            dev: r.dev.text().into_owned(),
            task: r.task.text().into_owned(),
            connection: r.connection.map(|c| c.0),
            top_stage,
            top_ns,
            confidence: r.confidence.word(),
        }
    };
    order
        .iter()
        .filter_map(|(_, _, nth)| read.get(*nth))
        .map(example)
        .collect()
}
