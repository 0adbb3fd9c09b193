//! The machine.

use std::net::{IpAddr, SocketAddr};

use netmortem_formats::Endian;
use netmortem_formats::sockaddr::{SockAddr, v4};
use netmortem_formats::tracepoints::Tracepoint;
use netmortem_formats::tracepoints::icmp_send::IcmpSend;
use netmortem_formats::tracepoints::net_dev_queue::NetDevQueue;
use netmortem_formats::tracepoints::sock_recv_length::SockRecvLength;
use netmortem_formats::tracepoints::sock_send_length::SockSendLength;
use netmortem_formats::tracepoints::softirq_entry::SoftirqEntry;
use netmortem_formats::tracepoints::softirq_exit::SoftirqExit;
use netmortem_formats::tracepoints::tcp_cong_state_set::TcpCongStateSet;
use netmortem_formats::tracepoints::tcp_destroy_sock::TcpDestroySock;
use netmortem_formats::tracepoints::tcp_probe::TcpProbe;
use netmortem_formats::tracepoints::tcp_rcv_space_adjust::TcpRcvSpaceAdjust;
use netmortem_formats::tracepoints::tcp_retransmit_skb::TcpRetransmitSkb;
use netmortem_formats::tracepoints::tcp_retransmit_synack::TcpRetransmitSynack;

use rustc_hash::FxHashMap;

use super::reads::{self, Calls};
use super::sockets::{Socket, Sockets, Tuple};
use super::states::{self, CLOSE, LISTEN};
use super::tables::{RetransmitClass, RetransmitRow, SampleRow, StateRow};
use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::ingest::{Event, GapRow, Trace};
use crate::name::Name;
use crate::reconstruct::comms::Comms;
use crate::reconstruct::context::Cpus;
use crate::reconstruct::dispatch::{Routes, Tracker};

/// IPPROTO_TCP, IPPROTO_MPTCP.
const TCP_PROTOCOLS: [u16; 2] = [6, 262];
/// `enum tcp_ca_state`.
const CONG_STATES: [&str; 5] = ["Open", "Disorder", "CWR", "Recovery", "Loss"];
/// MSG_PEEK: the bytes stay in the queue.
pub const MSG_PEEK: i32 = 2;
/// ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED (include/uapi/linux/icmp.h).
const FRAG_NEEDED: (i32, i32) = (3, 4);

/// What the tracker found.
#[derive(Debug, Default)]
pub struct Tcp {
    /// Sockets; their rows are the view `connections`.
    pub sockets: Sockets,
    /// View `tcp_samples`.
    pub samples: Vec<SampleRow>,
    /// View `tcp_states`.
    pub states: Vec<StateRow>,
    /// View `retransmits`.
    pub retransmits: Vec<RetransmitRow>,
    /// (position in the merged sequence, socket) of every tcp_probe, ascending.
    pub probes: Vec<(u32, ConnectionId)>,
    /// Those of them in a thread's call, ascending: of segments out of the backlog, into which later ones may have been merged.
    pub probes_in_task: Vec<u32>,
    /// What the capture lacks.
    pub missing: Vec<String>,
    pub(super) cpus: Cpus,
    pub(super) last_queued: Vec<Option<(u64, u32)>>,
    endian: Endian,
    pub(super) has_cong: bool,
    pub(super) has_softirq: bool,
    /// Last ICMP message that a packet from one address to another was too big.
    pub(super) too_big: FxHashMap<(IpAddr, IpAddr), i64>,
    /// `tcp_retransmit_skb` tells of failures too.
    pub(super) failures_told: bool,
    /// Until then events of some CPU are missing.
    pub(super) lost_until: Option<i64>,
    /// Receive calls under way, where no event tells what they took (before Linux 6.3).
    pub(super) calls: Option<Calls>,
    /// Losses told so far: what was known of congestion states before the last is void.
    pub(super) era: u64,
}

