//! The verdict's line on UDP: who asked and got no answer or a late one, and what came twice.

mod ceased;
mod silent;

use super::evidence::from;
use super::sentences::{apart, capital, counted, duration, moment, of_all, or_dash};
use super::{OPEN_NOTICE_NS, Tone, asked_alone, asked_on, lost, questions, readers, waited_in_vain};
use crate::analyses::application::Application;
use crate::analyses::datagrams::{Copied, Datagrams, InVain, Partly, port_of_any};
use crate::analyses::drops::Drops;
use crate::analyses::receive::Children;
use silent::silent;

/// So many answers before the first without one tell that it was not so all along.
const BEFORE: u64 = 10;

/// How long it waited, each time.
fn waited(v: &InVain) -> String {
    let (least, most) = (v.waited.min_ns.unwrap_or(0), v.waited.max_ns.unwrap_or(0));
    match v.turns {
        1 => duration(most),
        // Told apart only where they are.
        _ if duration(least) == duration(most) || most.saturating_sub(least) <= most / 20 => {
            format!("{} each time", or_dash(v.waited.p50_ns))
        }
        _ => format!("{} to {}", duration(least), duration(most)),
    }
}

/// Where a socket is: of one that takes any address its port is what tells.
pub(super) fn address(of: &str) -> String {
    match port_of_any(of) {
        Some(port) => format!("port {port}"),
        None => of.to_owned(),
    }
}

fn place(v: &InVain) -> String {
    match (v.to.is_empty(), v.socket, v.holder.as_str()) {
        (false, ..) if v.came_to.is_empty() => format!("to {}", address(&v.to)),
        (false, ..) => format!("to {} (translated on the way to {}: NAT, inferred)", v.to, v.came_to),
        (true, Some(_), "") => "to a socket of this host, whose address is not recorded,".into(),
        (true, Some(_), holder) => format!("to a socket of {holder}, whose address is not recorded,"),
        (true, None, _) => "to an address that is not recorded".into(),
    }
}

/// What became of those that came to a socket of this host; those that were asked on were read.
fn there(v: &InVain) -> Option<String> {
    if !v.onward.is_empty() {
        return None;
    }
    let holder = match (v.holder.as_str(), v.socket) {
        (_, None) => return None,
        ("", _) => "a socket on this host".to_owned(),
        (holder, _) => format!("a socket of {holder} on this host"),
    };
    let by = match v.named_by {
        "queue" => " (by a snapshot: the one socket whose queue grew)",
        _ => "",
    };
    if let Some(u) = &v.usurped {
        return Some(asked_on::usurped(u));
    }
    if v.untaken > 0 {
        let which = if v.untaken == v.turns {
            "all".to_owned()
        } else {
            format!("{} of them", v.untaken)
        };
        if !v.came_to.is_empty() {
            return Some(format!(
                "they came to {holder}{by}, which answered {which} at once, but no socket took the answers (NO_SOCKET): what translated the questions' address did not translate the answers' back, which come from {} then, as where a bridge hands nothing to iptables (net.bridge.bridge-nf-call-iptables = 0) or answers take a way around the host that translates (inferred)",
                v.came_to
            ));
        }
        return Some(format!(
            "they came to {holder}{by}, which answered {which} at once, but no socket took the answers (NO_SOCKET): they came from another address or port than was asked, as of a server bound to any address whose answers leave by another of its host's, or of an address that was translated (NAT) and whose answers are not translated back (inferred)"
        ));
    }
    let (lie, until) = match v.left_ns {
        Some(ns) => ("lay", format!(" until the socket was closed at {}", moment(ns))),
        None => ("lie", String::new()),
    };
    Some(match (v.unread, v.landed == v.sends) {
        (0, _) => format!(
            "{} came to {holder}{by} and {} read",
            if v.landed == v.sends {
                "they".into()
            } else {
                v.landed.to_string()
            },
            if v.landed == 1 { "was" } else { "were" }
        ),
        (n, true) if n == v.landed => match n {
            1 if v.left_ns.is_none() => format!("it lies unread in the receive queue of {holder}{by}"),
            1 => format!("it lay unread in the receive queue of {holder}{by}{until}"),
            _ => format!("all {lie} unread in the receive queue of {holder}{by}{until}"),
        },
        (n, _) => format!(
            "{} came to {holder}{by}, {n} of them {lie} unread in its receive queue{until}",
            v.landed
        ),
    })
}

/// Not of some that were right behind another question: what is asked then may be that one.
fn again(v: &InVain) -> Option<String> {
    let it = if v.threads > 1 { "they" } else { "it" };
    if v.beside.is_some() && v.again < v.turns {
        return None;
    }
    let place = match v.again_to.as_str() {
        to if to.is_empty() || to == v.to => "again".to_owned(),
        to => address(to),
    };
    match (v.again, v.again_answered) {
        (0, _) => None,
        (n, 0) if n == v.again_in_vain => Some(format!("{it} then asked {place} at once, in vain")),
        (_, 0) => Some(format!("{it} then asked {place} at once")),
        (_, n) => {
            let times = match (n == v.turns, n) {
                (true, 1) => String::new(),
                (true, _) => ", each time".to_owned(),
                (false, n) => format!(", {n} of {} times", v.turns),
            };
            let within = or_dash(v.again_longest_ns);
            Some(format!(
                "{it} then asked {place} and had an answer within {within}{times}"
            ))
        }
    }
}

