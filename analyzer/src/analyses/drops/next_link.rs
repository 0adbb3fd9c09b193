//! The link that packets were too large for: the device on which others of the same connection, that came in at the same one, were queued next.
//!
//! Needs `drops`, `hops`, links by name.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::whose::{Carries, Whose};

/// Reason of such frees.
const TOO_BIG: &str = "PKT_TOO_BIG";

/// A link that takes less.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct NextLink {
    /// Its device.
    pub dev: String,
    /// Its MTU, bytes, where it is smaller than one of them; empty: it is not (a route has a limit of its own), the bundle does not tell, or several devices of
    /// that name have several.
    pub mtu: Option<u64>,
}

pub(super) fn next_link(facts: &Facts, whose: &Whose<'_>, reason: &str, rows: &[&DropRow]) -> Option<NextLink> {
    let first = rows.first().filter(|_| reason == TOO_BIG)?;
    let theirs = |carries: Carries| matches!(carries, Carries::Data | Carries::Syn | Carries::SynData);
    let of = rows.iter().filter_map(|r| r.owner).filter(|o| theirs(o.carries));
    let connections: FxHashSet<ConnectionId> = of.filter_map(|o| o.connection).collect();
    let dropped: FxHashSet<SkbId> = rows.iter().filter_map(|r| r.skb_id).collect();
    let mut came: FxHashMap<SkbId, bool> = FxHashMap::default();
    let mut next: BTreeSet<Name> = BTreeSet::new();
    let mut longest = None;
    for h in &facts.hops {
        if dropped.contains(&h.skb_id) {
            longest = longest.max(h.bytes.filter(|_| h.kind == "rx"));
        } else if h.kind == "rx" && h.dev == first.dev {
            let owner = || whose.packet(h.skb_id).filter(|o| theirs(o.carries))?.connection;
            came.entry(h.skb_id)
                .or_insert_with(|| owner().is_some_and(|c| connections.contains(&c)));
        } else if h.kind == "queue" && h.dev != first.dev && came.remove(&h.skb_id) == Some(true) {
            next.insert(h.dev);
        }
    }
    let dev = next.first().filter(|_| next.len() == 1)?.text().into_owned();
    let mtu = (facts.routes.links.mtu(&dev)).filter(|mtu| longest.is_some_and(|n| u64::from(n) > *mtu));
    Some(NextLink { dev, mtu })
}
