//! What the kernel counted of CPU quotas: in sentences that infer one from threads that were not run though their CPU idled, and as a finding of its own.
//!
//! In: the lines, the snapshots of cgroups. Out: the lines. Where the thread's cgroup was stopped the sentence has its figures; where its counters did not move, or it
//! has no limit, the sentence claims no quota; where nothing is known it stays as it is, inferred.

use std::collections::{BTreeMap, BTreeSet};

use super::sentences::{capital, counted, duration};
use super::turns::HELD_OFF;
use super::{Line, Tone};
use crate::analyses::application::Spans;
use crate::analyses::receive::Receive;
use crate::facts::Facts;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::context::Part;
use crate::reconstruct::receive::tables::Stage;
use crate::snapshots::cgroups::{CpuLimits, Limited, Of};

/// Share of its periods in which a cgroup was stopped, worth a look, and fewest periods.
const SHARE: f64 = 0.05;
const PERIODS: u64 = 10;
/// Share of them from which it is a cause by itself.
const MOSTLY: f64 = 0.5;
/// Part of the recording for which it was, from which that is wrong where others wait for what it answers. The kernel sums it over CPUs: so many of them, or all that there are, are
/// taken to be its.
const LONG: f64 = 0.2;
const CPUS: usize = 4;
/// Time for which it was, worth a look, ns.
const LEAST_NS: i64 = 100_000_000;
/// Answers that took so long are slow, ns, and the fewest of them.
const SLOW_NS: i64 = 50_000_000;
const SLOW: usize = 10;
/// Cgroups that are told, and processes of each.
const TOLD: usize = 2;

/// How the thread is named that was not run: the words before these.
const NOT_RUN: &str = "runnable but not run";
/// What such a sentence begins with, and what is left of its causes without a quota.
const IDLED: &str = "while its CPU was idle: ";
const OTHERWISE: &str = "it was frozen, or the hypervisor did not run that CPU (inferred)";

/// The lines with what the kernel counted.
pub(crate) fn with_the_quotas(mut lines: Vec<Line>, facts: &Facts, receive: Option<&Receive>) -> Vec<Line> {
    let limits = &facts.cpu_limits;
    let reader = receive.and_then(reader);
    let mut told = BTreeSet::new();
    for line in &mut lines {
        for text in [&mut line.sentence, &mut line.headline] {
            *text = named(text, limits, reader, &mut told);
        }
    }
    let members = members(limits, &recorded(facts));
    let mut found: Vec<&Limited> = (limits.all())
        .filter(|l| noticed(l) && members.contains_key(l.path.as_str()))
        .collect();
    found.retain(|l| !told.contains(l.path.as_str()));
    found.sort_by_key(|l| std::cmp::Reverse(l.rose.unwrap_or_default().throttled_ns));
    // Who answers nobody may be held back on purpose.
    let answers: BTreeSet<i32> = facts.turnarounds.iter().flat_map(|r| [r.pid, r.sender_pid]).collect();
    let answers: BTreeSet<i32> = answers.into_iter().map(|tid| limits.process(tid)).collect();
    let streams = facts.capture.streams.iter().map(|s| s.cpu);
    let cpus = streams.collect::<BTreeSet<_>>().len().clamp(1, CPUS);
    let seen = recorded(facts);
    let threads = |l: &Limited| {
        let own = |tid: &&i32| {
            members
                .get(l.path.as_str())
                .is_some_and(|m| m.contains(&limits.process(**tid)))
        };
        seen.iter().filter(own).count().max(1)
    };
    // A thread is stopped on one CPU.
    let whole = |l: &Limited| facts.capture.duration_ns.saturating_mul(cpus.min(threads(l)) as i64) as f64;
    let long = |l: &Limited| l.rose.unwrap_or_default().throttled_ns as f64 >= LONG * whole(l);
    let waited_for = |l: &Limited| {
        members
            .get(l.path.as_str())
            .is_some_and(|m| m.iter().any(|pid| answers.contains(pid)))
    };
    let wrong = found
        .first()
        .is_some_and(|l| l.share() >= MOSTLY && long(l) && waited_for(l));
    let slowed = found.first().is_some_and(|l| {
        let stopped = l.rose.unwrap_or_default().throttled_ns;
        (members.get(l.path.as_str())).is_some_and(|m| slowed(facts, m, stopped))
    });
    if let Some(line) = lines.iter_mut().find(|l| l.subject == "napi") {
        with_the_found(line, &found, limits, (&members, slowed));
        if wrong && line.tone == Tone::Notice {
            line.tone = Tone::Bad;
        }
    }
    lines
}

