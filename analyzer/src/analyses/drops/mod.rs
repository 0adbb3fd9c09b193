//! What was dropped, why, and does it matter? Groups of `kfree_skb` by reason, place and device, expected frees apart.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::analyses::{Outcome, reasons};
use crate::facts::Facts;
use crate::reconstruct::xmits::NOQUEUE;

mod answered;
mod arp;
mod aside;
mod bridged;
mod by_counter;
mod came_back;
mod clash;
mod counted;
mod covered;
mod cut;
mod damaged;
mod described;
mod ends;
mod finds_rate;
mod flood;
mod forgotten;
mod fragments;
mod full;
mod given_up;
mod group;
mod hurt;
mod incast;
mod inside;
mod kinds;
mod line_full;
mod meanwhile;
mod membership;
mod memory;
mod next_link;
mod one_way;
mod own_queue;
mod places;
pub(crate) mod reasons;
mod receiver;
mod refused;
mod repairs;
mod rerouted;
mod same_mac;
mod sizes;
mod steady;
#[cfg(test)]
mod tests;
mod times;
mod unjoined;
mod unmapped;
mod unmissed;
mod unresolved;
mod untold;
mod untranslated;
mod whose;

pub use answered::{Answered, Passes, Redirected};
pub use arp::{Arp, Several, Silent};
pub use cut::Cut;
pub use damaged::Damaged;
pub use ends::{Addresses, Ends, Pairs};
pub use flood::Flood;
pub use forgotten::Forgotten;
pub(crate) use forgotten::after_silence;
pub use fragments::{Beside, Fragments};
pub use group::{Full, Group};
pub use hurt::{Hurt, NEARLY_ALL};
pub use incast::Incast;
pub use inside::Inside;
pub use kinds::{KINDS, Kind, kind};
pub use next_link::NextLink;
pub(super) use reasons::{place, text, why};
pub use receiver::Receiver;
pub use repairs::Repairs;
pub use sizes::Sizes;
pub use steady::Steady;
pub use unjoined::Unjoined;
pub(crate) use unmissed::OneWay;
pub use unmissed::Unmissed;
pub use unresolved::Unresolved;
pub(crate) use untold::OWN_BUFFER;
pub use untold::Untold;
pub use whose::{FROM, Lost, owner};

/// Where a qdisc's drops are freed (net/core/dev.c), and where kernels are that free them as a list.
const QDISC_PLACE: &str = "__dev_queue_xmit";
const LIST_PLACE: &str = "kfree_skb_list";

/// Reasons of which one may be that nobody is there.
pub(crate) const NOBODY: [&str; 4] = [
    reasons::RULES,
    reasons::UNRESOLVED,
    reasons::NO_ROUTE,
    reasons::NO_ROUTE_IN,
];

/// Groups of lost packets of which it is told whose they were.
pub(crate) const OWNED: usize = 12;

/// How the words for places begin at which routes refuse.
pub const REFUSED: &str = "refused by a route";

/// The answer.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Drops {
    /// Whether a `kfree_skb` that happened would be in the recording; else no drop seen is no news.
    pub recorded: bool,
    /// All `kfree_skb`.
    pub total: u64,
    /// Packets lost, but for `background`.
    pub lost: u64,
    /// Packets lost of the kernel's own traffic.
    pub background: u64,
    /// Frees that healthy kernels do.
    pub expected: u64,
    /// Frees that nothing tells apart.
    pub unclear: u64,
    /// First and last of `lost`, ns since the start of the recording.
    pub lost_within_ns: Option<(i64, i64)>,
    /// Length of the recording, ns.
    pub duration_ns: i64,
    /// Groups, lost ones first, then by count.
    pub groups: Vec<Group>,
    /// Of what rules dropped, where nobody is known to miss it: what it was.
    pub unmissed: Option<Unmissed>,
    /// Devices on which multicast was dropped that their hosts had not joined, where somebody may miss it.
    pub unjoined: Vec<Unjoined>,
    /// Segments that TCP dropped where no event tells why, by counters of the kernel.
    pub untold: Vec<Untold>,
    /// Connections of which data or SYNs were lost.
    #[serde(skip)]
    pub hurt: Hurt,
}

