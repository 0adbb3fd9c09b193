//! Members beside the events: which stay, and what becomes of them.

use std::collections::HashMap;
use std::io::Write;

use netmortem_formats::bundle::{
    BundleWriter, End, FlightCpu, HEADER_PAGE, KALLSYMS, MANIFEST, Manifest, PRINTK_FORMATS, PROC_COUNTERS,
    PagesEncoder, SAVED_CMDLINES, SYMBOLS, seconds_name,
};
use netmortem_formats::bytes_decode::decode;
use netmortem_formats::{Capture, Coding, CpuStats, Locus, SnapshotWhen};

use super::left_out::{by_name, compared, drops, shortened, slice, without_names};
use super::names::Names;
use super::{Change, Done, RewriteError, cpu, notes, notices, pages, seconds, texts};
use crate::snapshots::of_netns;
use crate::told::slice::{CUT, MEMBERS, losses_sentence, moments, of_field, says_redacted};

/// Members in the order of a bundle: before the events, and after them.
#[derive(Default)]
pub struct Texts {
    pub before: Vec<(String, Vec<u8>)>,
    pub after: Vec<(String, Vec<u8>)>,
}

/// Texts that are of the host, not of a time: they stay in a cut bundle when read at the end.
const NAMES_AT_END: [&str; 1] = ["tasks"];
/// States that events go on from: true at the begin of the recording, not of the window. Of these those stay that listen.
const STATES: [&str; 1] = ["sockets"];
/// What is set on cgroups stays, what was counted does not.
const CGROUPS: &str = "cgroups";
/// Counters that are not of /proc: like those, of all of the recording.
const COUNTERS: [&str; 1] = ["nics"];

/// What becomes of all members but the manifest, the events and the end.
pub fn texts(capture: &Capture, change: &Change, names: &mut Names, done: &mut Done) -> Texts {
    let mut out = Texts::default();
    let seconds = match (change.window, &change.cut) {
        (Some(window), None) => seconds::of_window(capture, window),
        _ => HashMap::new(),
    };
    // Without what was announced before it, a slice would tell as old what was so at the start of the recording.
    let first = seconds.iter().find(|(_, number)| **number == 1).map(|(name, _)| *name);
    let earlier = notices::before(capture, first);
    let of_perf = cpu::of_perf(capture);
    if of_perf {
        out.before
            .push((HEADER_PAGE.to_owned(), pages::header_page().into_bytes()));
    }
    for m in &capture.members {
        let range = usize::try_from(m.range.start)
            .ok()
            .zip(usize::try_from(m.range.end).ok());
        let data = range.and_then(|(a, b)| capture.bytes.get(a..b)).unwrap_or_default();
        let name = m.name.as_str();
        let written = name == MANIFEST || name == "end.json" || (of_perf && name == HEADER_PAGE);
        if written || name.starts_with("trace/") || name.starts_with("perf/") {
            continue;
        }
        let at_end = name == SAVED_CMDLINES || name.ends_with("/end") || name.ends_with("/end.zst");
        let kept = match seconds.get(name) {
            Some(1) if !earlier.is_empty() => {
                notices::with(data, &earlier).and_then(|data| second(1, &data, change, names))
            }
            Some(number) => second(*number, data, change, names),
            None => member(name, data, change, names),
        };
        let kept = match kept {
            Some(kept) => kept,
            None => {
                done.left_out.push(name.to_owned());
                continue;
            }
        };
        if change.window.is_some() && snapshot(name).is_some_and(|(what, ..)| STATES.contains(&of_netns(what).1)) {
            done.left_out.push(format!("{name} but for who listens"));
        }
        let side = if at_end { &mut out.after } else { &mut out.before };
        side.push(kept);
    }
    out
}

fn member(name: &str, data: &[u8], change: &Change, names: &mut Names) -> Option<(String, Vec<u8>)> {
    let as_is = || Some((name.to_owned(), data.to_vec()));
    let describes = [SYMBOLS, KALLSYMS, PRINTK_FORMATS, HEADER_PAGE, "header_event"].contains(&name);
    if describes || name.starts_with("events/") || name.starts_with("clocks/") {
        return as_is();
    }
    if name == SAVED_CMDLINES {
        return match change.redact {
            true => Some((name.to_owned(), texts::cmdlines(names, data))),
            false => as_is(),
        };
    }
    let Some((what, when, coded)) = snapshot(name) else {
        // Packets, seconds of another time, and what later recorders add. Seconds and packets count all flows, and packets are
        // numbered without holes and are the addresses themselves.
        if name.starts_with("seconds/") && change.redact && change.window.is_none() && change.cut.is_none() {
            return Some((name.to_owned(), texts::second(names, data)?));
        }
        return match change.redact || change.window.is_some() || change.cut.is_some() {
            true => None,
            false => as_is(),
        };
    };
    if change.window.is_some() {
        let (_, whole) = of_netns(what);
        if STATES.contains(&whole) {
            // Who listens is a setting of the host; the states of the others are of another time.
            let text = texts::listening(&unpacked(data, coded)?)?;
            let text = match change.redact {
                true => texts::redact(names, what, &text)?,
                false => text,
            };
            return packed(name, text, coded);
        }
        if whole == CGROUPS && when == SnapshotWhen::Start {
            let text = texts::limits(&unpacked(data, coded)?)?;
            let text = match change.redact {
                true => texts::redact(names, what, &text)?,
                false => text,
            };
            return packed(name, text, coded);
        }
        let stays = match when {
            SnapshotWhen::End => NAMES_AT_END.contains(&whole),
            SnapshotWhen::Start => ![&COUNTERS[..], &PROC_COUNTERS].concat().contains(&whole),
        };
        if !stays {
            return None;
        }
    }
    // They count the events of all flows: what was cut would be missed.
    let counts = |what: &str| COUNTERS.contains(&what) || PROC_COUNTERS.contains(&what);
    let (_, of) = of_netns(what);
    if change.cut.is_some() && counts(of) {
        return None;
    }
    if !change.redact {
        return as_is();
    }
    let text = texts::redact(names, what, &unpacked(data, coded)?)?;
    packed(name, text, coded)
}

