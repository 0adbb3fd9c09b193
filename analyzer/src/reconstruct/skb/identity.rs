//! Which events name skbs, and the result.

use netmortem_formats::Capture;
use netmortem_formats::tracepoints::consume_skb::ConsumeSkb;
use netmortem_formats::tracepoints::hrtimer_expire_entry::HrtimerExpireEntry;
use netmortem_formats::tracepoints::kfree_skb::KfreeSkb;
use netmortem_formats::tracepoints::napi_gro_frags_entry::NapiGroFragsEntry;
use netmortem_formats::tracepoints::napi_gro_frags_exit::NapiGroFragsExit;
use netmortem_formats::tracepoints::napi_gro_receive_entry::NapiGroReceiveEntry;
use netmortem_formats::tracepoints::napi_gro_receive_exit::NapiGroReceiveExit;
use netmortem_formats::tracepoints::neigh_update::NeighUpdate;
use netmortem_formats::tracepoints::neigh_update_done::NeighUpdateDone;
use netmortem_formats::tracepoints::net_dev_queue::NetDevQueue;
use netmortem_formats::tracepoints::net_dev_start_xmit::NetDevStartXmit;
use netmortem_formats::tracepoints::net_dev_xmit::NetDevXmit;
use netmortem_formats::tracepoints::netif_receive_skb::NetifReceiveSkb;
use netmortem_formats::tracepoints::netif_receive_skb_entry::NetifReceiveSkbEntry;
use netmortem_formats::tracepoints::netif_rx::NetifRx;
use netmortem_formats::tracepoints::netif_rx_entry::NetifRxEntry;
use netmortem_formats::tracepoints::qdisc_dequeue::QdiscDequeue;
use netmortem_formats::tracepoints::qdisc_enqueue::QdiscEnqueue;
use netmortem_formats::tracepoints::skb_copy_datagram_iovec::SkbCopyDatagramIovec;
use netmortem_formats::tracepoints::sock_recv_length::SockRecvLength;
use netmortem_formats::tracepoints::sock_send_length::SockSendLength;
use netmortem_formats::tracepoints::softirq_entry::SoftirqEntry;
use netmortem_formats::tracepoints::tcp_probe::TcpProbe;
use netmortem_formats::tracepoints::tcp_retransmit_skb::TcpRetransmitSkb;
use netmortem_formats::tracepoints::tcp_sendmsg_locked::TcpSendmsgLocked;
use rustc_hash::FxHashMap;

use super::again::Entry;
use super::forwarded::Forwarded;
use super::frees::Frees;
use super::owners::Doing;
use super::programs::ByProgram;
use super::stack::Stacks;
use super::tables::{DeathKind, HopRow, SkbClass, SkbRow};
use super::tracker::Skbs;
use super::verdicts::{Pause, Reinjected};
use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::ingest::{StatRow, Trace};
use crate::name::Name;
use crate::reconstruct::dispatch::Routes;
use crate::reconstruct::tcp::tables::RetransmitRow;

/// Of most lives one is seen.
const FREES: [&str; 2] = ["skb:consume_skb", "skb:kfree_skb"];
/// Most hops are seen in one of these.
const STEPS: [&str; 4] = [
    "net:net_dev_queue",
    "net:net_dev_start_xmit",
    "net:netif_rx",
    "net:netif_receive_skb",
];

/// Which life each event is about, and all lives.
#[derive(Debug, Default)]
pub struct Identity {
    /// Life by position in the merged sequence; `u32::MAX` for none.
    pub(super) ids: Vec<u32>,
    /// All lives; the position is the id.
    pub lives: Vec<SkbRow>,
    /// Steps through devices, in time order.
    pub hops: Vec<HopRow>,
    /// sizeof(struct sk_buff), when the data show it.
    pub fclone_distance: Option<u64>,
    /// Addresses are hashes (a text capture): equal ones are the same, nothing else can be told from them.
    pub hashed: bool,
    /// Originals and the companions sent down for them, in order of sending.
    pub clones: Vec<Sent>,
    /// When the address of an original that ended silently began its next life.
    pub(super) reborn: FxHashMap<SkbId, i64>,
    /// What programs gave to and took from their devices.
    pub programs: Vec<ByProgram>,
    /// Packets that went on when a program had said so (NFQUEUE), in time order.
    pub reinjected: Vec<Reinjected>,
    /// Packets received and queued on a device in one softirq run, in time order.
    pub forwarded: Vec<Forwarded>,
    /// When who says so said nothing for long.
    pub pauses: Vec<Pause>,
    /// What the capture lacks.
    pub missing: Vec<String>,
    /// Counters.
    pub stats: Vec<StatRow>,
}