impl Tracker for Tcp {
    fn gap(&mut self, gap: &GapRow) {
        self.lost_until = self.lost_until.max(Some(gap.end_ns.unwrap_or(i64::MAX)));
        self.cpus.at(gap.cpu as u16).forget();
        if let Some(slot) = self.last_queued.get_mut(gap.cpu as usize) {
            *slot = None;
        }
        self.era += 1;
        if let Some(calls) = &mut self.calls {
            *calls = Calls::default();
        }
    }
}

/// The 4-tuple of an event of the tcp or sock class, by its own field names.
macro_rules! tuple {
    ($p:expr, $family:expr) => {{
        let family = $family;
        let from = SockAddr::from_fields(family, $p.sport, $p.saddr, $p.saddr_v6);
        let to = SockAddr::from_fields(family, $p.dport, $p.daddr, $p.daddr_v6);
        from.zip(to).map(|(s, d)| ends(s, d))
    }};
}

/// Local and remote end of a socket.
pub fn ends(s: SockAddr, d: SockAddr) -> Tuple {
    let (s, d) = (s.canonical(), d.canonical());
    Tuple {
        saddr: s.ip,
        sport: s.port,
        daddr: d.ip,
        dport: d.port,
    }
}

/// Reads the trace.
pub fn run(trace: &Trace<'_>, comms: &Comms) -> Tcp {
    let s = &trace.schema;
    let mut r = Routes::<Tcp>::new("tcp");
    let mut t = Tcp {
        endian: s.endian,
        ..Default::default()
    };
    t.has_softirq = r.on::<SoftirqEntry<'static>>(s, |t, e, p| {
        t.cpus.at(e.cpu).softirq_entry(e, p.vec);
    });
    r.on::<SoftirqExit<'static>>(s, |t, e, p| {
        t.cpus.at(e.cpu).softirq_exit(p.vec);
    });
    r.on::<NetDevQueue<'static>>(s, |t, e, p| t.queued(e, p.skbaddr, p.len));
    r.on::<TcpProbe<'static>>(s, |t, e, p| t.probe(e, &p));
    t.has_cong = r.on::<TcpCongStateSet<'static>>(s, |t, e, p| {
        if let Some(tuple) = tuple!(p, p.family) {
            let i = t.sockets.resolve(e.ts, Some(p.skaddr), None, tuple);
            t.cong(e, i, p.cong_state);
        }
    });
    r.on::<TcpRcvSpaceAdjust<'static>>(s, |t, e, p| {
        if let Some(tuple) = tuple!(p, p.family) {
            let i = t.sockets.resolve(e.ts, Some(p.skaddr), p.sock_cookie, tuple);
            if let Some(s) = t.sockets.all.get_mut(i) {
                used_by(s, e);
            }
            if let Some(calls) = t.calls.as_mut().filter(|_| e.in_task()) {
                calls.took(e.pid, i);
            }
        }
    });
    r.on::<TcpDestroySock<'static>>(s, |t, e, p| {
        t.sockets.ended(p.skaddr, e.ts);
        t.sockets.free(p.skaddr, e.ts);
    });
    r.on_states(s, |t, e, p| {
        if p.newstate == CLOSE {
            t.sockets.ended(p.skaddr, e.ts);
        }
        // A listener is no connection, and its children announce themselves.
        let listener = p.newstate == LISTEN || p.oldstate == LISTEN || p.dport == 0;
        if !TCP_PROTOCOLS.contains(&p.protocol) || listener {
            return;
        }
        // The last thing said of a socket must not introduce it.
        if p.newstate == CLOSE && t.sockets.current(p.skaddr).is_none() {
            return;
        }
        if let Some(tuple) = tuple!(p, Some(p.family)) {
            let i = t.sockets.resolve(e.ts, Some(p.skaddr), None, tuple);
            // Only who connects makes it so: whose it is, until somebody reads or sends.
            if let Some(s) = t
                .sockets
                .all
                .get_mut(i)
                .filter(|s| p.newstate == states::SYN_SENT && s.row.pid == 0)
            {
                s.row.pid = user(e);
            }
            // Who was SYN_SENT opened it, though nothing was seen of it before.
            if let Some(s) = t.sockets.all.get_mut(i).filter(|_| p.oldstate == states::SYN_SENT) {
                s.row.born = s.row.born.or(Some(states::SYN_SENT));
            }
            t.state(e, i, "sock", p.newstate, &states::NAMES);
            if p.newstate == CLOSE {
                t.sockets.close(p.skaddr, e.ts);
            }
        }
    });
    let told = r.on::<SockRecvLength<'static>>(s, |t, e, p| {
        if let Some(s) = t.sockets.readable(p.sk).filter(|_| TCP_PROTOCOLS.contains(&p.protocol)) {
            used_by(s, e);
            let n = if p.flags & MSG_PEEK == 0 {
                u64::try_from(p.ret).unwrap_or(0)
            } else {
                0
            };
            s.row.bytes_read = Some(s.row.bytes_read.unwrap_or(0) + n);
            s.reads.add(n);
        } else if TCP_PROTOCOLS.contains(&p.protocol) && p.flags & MSG_PEEK == 0 {
            let n = u64::try_from(p.ret).unwrap_or(0);
            t.sockets.used_early((p.sk, t.era), e.ts, user(e), (0, n));
        }
    });
    if !told {
        t.calls = Some(Calls::default());
        reads::by_calls(&mut r, s);
    }
    r.on::<SockSendLength<'static>>(s, |t, e, p| {
        if let Some(s) = t.sockets.current(p.sk).filter(|_| TCP_PROTOCOLS.contains(&p.protocol)) {
            used_by(s, e);
            let n = u64::try_from(p.ret).unwrap_or(0);
            s.row.bytes_written = Some(s.row.bytes_written.unwrap_or(0) + n);
        } else if TCP_PROTOCOLS.contains(&p.protocol) {
            let n = u64::try_from(p.ret).unwrap_or(0);
            t.sockets.used_early((p.sk, t.era), e.ts, user(e), (n, 0));
        }
    });
    r.on::<TcpRetransmitSkb<'static>>(s, |t, e, p| {
        let i = tuple!(p, p.family).map(|tuple| t.sockets.resolve(e.ts, Some(p.skaddr), None, tuple));
        // Since 6.17 failures are traced too: nothing was sent then.
        if let Some(err) = p.err.filter(|err| *err != 0) {
            t.failed(i, err);
            return;
        }
        t.retransmit(e, i, p.state, p.err, Some(p.skbaddr));
    });
    // Only a help: not every kernel tells it, and routers elsewhere do not.
    let asked = r.missing.len();
    r.on::<IcmpSend<'static>>(s, |t, e, p| {
        if let Some(ends) = v4(p.saddr)
            .zip(v4(p.daddr))
            .filter(|_| (p.r#type, p.code) == FRAG_NEEDED)
        {
            t.too_big.insert(ends, e.ts);
        }
    });
    r.missing.truncate(asked);
    r.on::<TcpRetransmitSynack<'static>>(s, |t, e, p| {
        let ends = tuple!(p, p.family).map(|t| (SocketAddr::new(t.saddr, t.sport), SocketAddr::new(t.daddr, t.dport)));
        t.retransmits.push(RetransmitRow {
            original: None,
            index: e.index,
            time_ns: e.ts,
            connection: None,
            synack: ends,
            class: RetransmitClass::Syn,
            err: None,
            bytes: None,
            segments: Some(1),
            confidence: Confidence::Certain,
        });
    });
    let event = s.format("tcp", TcpRetransmitSkb::NAME);
    t.failures_told = event.is_some_and(|f| f.field("err").is_some());
    r.run(trace, &mut t);
    t.missing = r.missing;
    if trace.info.recorded("sock:inet_sock_set_state") {
        t.sockets.reach_back(&trace.gaps);
    }
    super::tasks::name(&mut t, comms);
    t
}

