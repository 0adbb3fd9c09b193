//! How this kernel lays out TCP's skbs, learned from the data: the distance between an original and its fclone companion
//! (sizeof(struct sk_buff)), and where companions lie in their slab.

use netmortem_formats::tracepoints::napi_gro_receive_entry::NapiGroReceiveEntry;
use netmortem_formats::tracepoints::net_dev_queue::NetDevQueue;
use netmortem_formats::tracepoints::netif_receive_skb::NetifReceiveSkb;
use netmortem_formats::tracepoints::sock_send_length::SockSendLength;
use netmortem_formats::tracepoints::tcp_retransmit_skb::TcpRetransmitSkb;
use netmortem_formats::tracepoints::tcp_sendmsg_locked::TcpSendmsgLocked;
use rustc_hash::{FxHashMap, FxHashSet};

use super::acks::Standing;
use crate::ingest::{Event, GapRow, Trace};
use crate::reconstruct::dispatch::{Routes, Tracker};

/// IPPROTO_TCP: what MPTCP's own socket is given its subflows send, other sockets.
const TCP: u16 = 6;
/// Smallest and largest plausible sizeof(struct sk_buff).
const PLAUSIBLE: std::ops::RangeInclusive<u64> = 192..=512;
/// Fewest agreeing pairs, and least share of all pairs, that the distance needs to be believed.
const LEAST: (u64, f64) = (3, 0.5);
/// Objects of the fclone cache are this far apart (two skbs and a counter, aligned to cache lines).
pub const STRIDE: u64 = 512;
/// Objects of the head cache are aligned to this, so their remainder by [`STRIDE`] is 0 or this.
const HEAD: u64 = 256;
/// Fewest frames before their remainders tell anything, and fewest of them that lie where only companions do.
const ENOUGH: (u64, u64) = (32, 8);

/// What the data show of the layout.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    /// sizeof(struct sk_buff): a companion lies this far above its original.
    pub distance: Option<u64>,
    /// `address mod 512 == distance` means a companion: every frame lies at 0, 256 or there.
    pub stride: bool,
    /// Pointers were hashed when the capture was written (a text capture): addresses are names, not places.
    pub hashed: bool,
    /// The recording tells retransmits.
    pub tells_resent: bool,
    /// It tells those that a queue refused, too (since 6.17).
    pub tells_refused: bool,
    /// Frames that were retransmits of the original below them, by position in the merged sequence, ascending; what the
    /// ACKs told of the socket then.
    resent: Vec<(u32, Standing)>,
    /// By thread, where its calls that sent ended, ascending, and on which socket; where something was sent again.
    calls: FxHashMap<i32, Vec<(u32, u64)>>,
    /// Retransmits of which no frame above the original is known (copies), by position of their event, ascending.
    copied: Vec<(u32, Standing)>,
}

/// What is told at a position.
fn at(told: &[(u32, Standing)], index: u32) -> Option<Standing> {
    let at = told.binary_search_by_key(&index, |(i, _)| *i).ok()?;
    told.get(at).map(|(_, s)| *s)
}

impl Layout {
    /// For a frame queued at a position that was sent again, not sent first: what the ACKs told of its socket then.
    pub fn resent(&self, index: u32) -> Option<Standing> {
        at(&self.resent, index)
    }
    /// The same for the event of a retransmit, where its frame is not known by its address.
    pub fn copied(&self, index: u32) -> Option<Standing> {
        at(&self.copied, index)
    }
    /// The socket of a thread's call at a position, by its end; 0 when not known.
    pub fn called(&self, pid: i32, index: u32) -> u64 {
        let ends = self.calls.get(&pid).map_or(&[][..], |c| c);
        ends.get(ends.partition_point(|c| c.0 < index)).map_or(0, |c| c.1)
    }
    /// Whether an address is a companion's by its place in the slab.
    pub fn is_companion(&self, addr: u64) -> bool {
        self.stride && self.distance.is_some_and(|d| addr % STRIDE == d % STRIDE)
    }
}

/// A set of addresses that is asked for all multiples of 8 in a range of some hundred bytes: a bit for each in a word.
#[derive(Default)]
struct Addresses(FxHashMap<(u64, u64), u64>);

