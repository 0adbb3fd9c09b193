//! Slow start after idle: a sender that sent nothing for longer than its retransmission timeout has its congestion window made smaller.
//!
//! Needs `tx`, `tcp_samples`, `tcp_states`, `retransmits`. Inferred: no event tells it. A pause is judged where all that was sent
//! before was acknowledged, no event was lost, nothing was sent again and no congestion state was set around it.
//!
//! ```text
//! segment ... ACK (probe: cwnd before) ... pause > 200 ms + RTT ... segment ... ACK (probe: cwnd after)
//! ```
//! The kernel halves the window once for each timeout of the pause, down to the initial one (net/ipv4/tcp_output.c
//! `tcp_cwnd_restart`, where `net.ipv4.tcp_slow_start_after_idle` is set): what fell to no such value fell for another reason.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::receive::tables::Censored;
use crate::reconstruct::tcp::tables::SampleRow;
use crate::reconstruct::transmit::Stage;
use crate::reconstruct::transmit::tables::TxRow;

/// `TCP_RTO_MIN`: no retransmission timeout is shorter, ns.
const RTO_MIN_NS: i64 = 200_000_000;
/// `TCP_INIT_CWND`: the window is not made smaller than that.
const INITIAL: u32 = 10;
/// Congestion states from which on the window is not the sender's to open (`enum tcp_ca_state`: CWR).
const REDUCED: i32 = 2;
/// `TCP_CA_Open`.
const OPEN: i32 = 0;

/// What pauses did to a connection's congestion window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Restarts {
    /// Pauses longer than a retransmission timeout that were judged.
    pub pauses: u64,
    /// Of these: the window was smaller after it.
    pub restarts: u64,
    /// The shortest of these, ns; the shortest of all, where none is.
    pub shortest_ns: i64,
    /// The window before them, packets, median; of all pauses where there is none.
    pub before: u32,
    /// And after them.
    pub after: u32,
    /// ns in which segments waited for the congestion window after them, until it was as large as before.
    pub wait_ns: i64,
    /// ns in which the connection was busy.
    pub busy_ns: i64,
}

impl Restarts {
    /// They cost worth a look: more than one, and a tenth of the connection's time.
    pub fn matter(&self) -> bool {
        self.restarts > 1 && self.wait_ns > 0 && self.wait_ns >= self.busy_ns / 10
    }
}

/// What happened around pauses, by connection, ascending.
#[derive(Debug, Default)]
pub(super) struct Around {
    /// What is sent again is told.
    told: bool,
    /// Something was sent again, or a congestion state was set: when.
    disturbed: FxHashMap<ConnectionId, Vec<i64>>,
    /// The window was reduced from then on, or no longer.
    states: FxHashMap<ConnectionId, Vec<(i64, bool)>>,
    /// Ever in another state than Open, which is set when a connection opens, too; or something was sent again.
    other: FxHashSet<ConnectionId>,
}

impl Around {
    pub(super) fn of(facts: &Facts) -> Around {
        let mut out = Around {
            told: facts.capture.recorded("tcp:tcp_retransmit_skb"),
            ..Around::default()
        };
        for s in facts.tcp_states.iter().filter(|s| s.kind == "cong") {
            out.disturbed.entry(s.connection).or_default().push(s.time_ns);
            let reduced = s.state >= REDUCED;
            out.states.entry(s.connection).or_default().push((s.time_ns, reduced));
            if s.state != OPEN {
                out.other.insert(s.connection);
            }
        }
        for r in &facts.retransmits {
            if let Some(c) = r.connection {
                out.disturbed.entry(c).or_default().push(r.time_ns);
                out.other.insert(c);
            }
        }
        out.disturbed.values_mut().for_each(|v| v.sort_unstable());
        out
    }
    /// It was in no other state than Open in the recording, and nothing of it was sent again.
    pub(super) fn open_all_along(&self, facts: &Facts, c: ConnectionId) -> bool {
        let told = self.told && facts.capture.recorded("tcp:tcp_cong_state_set");
        told && facts.gaps.is_empty() && !self.other.contains(&c)
    }
    /// Nothing happened between, and the window was not reduced before.
    pub(super) fn calm(&self, facts: &Facts, c: ConnectionId, from: i64, to: i64) -> bool {
        let disturbed = self.disturbed.get(&c).map_or(&[][..], Vec::as_slice);
        let next = disturbed.get(disturbed.partition_point(|t| *t < from));
        let states = self.states.get(&c).map_or(&[][..], Vec::as_slice);
        let last = states.partition_point(|s| s.0 < from).checked_sub(1);
        let reduced = last.and_then(|i| states.get(i)).is_some_and(|s| s.1);
        let lost = facts
            .gaps
            .iter()
            .any(|g| g.start_ns.is_none_or(|s| s < to) && g.end_ns.is_none_or(|e| e > from));
        self.told && !reduced && !lost && next.is_none_or(|t| *t > to)
    }
}

