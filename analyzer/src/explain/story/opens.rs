//! An attempt to open a connection, and a RST.

use std::net::IpAddr;

use super::turns::by;
use super::{Id, Kind, Pin, Story, places};
use crate::analyses::verdict::{counted, duration};
use crate::explain::rows::rows;
use crate::explain::stages::{self, Step};
use crate::facts::ConnectionId;
use crate::ingest::Rec;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow, ResetRow, Sender, errno};
use crate::reconstruct::tcp::states::SYN_SENT;

const CALL: [&str; 3] = ["sys_enter_connect", "inet_sock_set_state", "tcp_set_state"];
const STATE: [&str; 2] = ["inet_sock_set_state", "tcp_set_state"];
const DECIDED: [&str; 4] = [
    "inet_sock_set_state",
    "tcp_set_state",
    "sys_exit_connect",
    "inet_sk_error_report",
];
const CAME: [&str; 1] = ["tcp_receive_reset"];
const SENT: [&str; 1] = ["tcp_send_reset"];
/// What is told of a socket's end, either first; the same as in `reconstruct::opens`.
const TOLD_NS: i64 = 1_000_000;
/// From a RST to its arrival, at most.
const ON_ITS_WAY_NS: i64 = 1_000_000_000;
/// From the arrival of a packet to the event of what it brings, at most: softirqs do not take longer over one.
const ARRIVES_NS: i64 = 1_000_000;
/// Packets of an attempt that are listed.
const PACKETS: usize = 4;
/// Names of a packet's arrival.
const ARRIVED: [&str; 2] = ["netif_receive_skb", "netif_receive_skb_entry"];

const IN_CALL: &str = "begin of connect to SYN_SENT: its route";
const NO_STATE: &str = "in the call: the socket had no state, so no event tells more";
const SYN: &str = "SYN_SENT to the answer, or to the next SYN";
const SYN_AGAIN: &str = "a SYN sent again to the answer, or to the next one";

fn end(of: Option<(IpAddr, u16)>) -> String {
    of.map_or_else(
        || "an unknown end".into(),
        |(a, p)| std::net::SocketAddr::new(a, p).to_string(),
    )
}

impl Story<'_, '_> {
    pub(super) fn open(&mut self, n: usize) -> Option<()> {
        let f = self.facts;
        let r = f.opens.get(n)?;
        let error = match r.error {
            None => String::new(),
            Some(e) => format!(
                " ({})",
                errno(e).map_or_else(|| format!("errno {e}"), ToOwned::to_owned)
            ),
        };
        let again = match r.syns_again {
            None => "; SYNs retransmitted were not recorded".to_owned(),
            Some(0) => String::new(),
            Some(n) => "; ".to_owned() + &counted(n.into(), "SYN was retransmitted", "SYNs were retransmitted"),
        };
        let took = duration(r.total_ns());
        let what = match r.end {
            OpenEnd::Waiting => format!("no answer for {took}, until the recording ended"),
            e => format!("{}{error} after {took}", e.word().replace('_', " ")),
        };
        let again = match r.connection {
            None => String::new(),
            Some(_) => again,
        };
        let to = match r.connection {
            None => "A call of connect".to_owned(),
            Some(_) => format!("Attempt to connect to {}", end(r.to)),
        };
        self.summary = format!(
            "{to}{}: {what}{again}; confidence {}.",
            by(&r.task, r.pid),
            r.confidence.word()
        );
        self.rows.extend(rows(f, "opens", &[n]));
        self.wanted.since = r.start_ns;
        let steps = self.attempt(r);
        self.parts((r.start_ns, steps), r.confidence.word());
        self.wanted.tasks.push((r.pid, r.start_ns, r.end_ns));
        let sk = r.connection.and_then(|c| self.sk(c));
        self.pin(Pin::new("the begin of the attempt", r.start_ns, &CALL).by(r.pid).of(sk));
        match r.end {
            OpenEnd::Waiting => self
                .notes
                .push("it waited still when the recording ended: no event ends it".into()),
            _ => self.pin(Pin::new("what it came to", r.end_ns, &DECIDED).of(sk)),
        }
        let Some(c) = r.connection else {
            self.notes
                .push("its socket never had a state: no event names it, nor its protocol".into());
            return Some(());
        };
        self.socket_in(c, r.start_ns, r.end_ns);
        if let Some(((_, local), (_, remote))) = r.from.zip(r.to) {
            let (from, to) = (r.start_ns, r.end_ns.saturating_add(TOLD_NS));
            self.wanted.told.push((local, remote, from, to));
        }
        let sent = (f.tx.iter()).filter(|t| t.connection == Some(c) && (r.start_ns..=r.end_ns).contains(&t.t_sched_ns));
        for t in sent.take(PACKETS) {
            self.wanted.skbs_within.push((t.skb_id, r.start_ns, r.end_ns));
            self.related.push(Id::new(Kind::Tx, t.skb_id.0));
        }
        self.related.push(Id::new(Kind::Conn, c.0));
        let resets = places(&f.resets, |x| {
            x.connection == Some(c) && (r.start_ns..=r.end_ns.saturating_add(TOLD_NS)).contains(&x.time_ns)
        });
        self.related
            .extend(resets.iter().map(|at| Id::new(Kind::Reset, *at as u32)));
        if r.message {
            self.notes
                .push("that an ICMP message came is told by an error report of its socket without an error; no event names the message itself at its arrival".into());
        }
        Some(())
    }