/// A TCP original whose companion was queued for transmit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// When it was queued.
    pub ts_ns: i64,
    /// The original.
    pub original: SkbId,
    /// The companion.
    pub clone: SkbId,
    /// It was sent before.
    pub again: bool,
    /// Certain: an event had named the original; strong: its place in the slab alone tells.
    pub confidence: Confidence,
}

impl Identity {
    /// The byte map of its socket says that the acknowledgement of its last byte was processed at `ns`: an original dies then.
    /// What ended otherwise keeps its end.
    pub fn acked(&mut self, skb: SkbId, ns: i64, confidence: Confidence) {
        let Some(life) = self.lives.get_mut(skb.0 as usize) else {
            return;
        };
        let silent = matches!(life.death_kind, DeathKind::Unseen | DeathKind::CensoredEnd);
        // Its memory was another skb's by then: that acknowledgement is not the one.
        let late = self.reborn.get(&skb).is_some_and(|next| ns > *next);
        if life.class == SkbClass::TxOriginal && silent && !late && ns >= life.last_ns {
            (life.death_kind, life.death_ns) = (DeathKind::InferredAcked, Some(ns));
            (life.last_ns, life.confidence) = (ns, life.links.min(confidence));
        }
    }
    /// The original whose companion a life is.
    pub fn original_of(&self, clone: SkbId) -> Option<SkbId> {
        // Companions are numbered as they are sent.
        let at = self.clones.binary_search_by_key(&clone, |c| c.clone).ok()?;
        self.clones.get(at).map(|c| c.original)
    }
    /// Whether a companion was sent for an original that had been sent before.
    pub fn sent_again(&self, clone: SkbId) -> bool {
        let at = self.clones.binary_search_by_key(&clone, |c| c.clone).ok();
        at.and_then(|at| self.clones.get(at)).is_some_and(|c| c.again)
    }
    /// The life that the event at a position names.
    #[inline]
    pub fn of(&self, index: u32) -> Option<SkbId> {
        self.ids
            .get(index as usize)
            .copied()
            .filter(|i| *i != u32::MAX)
            .map(SkbId)
    }
    /// Says which originals were sent again.
    pub fn name_originals(&self, again: &mut [RetransmitRow]) {
        for r in again {
            r.original = self.of(r.index);
        }
    }
    /// No event will be asked for any more.
    pub fn forget_events(&mut self) {
        self.ids = Vec::new();
    }
    /// A life.
    pub fn life(&self, id: SkbId) -> Option<&SkbRow> {
        self.lives.get(id.0 as usize)
    }
}

/// Reads the trace.
pub fn identify(trace: &Trace<'_>, capture: &Capture) -> Identity {
    let layout = super::fclone::layout(trace);
    let mut t = Skbs {
        open: FxHashMap::default(),
        rows: trace.room(&FREES),
        hops: trace.room(&STEPS),
        ids: vec![u32::MAX; trace.recs.len()],
        stacks: Stacks::default(),
        frees: Frees::new(&capture.kallsyms),
        layout,
        clones: Vec::new(),
        reborn: FxHashMap::default(),
        horizon: trace
            .info
            .start_ns
            .unwrap_or(0)
            .saturating_add(super::tracker::CENSOR_NS),
        barrier: i64::MIN,
        untracked_frees: 0,
        copied: FxHashMap::default(),
        softirq_since: Vec::new(),
        bare: FxHashMap::default(),
        devices: super::devices::Devices::read(capture),
        owners: super::owners::Owners::default(),
        programs: super::programs::Programs::default(),
        verdicts: super::verdicts::Verdicts::default(),
        forwards: super::forwarded::Forwards::default(),
        offers: super::refused::Offers::default(),
        received: Vec::new(),
        resolved: Vec::new(),
        frees_recorded: FREES.iter().all(|f| trace.info.recorded(f)),
        delivered: Vec::new(),
        probe_names_skb: trace
            .schema
            .format("tcp", "tcp_probe")
            .is_some_and(|f| f.field("skbaddr").is_some()),
    };
    let (missing, bound) = {
        let routes = routes(trace);
        routes.run(trace, &mut t);
        (routes.missing.clone(), !routes.is_empty())
    };
    let mut identity = t.finish();
    identity.missing = missing;
    if identity.hashed {
        let why = "pointers were hashed when the capture was written: originals and their clones cannot be told by their distance";
        identity.missing.push(why.into());
    }
    if !bound {
        identity.missing.push("no event that names an skb was recorded".into());
    }
    identity
}

