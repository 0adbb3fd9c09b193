//! What ACKs tell of the addresses of originals that are sent again.
//!
//! TCP frees an original silently when an ACK covers it, and cuts originals that it sends again (`tcp_fragment`): the part cut
//! off is first seen when it is sent again, at an address that may have been another original's. `tcp_retransmit_skb` names
//! the socket's ends, and every `tcp_probe` of these its `snd_una` and `snd_nxt`, which tell which it is:
//!
//! ```text
//!  last seen < a probe with snd_nxt <= snd_una now        over: acknowledged whole before, or another socket's
//!  a probe with snd_nxt < first sent,
//!      snd_nxt + its payload > snd_una now                alive: its last byte lies behind snd_una
//!  first frames between two probes add up to what snd_nxt
//!      went on: each one's bytes are known                over or alive
//!  snd_una the same as when it was last seen              alive
//!  else                                                   untold
//! ```
//! An original of another socket that was sent in the same flight and freed is taken for one of this socket: nothing here
//! knows the socket of a first transmission. A probe shows `snd_una` before its own ACK, so what it is at a transmission shows in the next probe (RECONSTRUCTION 0.8).

use std::collections::VecDeque;

use netmortem_formats::sockaddr::SockAddr;
use netmortem_formats::tracepoints::kfree_skb::KfreeSkb;
use netmortem_formats::tracepoints::net_dev_queue::NetDevQueue;
use netmortem_formats::tracepoints::qdisc_enqueue::QdiscEnqueue;
use netmortem_formats::tracepoints::tcp_probe::TcpProbe;
use netmortem_formats::tracepoints::tcp_retransmit_skb::TcpRetransmitSkb;
use rustc_hash::FxHashMap;

use super::fclone::Layout;
use super::flight::Flight;
use super::life::Life;
use crate::ingest::{GapRow, Trace};
use crate::name::Name;
use crate::reconstruct::dispatch::{Routes, Tracker};
use crate::reconstruct::tcp::states::{ESTABLISHED, SYN_SENT};

/// A socket: its ends, and its address where probes have it, else 0.
type Socket = (SockAddr, SockAddr, u64);

/// Most that Ethernet with a VLAN tag, IP and TCP put before the payload of a frame.
const HEADERS: u32 = 18 + 140;
/// Most that options add to a segment that is sent again.
const OPTIONS: u32 = 40;

/// What became of the original last seen at an address, when its address is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It was freed before: this is another one.
    Over,
    /// It is the same.
    Alive,
    /// Nothing tells.
    Untold,
}

/// What the ACKs of a socket tell of a time at which it sent something again, by times on the trace clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// The address of the socket; 0 when not known.
    pub sk: u64,
    /// What was sent before this was acknowledged whole.
    over_ns: i64,
    /// What was sent for the first time after this is not acknowledged.
    sent_ns: i64,
    /// Of what was sent for the first time after this, so many bytes at most are acknowledged.
    part: (i64, u32),
    /// Nothing was acknowledged since.
    stood_ns: i64,
}

impl Standing {
    /// Nothing is told.
    pub const UNTOLD: Standing = Standing {
        over_ns: i64::MIN,
        sent_ns: i64::MAX,
        part: (i64::MAX, 0),
        stood_ns: i64::MAX,
        sk: 0,
    };
    /// Nothing was acknowledged yet: a handshake.
    const FIRST: Standing = Standing {
        over_ns: i64::MIN,
        sent_ns: i64::MIN,
        part: (i64::MAX, 0),
        stood_ns: i64::MIN,
        sk: 0,
    };
    /// What became of an original that was sent, when its address is sent again as a frame of `len` bytes, if that is known.
    pub fn fate(&self, of: &Life, len: Option<u32>) -> Fate {
        if of.last_ns < self.over_ns {
            return Fate::Over;
        }
        let (first_ns, first) = of.first.unzip();
        let first_ns = first_ns.unwrap_or(of.birth_ns);
        // What its first frame surely had of payload.
        let payload = first.unwrap_or(0).saturating_sub(HEADERS);
        let (since, part) = self.part;
        let ahead = self.sent_ns < first_ns || (since < first_ns && part < payload);
        // Grown, it took in the next one (`tcp_retrans_try_collapse`), or is another.
        let grown = len
            .zip(first)
            .is_some_and(|(now, had)| now > had.saturating_add(OPTIONS));
        match !grown && (self.stood_ns < of.last_ns || (ahead && !of.late)) {
            true => Fate::Alive,
            false => Fate::Untold,
        }
    }
}