impl Addresses {
    /// The word (512 bytes; multiples of 8 and what lies 1, 2, ... bytes above them are apart) and the bit in it.
    fn place(address: u64) -> ((u64, u64), u64) {
        ((address / 512, address % 8), 1 << (address / 8 % 64))
    }
    fn insert(&mut self, address: u64) {
        let (word, bit) = Addresses::place(address);
        *self.0.entry(word).or_insert(0) |= bit;
    }
    /// Calls `found` with every plausible distance below `address` at which a member lies.
    fn below(&self, address: u64, mut found: impl FnMut(u64)) {
        let mut at_hand = None;
        for distance in PLAUSIBLE.step_by(8) {
            let (word, bit) = Addresses::place(address.wrapping_sub(distance));
            let bits = match at_hand.filter(|(w, _)| *w == word) {
                Some((_, bits)) => bits,
                None => self.0.get(&word).copied().unwrap_or(0),
            };
            at_hand = Some((word, bits));
            if bits & bit != 0 {
                found(distance);
            }
        }
    }
}

/// A frame's position, and how far above an original it lay.
type Below = Option<(u32, u64)>;

#[derive(Default)]
struct Learn {
    originals: Addresses,
    distances: FxHashMap<u64, u64>,
    /// Frames queued, by address modulo [`STRIDE`].
    queued: FxHashMap<u64, u64>,
    frames: u64,
    /// Retransmits were recorded.
    again: bool,
    /// Last frame queued by each thread, and by the interrupts of each CPU: position, address. A device of this host
    /// receives before the queueing returns, and what answers is queued on the same CPU.
    last: FxHashMap<i64, (u32, u64)>,
    /// As in [`Layout`].
    calls: FxHashMap<i32, Vec<(u32, u64)>>,
    /// Threads of which a call ended since events were lost, if any were: the one before it may be another call's.
    told: Option<FxHashSet<i32>>,
    /// Retransmits: their events, sockets, the frame told right before, and how far above the original it lay.
    resent: Vec<(u32, u64, Below)>,
}

impl Tracker for Learn {
    fn gap(&mut self, _: &GapRow) {
        self.told = Some(FxHashSet::default());
    }
}

/// The highest address of a packet's skb.
#[derive(Default)]
struct Highest(u64);

impl Tracker for Highest {}

/// Whether pointers were hashed: 32 bits of them are left where the kernel's have 64. The first few packets tell.
fn hashed(trace: &Trace<'_>) -> bool {
    let mut routes = Routes::<Highest>::new("fclone");
    routes.on::<NetifReceiveSkb<'static>>(&trace.schema, |t, _, p| t.0 = t.0.max(p.skbaddr));
    routes.on::<NapiGroReceiveEntry<'static>>(&trace.schema, |t, _, p| t.0 = t.0.max(p.skbaddr));
    routes.on::<NetDevQueue<'static>>(&trace.schema, |t, _, p| t.0 = t.0.max(p.skbaddr));
    let mut highest = Highest::default();
    for e in trace.events(|kind| routes.wants(kind)) {
        routes.feed(trace, &mut highest, &e);
        if highest.0 > u64::from(u32::MAX) {
            return false;
        }
    }
    highest.0 > 0
}

/// The thread, or below 0 the CPU in interrupts.
pub(super) fn context(e: &Event<'_>) -> i64 {
    if e.in_task() {
        e.pid.into()
    } else {
        -1 - i64::from(e.cpu)
    }
}