/// The thread that alone was the reader of what waited while its CPU idled.
fn reader(r: &Receive) -> Option<i32> {
    let idle = |b: &&crate::analyses::receive::Blamed| b.stage == Stage::RunQueue.name() && b.part == Part::Idle.word();
    let readers: BTreeSet<&str> = r.blamed.iter().filter(idle).map(|b| b.reader.as_str()).collect();
    readers.first().filter(|_| readers.len() == 1).and_then(|t| thread(t))
}

/// `python3/9560`.
fn thread(task: &str) -> Option<i32> {
    task.rsplit_once('/')?.1.parse().ok()
}

/// Each quota that is inferred, as the kernel's counters have it.
fn named(text: &str, limits: &CpuLimits, reader: Option<i32>, told: &mut BTreeSet<String>) -> String {
    let mut parts = text.split(HELD_OFF);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let who = out.rfind(NOT_RUN).and_then(|at| out.get(..at));
        let who = who.and_then(|before| before.trim_end().trim_end_matches(" was").rsplit(' ').next());
        let tid = match who {
            Some("reader") => reader,
            who => who.and_then(thread),
        };
        let unlisted = tid.filter(|tid| !limits.lists(*tid)).and_then(|_| alone(limits));
        let cause = cause(tid.map_or(Of::Unknown, |tid| limits.of_thread(tid)), limits, told);
        out.push_str(cause.as_deref().unwrap_or(HELD_OFF));
        if let Some(one) = unlisted.filter(|_| cause.is_none()) {
            told.insert(one.path.clone());
            out.push_str(&format!(
                "; the cgroup {} (whether that thread was in it is not known: it was there neither before nor after)",
                figures(one, limits)
            ));
        }
        out.push_str(part);
    }
    out
}

/// `None`: nothing is known but what events tell.
fn cause(of: Of<'_>, limits: &CpuLimits, told: &mut BTreeSet<String>) -> Option<String> {
    let of = match of {
        Of::Unknown => return None,
        Of::NoLimit if limits.since_trigger => return None,
        Of::NoLimit => {
            return Some(format!(
                "{IDLED}no CPU quota, as it is in no cgroup that has one; {OTHERWISE}"
            ));
        }
        Of::Limits(of) => of,
    };
    // One of which nothing is known may have held it, unless another did.
    let most = of.iter().max_by_key(|l| l.rose.unwrap_or_default().throttled_ns)?;
    if noticed(most) {
        told.insert(most.path.clone());
        return Some(format!("{IDLED}its cgroup {}", figures(most, limits)));
    }
    if of.iter().any(|l| l.rose.is_none()) {
        return None;
    }
    let nearest = of.first()?;
    match most.rose?.throttled {
        // What was before the trigger was not counted.
        0 if limits.since_trigger => None,
        0 => Some(format!(
            "{IDLED}no CPU quota, as its cgroup {} was not stopped {}, {} (cpu.stat); {OTHERWISE}",
            nearest.path,
            within(limits),
            match nearest.rose?.periods {
                0 => "nor came near it".to_owned(),
                n => format!("in any of its {}", counted(n, "period", "periods")),
            }
        )),
        _ => Some(format!("{HELD_OFF}; its cgroup {}", figures(most, limits))),
    }
}

/// The one cgroup that was stopped for long.
fn alone(limits: &CpuLimits) -> Option<&Limited> {
    let mut all = limits.all().filter(|l| noticed(l));
    all.next().filter(|_| all.next().is_none())
}

fn within(limits: &CpuLimits) -> &'static str {
    match limits.since_trigger {
        true => "since the trigger",
        false => "while this was recorded",
    }
}

/// `/kubepods/web may use 20 ms of CPU per 100 ms (cpu.max) and was stopped in 87 of its 100 periods while this was recorded, 4.300 s summed over its CPUs (cpu.stat)`
fn figures(l: &Limited, limits: &CpuLimits) -> String {
    let rose = l.rose.unwrap_or_default();
    format!(
        "{} may use {} ({}) and was stopped in {} of its {} {}, {} summed over its CPUs (cpu.stat)",
        l.path,
        l.limit(),
        limits.setting(),
        rose.throttled,
        counted(rose.periods, "period", "periods"),
        within(limits),
        duration(rose.throttled_ns)
    )
}

