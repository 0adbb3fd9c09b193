//! Whose the packets of a group of drops were, in words: how many of how many, of which sizes, in which pattern.

use super::fragments::fragments;
use super::sentences::{counted, duration, moment, rate};
use super::spells::{listed, listed_few};
use crate::analyses::drops::reasons::{NO_ROUTE_IN, RULES};
use crate::analyses::drops::{Addresses, Arp, Cut, Ends, FROM, Group, Inside, Lost, Pairs, Receiver, Sizes};

/// Of pairs of addresses with fewer than one in so many of a group nothing is said.
const FEW_OF: u64 = 4;
/// Devices that are named.
const DEVICES: usize = 4;
/// Kinds of packets of a group of which it is said whose they were.
const WHOSE: usize = 2;

/// For how long nothing of it went on: at least from the first drop to the last, at most from the packet before to the one after.
fn stopped(g: &Group, l: &Lost) -> String {
    let seconds = |ns: i64| ns as f64 / 1e9;
    let each = l.stopped_ns.iter();
    let each = each.map(|(least, most)| format!("{:.3} to {:.3} s", seconds(*least), seconds(*most)));
    let each: Vec<String> = each.collect();
    match each.as_slice() {
        [] => String::new(),
        [one] if g.reason == NO_ROUTE_IN => format!(", the route was gone once, for {one}"),
        [one] => format!(", and for {one} none of them got through"),
        all if g.reason == NO_ROUTE_IN => {
            format!(", the route was gone {} times, for {}", all.len(), listed(all))
        }
        all => format!(", {} times none of them got through, for {}", all.len(), listed(all)),
    }
}

/// How many of a group, where not all.
fn of_these(g: &Group, l: &Lost) -> String {
    match l.count < g.count {
        true => format!(" ({} of these)", l.count),
        false => String::new(),
    }
}

