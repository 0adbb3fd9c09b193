//! What is said of one group of packets that were dropped.

use super::spells::listed;
use super::ways;
use crate::analyses::drops::reasons::QUEUE_FULL;
use crate::analyses::drops::reasons::UNRECORDED;
use crate::analyses::drops::{Group, REFUSED, Unresolved};
use crate::analyses::verdict::sentences::counted;
use crate::reconstruct::drops::in_words;
use crate::reconstruct::xmits::NOQUEUE;

/// Reason of which its words say what became of the ICMP messages.
const TOO_BIG: &str = "PKT_TOO_BIG";

/// `neighbour 10.9.2.9 on rs`
fn neighbour(n: &Unresolved) -> String {
    let others = match n.others {
        0 => String::new(),
        n => format!(" and {}", counted(n, "other", "others")),
    };
    format!("neighbour {} on {}{others}", n.address, n.dev)
}

/// What a place means, what became of packets whose TTL had run out, what this host answered. No pause in it.
fn meaning(g: &Group) -> String {
    let down = g.reason == QUEUE_FULL && g.qdisc.as_deref() == Some(NOQUEUE);
    let words = match (&g.unresolved, in_words(&g.reason, &g.location, g.why)) {
        (Some(n), words) => words.replacen("neighbour", &neighbour(n), 1),
        (None, words) => words,
    };
    let by_route = g
        .refused_by
        .as_ref()
        .map_or_else(String::new, |r| format!("refused by a route of this host, `{r}`"));
    let counted_full = g.full.as_ref().filter(|f| f.counted).map(|f| f.says.as_str());
    let size = g.full.as_ref().filter(|f| !f.counted).map(|f| f.says.clone());
    let said = match g.answered.as_slice() {
        // Only the qdisc of a device that does not run refuses there (net/sched/sch_generic.c `noop_enqueue`).
        _ if down => "it has no queue, so the device was down or had no carrier",
        _ if g.refused_by.is_some() => by_route.as_str(),
        _ if counted_full.is_some() => counted_full.unwrap_or_default(),
        [one] if words.starts_with(REFUSED) && one.says.ends_with("prohibited") => {
            "refused by a `prohibit` route of this host"
        }
        [one] if words.starts_with(REFUSED) && one.says == "host unreachable" => {
            "refused by an `unreachable` route of this host"
        }
        _ => words.as_str(),
    };
    let ended = g.passes.as_ref().map(|p| match (p.looped, p.once) {
        (0, true) => match (p.ttl, &p.set_by) {
            (Some(ttl), Some(set)) => format!(
                "sent with a TTL of {ttl}, as {set} gives it, too little for this way (inferred by the routers that they passed): no loop"
            ),
            (Some(ttl), None) => format!("sent with a TTL of {ttl} (inferred by the routers that they passed): no loop"),
            (None, _) => "none of them came to a device twice: no loop".to_owned(),
        },
        (0, false) => String::new(),
        (n, _) => format!("a routing loop: {n} of them passed {} up to {} times", p.dev, p.most),
    });
    let told: u64 = g.answered.iter().map(|a| a.count).sum();
    let says = g.answered.first().filter(|_| g.reason != TOO_BIG).map(|a| {
        let of = if told < g.count {
            format!(" for {told} of them")
        } else {
            String::new()
        };
        let more = if g.answered.len() > 1 { " and others" } else { "" };
        format!("ICMP error sent back{of}: {}{more}", a.says)
    });
    let next = g.next_link.as_ref().map(|n| {
        let mtu = n.mtu.map_or_else(String::new, |mtu| format!(", MTU {mtu}"));
        format!("its next link is {}{mtu}", n.dev)
    });
    let own = [
        g.same_mac.clone(),
        g.damaged.as_ref().map(ways::damaged),
        g.came_back.clone(),
        g.untranslated.clone(),
        g.by_counter.clone(),
        g.bridged.map(|setting| {
            format!("on a port of a bridge, whose frames meet the rules of IP as well ({setting} = 1; inferred)")
        }),
        g.finds_rate.map(ways::finds_rate),
        g.line_full.map(ways::line_full),
        g.incast.as_ref().map(ways::incast),
        ways::redirected(g),
        ways::flooded(g),
    ];
    let all = [Some(said.to_owned()), next, size]
        .into_iter()
        .chain(own)
        .chain([ended, says]);
    let all = all.flatten();
    let all: Vec<String> = all.filter(|s| !s.is_empty()).collect();
    if all.is_empty() {
        String::new()
    } else {
        format!(" ({})", all.join(", "))
    }
}

pub(super) fn place(g: &Group) -> String {
    let inferred = if g.reason_inferred { " (inferred)" } else { "" };
    match g.location.as_str() {
        "" => g.reason.clone(),
        at => {
            let places: Vec<String> = std::iter::once(at.to_owned())
                .chain(g.also_at.iter().cloned())
                .collect();
            let reason = if g.reason.is_empty() { UNRECORDED } else { &g.reason };
            format!("{reason}{inferred} at {}", listed(&places))
        }
    }
}

/// ` on eth0`; a packet that waits for a neighbour has not come to the device by which it would leave: it was last seen where it came from.
pub(super) fn on(g: &Group) -> String {
    match g.dev.as_str() {
        "" => String::new(),
        _ if g.unresolved.is_some() => String::new(),
        dev if g.reason.starts_with("NEIGH_") => format!(", last seen on {dev}"),
        dev => format!(" on {dev}"),
    }
}

pub(super) fn group(g: &Group) -> String {
    let host = g.host.as_ref().map(|host| format!(" of {host}"));
    let dev = match on(g) {
        dev if dev.is_empty() => dev,
        dev => dev + &host.unwrap_or_default(),
    };
    let qdisc = g.qdisc.as_deref().map_or_else(String::new, |q| format!(" (qdisc {q})"));
    match g.reason.as_str() {
        TOO_BIG => format!("{}{dev}{qdisc}{}", place(g), meaning(g)),
        _ => format!("{}{}{dev}{qdisc}", place(g), meaning(g)),
    }
}