impl Drops {
    /// Groups of lost packets, but for the kernel's own traffic.
    pub(crate) fn lost_groups(&self) -> impl Iterator<Item = &Group> {
        let lost = self.groups.iter();
        lost.filter(|g| g.expected == Some(false) && !g.background)
    }
}

/// Reason, place, device, expected, background, why.
type Key = (String, String, String, Option<bool>, bool, &'static str);

/// How many, the first and its place in the view, the last.
type Count = (u64, (i64, u64), i64);

fn add(sum: &mut Count, of: Count) {
    *sum = (sum.0 + of.0, sum.1.min(of.1), sum.2.max(of.2));
}

/// Root qdisc of a device, where all devices of its name have one kind.
fn qdisc(facts: &Facts, dev: &str) -> Option<String> {
    let said = facts.settings.0.get(&format!("{dev} qdisc"))?;
    let mut kinds = said.split(" | ").filter_map(|one| one.split(' ').next());
    let first = kinds.next()?;
    // The lists were read before the recording: what refuses on a device without a queue is one that was added since, or its being down.
    let known = first != NOQUEUE || facts.routes.flap(dev).is_some();
    (kinds.all(|k| k == first) && known).then(|| first.to_owned())
}

/// Asks.
pub fn answer(facts: &Facts) -> Outcome<Drops> {
    if !facts.capture.events.contains_key("skb:kfree_skb") && facts.unknown.iter().any(|r| r.subject == "drops") {
        return Outcome::Unknown(reasons(facts, "drops", "kfree_skb was not recorded"));
    }
    let mut by_number: FxHashMap<_, Count> = FxHashMap::default();
    for (at, d) in (0u64..).zip(&facts.drops) {
        let one = (1, (d.time_ns, at), d.time_ns);
        let key = (d.reason, d.location, d.dev, d.expected, d.background, d.why);
        by_number.entry(key).and_modify(|of| add(of, one)).or_insert(one);
    }
    // Different numbers may have one name.
    let mut by: BTreeMap<Key, Count> = BTreeMap::new();
    for ((reason, location, dev, expected, background, why), of) in by_number {
        let (reason, location) = (facts.names.drop_reason(reason), facts.names.location(location));
        let dev = dev.text().into_owned();
        let key = (text(reason), text(location), dev, expected, background, why);
        by.entry(key).and_modify(|sum| add(sum, of)).or_insert(of);
    }
    let mut groups: Vec<Group> = vec![];
    for ((reason, location, dev, expected, background, why), (count, (first_ns, first_drop), last_ns)) in by {
        let there = location == QDISC_PLACE || location.starts_with(LIST_PLACE) && reason == reasons::QUEUE_FULL;
        let by_qdisc = there && expected == Some(false) && !dev.is_empty();
        groups.push(Group {
            qdisc: by_qdisc.then(|| qdisc(facts, &dev)).flatten(),
            reason_inferred: facts.names.reasons_by_place && !reason.is_empty(),
            reason,
            location,
            dev,
            expected,
            background,
            why,
            first_drop,
            count,
            first_ns,
            last_ns,
            ..Group::default()
        });
    }
    let rank = |g: &Group| {
        KINDS
            .iter()
            .position(|k| (k.expected, k.background) == (g.expected, g.background))
    };
    groups.sort_by_key(|g| (rank(g), std::cmp::Reverse(g.count)));
    described::described(facts, &mut groups);
    let of = |e, b| groups.iter().filter(move |g| (g.expected, g.background) == (e, b));
    let count = |e, b| of(e, b).map(|g| g.count).sum();
    let since = |ns: i64| ns.saturating_sub(facts.capture.start_ns.unwrap_or(0));
    let first = of(Some(false), false).map(|g| since(g.first_ns)).min();
    let last = of(Some(false), false).map(|g| since(g.last_ns)).max();
    Outcome::Findings(Drops {
        recorded: facts.capture.recorded("skb:kfree_skb"),
        total: facts.drops.len() as u64,
        lost: count(Some(false), false),
        background: count(Some(false), true),
        expected: count(Some(true), false),
        unclear: count(None, false),
        lost_within_ns: first.zip(last),
        duration_ns: facts.capture.duration_ns,
        groups,
        unmissed: unmissed::unmissed(facts),
        unjoined: unjoined::unjoined(facts),
        untold: untold::untold(facts),
        hurt: hurt::hurt(facts),
    })
}
