//! Servers that answer on one side alone: one that hangs, refuses, or is asked no more. There are no times to compare then, and what is compared of others
//! would pass for good news.
//!
//! In: answers, payload and openings of both sides. Out: figures, and a sentence for each server with [`LEAST`] answers or more on one side, and a tenth of
//! that per second at most on the other, where as many would have been [`EXPECTED`]. What was asked of it there, and what came of that, is said. Who waits when
//! the recording ends has no answer only where he waited longer than is usual on the other side. Many openings that failed and requests that were given up, or that the server
//! closed upon, are worse (or better) without a test of chance; else nothing is judged, and the answer is no good news. Who waits yet may wait for what is to come: a queue, a watch.
//! Not said of a server that some connection of the other side may lead to, of which it is not known which end is the server. One that moved to another address is not judged. Where names
//! are pseudonyms, or the sides' events are others, none is looked for; that is said, and then no answer is good news.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use super::Servers;
use super::answers::{LEAST, LEDGER};
use super::failing;
use crate::analyses::verdict::counted;
use crate::diff::Withheld;
use crate::diff::judged::moved;
use crate::diff::sides::{
    options::{Recording, seconds},
    slices,
};
pub use crate::diff::values::asking::Asking;
use crate::diff::values::{
    asking::{Of, Side, asking, ends_mute, side},
    ends::known,
    usual::USUAL,
};
use crate::stat::nearest_rank;

/// Part of the answers per second, and of what was sent with them, that the other side has at most.
pub(in crate::diff) const FEW: f64 = 0.1;
/// Answers that it would have at least, were it as before.
const EXPECTED: f64 = 10.0;
/// Requests and openings in vain from which it is worse.
pub(in crate::diff) const MANY: u64 = 10;
/// Servers told.
const TOLD: usize = 2;
/// Lengths of recordings within this factor are not told.
const LENGTHS: f64 = 1.1;
/// Without one of these on one side alone, nothing is known of answers there.
const TOLD_BY: [&str; 6] = [
    "skb:skb_copy_datagram_iovec",
    "sock:sock_send_length",
    "sock:sock_recv_length",
    "sock:inet_sock_set_state",
    "net:netif_receive_skb",
    "tcp:tcp_probe",
];

/// A server that answers on one side alone.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Stopped {
    /// `address:port`.
    pub server: String,
    /// Before.
    pub before: Asking,
    /// After.
    pub after: Asking,
    /// Those at its port that answer in its place, or in whose place it answers, as often all together.
    pub moved: Vec<String>,
    /// Those at its port that answered before answer what it did: a program divides its requests so.
    #[serde(skip)]
    pub(in crate::diff) handed_over: bool,
}

