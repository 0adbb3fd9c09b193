//! The lines of one sender's sawtooth, ready to draw.

use super::{INFINITE_SSTHRESH, POINTS, SILENCE_NS, SILENCE_SRTTS};
use crate::facts::Facts;
use crate::reconstruct::tcp::tables::{ConnectionRow, SampleRow};

/// An unbroken piece of a line: (ns on the trace clock, value), each value holds until the next point.
pub type Segment = Vec<(i64, u32)>;

/// A reduction of the window.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Reduction {
    /// When the congestion state was set.
    pub time_ns: i64,
    /// Name of the state: CWR, Recovery, Loss.
    pub state: &'static str,
    /// Window before, packets.
    pub wmax: u32,
    /// ssthresh the kernel chose, packets; `None` when no sample inside the reduction shows it.
    pub ssthresh: Option<u32>,
}

/// One sender's lines and marks.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Sawtooth {
    /// As in `connections`.
    pub connection: u32,
    /// `saddr:sport > daddr:dport`.
    pub label: String,
    /// First and last sample.
    pub window_ns: (i64, i64),
    /// Congestion window, packets.
    pub cwnd: Vec<Segment>,
    /// Slow-start threshold, packets; only while the kernel reduces (elsewhere the event's value only follows cwnd).
    pub ssthresh: Vec<Segment>,
    /// Smoothed RTT, us.
    pub srtt_us: Vec<Segment>,
    /// (time, class) of retransmits.
    pub retransmits: Vec<(i64, &'static str)>,
    /// (time, name) of congestion-state changes, repeats left out.
    pub states: Vec<(i64, &'static str)>,
    /// Window reductions.
    pub reductions: Vec<Reduction>,
    /// Samples read.
    pub samples: u64,
    /// Whether points were left out by the rule of [`POINTS`].
    pub thinned: bool,
}

/// Builds the lines. `samples` are of this connection, in time order.
pub(super) fn draw(facts: &Facts, c: &ConnectionRow, samples: &[&SampleRow]) -> Sawtooth {
    let states: Vec<(i64, i32, &'static str)> = facts
        .tcp_states
        .iter()
        .filter(|s| s.connection == c.connection && s.kind == "cong")
        .map(|s| (s.time_ns, s.state, s.name))
        .collect();
    let breaks = breaks(facts, samples);
    let reducing = |t: i64| {
        let i = states.partition_point(|s| s.0 <= t);
        i.checked_sub(1).and_then(|i| states.get(i)).is_some_and(|s| s.1 >= 2)
    };
    // A value that the reduction chose did not hold before it.
    let chosen = |mut seg: Segment| {
        if let Some((t, _)) = seg.first_mut()
            && !reducing(*t)
            && let Some(s) = states.iter().find(|s| s.0 > *t && s.1 >= 2)
        {
            *t = s.0;
        }
        seg
    };
    let mut thinned = false;
    let mut line = |get: &dyn Fn(&SampleRow) -> Option<u32>| {
        let mut out: Vec<Segment> = vec![];
        let mut current: Segment = vec![];
        let mut before: Option<i64> = None;
        for (i, s) in samples.iter().enumerate() {
            if breaks.get(i).copied().unwrap_or(false) {
                close(&mut out, &mut current, before);
                before = None;
            }
            match get(s) {
                Some(v) if current.last().is_none_or(|(_, last)| *last != v) => {
                    current.push((before.unwrap_or(s.time_ns), v));
                }
                Some(_) => {}
                None => close(&mut out, &mut current, before),
            }
            before = Some(s.time_ns);
        }
        close(&mut out, &mut current, before);
        let points: usize = out.iter().map(Vec::len).sum();
        if points > POINTS {
            thinned = true;
            for seg in &mut out {
                *seg = thin(seg, (POINTS * seg.len() / points).max(4));
            }
        }
        out
    };
    let cwnd = line(&|s| Some(s.snd_cwnd));
    let ssthresh: Vec<Segment> =
        line(&|s| (s.ssthresh < INFINITE_SSTHRESH && reducing(s.time_ns)).then_some(s.ssthresh));
    let ssthresh = ssthresh.into_iter().map(chosen).collect();
    let srtt_us = line(&|s| (s.srtt_us > 0).then_some(s.srtt_us));
    let mut changes: Vec<(i64, &'static str)> = vec![];
    for (t, _, name) in &states {
        if changes.last().is_none_or(|(_, last)| last != name) {
            changes.push((*t, name));
        }
    }
    let of = facts.retransmits.iter().filter(|r| r.connection == Some(c.connection));
    Sawtooth {
        connection: c.connection.0,
        label: super::label(c),
        window_ns: (
            samples.first().map_or(c.first_ns, |s| s.time_ns),
            samples.last().map_or(c.last_ns, |s| s.time_ns),
        ),
        cwnd,
        ssthresh,
        srtt_us,
        retransmits: of.map(|r| (r.time_ns, r.class.word())).collect(),
        reductions: reductions(&states, samples),
        states: changes,
        samples: samples.len() as u64,
        thinned,
    }
}

/// Ends the current piece: its last value held until the last sample before the break.
fn close(out: &mut Vec<Segment>, current: &mut Segment, until: Option<i64>) {
    if let (Some(&(t, v)), Some(end)) = (current.last(), until)
        && end > t
    {
        current.push((end, v));
    }
    if !current.is_empty() {
        out.push(std::mem::take(current));
    }
}

/// For each sample, whether the line is broken before it.
fn breaks(facts: &Facts, samples: &[&SampleRow]) -> Vec<bool> {
    let mut gaps: Vec<(i64, i64)> = facts
        .gaps
        .iter()
        .map(|g| (g.start_ns.unwrap_or(i64::MIN), g.end_ns.unwrap_or(i64::MAX)))
        .collect();
    gaps.sort_unstable();
    // Apart from each other, so that the first to end after `a` decides: samples and gaps may both be many.
    gaps.dedup_by(|next, kept| {
        let joins = next.0 <= kept.1;
        if joins {
            kept.1 = kept.1.max(next.1);
        }
        joins
    });
    let lost_between = |a: i64, b: i64| {
        let first = gaps.partition_point(|(_, e)| *e <= a);
        gaps.get(first).is_some_and(|(s, _)| *s < b)
    };
    let mut out = vec![false; samples.len()];
    for (i, w) in samples.windows(2).enumerate() {
        let [a, b] = w else { continue };
        let silence = SILENCE_NS.max(SILENCE_SRTTS * 1000 * i64::from(a.srtt_us));
        let is_break = b.time_ns - a.time_ns > silence || lost_between(a.time_ns, b.time_ns);
        if let Some(o) = out.get_mut(i + 1) {
            *o = is_break;
        }
    }
    out
}

/// Keeps first, last, and the smallest and largest value of each of `keep / 2` equal pieces.
fn thin(seg: &Segment, keep: usize) -> Segment {
    if seg.len() <= keep {
        return seg.clone();
    }
    let piece = seg.len().div_ceil((keep / 2).max(1));
    let mut out = Segment::new();
    out.extend(seg.first());
    for chunk in seg.chunks(piece) {
        let lo = chunk.iter().min_by_key(|p| p.1);
        let hi = chunk.iter().max_by_key(|p| p.1);
        let mut pair: Vec<(i64, u32)> = lo.into_iter().chain(hi).copied().collect();
        pair.sort_unstable();
        pair.dedup();
        out.extend(pair.into_iter().filter(|p| Some(p) != seg.first()));
    }
    if let (Some(l), Some(o)) = (seg.last(), out.last())
        && l != o
    {
        out.push(*l);
    }
    out
}

/// Window before each entry into CWR, Recovery or Loss, and the threshold chosen in it.
fn reductions(states: &[(i64, i32, &'static str)], samples: &[&SampleRow]) -> Vec<Reduction> {
    let mut out = vec![];
    let mut current = 0;
    for (i, (t, state, name)) in states.iter().enumerate() {
        let entered = *state >= 2 && current < 2;
        current = *state;
        if !entered {
            continue;
        }
        let until = states.get(i + 1).map_or(i64::MAX, |s| s.0);
        let at = samples.partition_point(|s| s.time_ns <= *t);
        let Some(before) = at.checked_sub(1).and_then(|i| samples.get(i)) else {
            continue;
        };
        let inside = samples
            .get(at)
            .filter(|s| s.time_ns <= until && s.ssthresh < INFINITE_SSTHRESH);
        out.push(Reduction {
            time_ns: *t,
            state: name,
            wmax: before.snd_cwnd,
            ssthresh: inside.map(|s| s.ssthresh),
        });
    }
    out
}
