//! What the analysis knows at the end: every fact table, and what ids in them are called.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use rustc_hash::FxHashMap;

use crate::announced::{Announced, tables::CHANGES};
use crate::classes::tables::{CLASSES, ClassRow};
use crate::clients::{BY_SECOND, CLIENTS};
use crate::counters::over_time::{OverTime, sockets::SOCKETS_OVER_TIME, tables::COUNTERS_OVER_TIME};
use crate::counters::tables::{COUNTERS, CounterRow};
use crate::ingest::{CaptureInfo, GapRow, StatRow};
use crate::name::Name;
pub use crate::names::Names;
use crate::reconstruct::application::tables::{RESPONSES, ResponseRow, TURNAROUNDS, TurnaroundRow};
use crate::reconstruct::balances::tables::{BALANCES, BalanceRow};
use crate::reconstruct::datagrams::sockets::{CopyRow, SocketRow, UDP_COPIES, UDP_SOCKETS};
use crate::reconstruct::datagrams::tables::{TurnRow, UDP_TURNS};
use crate::reconstruct::drops::tables::{DROPS, DropRow};
use crate::reconstruct::herds::HerdRow;
use crate::reconstruct::limiters::tables::{LIMITERS, LimiterRow};
use crate::reconstruct::lineage::tables::{LINEAGE, LineageRow};
use crate::reconstruct::napi::tables::{POLLS, PollRow};
use crate::reconstruct::negotiated::Negotiated;
use crate::reconstruct::neighbours::tables::{NEIGHBOURS, NeighbourRow};
use crate::reconstruct::observer::tables::{OBSERVER, ObserverRow};
use crate::reconstruct::opens::local::{LocalConnects, UNIX_CONNECTS};
use crate::reconstruct::opens::tables::{ListenRow, NotAccepted, OPENS, OpenRow, RESETS, ResetRow, TimedOut};
use crate::reconstruct::probes::Probes;
use crate::reconstruct::probes::tables::{ACCEPT_QUEUES, NAME_LOOKUPS, SOCKET_BACKLOGS};
use crate::reconstruct::receive::tables::{RX, RxRow};
use crate::reconstruct::skb::tables::{HOPS, HopRow, SKBS, SkbRow};
use crate::reconstruct::skb::{ByProgram, Forwarded, Pause, Reinjected};
use crate::reconstruct::skew::tables::{CLOCK_SKEW, SkewRow};
use crate::reconstruct::softirq::{Counted, tables::SOFTIRQS, tables::SoftirqRow};
use crate::reconstruct::tcp::Reads;
use crate::reconstruct::tcp::tables::{
    CONNECTIONS, ConnectionRow, RETRANSMITS, RetransmitRow, SampleRow, StateRow, TCP_SAMPLES, TCP_STATES,
};
use crate::reconstruct::thread::Ended;
use crate::reconstruct::transmit::tables::{TX, TxRow};
use crate::reconstruct::transmit::{BehindRow, FullSegment, Halt, LastSend, LeftFull, RefusedSend, Spent};
use crate::reconstruct::xmits::tables::{Pass, TXQ_STOPS, TxqStop, XMITS};
use crate::routes::Routes;
use crate::settings::Settings;
use crate::settings::changed::Change;
use crate::snapshots::cgroups::tables::CGROUPS;
use crate::snapshots::spaces::Spaces;
use crate::snapshots::tables::{SNAPSHOTS, SnapshotRow};
use crate::table::{Derived, FactTable, TableDef, Typed};

/// Number of one life of an skb address, in order of birth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, serde::Serialize)]
pub struct SkbId(pub u32);

/// Number of one TCP socket, in order of first sight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
pub struct ConnectionId(pub u32);

/// Why a question has no answer, or only part of one.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Reason {
    /// The tracker or analysis concerned.
    pub subject: &'static str,
    /// A sentence.
    pub because: String,
}