/// Whose the packets of a group were, how many of how many, in which pattern. No pause in it: the head of the page has all of it.
pub(super) fn whose(g: &Group) -> Option<String> {
    let said = |l: &Lost| {
        // A connection has no preposition of its own.
        let of = l.whose.contains(" > ");
        let tunnel = l.made_by.as_deref().unwrap_or("a tunnel");
        let icmp = || format!("the ICMP messages \"too big\" that {tunnel} made of TCP segments ");
        let what = match l.carries {
            "too_big" if of => {
                return format!("{}of {}{}, which are too large for it", icmp(), l.whose, of_these(g, l));
            }
            "too_big" => return format!("{}{}{}, which are too large for it", icmp(), l.whose, of_these(g, l)),
            "data" if of => "TCP data of ",
            "data" => "TCP data ",
            "syn_data" if of => "SYNs with data (TCP Fast Open) of ",
            "syn_data" => "SYNs with data (TCP Fast Open) ",
            "fin" if of => "FINs of ",
            "fin" => "FINs ",
            "syn" if of => "SYNs of ",
            "syn" => "SYNs ",
            "datagram" => "UDP packets ",
            "sent" => "packets ",
            _ if l.whose.starts_with(FROM) => "what came ",
            _ => "for the socket ",
        };
        let share = match l.came {
            _ if l.fragments.is_some() => fragments(l, g.reason == RULES),
            Some(1) => ", the only one seen there".to_owned(),
            Some(came) if came == l.count => format!(", all of the {came} seen there"),
            Some(came) if l.count < g.count => format!(", {} of these, of {came} seen there", l.count),
            Some(came) => format!(", {} of the {came} seen there", l.count),
            None if l.count < g.count => format!(", {} of these", l.count),
            None => String::new(),
        };
        let every = l.every.filter(|_| l.fragments.is_none());
        let every = every.map_or_else(String::new, |n| format!(", exactly one in {n}"));
        let stopped = stopped(g, l);
        let rate = l
            .passed_bit_s
            .filter(|bits| stopped.is_empty() && *bits > 0.0 && l.passed_packets_s.is_none_or(|n| n >= 0.5))
            .map_or_else(String::new, |bits| {
                let packets = l
                    .passed_packets_s
                    .map_or_else(String::new, |n| format!(" ({n:.0} packets/s)"));
                format!(", while {}{packets} of them got through", rate(bits / 1e6))
            });
        let others = l.others.iter().map(|(task, n)| format!("{n} of {task}"));
        let others: Vec<String> = others.collect();
        let others = match others.as_slice() {
            [] => String::new(),
            all => format!(", the others {}", listed(all)),
        };
        let said = l.fragments.as_ref().is_some_and(|f| f.beside.is_some());
        let sent = l.sent_to.as_ref().filter(|_| !said);
        let sent = sent.map_or_else(String::new, |to| format!(", those dropped were sent to {to}"));
        format!("{what}{}{share}{every}{stopped}{rate}{sent}{others}", l.whose)
    };
    let of: Vec<String> = g.of.iter().take(WHOSE).map(said).collect();
    let forgotten = g.forgotten.map_or_else(String::new, |f| {
        format!(
            ", the first after a silence of {} or longer on each of {} connections (after {} at most it passed): a firewall that has forgotten them (conntrack time-out, inferred)",
            duration(f.silent_least_ns),
            f.connections,
            duration(f.passed_most_ns)
        )
    });
    let sizes = g.sizes.map_or_else(String::new, sizes);
    let igmp = g.membership.map(|n| {
        let which = if n == g.count { "all".to_owned() } else { n.to_string() };
        format!("{which} as long as IGMP's queries and reports, that a kernel sent for itself (inferred), without which a snooping switch forgets the members of a multicast group")
    });
    let arp = g.arp.as_ref().map(|a| arp(g, a));
    let steady = g.steady.as_ref().map(|s| {
        let others = match s.others {
            0 => String::new(),
            n => format!(" and {}", counted(n, "other transfer", "other transfers")),
        };
        format!("{}{others} was under way before the recording and behind it and got on as fast throughout, as where a rule polices what finds its rate (inferred)", s.most)
    });
    let of = match of.is_empty() {
        true => forgotten.strip_prefix(", ").map(str::to_owned),
        false => Some(format!("{}{sizes}{forgotten}", of.join(", "))),
    };
    let to = g.receiver.as_ref().map(|r| receiver(g, r));
    let inside = g.inside.as_ref().map(|i| inside(g, i));
    let ends = g.ends.as_ref().map(|e| ends(g, e));
    let cut = g.cut.as_ref().map(|c| cut(g, c));
    let said: Vec<String> = of
        .into_iter()
        .chain(cut)
        .chain(ends)
        .chain(to)
        .chain(inside)
        .chain(igmp)
        .chain(arp)
        .chain(steady)
        .collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// `all that came by tap0 and tap1 to be passed on from 5.023 s on (1724 dropped, where 1640 went on before)`
fn cut(g: &Group, c: &Cut) -> String {
    let devices = listed_few(&c.devices, DEVICES, ("other", "others"));
    let which = match (c.later, c.dropped == g.count) {
        (0, true) => "all".to_owned(),
        (0, false) => format!("{} of these are all", c.dropped),
        (_, true) => "nearly all".to_owned(),
        (..) => format!("{} of these are nearly all", c.dropped),
    };
    let later = match c.later {
        0 => String::new(),
        n => format!(" and {n} since"),
    };
    format!(
        "{which} that came by {devices} to be passed on from {} on ({} went on before{later}), as where a rule or policy was set then (inferred)",
        moment(c.since_ns),
        c.before
    )
}

/// `all to 198.51.100.10, from 10.40.0.27 (24) and 10 other addresses, by their route lookups`
fn ends(g: &Group, e: &Ends) -> String {
    let of = |a: &Addresses| match a.others {
        0 => a.most.clone(),
        1 => format!("{} ({}) and 1 other address", a.most, a.count),
        n => format!("{} ({}) and {n} other addresses", a.most, a.count),
    };
    let which = match (e.known == g.count, e.to.others) {
        (true, 0) => "all ".to_owned(),
        (true, _) => String::new(),
        (false, _) => format!("{} of these ", e.known),
    };
    let pairs = |p: &Pairs| {
        let of = match p.dropped == g.count {
            true => "all".to_owned(),
            false => p.dropped.to_string(),
        };
        format!(
            "{of} of {}",
            counted(p.pairs, "pair of addresses", "pairs of addresses")
        )
    };
    // A few beside many tell nothing of these.
    let worth = |p: &&Pairs| p.dropped.saturating_mul(FEW_OF) >= g.count;
    let cut = e.cut_off.as_ref().filter(worth).map_or_else(String::new, |p| {
        format!(
            ", {} of which {} got through before and none is known to since",
            pairs(p),
            counted(p.passed, "other", "others")
        )
    });
    let partly = e.partly.as_ref().filter(worth).map_or_else(String::new, |p| {
        format!(
            ", {} of which {} got through",
            pairs(p),
            counted(p.passed, "other", "others")
        )
    });
    format!(
        "{which}to {}, from {}, by their route lookups{cut}{partly}",
        of(&e.to),
        of(&e.from)
    )
}

/// `all ARP: 10.0.0.53 on eth1, which answers at other times, could not be resolved from 12.604 s to 16.702 s (inferred), and of 221 more addresses nobody answered`
fn arp(g: &Group, a: &Arp) -> String {
    let which = match a.frames == g.count {
        true => "all ARP".to_owned(),
        false => format!("{} ARP", a.frames),
    };
    if let (None, Some(s)) = (&a.silent, &a.several) {
        return format!(
            "{which}: meanwhile {} had to wait for the neighbour {} on {}, which several network namespaces have (that these frames are the cause is inferred)",
            counted(s.packets, "packet", "packets"),
            s.address,
            s.dev
        );
    }
    let Some(s) = &a.silent else { return which };
    let others = match a.others {
        0 => String::new(),
        n => format!(" and {}", counted(n, "other", "others")),
    };
    let to = s.to_ns.map_or_else(|| "the end".to_owned(), moment);
    let nobody = match a.nobody {
        0 => String::new(),
        n => format!("; {} asked for never answered", counted(n, "address", "addresses")),
    };
    format!(
        "{which}: the neighbour {}{others} on {}, which answers at other times, was not resolved from {} to {to} (that these frames are the cause is inferred){nobody}",
        s.address,
        s.dev,
        moment(s.from_ns)
    )
}

/// `for the socket at 10.0.0.2:53 of dnsmasq/411 (receive buffer 8192 bytes)`
fn receiver(g: &Group, r: &Receiver) -> String {
    let task = match r.task.as_str() {
        "" => String::new(),
        task => format!(" of {task}"),
    };
    let size = r
        .rcvbuf
        .map_or_else(String::new, |n| format!(" (receive buffer {n} bytes)"));
    let socket = if task.is_empty() && size.is_empty() {
        ""
    } else {
        "the socket at "
    };
    let which = match r.count == g.count {
        true => String::new(),
        false => format!("{} of them known to be ", r.count),
    };
    format!("{which}for {socket}{}{task}{size}", r.to)
}

/// `all inside the vxlan tunnel flannel.1`
fn inside(g: &Group, i: &Inside) -> String {
    let which = if i.count == g.count {
        "all".to_owned()
    } else {
        i.count.to_string()
    };
    format!("{which} inside the {} tunnel {}", i.kind, i.dev)
}

/// `, all of 1514 bytes: 2.8 % of the 8429 of that size that came to these sockets, none of the 250 smaller ones`
fn sizes(s: Sizes) -> String {
    let so_large = match s.least == s.most {
        true => (format!("all of {} bytes", s.least), "of that size"),
        false => (format!("all of {} bytes or more", s.least), "so large"),
    };
    let share = s.dropped as f64 * 100.0 / s.came.max(1) as f64;
    format!(
        ", {}: {share:.1} % of the {} {} that came to these sockets, none of the {} smaller ones",
        so_large.0, s.came, so_large.1, s.smaller
    )
}
