//! What is said of softirqs and NAPI.

use super::sentences::{counted, duration, first_words, or_dash, stands_out};
use super::{SOFTIRQ_NOTICE_SHARE, SOFTIRQ_WAIT_NOTICE_NS, Tone};
use crate::analyses::napi::{CpuVector, Napi, NapiThread, Preempted, Saturated};
use crate::reconstruct::thread::IDLE;

/// Fewest delays of a CPU whose p99 is judged.
const WAITS: u64 = 100;
/// A NAPI thread's single wait for a CPU that is worth a look, ns.
const NAPI_THREAD_NOTICE_NS: i64 = 5_000_000;

/// Share of a CPU's received units from which they are said to be steered.
const MOSTLY: f64 = 0.5;

/// `CPU 1 spent 99.8 % of the time in NET_RX (other CPUs 0.3 % at most), 85.0 us for each of 111592 packets; ...`
fn saturated(s: &Saturated) -> String {
    let steered = match s.steered >= MOSTLY {
        true => format!(
            "; {:.0} % of the units received there were steered to it from another CPU (RPS, rps_cpus of their device)",
            s.steered * 100.0
        ),
        false => String::new(),
    };
    let reader = s.reader.as_ref().map_or_else(String::new, |(who, share)| {
        format!("; {:.0} % of all received units were read by {who}", share * 100.0)
    });
    let each = s.each.map_or_else(String::new, |(packets, ns)| {
        format!(
            ", {} for each of {}",
            duration(ns),
            counted(packets, "packet", "packets")
        )
    });
    format!(
        "CPU {} spent {:.1} % of the time in NET_RX (other CPUs {:.1} % at most){each}{steered}{reader}",
        s.cpu,
        s.share * 100.0,
        s.others * 100.0
    )
}

/// A NAPI thread that was woken and did not run for so long that a packet's reader feels it.
fn late_thread(n: &Napi) -> Option<&NapiThread> {
    let late = |t: &&NapiThread| {
        let p99 = t.wait.p99_ns.filter(|_| t.wait.n >= WAITS);
        p99.is_some_and(|ns| ns >= SOFTIRQ_WAIT_NOTICE_NS) || stands_out(&t.wait, NAPI_THREAD_NOTICE_NS)
    };
    n.threads.iter().find(late)
}

fn thread_waited(t: &NapiThread) -> String {
    // What ran longest in the longest of its waits is not all of them.
    let behind = t.behind.first().filter(|(_, share)| *share >= 0.5);
    let behind = behind.map_or_else(String::new, |(who, _)| match who.as_str() {
        IDLE => ", mostly while that CPU idled".to_owned(),
        who => format!(", mostly behind {who}"),
    });
    format!(
        "{} is polled by the thread {}, which waited p50 {}, p99 {}, max {} (n {}) for a CPU{behind}",
        t.dev,
        t.task,
        or_dash(t.wait.p50_ns),
        or_dash(t.wait.p99_ns),
        or_dash(t.wait.max_ns),
        t.wait.n
    )
}

/// `4 of 2135 NET_RX runs were switched out for 3.20 ms in all, one for 2.90 ms, mostly while irq/27-eth0 ran (PREEMPT_RT: preempted)`
fn preempted(p: &Preempted) -> String {
    let who = match (p.by.as_str(), p.by_ns.saturating_mul(2) >= p.ns) {
        (IDLE, true) => ", mostly while the CPU idled".to_owned(),
        ("", _) | (_, false) => String::new(),
        (who, true) => format!(", mostly while {who} ran"),
    };
    let why = match (p.lock_ns, p.ns.saturating_sub(p.lock_ns)) {
        (0, _) => "preempted".to_owned(),
        (_, ..=0) => "waiting for locks".to_owned(),
        (lock, _) => format!("preempted, {} of it waiting for locks", duration(lock)),
    };
    format!(
        "{} of {} NET_RX runs {} switched out for {} in all, one for {}{who} (PREEMPT_RT: {why})",
        p.runs,
        p.of,
        if p.runs == 1 { "was" } else { "were" },
        duration(p.ns),
        duration(p.longest_ns)
    )
}

/// One that was switched out for so long that a packet's reader feels it.
fn long_away(n: &Napi) -> Option<&Preempted> {
    n.preempted.as_ref().filter(|p| p.longest_ns >= NAPI_THREAD_NOTICE_NS)
}

/// Whether more is worth a look than how much of a CPU NET_RX took.
pub(super) fn has_more(n: &Napi) -> bool {
    n.saturated.is_some() || late_thread(n).is_some() || long_away(n).is_some()
}

/// Share of the recording that NET_RX of a CPU took, and that it waited to start, below which few packets are concerned.
const HARDLY: f64 = 0.01;

/// Whether NET_RX had hardly anything to do nor waited long in all, and nothing else is told of it. One that is starved does little because it waits.
pub(super) fn hardly(n: &Napi) -> bool {
    let little = |c: &CpuVector| {
        // Its runs took that share of the recording; what it waited took, by the same measure:
        let waited = c.wait.sum_ns as f64 * c.share;
        c.share < HARDLY && (waited < HARDLY * c.run.sum_ns as f64 || c.wait.sum_ns <= 0)
    };
    let mut rx = n.cpus.iter().filter(|c| c.vector == "NET_RX");
    rx.all(little) && !has_more(n)
}

/// What is worth a look, for the head of the page.
pub(super) fn napi_headline(n: &Napi) -> String {
    match (&n.saturated, late_thread(n), long_away(n)) {
        (Some(s), ..) => saturated(s),
        (None, Some(t), _) => thread_waited(t),
        (None, None, Some(p)) => preempted(p),
        (None, None, None) => first_words(&napi(n).1),
    }
}

pub(super) fn napi(n: &Napi) -> (Tone, String) {
    let rx: Vec<_> = n.cpus.iter().filter(|c| c.vector == "NET_RX").collect();
    let Some(busiest) = rx.iter().max_by(|a, b| a.share.total_cmp(&b.share)) else {
        return (Tone::Unknown, "No NET_RX softirq was recorded.".into());
    };
    // The p99 of a few runs is only the largest of them.
    let often = rx.iter().filter(|c| c.wait.n >= WAITS);
    let late = often.filter_map(|c| c.wait.p99_ns).max().or(busiest.wait.p99_ns);
    let exhausted: u64 = n.devices.iter().map(|d| d.exhausted).sum();
    let polls: u64 = n.devices.iter().map(|d| d.polls).sum();
    let bad = busiest.share >= SOFTIRQ_NOTICE_SHARE || late.is_some_and(|w| w >= SOFTIRQ_WAIT_NOTICE_NS);
    let away = (n.preempted.as_ref()).map_or_else(String::new, |p| format!(" {}.", preempted(p)));
    let sentence = format!(
        "NET_RX took at most {:.1} % of a CPU (CPU {}), where it started p99 {}, max {} after it was raised (n {}); {exhausted} of {polls} polls used their whole budget.{away}",
        busiest.share * 100.0,
        busiest.cpu,
        or_dash(busiest.wait.p99_ns),
        or_dash(busiest.wait.max_ns),
        busiest.wait.n,
    );
    if let Some(s) = &n.saturated {
        return (Tone::Notice, format!("{}. {sentence}", saturated(s)));
    }
    if let Some(t) = late_thread(n) {
        return (Tone::Notice, format!("{}. {sentence}", thread_waited(t)));
    }
    let bad = bad || long_away(n).is_some();
    (if bad { Tone::Notice } else { Tone::Ok }, sentence)
}