/// A value of `snd_nxt`, and the first and last probe that showed it.
struct Nxt {
    nxt: u32,
    first_ns: i64,
    last_ns: i64,
}

/// A socket that sends again.
#[derive(Default)]
struct Flow {
    cookie: Option<u64>,
    /// Several sockets were probed that have these ends, and no address tells which of them sends again.
    shared: bool,
    /// Places in the list of what is told.
    told: Vec<usize>,
    /// `snd_una` as the last probe showed it, and the first probe that did.
    una: Option<(u32, i64)>,
    /// The last probe.
    probe_ns: Option<i64>,
    /// The last probe whose `snd_nxt` is `snd_una` or lies before it.
    over_ns: Option<i64>,
    /// The last value of `snd_nxt` that is `snd_una` or lies before it.
    behind: Option<Nxt>,
    /// Values of `snd_nxt` behind `snd_una`, ascending.
    ahead: VecDeque<Nxt>,
    /// Of these, those that wait for the next probe.
    waiting: Vec<usize>,
}

/// Whether a sequence number is another, or lies before it.
fn up_to(seq: u32, other: u32) -> bool {
    other.wrapping_sub(seq) < 1 << 31
}

impl Flow {
    fn acknowledge(&mut self, una: u32, ts: i64) {
        if self.una.is_none_or(|(had, _)| had != una) {
            self.una = Some((una, ts));
        }
        while let Some(n) = self.ahead.pop_front_if(|n| up_to(n.nxt, una)) {
            self.over_ns = self.over_ns.max(Some(n.last_ns));
            match &mut self.behind {
                Some(b) if b.nxt == n.nxt => b.last_ns = n.last_ns,
                _ => self.behind = Some(n),
            }
        }
    }
    fn send(&mut self, nxt: u32, ts: i64) {
        match self.ahead.back_mut() {
            Some(last) if last.nxt == nxt => last.last_ns = ts,
            _ => self.ahead.push_back(Nxt {
                nxt,
                first_ns: ts,
                last_ns: ts,
            }),
        }
    }
    /// What a probe that shows `nxt` too tells of the time since the one before it.
    fn standing(&self, nxt: u32, ts: i64, frames: &Flight) -> Standing {
        let mut s = Standing {
            over_ns: self.over_ns.unwrap_or(i64::MIN),
            ..Standing::UNTOLD
        };
        let Some((una, since)) = self.una else { return s };
        s.stood_ns = since;
        let front = self.ahead.front();
        let (until, until_ns) = front.map_or((nxt, ts), |n| (n.nxt, n.first_ns));
        s.sent_ns = front.map_or(i64::MAX, |n| n.first_ns);
        let Some(behind) = &self.behind else { return s };
        if behind.nxt == una {
            s.sent_ns = behind.first_ns;
        }
        s.part = (behind.first_ns, una.wrapping_sub(behind.nxt));
        let brought = until.wrapping_sub(behind.nxt);
        if let Some(first) = frames.cut((behind.last_ns, until_ns), brought, s.part.1) {
            (s.over_ns, s.sent_ns) = (s.over_ns.max(first), s.sent_ns.min(first - 1));
        }
        s
    }
}

/// The walk.
#[derive(Default)]
struct Acks {
    flows: FxHashMap<Socket, Flow>,
    /// By position of the event that tells the retransmit.
    told: Vec<(u32, Standing)>,
    /// Whether any socket was probed: the recording tells ACKs.
    probed: bool,
    /// First frames of originals, by time.
    frames: Flight,
    /// Probes have the socket's address.
    addressed: bool,
}

impl Tracker for Acks {
    fn gap(&mut self, _: &GapRow) {
        // What the next probe shows may be the work of an ACK that was lost.
        self.flows.values_mut().for_each(|f| f.waiting.clear());
    }
}

impl Acks {
    /// The socket that sent again.
    fn socket(&self, p: &TcpRetransmitSkb<'_>) -> Option<Socket> {
        let from = SockAddr::from_fields(p.family, p.sport, p.saddr, p.saddr_v6)?;
        let to = SockAddr::from_fields(p.family, p.dport, p.daddr, p.daddr_v6)?;
        let sk = if self.addressed { p.skaddr } else { 0 };
        // Since 6.17 failures are told too: below 0 there was no frame.
        (p.err.unwrap_or(0) >= 0).then_some((from.canonical(), to.canonical(), sk))
    }