/// A reading that stays in a slice, numbered anew: it would be told that those before it are missing.
fn second(number: u64, data: &[u8], change: &Change, names: &mut Names) -> Option<(String, Vec<u8>)> {
    let data = match change.redact {
        true => texts::second(names, data)?,
        false => data.to_vec(),
    };
    Some((seconds_name(number), data))
}

fn unpacked(data: &[u8], coded: bool) -> Option<Vec<u8>> {
    if !coded {
        return Some(data.to_vec());
    }
    let size = Coding::Zstd { size: None };
    Some(decode(data, size, Locus::default()).ok()?.into_owned())
}

fn packed(name: &str, text: Vec<u8>, coded: bool) -> Option<(String, Vec<u8>)> {
    let data = match coded {
        false => text,
        true => PagesEncoder::new(3).ok()?.encode(&text).ok()?,
    };
    Some((name.to_owned(), data))
}

/// What, when, and whether it is compressed.
fn snapshot(name: &str) -> Option<(&str, SnapshotWhen, bool)> {
    let (what, file) = name.strip_prefix("snapshots/")?.rsplit_once('/')?;
    Some(match file {
        "start" => (what, SnapshotWhen::Start, false),
        "end" => (what, SnapshotWhen::End, false),
        "start.zst" => (what, SnapshotWhen::Start, true),
        "end.zst" => (what, SnapshotWhen::End, true),
        _ => return None,
    })
}