/// All fact tables of one input.
#[derive(Clone, Default, Debug)]
pub struct Facts {
    /// The capture and how well it was read.
    pub capture: CaptureInfo,
    /// Intervals whose events were lost.
    pub gaps: Vec<GapRow>,
    /// Counters of the analysis itself.
    pub stats: Vec<StatRow>,
    /// View `skbs`.
    pub skbs: Vec<SkbRow>,
    /// View `hops`.
    pub hops: Vec<HopRow>,
    /// View `lineage`.
    pub lineage: Vec<LineageRow>,
    /// View `balances`.
    pub balances: Vec<BalanceRow>,
    /// View `rx`.
    pub rx: Vec<RxRow>,
    /// View `xmits`.
    pub xmits: Vec<Pass>,
    /// View `txq_stops`.
    pub txq_stops: Vec<TxqStop>,
    /// View `tx`.
    pub tx: Vec<TxRow>,
    /// View `softirqs`.
    pub softirqs: Vec<SoftirqRow>,
    /// View `polls`.
    pub polls: Vec<PollRow>,
    /// What the kernel counted of time squeezes, and their limits.
    pub softnet: Counted,
    /// View `clock_skew`.
    pub clock_skew: Vec<SkewRow>,
    /// View `observer`.
    pub observer: Vec<ObserverRow>,
    /// ns that recording one event added, estimated; `None` when the recording does not tell.
    pub event_cost_ns: Option<i64>,
    /// View `limiters`.
    pub limiters: Vec<LimiterRow>,
    /// What held each TCP socket that sent, each moment once.
    pub spent: FxHashMap<ConnectionId, Spent>,
    /// The largest segments that each TCP socket sent, where events tell their size.
    pub full_segments: FxHashMap<ConnectionId, FullSegment>,
    /// Small messages that were written behind large ones of the same TCP socket.
    pub behind: Vec<BehindRow>,
    /// When TCP sockets could not send on, by the peer's window, losses or a full send buffer, where that was long.
    pub halts: FxHashMap<ConnectionId, Vec<Halt>>,
    /// The last send on each TCP socket that an event names.
    pub last_sends: FxHashMap<ConnectionId, LastSend>,
    /// Sends on TCP sockets that a full buffer refused, by socket and time.
    pub refused_sends: Vec<RefusedSend>,
    /// TCP sockets whose last send it refused, by socket.
    pub left_full: Vec<LeftFull>,
    /// What threads of programs gave to and took from their devices (tun).
    pub by_program: Vec<ByProgram>,
    /// Packets that netfilter gave to a program and that went on when it had said so (NFQUEUE), in time order.
    pub reinjected: Vec<Reinjected>,
    /// Packets that were received and queued on a device in one softirq run, in time order.
    pub forwarded: Vec<Forwarded>,
    /// Thread, and from when to when it had nothing to say to netfilter for 5 ms or more.
    pub verdict_pauses: Vec<Pause>,
    /// Threads that ended.
    pub ended: Ended,
    /// Process and name of each thread, where a list of tasks tells.
    pub processes: FxHashMap<i32, (i32, Name)>,
    /// The process that holds the listening TCP sockets of a port, where that is one only and a list of sockets tells.
    pub listened_by: FxHashMap<u16, i32>,
    /// What TCP sockets agreed on with their other end, where a list of sockets tells.
    pub negotiated: FxHashMap<ConnectionId, Negotiated>,
    /// When something was sent or came last on a TCP socket before the recording, ns, where the first list of sockets tells.
    pub quiet: FxHashMap<ConnectionId, i64>,
    /// TCP sockets that listened at each port, where a list of sockets tells.
    pub listeners: BTreeMap<u16, u64>,
    /// Ports at which any TCP socket listened, where a list of sockets tells.
    pub listening: BTreeSet<u16>,
    /// Ends of connections that three others or more spoke to: no client's, as a rule.
    pub asked_by_many: BTreeSet<(IpAddr, u16)>,
    /// Calls of `accept` that failed for want of descriptors or memory.
    pub not_accepted: Vec<NotAccepted>,
    /// Calls of `connect` on sockets of AF_UNIX, by thread.
    pub local_connects: Vec<LocalConnects>,
    /// Sockets that began to listen, and such that were closed, by time.
    pub listens: Vec<ListenRow>,
    /// Which network namespaces addresses, processes and listening sockets are of, where lists say it.
    pub spaces: Spaces,
    /// Sockets that wake many threads at once, those with most wakings first.
    pub herds: Vec<HerdRow>,
    /// CPU and time of each expiry of a NAPI's own timer (`napi_watchdog`), ascending.
    pub poll_timers: Vec<(u16, i64)>,
    /// Time-outs (ETIMEDOUT) that sockets were told of.
    pub timed_out: Vec<TimedOut>,
    /// How TCP sockets were read, where events tell.
    pub reads: FxHashMap<ConnectionId, Reads>,
    /// View `turnarounds`.
    pub turnarounds: Vec<TurnaroundRow>,
    /// View `responses`.
    pub responses: Vec<ResponseRow>,
    /// View `connections`.
    pub connections: Vec<ConnectionRow>,
    /// View `tcp_samples`.
    pub tcp_samples: Vec<SampleRow>,
    /// View `tcp_states`.
    pub tcp_states: Vec<StateRow>,
    /// View `retransmits`.
    pub retransmits: Vec<RetransmitRow>,
    /// View `opens`.
    pub opens: Vec<OpenRow>,
    /// View `resets`.
    pub resets: Vec<ResetRow>,
    /// TCP sockets that a RST came to when their program had closed them.
    pub reset_when_closed: BTreeSet<ConnectionId>,
    /// View `udp_turns`.
    pub udp_turns: Vec<TurnRow>,
    /// View `udp_sockets`.
    pub udp_sockets: Vec<SocketRow>,
    /// View `udp_copies`.
    pub udp_copies: Vec<CopyRow>,
    /// View `neighbours`.
    pub neighbours: Vec<NeighbourRow>,
    /// View `drops`.
    pub drops: Vec<DropRow>,
    /// View `snapshots`.
    pub snapshots: Vec<SnapshotRow>,
    /// What lists of routes and links tell.
    pub routes: Routes,
    /// Multicast groups that devices were in before and after.
    pub multicast: crate::snapshots::groups::Multicast,
    /// Cgroups with a limit of CPU time, and how often they were stopped; view `cgroups`.
    pub cpu_limits: crate::snapshots::cgroups::CpuLimits,
    /// Who held the memory of TCP's receive queues when the recording ended.
    pub memory: Vec<crate::snapshots::memory::Holder>,
    /// Listening sockets that turned connections away, where lists of sockets tell.
    pub refusing: Vec<crate::snapshots::refusing::Refusing>,
    /// View `counters`.
    pub counters: Vec<CounterRow>,
    /// View `counters_over_time`, and when the readings were made.
    pub counters_over_time: OverTime,
    /// Views `accept_queues`, `socket_backlogs`, `name_lookups`.
    pub probes: Probes,
    /// View `changes`: what was announced while it was recorded.
    pub announced: Announced,
    /// View `classes`.
    pub classes: Vec<ClassRow>,
    /// What could not be answered, and why.
    pub unknown: Vec<Reason>,
    /// Who speaks with whom through this host, by look-ups of routes.
    pub passing: Vec<crate::reconstruct::drops::Passing>,
    /// Names.
    pub names: Names,
    /// How the recorded host was set up.
    pub settings: Settings,
    /// What of that was changed meanwhile.
    pub changed: Vec<Change>,
    /// Which network namespaces forward at the end, where that is known.
    pub forwards: BTreeMap<u64, bool>,
}