fn what(v: &InVain) -> String {
    let of = of_all(v.sends, v.of, "datagram", "datagrams");
    let asleep = match v.waited_in.as_str() {
        "" => String::new(),
        call => format!(" (in {call})"),
    };
    let open = match v.open {
        0 => "",
        _ => ", until the recording ended",
    };
    let less = match v.less_certain {
        0 => String::new(),
        n => format!(", of {n} more that is less certain"),
    };
    let (threads, it) = match (v.threads, v.processes) {
        (0 | 1, _) => (String::new(), "it"),
        (n, 0 | 1) => (format!("{n} threads of "), "they"),
        (_, n) => (format!("{n} processes named "), "they"),
    };
    let since = match v.answered_before {
        0..BEFORE => String::new(),
        n => format!(", from {} on ({n} were answered before)", moment(v.since_ns)),
    };
    format!(
        "{of} that {threads}{} sent {} had no answer while {it} waited {}{asleep}{open}{since}{less}",
        v.task,
        place(v),
        waited(v)
    )
}

/// What its process did not do meanwhile.
fn pause(v: &InVain) -> Option<String> {
    let p = v.pause.as_ref()?;
    Some(format!(
        "meanwhile its process opened no connection for {}, where it opens one every {} otherwise, as where names wait for the threads that wait here (inferred)",
        duration(p.ns),
        duration(p.usual_ns)
    ))
}

fn more(all: u64, said: usize) -> String {
    match all.saturating_sub(said as u64) {
        0 => String::new(),
        n => format!("; {} more", counted(n, "such group", "such groups")),
    }
}

fn twice(c: &Copied) -> String {
    let local = match c.local.as_str() {
        "" => String::new(),
        at => format!(" at {}", address(at)),
    };
    let reader = match c.reader.as_str() {
        "" => String::new(),
        who => format!(" of {who}"),
    };
    let distinct = c.arrived.saturating_sub(c.copies);
    let of = if c.sure {
        format!(" of {distinct}")
    } else {
        String::new()
    };
    format!("{}{of} UDP datagrams came twice to the socket{local}{reader}", c.copies)
}

fn made(c: &Copied) -> String {
    let sent = match (c.sender.as_str(), c.sent) {
        ("", _) => String::new(),
        (who, Some(n)) => format!("{who} sent {n} and {} arrived: ", c.arrived),
        (who, None) => format!("{who} sent each once: "),
    };
    let how = match c.in_call {
        true => "in the sender's own call, each of which sent one",
        false => "on the way, by no send call",
    };
    let dev = &c.dev;
    format!(
        "{sent}this host made the copies {how}, first seen in the queue of {dev} (nft dup, tc mirred and the like do that)"
    )
}

fn wrong(v: &InVain) -> bool {
    let missed = v.again > 0 || v.beside.is_some();
    // Who waited on for each was there still when its answer came: it is no late answer to a socket that was closed.
    let untaken = v.untaken > 0 && v.untaken == v.turns && v.waited.min_ns >= Some(OPEN_NOTICE_NS);
    v.pause.is_some() || missed && v.waited.sum_ns >= OPEN_NOTICE_NS || untaken
}

/// UDP datagrams of programs that this host dropped, by their events; and packets of which only the sender is known: these may be SYNs, too.
pub(super) fn dropped(d: &Drops) -> (u64, u64) {
    let of = |carries: &str| {
        let lost = d.lost_groups();
        let theirs = lost.flat_map(|g| &g.of).filter(|l| l.carries == carries);
        theirs.map(|l| l.count).fold(0, u64::saturating_add)
    };
    (of("datagram"), of("sent"))
}

fn perhaps_dropped(n: u64) -> String {
    format!(
        "{} dropped by this host that may be UDP",
        counted(n, "packet", "packets")
    )
}

/// What else is known of those who asked and who read.
#[derive(Clone, Copy, Default)]
pub(super) struct Known<'a> {
    pub(super) answers: Option<&'a Application>,
    pub(super) children: Option<&'a Children>,
}

/// What is said of those that waited in vain; of its evidence in the line alone.
fn vain(v: &InVain, evidence: bool, of: &Known<'_>) -> String {
    let first = match evidence {
        true => format!("{}{}", what(v), from(v.first)),
        false => what(v),
    };
    let so = of.answers.and_then(|a| waited_in_vain::so(v, a));
    let there = [there(v), of.children.and_then(|c| readers::before_it_read(c, v))];
    let there = there
        .into_iter()
        .flatten()
        .reduce(|there, late| format!("{there}; {late}"));
    let (third, last) = match evidence {
        true => (again(v), there),
        false => (there, again(v)),
    };
    let said = [Some(first), so, asked_on::beside(v), pause(v), third, last];
    let said = said
        .into_iter()
        .chain([asked_on::onward(v), asked_on::beyond(v)])
        .flatten();
    said.collect::<Vec<_>>().join("; ")
}