    /// The parts of an attempt: its call, and each SYN until the next one.
    fn attempt(&mut self, r: &OpenRow) -> Vec<Step> {
        let f = self.facts;
        let within = |t: i64| (r.start_ns..=r.end_ns).contains(&t);
        let Some(c) = r.connection else {
            return stages::chain(r.start_ns, &[("unattributed", NO_STATE, r.end_ns)]);
        };
        let sent = f.tcp_states.iter().filter(|s| s.connection == c && s.kind == "sock");
        let sent = sent
            .filter(|s| s.state == SYN_SENT && within(s.time_ns))
            .map(|s| s.time_ns);
        let mut cuts: Vec<i64> = sent.take(1).collect();
        let again = f.retransmits.iter().enumerate();
        let again = again.filter(|(_, x)| x.connection == Some(c) && within(x.time_ns));
        for (at, x) in again {
            cuts.push(x.time_ns);
            self.wanted.positions.push(x.index);
            self.related.push(Id::new(Kind::Retransmit, at as u32));
        }
        cuts.sort_unstable();
        let begun = cuts.first().copied().unwrap_or(r.start_ns);
        if begun != r.start_ns {
            let sk = self.sk(c);
            self.pin(Pin::new("SYN_SENT", begun, &STATE).of(sk));
        }
        let mut all = vec![("call", IN_CALL, begun)];
        all.retain(|s| s.2 != r.start_ns);
        let ends = cuts.iter().skip(1).copied().chain([r.end_ns]);
        all.extend(ends.enumerate().map(|(nth, until)| match nth {
            0 => ("syn", SYN, until),
            _ => ("syn_again", SYN_AGAIN, until),
        }));
        stages::chain(r.start_ns, &all)
    }