fn view<'f, R: Sync>(def: &'static TableDef<R>, rows: &'f [R], names: &'f Names) -> Box<dyn FactTable + 'f> {
    Box::new(Typed { def, rows, names })
}

/// A view whose rows are made of others' when somebody asks for them.
fn derived<'f, R: Send + Sync>(
    def: &'static TableDef<R>,
    facts: &'f Facts,
    make: fn(&Facts) -> Vec<R>,
) -> Box<dyn FactTable + 'f> {
    Box::new(Derived {
        def,
        facts,
        make,
        rows: Default::default(),
    })
}

impl Facts {
    /// The process of a thread; where that is not known, itself.
    pub fn process(&self, pid: i32) -> i32 {
        self.processes.get(&pid).map_or(pid, |p| p.0)
    }
    /// Every view, in the order `show --list` prints them. One line registers a table.
    pub fn tables(&self) -> Vec<Box<dyn FactTable + '_>> {
        let names = &self.names;
        vec![
            view(&SKBS, &self.skbs, names),
            view(&HOPS, &self.hops, names),
            view(&LINEAGE, &self.lineage, names),
            view(&BALANCES, &self.balances, names),
            view(&RX, &self.rx, names),
            view(&TX, &self.tx, names),
            view(&XMITS, &self.xmits, names),
            view(&TXQ_STOPS, &self.txq_stops, names),
            view(&SOFTIRQS, &self.softirqs, names),
            view(&POLLS, &self.polls, names),
            view(&CLOCK_SKEW, &self.clock_skew, names),
            view(&OBSERVER, &self.observer, names),
            view(&LIMITERS, &self.limiters, names),
            view(&TURNAROUNDS, &self.turnarounds, names),
            view(&RESPONSES, &self.responses, names),
            derived(&CLIENTS, self, crate::clients::clients),
            derived(&BY_SECOND, self, crate::clients::by_second),
            view(&CONNECTIONS, &self.connections, names),
            view(&TCP_SAMPLES, &self.tcp_samples, names),
            view(&TCP_STATES, &self.tcp_states, names),
            view(&RETRANSMITS, &self.retransmits, names),
            view(&OPENS, &self.opens, names),
            view(&RESETS, &self.resets, names),
            view(&UNIX_CONNECTS, &self.local_connects, names),
            view(&UDP_TURNS, &self.udp_turns, names),
            view(&UDP_SOCKETS, &self.udp_sockets, names),
            view(&UDP_COPIES, &self.udp_copies, names),
            view(&NEIGHBOURS, &self.neighbours, names),
            view(&DROPS, &self.drops, names),
            view(&COUNTERS, &self.counters, names),
            view(&COUNTERS_OVER_TIME, &self.counters_over_time.rows, names),
            view(&SOCKETS_OVER_TIME, &self.counters_over_time.sockets, names),
            view(&ACCEPT_QUEUES, &self.probes.accepts, names),
            view(&SOCKET_BACKLOGS, &self.probes.backlogs, names),
            view(&NAME_LOOKUPS, &self.probes.lookups, names),
            view(&CHANGES, &self.announced.rows, names),
            view(&CLASSES, &self.classes, names),
            view(&CGROUPS, &self.cpu_limits.rows, names),
            view(&SNAPSHOTS, &self.snapshots, names),
            view(&crate::ingest::GAPS, &self.gaps, names),
            view(&crate::ingest::STATS, &self.stats, names),
        ]
    }
    /// The facts of an empty capture: what `show --list` describes without an input.
    pub fn empty() -> Facts {
        Facts::default()
    }
}