/// The thread in whose context an event fired; 0: an interrupt's.
fn user(e: &Event<'_>) -> i32 {
    if e.in_task() { e.pid } else { 0 }
}

/// The running task reads or writes the socket, unless an interrupt borrowed it.
fn used_by(s: &mut Socket, e: &Event<'_>) {
    s.row.last_ns = s.row.last_ns.max(e.ts);
    if e.in_task() && e.pid > 0 {
        s.row.pid = e.pid;
    }
}

impl Tcp {
    fn queued(&mut self, e: &Event<'_>, skbaddr: u64, len: u32) {
        let at = usize::from(e.cpu);
        if self.last_queued.len() <= at {
            self.last_queued.resize(at + 1, None);
        }
        if let Some(slot) = self.last_queued.get_mut(at) {
            *slot = Some((skbaddr, len));
        }
    }

    fn probe(&mut self, e: &Event<'_>, p: &TcpProbe<'_>) {
        let read = |bytes| SockAddr::read(bytes, self.endian);
        let Some(tuple) = read(p.saddr).zip(read(p.daddr)).map(|(s, d)| ends(s, d)) else {
            return;
        };
        let i = self.sockets.resolve(e.ts, p.skaddr, p.sock_cookie, tuple);
        let Some(s) = self.sockets.all.get_mut(i) else { return };
        s.row.samples += 1;
        (s.last_sign_ns, s.by_timer) = (Some(e.ts), false);
        s.row.bytes_in += u64::from(p.data_len);
        // The first sample counts what was in flight; later ones what snd_nxt advanced (it never goes back by itself).
        let advanced = match s.snd_nxt {
            None => p.snd_nxt.wrapping_sub(p.snd_una),
            Some(last) => p.snd_nxt.wrapping_sub(last),
        };
        if advanced < 1 << 31 {
            s.row.bytes_out += u64::from(advanced);
            s.snd_nxt = Some(p.snd_nxt);
        }
        let connection = s.row.connection;
        self.probes.push((e.index, connection));
        if e.in_task() {
            self.probes_in_task.push(e.index);
        }
        self.samples.push(SampleRow {
            time_ns: e.ts,
            connection,
            snd_cwnd: p.snd_cwnd,
            ssthresh: p.ssthresh,
            srtt_us: p.srtt,
            snd_una: p.snd_una,
            snd_nxt: p.snd_nxt,
            snd_wnd: p.snd_wnd,
            rcv_wnd: p.rcv_wnd,
            data_len: u32::from(p.data_len),
            cpu: e.cpu,
        });
    }

    fn cong(&mut self, e: &Event<'_>, i: usize, state: u8) {
        let run = self.cpus.at(e.cpu).run.filter(|_| e.in_softirq());
        if let Some(s) = self.sockets.all.get_mut(i) {
            s.cong_vec = run.map(|r| r.vec);
            s.cong = Some((state, e.ts));
            s.cong_era = self.era;
            s.cong_task = e.in_task().then_some((e.cpu, e.pid));
        }
        self.state(e, i, "cong", i32::from(state), &CONG_STATES);
    }

    fn state(&mut self, e: &Event<'_>, i: usize, kind: &'static str, state: i32, names: &[&'static str]) {
        let name = usize::try_from(state)
            .ok()
            .and_then(|s| names.get(s))
            .copied()
            .unwrap_or("?");
        if let Some(s) = self.sockets.all.get_mut(i).filter(|_| kind == "sock") {
            s.row.born = s.row.born.or(Some(state));
        }
        self.states.push(StateRow {
            time_ns: e.ts,
            connection: ConnectionId(i as u32),
            kind,
            state,
            name,
            cpu: e.cpu,
            in_task: e.in_task(),
            pid: user(e),
            task: Name::default(),
        });
    }
}