    fn probe(&mut self, ts: i64, of: Socket, p: &TcpProbe<'_>) {
        self.probed = true;
        let Some(f) = self.flows.get_mut(&of) else { return };
        let back = f.una.is_some_and(|(una, _)| !up_to(una, p.snd_una));
        let fewer = f.ahead.back().is_some_and(|n| !up_to(n.nxt, p.snd_nxt));
        if f.probe_ns.is_some() && (f.cookie != p.sock_cookie || back || fewer) {
            *f = Flow {
                shared: !self.addressed,
                told: std::mem::take(&mut f.told),
                ..Flow::default()
            };
        }
        (f.cookie, f.probe_ns) = (p.sock_cookie, Some(ts));
        f.acknowledge(p.snd_una, ts);
        if !f.waiting.is_empty() {
            let now = f.standing(p.snd_nxt, ts, &self.frames);
            for at in std::mem::take(&mut f.waiting) {
                if let Some((_, s)) = self.told.get_mut(at) {
                    let stood_ns = s.stood_ns.min(now.stood_ns);
                    *s = Standing { stood_ns, ..now };
                }
            }
        }
        f.send(p.snd_nxt, ts);
        f.acknowledge(p.snd_una, ts);
    }

    fn again(&mut self, index: u32, of: Socket, state: Option<i32>) {
        let f = self.flows.entry(of).or_default();
        let s = match state {
            Some(SYN_SENT) => Standing::FIRST,
            // Every segment that an established socket takes in is probed; in other states none is.
            Some(ESTABLISHED) => {
                f.waiting.push(self.told.len());
                Standing {
                    over_ns: f.over_ns.unwrap_or(i64::MIN),
                    stood_ns: f.probe_ns.unwrap_or(i64::MIN),
                    ..Standing::UNTOLD
                }
            }
            _ => Standing {
                over_ns: f.over_ns.unwrap_or(i64::MIN),
                ..Standing::UNTOLD
            },
        };
        if state != Some(SYN_SENT) {
            f.told.push(self.told.len());
        }
        self.told.push((index, s));
    }

    fn finish(mut self) -> Vec<(u32, Standing)> {
        let doubtful = self.flows.values().filter(|f| f.shared || !self.probed);
        for at in doubtful.flat_map(|f| &f.told) {
            if let Some((_, s)) = self.told.get_mut(*at) {
                *s = Standing::UNTOLD;
            }
        }
        self.told
    }
}

/// Reads the trace for what is told of each retransmit; by position of the event, ascending. Sockets that send nothing
/// again are passed over.
pub fn told(trace: &Trace<'_>, layout: &Layout) -> Vec<(u32, Standing)> {
    let (schema, endian) = (&trace.schema, trace.schema.endian);
    let mut acks = Acks {
        addressed: schema
            .format("tcp", "tcp_probe")
            .is_some_and(|f| f.field("skaddr").is_some()),
        ..Default::default()
    };
    let mut sockets = Routes::<Acks>::new("resending");
    sockets.on::<TcpRetransmitSkb<'static>>(schema, |t, _, p| {
        if let Some(of) = t.socket(&p) {
            t.flows.entry(of).or_default();
        }
    });
    sockets.run(trace, &mut acks);
    if acks.flows.is_empty() {
        return vec![];
    }
    let mut routes = Routes::<Acks>::new("acks");
    routes.on::<TcpProbe<'static>>(schema, move |t, e, p| {
        let read = |bytes| SockAddr::read(bytes, endian).map(SockAddr::canonical);
        if let Some((from, to)) = read(p.saddr).zip(read(p.daddr)) {
            t.probe(e.ts, (from, to, p.skaddr.unwrap_or(0)), &p);
        }
    });
    let of = layout.clone();
    routes.on::<NetDevQueue<'static>>(schema, move |t, e, p| {
        if of.is_companion(p.skbaddr) && of.resent(e.index).is_none() {
            t.frames.first(e, p.skbaddr, p.len, Name::new(p.name));
        } else {
            t.frames.answered(e);
        }
    });
    routes.on::<QdiscEnqueue<'static>>(schema, |t, _, p| t.frames.taken(p.skbaddr));
    routes.on::<KfreeSkb<'static>>(schema, |t, e, p| t.frames.dropped(e, p.skbaddr));
    routes.on::<TcpRetransmitSkb<'static>>(schema, |t, e, p| {
        if let Some(of) = t.socket(&p) {
            t.again(e.index, of, p.state);
        }
    });
    routes.run(trace, &mut acks);
    acks.finish()
}