    pub(super) fn reset(&mut self, n: usize) -> Option<()> {
        let f = self.facts;
        let r = f.resets.get(n)?;
        let reason = match (r.received, r.reason.is_empty()) {
            (true, _) => String::new(),
            (false, true) => "; why is not recorded".into(),
            (false, false) => format!("; reason {}", r.reason),
        };
        let who = match r.sender {
            Sender::Here => "",
            Sender::Peer => "; the peer's TCP, which is in this recording, sent it",
            Sender::Between => "; the peer's TCP, which is in this recording, did not send it",
            Sender::Unknown => "; who sent it is not known",
        };
        let of = match r.connection {
            Some(_) => "",
            None => " (of no socket that is known)",
        };
        let ends = match r.received {
            true => format!("RST received from {} at {}", end(r.to), end(r.from)),
            false => format!("RST sent by {} to {}", end(r.from), end(r.to)),
        };
        self.summary = format!("{ends}{of}{reason}{who}; confidence {}.", r.confidence.word());
        self.rows.extend(rows(f, "resets", &[n]));
        self.wanted.since = r.time_ns;
        let names: &'static [&'static str] = if r.received { &CAME } else { &SENT };
        let sk = r.connection.and_then(|c| self.sk(c));
        let own = Pin::new("the RST", r.time_ns, names).of(sk);
        self.pin(own);
        if let Some(c) = r.connection {
            self.related.push(Id::new(Kind::Conn, c.0));
            self.states(c);
            self.socket_in(c, r.time_ns.saturating_sub(TOLD_NS), r.time_ns.saturating_add(TOLD_NS));
            let opens = places(&f.opens, |o| {
                o.connection == Some(c) && (o.start_ns..=o.end_ns.saturating_add(TOLD_NS)).contains(&r.time_ns)
            });
            self.related
                .extend(opens.iter().map(|at| Id::new(Kind::Open, *at as u32)));
        }
        self.packet(&own, r.received);
        let other = other_end(&f.resets, n);
        if let Some(at) = other {
            self.rows.extend(rows(f, "resets", &[at]));
            self.related.push(Id::new(Kind::Reset, at as u32));
        }
        if r.received && r.sender == Sender::Peer && other.is_none() {
            self.notes
                .push("the peer's own event of it is not within a second before it".into());
        }
        Some(())
    }

    /// Changes of a socket's state.
    fn states(&mut self, c: ConnectionId) {
        let f = self.facts;
        let of = f.tcp_states.iter().filter(|s| s.connection == c && s.kind == "sock");
        for s in of {
            self.wanted.moments.insert(s.time_ns, &STATE);
        }
    }

    /// The packet that a RST answers, or that brought it: the one that its event names, else of one that came the last that its CPU took
    /// up before it.
    fn packet(&mut self, own: &Pin, received: bool) {
        let e = self.explainer;
        let Some((at, r)) = e.find(own).and_then(|at| Some((at, e.trace.recs.get(at as usize)?))) else {
            return;
        };
        // No tracker reads its address: the life is the one that arrived there last, on the same CPU.
        let address = e.number(r, &["skbaddr"]).filter(|_| !received);
        if address == Some(0) {
            self.notes
                .push("it answers no packet: its socket sent it by itself".into());
            return;
        }
        let arrived = |x: &Rec| {
            let name = e.trace.schema.by_id(x.kind).map_or("", |f| f.name.as_str());
            let same = || address.is_none_or(|a| e.number(x, &["skbaddr"]) == Some(a));
            x.cpu == r.cpu && ARRIVED.contains(&name) && same()
        };
        let before = (0..at).rev().filter_map(|i| Some((i, e.trace.recs.get(i as usize)?)));
        let mut before = before.take_while(|(_, x)| r.ts.saturating_sub(x.ts) <= ARRIVES_NS);
        let last = before.find(|(_, x)| arrived(x)).and_then(|(i, _)| e.identity.of(i));
        self.notes.push(match (last, address) {
            (None, _) => "which packet it has to do with no event tells".into(),
            (Some(skb), Some(_)) => format!("it answers skb:{}, which its event names by address", skb.0),
            (Some(skb), None) => format!(
                "its event names no packet: skb:{} is the last that its CPU took up before it",
                skb.0
            ),
        });
        if let Some(skb) = last {
            self.wanted.skbs_within.push((skb, i64::MIN, own.at));
            self.related.push(Id::new(Kind::Skb, skb.0));
        }
    }
}

/// Of a RST that came the one that the peer's TCP sent; of one sent the one that came.
fn other_end(all: &[ResetRow], n: usize) -> Option<usize> {
    let r = all.get(n)?;
    let ends = r.from.zip(r.to)?;
    let pair = |x: &ResetRow| x.received != r.received && x.to.zip(x.from) == Some(ends);
    let far = |x: &ResetRow| {
        let (sent, came) = if r.received {
            (x.time_ns, r.time_ns)
        } else {
            (r.time_ns, x.time_ns)
        };
        // A socket that sends by itself is traced behind its transmit.
        let way = came.saturating_sub(sent);
        (-TOLD_NS..=ON_ITS_WAY_NS).contains(&way).then_some(way.abs())
    };
    let near = all.iter().enumerate().filter(|(_, x)| pair(x));
    let near = near.filter_map(|(at, x)| Some((far(x)?, at)));
    near.min().map(|(_, at)| at)
}