/// The manifest with its notes.
pub fn manifest(mut m: Manifest, capture: &Capture, change: &Change, names: &mut Names, done: &Done) -> Manifest {
    let said = || m.notes.iter().map(String::as_str);
    let has_field = m.slice.is_some();
    let earlier = of_field(m.slice.take(), said());
    let before = m.redacted || says_redacted(said());
    m.redacted = change.redact || before;
    if change.redact {
        // Pseudonyms of pseudonyms are of no list.
        m.pseudonyms = if before { vec![] } else { names.list().to_vec() };
    }
    if let Some(perf) = m.plan.perf.take() {
        // A plan of perf says that there are no sub-buffers.
        m.plan.sub_buffer_bytes = 0;
        m.notes.push(notes::of_perf(&perf));
    }
    if change.redact {
        m.recorder.command_line = vec!["(redacted)".into()];
        m.recorder.command = m.recorder.command.iter().take(1).map(|_| "(redacted)".into()).collect();
        m.host.hostname = "host".into();
        m.machine.boot_id = String::new();
        let asked = |f: &String| match f.split_once(' ') {
            Some(("port" | "cpu", _)) => f.clone(),
            Some(("dev", dev)) => format!("dev {}", String::from_utf8_lossy(&names.dev(dev.as_bytes()))),
            _ => "(redacted)".into(),
        };
        m.plan.filters = m.plan.filters.iter().map(asked).collect();
        for e in m.plan.events.iter_mut().filter(|e| e.filter.contains('"')) {
            e.filter = "(redacted)".into();
        }
        for a in m.plan.absent.iter_mut() {
            a.because = "(redacted)".into();
        }
        // What was waited for is kept; what was seen then may name tasks and addresses.
        if let Some(f) = &mut m.flight {
            f.trigger.sentence = "(redacted)".into();
            f.trigger.evidence = vec![];
            f.on = f.on.iter().map(|_| "(redacted)".into()).collect();
            f.trigger.on = "(redacted)".into();
        }
        let field = earlier.clone().filter(|_| has_field).map(without_names);
        m.notes = notes::redacted(&m.notes, field.as_ref());
    }
    if change.window.is_some() {
        notes::cut_in_time(&mut m.notes);
    }
    m.slice = slice(earlier, change, done);
    // Their members are not in it.
    if change.redact || change.window.is_some() || change.cut.is_some() {
        m.plan.packets = vec![];
    }
    let source = match change.redact {
        true => "another bundle".to_owned(),
        false => capture.source.rsplit('/').next().unwrap_or_default().to_owned(),
    };
    if let Some((from, to)) = change.window {
        m.notes.push(format!(
            "{CUT}{source}: {} of {} events, {} (clock {}); {} events before and {} after were cut. What was under way at its ends is not known, as at the ends of any recording. Its figures are of this time alone; settings are the host's at the begin of the recording; of the counters of the host, which are of all of it, it has only the readings of every second of this time and one on either side.",
            done.events,
            done.all(),
            moments([from, to]),
            m.clocks.trace_clock,
            done.cut_before,
            done.cut_after
        ));
        if let Some(f) = &mut m.flight {
            f.window_start_ns = f.window_start_ns.max(i64::try_from(from).unwrap_or(i64::MAX));
        }
    }
    if done.lost_at_unknown_time > 0 {
        m.notes.push(losses_sentence(done.lost_at_unknown_time));
    }
    if let Some(cut) = &change.cut {
        let all: u64 = done.cut_others.values().sum();
        let of = match change.redact {
            // What was asked for may be an address or the name of a device.
            true => "the flow or device that was asked for",
            false => &cut.of,
        };
        let in_time = match change.window {
            Some(_) => " before the cut in time",
            None => "",
        };
        m.notes.push(format!(
            "{CUT}{source} to {of}: {} of {} events kept; {all} events that are proven to be of other flows or devices were cut ({}). Interrupts, softirqs, polls, the scheduler, timers and system calls are whole: their figures, and settings and other snapshots, are of the whole host. Counters of the host are not in it, because they count what was cut. {}{in_time} (lives of sk_buffs): {} of what was asked for, {} of others that it waited with, {} not known whose; {} of others were cut. Nothing is to be concluded of others.",
            done.events,
            done.all(),
            by_name(&done.cut_others),
            notes::PACKETS,
            cut.own,
            cut.context,
            cut.unknown,
            cut.others
        ));
        m.notes.push(drops(&cut.drops, change.window.is_some()));
        m.notes
            .extend(cut.compared.map(|same| compared(same, change.window.is_some())));
    }
    if change.redact {
        m.notes.push(format!(
            "Names of tasks and devices and addresses in this bundle are pseudonyms: the same name has the same one everywhere. Loopback, multicast and broadcast addresses, ports and numbers are the host's. {} events without a format were emptied.",
            done.emptied
        ));
    }
    if !done.left_out.is_empty() {
        m.notes.push(format!(
            "{}{MEMBERS}because they are not of this time, count all flows, or may hold names and addresses: {}",
            done.left_out.len(),
            shortened(&done.left_out)
        ));
    }
    m
}

fn add_problems(e: &mut End, capture: &Capture) {
    for p in &capture.problems {
        if !e.problems.contains(&p.message) {
            e.problems.push(p.message.clone());
        }
    }
}

/// The end.
pub fn end(
    mut e: End,
    (capture, undecoded): (&Capture, u64),
    change: &Change,
    cpu_stats: Vec<CpuStats>,
    ring_bytes: u64,
) -> End {
    e.packets = vec![];
    // What is missing in the original is missing in all that is made of it.
    e.of_incomplete |= !capture.complete || undecoded > 0;
    add_problems(&mut e, capture);
    if undecoded > 0 {
        e.problems.push(format!(
            "the recording that this one was made of could not be decoded at {undecoded} place{}",
            if undecoded == 1 { "" } else { "s" }
        ));
    }
    if change.window.is_some() || change.cut.is_some() {
        e.cpu_stats = cpu_stats;
        e.recorder.ring_bytes = ring_bytes;
        // How far back a ring reaches is of the window where that begins before it.
        if let Some((from, _)) = change.window {
            let short = |c: &FlightCpu| !c.reaches_back && c.first_ts.is_none_or(|t| t > from);
            if let Some(flight) = &mut e.flight {
                flight.cpus.retain(short);
            }
            e.flight = e.flight.filter(|f| !f.cpus.is_empty());
        }
        e.stop_reason = format!("cut ({})", e.stop_reason);
    }
    if change.redact {
        e.problems = match e.problems.len() {
            0 => vec![],
            n => vec![format!(
                "{n} sentences of the recorder were left out of this redacted bundle"
            )],
        };
    }
    e
}

/// A bundle whose original had no end.
pub fn unfinished<W: Write>(writer: BundleWriter<W>, done: &mut Done) -> Result<W, RewriteError> {
    let problem = "the bundle that this one was made of had no end.json: its recording was cut short".to_owned();
    let end = End {
        stop_reason: "unknown".into(),
        problems: vec![problem],
        of_incomplete: true,
        ..End::default()
    };
    let (out, bytes) = writer.finish(end)?;
    done.bytes = bytes;
    Ok(out)
}