/// Whether a window fell as `tcp_cwnd_restart` makes it, in a pause. The probe before shows it before the last ACK: it may have
/// been larger by then.
fn restarted(before: u32, after: u32, pause_ns: i64) -> bool {
    let most = before.saturating_add(before / 4).saturating_add(2);
    let halvings = u32::try_from(pause_ns / RTO_MIN_NS).unwrap_or(31).min(31);
    let halved = (1..=halvings).any(|k| (before >> k..=most >> k).contains(&after));
    after < before && after >= INITIAL && (after == INITIAL || halved)
}

/// A pause.
struct Pause {
    ns: i64,
    /// When it was over.
    end: i64,
    before: u32,
    after: u32,
}

fn pauses(facts: &Facts, c: ConnectionId, rows: &[&TxRow], samples: &[&SampleRow], around: &Around) -> Vec<Pause> {
    let mut acked = i64::MIN;
    let mut out = vec![];
    for (a, b) in rows.iter().zip(rows.iter().skip(1)) {
        acked = acked.max(a.t_ack_ns.unwrap_or(i64::MAX));
        let ns = b.t_sched_ns.saturating_sub(a.t_sched_ns);
        if ns < RTO_MIN_NS || acked > b.t_sched_ns || b.censored == Some(Censored::Loss) {
            continue;
        }
        let next = samples.partition_point(|s| s.time_ns <= b.t_sched_ns);
        let (Some(p), Some(n)) = (next.checked_sub(1).and_then(|i| samples.get(i)), samples.get(next)) else {
            continue;
        };
        let timeout = RTO_MIN_NS.saturating_add(i64::from(p.srtt_us).saturating_mul(1_000));
        if ns > timeout && p.snd_cwnd > INITIAL && around.calm(facts, c, a.t_sched_ns, n.time_ns) {
            out.push(Pause {
                ns,
                end: b.t_sched_ns,
                before: p.snd_cwnd,
                after: n.snd_cwnd,
            });
        }
    }
    out
}

/// ns between these times in which some segment waited for the congestion window, each moment once.
fn waited(rows: &[&TxRow], from: i64, to: i64) -> i64 {
    let (mut sum, mut until) = (0i64, from);
    for r in rows.iter().filter(|r| r.t_sched_ns >= from && r.t_sched_ns <= to) {
        let ns = r.stage(Stage::Cwnd).unwrap_or(0);
        let begin = r.t_sched_ns.saturating_sub(ns).max(until);
        sum = sum.saturating_add(r.t_sched_ns.saturating_sub(begin).max(0));
        until = until.max(r.t_sched_ns);
    }
    sum
}

fn median(mut v: Vec<u32>) -> u32 {
    v.sort_unstable();
    v.get(v.len() / 2).copied().unwrap_or(0)
}

pub(super) fn restarts(
    facts: &Facts,
    connection: u32,
    (rows, samples): (&[&TxRow], &[&SampleRow]),
    around: &Around,
) -> Option<Restarts> {
    let c = ConnectionId(connection);
    // A congestion control that sets its window itself does so after a pause, too.
    if facts.negotiated.get(&c).and_then(|n| n.own_window()) == Some(true) {
        return None;
    }
    let mut rows: Vec<&TxRow> = rows.to_vec();
    rows.sort_by_key(|r| r.t_sched_ns);
    let all = pauses(facts, c, &rows, samples, around);
    let of: Vec<&Pause> = all.iter().filter(|p| restarted(p.before, p.after, p.ns)).collect();
    let ends = all.iter().map(|p| p.end).skip(1).chain([i64::MAX]);
    let until = |p: &Pause, next: i64| {
        let after = samples.partition_point(|s| s.time_ns <= p.end);
        let grown = samples.get(after..).unwrap_or_default().iter();
        let grown = grown.take_while(|s| s.time_ns < next).find(|s| s.snd_cwnd >= p.before);
        grown.map_or(next.saturating_sub(1), |s| s.time_ns)
    };
    let wait_ns = all.iter().zip(ends).filter(|(p, _)| restarted(p.before, p.after, p.ns));
    let wait_ns = wait_ns.map(|(p, next)| waited(&rows, p.end, until(p, next)));
    let shown: Vec<&Pause> = if of.is_empty() {
        all.iter().collect()
    } else {
        of.clone()
    };
    Some(Restarts {
        pauses: all.len() as u64,
        restarts: of.len() as u64,
        shortest_ns: shown.iter().map(|p| p.ns).min()?,
        before: median(shown.iter().map(|p| p.before).collect()),
        after: median(shown.iter().map(|p| p.after).collect()),
        wait_ns: wait_ns.fold(0, i64::saturating_add),
        busy_ns: facts.spent.get(&c).map_or(0, |s| s.busy_ns),
    })
}