/// Reads the trace once for the addresses alone.
pub fn layout(trace: &Trace<'_>) -> Layout {
    let mut routes = Routes::<Learn>::new("fclone");
    routes.on::<TcpSendmsgLocked<'static>>(&trace.schema, |t, _, p| {
        if p.skb_addr != 0 {
            t.originals.insert(p.skb_addr);
        }
    });
    let tells = routes.on::<TcpRetransmitSkb<'static>>(&trace.schema, |t, e, p| {
        t.originals.insert(p.skbaddr);
        // What a queue refused (NET_XMIT_DROP) had a frame, too.
        if p.err.unwrap_or(0) >= 0 {
            let frame = t.last.get(&context(e));
            let frame = frame.map(|(index, addr)| (*index, addr.wrapping_sub(p.skbaddr)));
            t.resent.push((e.index, p.skaddr, frame));
        }
    });
    routes.on::<NetDevQueue<'static>>(&trace.schema, |t, e, p| {
        if t.again {
            t.last.insert(context(e), (e.index, p.skbaddr));
        }
        t.frames += 1;
        *t.queued.entry(p.skbaddr % STRIDE).or_insert(0) += 1;
        t.originals
            .below(p.skbaddr, |d| *t.distances.entry(d).or_insert(0) += 1);
    });
    routes.on::<SockSendLength<'static>>(&trace.schema, |t, e, p| {
        if t.again {
            let lost = t.told.as_mut().is_some_and(|told| told.insert(e.pid));
            let sk = if lost || p.protocol != TCP { 0 } else { p.sk };
            t.calls.entry(e.pid).or_default().push((e.index, sk));
        }
    });
    let resends = trace.info.events.get("tcp:tcp_retransmit_skb");
    let mut learn = Learn {
        again: resends.is_some_and(|n| *n > 0),
        ..Learn::default()
    };
    routes.run(trace, &mut learn);
    let wide = trace
        .schema
        .format("net", "net_dev_queue")
        .or_else(|| trace.schema.format("net", "netif_receive_skb"))
        .and_then(|f| f.field("skbaddr"))
        .is_some_and(|f| f.size == 8);
    let retransmits = std::mem::take(&mut learn.resent);
    let calls = std::mem::take(&mut learn.calls);
    let mut layout = learn.layout(wide && hashed(trace), tells);
    layout.calls = calls;
    let resend = trace.schema.format("tcp", "tcp_retransmit_skb");
    layout.tells_refused = resend.is_some_and(|f| f.field("err").is_some());
    if layout.hashed || retransmits.is_empty() {
        return layout;
    }
    let (mut resent, mut copied) = (vec![], vec![]);
    for (event, sk, frame) in retransmits {
        match frame.filter(|(_, d)| Some(*d) == layout.distance) {
            Some((index, _)) => resent.push((index, event, sk)),
            None => copied.push((event, event, sk)),
        }
    }
    resent.sort_unstable();
    layout.resent = resent.iter().map(|(index, ..)| (*index, Standing::UNTOLD)).collect();
    let told = super::acks::told(trace, &layout);
    let judged = |(index, event, sk)| {
        let mut told = at(&told, event).unwrap_or(Standing::UNTOLD);
        told.sk = sk;
        (index, told)
    };
    layout.resent = resent.into_iter().map(judged).collect();
    layout.copied = copied.into_iter().map(judged).collect();
    layout
}

impl Learn {
    fn layout(self, hashed: bool, tells: bool) -> Layout {
        if hashed {
            return Layout {
                hashed: true,
                ..Layout::default()
            };
        }
        let pairs: u64 = self.distances.values().sum();
        let best = self
            .distances
            .iter()
            .map(|(d, n)| (*d, *n))
            .max_by_key(|(d, n)| (*n, std::cmp::Reverse(*d)));
        let paired = best
            .filter(|(_, n)| *n >= LEAST.0 && *n as f64 >= LEAST.1 * pairs as f64)
            .map(|(d, _)| d);
        // The one place besides the head cache's where frames lie. Few frames tell it when it is where the pairs say, too.
        let agrees = |r: u64| paired.is_some_and(|d| d % STRIDE == r);
        let mut others = self.queued.iter().filter(|(r, _)| *r % HEAD != 0);
        let place = match (others.next(), others.next()) {
            (Some((r, _)), None) if agrees(*r) => Some(*r),
            (Some((r, n)), None) if self.frames >= ENOUGH.0 && *n >= ENOUGH.1 && r % 8 == 0 => Some(*r),
            _ => None,
        };
        let distance = paired.or(place.filter(|r| PLAUSIBLE.contains(r)));
        Layout {
            distance,
            stride: distance.is_some() && place == distance.map(|d| d % STRIDE),
            hashed: false,
            tells_resent: tells,
            tells_refused: false,
            resent: vec![],
            calls: FxHashMap::default(),
            copied: vec![],
        }
    }
}