/// Looks for servers that answer on one side alone, and those to which openings fail; or says why not.
pub(in crate::diff) fn fill(
    servers: &mut Servers,
    before: &[Recording<'_>],
    after: &[Recording<'_>],
    withheld: &mut Vec<Withheld>,
) {
    let sides = [side(before), side(after)];
    match not_looked_for(before, after).filter(|_| sides.iter().any(answers)) {
        Some(because) => {
            withheld.push(Withheld {
                metric: format!("{LEDGER}.stopped"),
                because: because.clone(),
            });
            servers.not_looked_for = Some(because);
        }
        None => {
            let [b, a] = &sides;
            servers.stopped = of([b, a], before, after);
            servers.failing = failing::of([b, a], &servers.stopped);
        }
    }
}

/// Whether any server has answers enough to be missed.
fn answers(side: &Side) -> bool {
    side.values().any(|of| of.asking.answers >= LEAST as u64)
}

fn not_looked_for(before: &[Recording<'_>], after: &[Recording<'_>]) -> Option<String> {
    let told = |r: &Recording<'_>| TOLD_BY.map(|key| r.facts.capture.recorded(key));
    let ways: BTreeSet<[bool; 6]> = before.iter().chain(after).map(told).collect();
    let hidden =
        slices::unmatched(before, after).map(|_| "names are pseudonyms (redacted), and servers cannot be matched");
    let cut = slices::lacks_others(before, after).map(|_| "what others asked was cut (a slice of flows or devices)");
    let events = (ways.len() > 1).then_some("not the same events were recorded of what is asked and answered");
    hidden.or(cut).or(events).map(str::to_owned)
}

/// Those that were asked in vain first, then those with most answers.
fn of([b, a]: [&Side; 2], before: &[Recording<'_>], after: &[Recording<'_>]) -> Vec<Stopped> {
    let nothing = [before, after].map(|side| Of::none(seconds(side)));
    let names: BTreeSet<&String> = b.keys().chain(a.keys()).collect();
    let doubtful = [ends_of_none(before), ends_of_none(after)];
    let one = |server: &String| {
        let sides = [
            b.get(server).unwrap_or(&nothing[0]),
            a.get(server).unwrap_or(&nothing[1]),
        ];
        let [x, y] = sides;
        let (high, low) = match x.asking.per_second() >= y.asking.per_second() {
            true => (x, y),
            false => (y, x),
        };
        let (rate, time) = (high.asking.per_second(), low.asking.seconds);
        let heard = |of: &Of| of.heard as f64 / of.asking.seconds.max(1e-9);
        let few = low.asking.per_second() <= FEW * rate && heard(low) <= FEW * heard(high);
        let low_is_before = std::ptr::eq(low, x);
        let doubtful = doubtful
            .get(usize::from(!low_is_before))
            .is_some_and(|d| d.contains(server));
        if doubtful || !few || high.asking.answers < LEAST as u64 || rate * time < EXPECTED {
            return None;
        }
        let usual = nearest_rank(&mut high.took.clone(), 99)?.saturating_mul(USUAL);
        let mute = ends_mute(high, usual);
        let [before, after] = sides.map(|of| asking(of, usual, mute));
        Some(Stopped {
            server: server.clone(),
            before,
            after,
            moved: vec![],
            handed_over: false,
        })
    };
    let mut all: Vec<Stopped> = names.into_iter().filter_map(one).collect();
    all.sort_by_key(|s| {
        let (high, low) = s.sides();
        (std::cmp::Reverse((low.in_vain(), high.answers)), s.server.clone())
    });
    moved::find(&mut all);
    all
}

/// Both ends of connections of which it is not known which the server is.
fn ends_of_none(all: &[Recording<'_>]) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for r in all {
        for row in r
            .facts
            .connections
            .iter()
            .filter(|c| known(r.facts, c.connection).is_none())
        {
            for (address, port) in [(row.saddr, row.sport), (row.daddr, row.dport)] {
                out.extend(address.map(|a| SocketAddr::new(a.to_canonical(), port).to_string()));
            }
        }
    }
    out
}

impl Stopped {
    /// It answers after, and not before.
    pub(in crate::diff) fn starts(&self) -> bool {
        self.after.per_second() > self.before.per_second()
    }
    /// The side that answers, and the other.
    fn sides(&self) -> (&Asking, &Asking) {
        match self.starts() {
            true => (&self.after, &self.before),
            false => (&self.before, &self.after),
        }
    }
    /// It was asked in vain.
    pub(in crate::diff) fn in_vain(&self) -> bool {
        self.sides().1.in_vain() > 0
    }
    /// So often that no test of chance is asked, and on the other side not.
    pub(in crate::diff) fn worse(&self) -> Option<bool> {
        let (high, low) = self.sides();
        let n = low.over();
        (!self.looked_after() && n >= MANY && high.over() as f64 <= FEW * n as f64).then_some(!self.starts())
    }
    /// Another answers in its place, or others do, and few still ask here: somebody who looks whether it is back.
    pub(in crate::diff) fn looked_after(&self) -> bool {
        let (high, low) = self.sides();
        (!self.moved.is_empty() || self.handed_over) && low.over() as f64 <= FEW * high.answers as f64
    }
    /// `After, 10.0.0.1:80 answered nothing: 500 answers before, 0 after; 12 requests to it got no answer (the longest waited 4.200 s)`.
    pub(in crate::diff) fn sentence(&self) -> String {
        let (_, low) = self.sides();
        let when = if self.starts() { "Before" } else { "After" };
        let what = if low.answers == 0 { "nothing" } else { "hardly anything" };
        let (b, a) = (&self.before, &self.after);
        let lengths = match b.seconds.max(a.seconds) > LENGTHS * b.seconds.min(a.seconds) {
            true => format!(" (in {:.1} and {:.1} s)", b.seconds, a.seconds),
            false => String::new(),
        };
        format!(
            "{when}, {} answered {what}: {} before, {} after{lengths}; {}",
            self.server,
            counted(b.answers, "answer", "answers"),
            a.answers,
            low.came()
        )
    }
}

/// Sentences: of those that were asked in vain, and of the others.
pub(in crate::diff) fn said(all: &[Stopped]) -> (Vec<String>, Vec<String>) {
    let end = |s: &Stopped| format!("{}.", s.sentence());
    let alone = all.iter().filter(|s| s.moved.is_empty());
    let (vain, others): (Vec<&Stopped>, Vec<&Stopped>) = alone.partition(|s| s.in_vain());
    let sentences = |of: Vec<&Stopped>, how: &str| -> Vec<String> {
        let left = of.len().saturating_sub(TOLD);
        let more = match left {
            0 => None,
            1 => Some(format!("1 more server answers on one side alone{how}.")),
            n => Some(format!("{n} more servers answer on one side alone{how}.")),
        };
        of.into_iter().take(TOLD).map(end).chain(more).collect()
    };
    let others = moved::said(all).into_iter().chain(sentences(others, "")).collect();
    (sentences(vain, ", asked in vain"), others)
}