fn noticed(l: &Limited) -> bool {
    let rose = l.rose.unwrap_or_default();
    l.share() >= SHARE && rose.periods >= PERIODS && rose.throttled_ns >= LEAST_NS
}

/// Threads that sent, read, asked or answered.
fn recorded(facts: &Facts) -> BTreeSet<i32> {
    let turns = facts.turnarounds.iter().flat_map(|r| [r.pid, r.sender_pid]);
    let asked = facts.responses.iter().map(|r| r.pid);
    let sent = facts.tx.iter().map(|r| r.pid);
    let read = facts.rx.iter().map(|r| r.pid);
    let all = turns.chain(asked).chain(sent).chain(read);
    all.filter(|pid| *pid > 0).collect()
}

/// Processes of each cgroup that was stopped, or of cgroups below it, of which something was recorded.
fn members<'l>(limits: &'l CpuLimits, recorded: &BTreeSet<i32>) -> BTreeMap<&'l str, BTreeSet<i32>> {
    let mut all: BTreeMap<&str, BTreeSet<i32>> = BTreeMap::new();
    for tid in recorded {
        if let Of::Limits(of) = limits.of_thread(*tid) {
            for l in of.into_iter().filter(|l| noticed(l)) {
                all.entry(&l.path).or_default().insert(limits.process(*tid));
            }
        }
    }
    all
}

/// The slow answers of these processes waited for a CPU, mostly, and their cgroup was stopped for half as long as any of them was under way, or longer: behind whom else is no matter.
fn slowed(facts: &Facts, members: &BTreeSet<i32>, stopped: i64) -> bool {
    let own = |t: &&TurnaroundRow| members.contains(&facts.cpu_limits.process(t.sender_pid));
    let slow = || facts.turnarounds.iter().filter(|t| t.total_ns() >= SLOW_NS).filter(own);
    let sums = slow().fold((0usize, 0i64, 0i64), |(n, waited, all), t| {
        let waited = waited.saturating_add(t.split.run_queue_ns);
        (n + 1, waited, all.saturating_add(t.total_ns()))
    });
    let (n, waited, all) = sums;
    let spans = Spans::of(slow().map(|t| (t.start_ns(), t.send_ns)).collect());
    let under_way = spans.within(i64::MIN, i64::MAX);
    let long = stopped as f64 >= MOSTLY * under_way as f64;
    n >= SLOW && long && waited as f64 >= MOSTLY * all as f64
}

/// Said with what the line has: before it where it is no worse, and names a cause where most periods were, or slow answers waited for a CPU.
fn with_the_found(
    line: &mut Line,
    found: &[&Limited],
    limits: &CpuLimits,
    (members, slowed): (&BTreeMap<&str, BTreeSet<i32>>, bool),
) {
    let one = |l: &&Limited| {
        let members = members.get(l.path.as_str()).cloned().unwrap_or_default();
        let first = members.first().copied().unwrap_or_default();
        let name = limits
            .name(first)
            .map_or_else(|| format!("process {first}"), |n| format!("{n}/{first}"));
        let more = match members.len().saturating_sub(1) {
            0 => String::new(),
            n => format!(" and {}", counted(n as u64, "process more", "processes more")),
        };
        format!("the cgroup of {name}{more}, {}", figures(l, limits))
    };
    let told: Vec<String> = found.iter().take(TOLD).map(one).collect();
    if told.is_empty() {
        return;
    }
    let more = match found.len().saturating_sub(TOLD) {
        0 => String::new(),
        n => format!("; and {}", counted(n as u64, "cgroup more", "cgroups more")),
    };
    let said = format!(
        "{}{more}: what is in {} stands still then, whatever comes for it; which of the times here were that, events do not tell",
        told.join("; "),
        if found.len() > 1 { "them" } else { "it" }
    );
    if line.tone == Tone::Bad {
        line.headline = format!("{}; {said}", line.headline);
        line.sentence = format!("{} {}.", line.sentence, capital(&said));
        return;
    }
    line.headline = match line.tone {
        Tone::Notice if !line.headline.is_empty() => format!("{said}; {}", line.headline),
        _ => said.clone(),
    };
    line.sentence = format!("{}. {}", capital(&said), line.sentence);
    line.tone = Tone::Notice;
    let most = slowed || found.first().is_some_and(|l| l.share() >= MOSTLY);
    (line.minor, line.names_cause) = (!most, line.names_cause || most);
}