fn routes<'k>(trace: &Trace<'_>) -> Routes<Skbs<'k>> {
    let s = &trace.schema;
    let mut r = Routes::<Skbs<'k>>::new("skbs");
    r.on::<SoftirqEntry<'static>>(s, |t, e, _| t.softirq(e));
    r.on::<NetDevQueue<'static>>(s, |t, e, p| t.queue(e, p.skbaddr, p.len, Name::new(p.name)));
    r.on::<NetDevStartXmit<'static>>(s, |t, e, p| {
        t.start_xmit(e, p.skbaddr, (p.len, p.network_offset), Name::new(p.name));
        if let Some(l) = t.open.get_mut(&p.skbaddr).filter(|_| p.gso_size > 0) {
            l.gso_size = p.gso_size;
        }
    });
    r.on::<NetDevXmit<'static>>(s, |t, e, p| {
        if let Some(id) = t.stacks.xmit_end(e.cpu, p.skbaddr) {
            t.mark(e, id);
            t.answered(e, p.skbaddr, id, (p.rc, Name::new(p.name)));
        }
    });
    r.on::<NetifRxEntry<'static>>(s, |t, e, p| {
        t.netif_rx(e, p.skbaddr, p.len, Name::new(p.name));
        t.weighed(p.skbaddr, p.truesize);
    });
    r.on::<NetifRx<'static>>(s, |t, e, p| t.netif_rx(e, p.skbaddr, p.len, Name::new(p.name)));
    r.on::<NapiGroReceiveEntry<'static>>(s, |t, e, p| {
        t.gro_entry(e, p.skbaddr, p.len, Name::new(p.name));
        t.weighed(p.skbaddr, p.truesize);
    });
    r.on::<NapiGroFragsEntry<'static>>(s, |t, e, p| t.gro_entry(e, p.skbaddr, p.len, Name::new(p.name)));
    r.on::<NapiGroReceiveExit<'static>>(s, |t, e, p| t.gro_exit(e, p.ret));
    r.on::<NapiGroFragsExit<'static>>(s, |t, e, p| t.gro_exit(e, p.ret));
    r.on::<NetifReceiveSkbEntry<'static>>(s, |t, e, p| {
        t.handed_in(e, p.skbaddr, Entry::Receive, p.len, Name::new(p.name))
    });
    r.on::<NetifReceiveSkb<'static>>(s, |t, e, p| {
        t.receive(e, p.skbaddr, p.len, Name::new(p.name));
        t.deliver(e, p.skbaddr);
    });
    r.on::<TcpProbe<'static>>(s, |t, e, p| {
        t.segment(e, p.skaddr.unwrap_or(0), p.skbaddr);
        match p.skbaddr {
            Some(a) => t.tcp(e, a, u32::from(p.data_len)),
            None => t.tcp_unnamed(e, p.data_len),
        }
    });
    r.on::<SkbCopyDatagramIovec<'static>>(s, |t, e, p| t.copy(e, p.skbaddr));
    r.on::<SockRecvLength<'static>>(s, |t, e, p| t.copied_for(e.pid, p.family));
    r.on::<SockSendLength<'static>>(s, |t, e, p| {
        t.verdicts.sent(e, p.family, p.protocol);
        t.owners.sent(e.pid);
    });
    r.on::<HrtimerExpireEntry<'static>>(s, |t, e, p| t.owners.does(e, Doing::Timer(p.hrtimer)));
    r.on_states(s, |t, e, p| t.owners.state(e, p.skaddr, p.protocol, p.newstate));
    r.on::<TcpSendmsgLocked<'static>>(s, |t, e, p| {
        let sk = t.calls_on(e);
        t.write_queue(e, p.skb_addr, Some(u32::try_from(p.skb_len).unwrap_or(0)), sk);
        t.owned(e, p.skb_addr, sk);
    });
    r.on::<TcpRetransmitSkb<'static>>(s, |t, e, p| {
        t.write_queue(e, p.skbaddr, None, p.skaddr);
        t.owned(e, p.skbaddr, p.skaddr);
    });
    r.on::<QdiscEnqueue<'static>>(s, |t, e, p| {
        t.taken(e, p.skbaddr);
        t.in_qdisc(e, p.skbaddr);
    });
    r.on::<QdiscDequeue<'static>>(s, |t, e, p| t.in_qdisc(e, p.skbaddr));
    r.on::<NeighUpdate<'static>>(s, |t, e, p| t.resolved(e, Some(Name::new(p.dev))));
    r.on::<NeighUpdateDone<'static>>(s, |t, e, _| t.resolved(e, None));
    r.on::<ConsumeSkb<'static>>(s, |t, e, p| t.consume(e, p.skbaddr, p.location.unwrap_or(0)));
    r.on::<KfreeSkb<'static>>(s, |t, e, p| t.kfree(e, p.skbaddr, p.location, p.protocol));
    r
}
