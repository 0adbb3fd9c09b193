//! Where datagrams go to: routes that are looked up in send and connect calls.
//!
//! ```text
//! sendto (not connected)   fib_table_lookup (UDP, destination, ports) ─ the packet is queued ─ sock_send_length
//! connect                  fib_table_lookup ─ what is sent on the socket goes there
//! ```
//! The first look-up of a thread's own in a call is the datagram's; one behind the packet's way to its device is a tunnel's (vxlan), and one from another port than
//! the socket's is none of it. Sends on a connected socket need no look-up while their route holds. Source: net/ipv4/udp.c `udp_sendmsg`, net/ipv4/datagram.c `__ip4_datagram_connect`.
//!
//! Not seen: where a socket was connected before the recording, unless a snapshot says.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use netmortem_formats::tracepoints::fib_table_lookup::FibTableLookup;
use netmortem_formats::tracepoints::fib6_table_lookup::Fib6TableLookup;
use rustc_hash::FxHashMap;

use super::calls::{SendCall, Use};
use super::sockets::SocketRow;
use super::tables::TurnRow;
use super::tracker::Machine;
use crate::ingest::{Event, Schema};
use crate::reconstruct::dispatch::Routes;
use crate::reconstruct::transmit::tables::TxRow;

const UDP: u8 = 17;

/// Where something goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Whither {
    /// Place in [`Whithers::all`].
    pub(super) to: u32,
    /// From which port; 0: not told.
    pub(super) from_port: u16,
    /// When its route was looked up.
    pub(super) at: i64,
    /// Where the socket is connected to, if that look-up was behind the packet's way to its device.
    pub(super) or: Option<u32>,
}

/// What look-ups tell.
#[derive(Debug, Default)]
pub(super) struct Whithers {
    /// Addresses, each once.
    pub(super) all: Vec<SocketAddr>,
    places: FxHashMap<SocketAddr, u32>,
    /// The first of each thread's call under way.
    here: FxHashMap<i32, Whither>,
    /// Of connected descriptors.
    connected: FxHashMap<(i32, i32), Whither>,
}

impl Whithers {
    pub(super) fn forget(&mut self) {
        self.here.clear();
        self.connected.clear();
    }
    fn place(&mut self, to: SocketAddr) -> u32 {
        let new = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        let place = *self.places.entry(to).or_insert(new);
        if place == new {
            self.all.push(to);
        }
        place
    }
    /// A thread's call begins, or its next datagram.
    pub(super) fn begins(&mut self, pid: i32) {
        self.here.remove(&pid);
    }
    pub(super) fn closes(&mut self, key: &(i32, i32)) {
        self.connected.remove(key);
    }
    /// A thread's call connected that descriptor: to nothing where it asked for that.
    pub(super) fn connects(&mut self, pid: i32, key: (i32, i32)) {
        match self.here.remove(&pid) {
            Some(one) => _ = self.connected.insert(key, one),
            None => _ = self.connected.remove(&key),
        }
    }
    /// Of what a thread just sent by that descriptor.
    pub(super) fn sent(&mut self, pid: i32, key: Option<(i32, i32)>) -> Option<Whither> {
        let here = self.here.remove(&pid);
        let Some(connected) = key.and_then(|key| self.connected.get(&key)).copied() else {
            return here;
        };
        // One that names another address than its socket is connected to; or a tunnel's, or the descriptor is another socket's now.
        let or = |w: Whither| match w.from_port == connected.from_port {
            true => w,
            false => Whither {
                or: Some(connected.to),
                ..w
            },
        };
        here.map(or).or(Some(connected))
    }
}

/// Where a socket's datagrams went to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Way {
    /// Place in [`Whithers::all`].
    to: Same,
    /// The port from which its first was sent; 0: not told.
    pub(super) from_port: u16,
}

/// Whether several are the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Same {
    #[default]
    None,
    One(u32),
    Differ,
}

impl Same {
    fn add(&mut self, one: Option<u32>) {
        *self = match (*self, one) {
            (Same::None, Some(one)) => Same::One(one),
            (Same::One(was), Some(one)) if was == one => *self,
            _ => Same::Differ,
        };
    }
    fn of(self, all: &[SocketAddr]) -> Option<SocketAddr> {
        match self {
            Same::One(at) => all.get(at as usize).copied(),
            _ => None,
        }
    }
}

/// Tells turns where they went to; and the ways of as many sockets.
pub(super) fn tell(
    sends: &[SendCall],
    packets: &FxHashMap<usize, Vec<&TxRow>>,
    all: &[SocketAddr],
    turns: &mut [TurnRow],
    sockets: usize,
) -> Vec<Way> {
    let mut of_turns = vec![Same::None; turns.len()];
    let mut ways = vec![Way::default(); sockets];
    for (at, s) in sends.iter().enumerate() {
        let queued = packets.get(&at).and_then(|of| of.first()).map(|p| p.t_sched_ns);
        // Where its packet is not known, neither is whether the look-up came before it.
        let before = |w: &Whither| match w.or {
            None => queued.is_none_or(|queued| w.at <= queued),
            Some(_) => queued.is_some_and(|queued| w.at <= queued),
        };
        let own = s.to.filter(before);
        let to = own.map(|w| w.to).or(s.to.and_then(|w| w.or));
        if let Some(of) = of_turns.get_mut(s.turn as usize) {
            of.add(to);
        }
        let socket = turns.get(s.turn as usize).map(|t| t.socket as usize);
        if let Some(way) = socket.and_then(|n| ways.get_mut(n)) {
            way.to.add(to);
            if way.from_port == 0 {
                way.from_port = own.map_or(0, |w| w.from_port);
            }
        }
    }
    for (t, of) in turns.iter_mut().zip(of_turns) {
        t.to = of.of(all);
    }
    ways
}

/// Peers of sockets that no snapshot told, and that did not serve: whom those answer is not whom they belong to.
pub(super) fn peers(sockets: &mut [SocketRow], ways: &[Way], all: &[SocketAddr]) {
    for (s, way) in sockets.iter_mut().zip(ways) {
        if let Some(to) = way.to.of(all).filter(|_| s.remote.is_empty() && !s.served) {
            s.remote = to.to_string();
        }
    }
}

fn looked_up(t: &mut Machine<'_>, e: &Event<'_>, (ip, port): (IpAddr, u16), from_port: u16) {
    let call = t.calls.get(&e.pid).map(|c| c.what);
    if e.in_task() && port != 0 && matches!(call, Some(Use::Send | Use::Connect)) {
        let to = t.whithers.place(SocketAddr::new(ip, port));
        let at = e.ts;
        t.whithers.here.entry(e.pid).or_insert(Whither {
            to,
            from_port,
            at,
            or: None,
        });
    }
}

/// Routes the look-ups.
pub(super) fn route(r: &mut Routes<Machine<'_>>, s: &Schema<'_>) {
    let needed = r.missing.len();
    r.on::<FibTableLookup<'static>>(s, |t, e, p| {
        if let (UDP, Ok(octets)) = (p.proto, <[u8; 4]>::try_from(p.dst)) {
            looked_up(t, e, (Ipv4Addr::from(octets).into(), p.dport), p.sport);
        }
    });
    r.on::<Fib6TableLookup<'static>>(s, |t, e, p| {
        if let (UDP, Ok(octets)) = (p.proto, <[u8; 16]>::try_from(p.dst)) {
            looked_up(t, e, (Ipv6Addr::from(octets).into(), p.dport), p.sport);
        }
    });
    r.missing.truncate(needed);
}