/// The line; so many datagrams, and packets that may be some, were dropped by this host; answers that waited.
pub(super) fn datagrams(d: &Datagrams, dropped: (u64, u64), of: &Known<'_>) -> (Tone, String) {
    let vain = d.in_vain.first().map(|v| {
        let said = capital(&vain(v, true, of));
        format!("{said}{}", more(d.in_vain.len() as u64, 1))
    });
    let copied = d.copied.first().map(|c| {
        let more = more(d.copied.len() as u64, 1);
        format!("{}: {}{more}", capital(&twice(c)), made(c))
    });
    let late = questions::late(d);
    let alone = asked_alone::words(d);
    let gone = d.lost.first();
    let partly = d.partly.as_ref();
    let tone = match () {
        () if partly.is_some_and(Partly::wrong) => Tone::Bad,
        () if !d.ceased.is_empty() || !d.silent.is_empty() || gone.is_some_and(lost::wrong) => Tone::Bad,
        () if d.in_vain.iter().any(wrong) || d.alone.iter().any(asked_alone::wrong) => Tone::Bad,
        () if vain.is_some()
            || gone.is_some()
            || alone.is_some()
            || copied.is_some()
            || !late.is_empty()
            || partly.is_some() =>
        {
            Tone::Notice
        }
        () => Tone::Ok,
    };
    let late = late.iter().map(|l| capital(l));
    let none = d.silent.first().map(|s| {
        let more = more(d.silent.len() as u64, 1);
        format!("{}{more}", capital(&silent(s)))
    });
    let alone = alone.map(|a| capital(&a));
    let gone = gone.map(|l| {
        let more = more(d.lost.len() as u64, 1);
        format!("{}{}{more}", capital(&lost::what(l)), from(l.first))
    });
    let ceased = ceased::words(&d.ceased).map(|c| capital(&c));
    let partly = partly.map(|p| capital(&asked_alone::partly(p)));
    let said = ceased
        .into_iter()
        .chain(none)
        .chain(gone)
        .chain(alone)
        .chain(partly)
        .chain(vain);
    let said: Vec<String> = said.chain(late).chain(copied).collect();
    if !said.is_empty() {
        return (tone, format!("{}.", said.join(". ")));
    }
    if d.sockets == 0 {
        return (tone, d.none().into());
    }
    // The line on drops says it at the head of the page.
    let (tone, lost) = match dropped {
        (0, 0) => (tone, String::new()),
        (n, 0) => (Tone::Notice, format!(", {n} dropped by this host (see drops)")),
        (0, n) => (tone, format!(", {} (see drops)", perhaps_dropped(n))),
        (n, m) => (
            Tone::Notice,
            format!(", {n} dropped by this host, {} (see drops)", perhaps_dropped(m)),
        ),
    };
    let used = format!(
        "{} sent and {} read on {}{lost}",
        counted(d.sent, "UDP datagram", "UDP datagrams"),
        d.received,
        counted(d.sockets, "socket", "sockets")
    );
    let answered = match d.response.n {
        0 => String::new(),
        n => format!(
            "; answers came in p50 {}, p99 {}, max {} (n {n})",
            or_dash(d.response.p50_ns),
            or_dash(d.response.p99_ns),
            or_dash(d.response.max_ns)
        ),
    };
    let perhaps = match d.perhaps {
        0 => String::new(),
        n => format!(
            "; of {} without an answer, whose sender slept in a poll, nothing tells what it waited for{}",
            counted(n, "turn", "turns"),
            match d.perhaps_dropped {
                0 => String::new(),
                n => format!(
                    " (in the time of {n} of them packets that may be UDP were dropped by this host: see drops)"
                ),
            }
        ),
    };
    // Of those it is not known, nor whether somebody missed what was dropped.
    let nobody = match (d.perhaps, dropped) {
        (0, (0, 0)) => "; nobody is known to have waited in vain",
        _ => "",
    };
    (tone, format!("{used}{answered}{perhaps}{nobody}."))
}

/// What is worth a look, for the head of the page.
pub(super) fn headline(d: &Datagrams, of: &Known<'_>) -> String {
    let vain = d.in_vain.first().map(|v| vain(v, false, of));
    let copied = d.copied.first().map(|c| format!("{}: {}", twice(c), made(c)));
    let said = ceased::words(&d.ceased).into_iter().chain(d.silent.first().map(silent));
    let said = said.chain(d.lost.first().map(lost::what));
    let partly = d.partly.as_ref().map(asked_alone::partly);
    let said = said.chain(asked_alone::words(d)).chain(partly).chain(vain);
    let said: Vec<String> = said.chain(questions::late(d)).collect();
    // What came twice is no effect of what had no answer.
    apart([said.join("; "), copied.unwrap_or_default()])
}
