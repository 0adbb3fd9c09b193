//! Several recordings of one time as one: a bundle with packets that another program captured, or with another bundle of the
//! same boot.
//!
//! In: two opened captures. Out: one, or why not. Must not decode events or move a time: packets keep CLOCK_REALTIME, which
//! the bundle's clock pairs tie to its events; events of both bundles must have one clock.
//!
//! ```text
//! bundle | packets as packets/N/000001.pcapng.zst ...  as if they had been recorded with it; what was lost of them is a problem
//! bundle | chunks, members of the other, moved behind   its ring buffers are further instances: the analysis reads those whose
//!                                                       kinds of events are not in the others, so that nothing counts twice
//! ```

mod notes;
mod packets;
#[cfg(test)]
mod tests;

pub use notes::notes;

use crate::bundle::{self, PacketsName, PagesEncoder, PlannedTap};
use crate::bytes::Bytes;
use crate::capture::{Capture, Member, MemberId, Problem};
use crate::pcapng;

/// In the manifest of joined bundles, in memory only: an array of the sources of the others.
pub const JOINED: &str = "joined";

/// In the manifest of a bundle with packets joined to it, in memory only: an array of [`JoinedPackets`].
pub const JOINED_PACKETS: &str = "joined_packets";

/// A file of packets that was joined to a bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct JoinedPackets {
    /// Its packets are the members `packets/tap/...`.
    pub tap: u32,
    /// The file's name, without its folder.
    pub file: String,
    /// The interface that was given for it; empty when the file was to name it.
    pub device: String,
    /// Errors of the file itself: parts of it that could not be read, each a problem of the capture.
    pub errors: u64,
}

/// The files of packets that were joined to a bundle, in the order in which they were given.
pub fn joined_packets(capture: &Capture) -> Vec<JoinedPackets> {
    let list = capture
        .manifest
        .as_ref()
        .and_then(|m| m.get(JOINED_PACKETS)?.as_array());
    let list = list.into_iter().flatten();
    list.filter_map(|j| serde::Deserialize::deserialize(j).ok()).collect()
}

/// Why two captures are not joined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// The first is not a bundle.
    #[error("only a bundle can be joined with others: {0} is a {1}")]
    NotABundle(String, &'static str),
    /// Neither packets nor a bundle.
    #[error("{0} is a {1}: only packets (pcap, pcapng) and bundles can be joined with a bundle")]
    NotJoinable(String, &'static str),
    /// No clock pairs.
    #[error("{0} has no readings of CLOCK_REALTIME: the time of packets cannot be compared with its events")]
    NoClock(String),
    /// The times of both do not overlap.
    #[error("{file} is of another time: {seconds} s {side} the recording")]
    OtherTime {
        /// The other file.
        file: String,
        /// How far away, whole seconds.
        seconds: u64,
        /// `before` or `after`.
        side: &'static str,
    },
    /// Two bundles of different boots.
    #[error("{0} and {1} are of different boots (boot_id), or do not say of which: their events have no common clock")]
    OtherBoot(String, String),
    /// Two trace clocks.
    #[error("{0} and {1} have different trace clocks ({2}, {3})")]
    OtherClock(String, String, String, String),
    /// The same one.
    #[error("{0} and {1} are the same recording")]
    Same(String, String),
    /// One event with two numbers.
    #[error("{0} has another number in {1}: a module was loaded again between them")]
    OtherNumber(String, String),
    /// A member of packets has the largest number there is.
    #[error("{0} has members of packets with numbers (packets/N/) that leave none for another interface")]
    TapNumbers(String),
    /// Packing packets failed.
    #[error("cannot pack the packets of {0}")]
    Packing(String),
}

/// Joins `more` to a bundle. `device`: the interface of packets whose file does not name it, as a pcap never does.
pub fn join(base: Capture, more: &Capture, device: Option<&str>) -> Result<Capture, JoinError> {
    if base.format != "bundle" {
        return Err(JoinError::NotABundle(base.source, base.format));
    }
    match more.format {
        "pcap" | "pcapng" => with_packets(base, more, device),
        "bundle" => bundles(base, more),
        other => Err(JoinError::NotJoinable(more.source.clone(), other)),
    }
}

fn with_packets(mut base: Capture, more: &Capture, device: Option<&str>) -> Result<Capture, JoinError> {
    let readings = base.clock_pairs.iter().filter_map(|p| p.realtime_ns);
    let (Some(from), Some(to)) = (readings.clone().min(), readings.max()) else {
        return Err(JoinError::NoClock(base.source));
    };
    let (taps, own_member) = (pcapng::taps(more), format!("{}: ", more.format));
    let span = taps.iter().filter_map(|t| t.first_last_ns);
    let span = span.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    if let Some(span) = span {
        same_time(&more.source, (from, to), span)?;
    }
    let Some(tap) = next_tap(&base) else {
        return Err(JoinError::TapNumbers(base.source));
    };
    let mut frames = vec![];
    packets::members(more, device, packets::MEMBER_BYTES, |bytes| {
        let frame = PagesEncoder::new(1).and_then(|mut e| e.encode(bytes)).ok()?;
        let sequence = (frames.len() as u64).saturating_add(1);
        frames.push((bundle::packets_name(PacketsName { tap, sequence }), frame));
        Some(())
    })
    .ok_or_else(|| JoinError::Packing(more.source.clone()))?;
    append(&mut base, frames);
    let file = file_name(more);
    let lost = taps.iter().flat_map(|t| &t.problems).map(|p| Problem {
        error: p.error,
        message: format!(
            "{file}: {}",
            p.message.strip_prefix(own_member.as_str()).unwrap_or(&p.message)
        ),
        member: file.to_owned(),
    });
    base.problems.extend(lost);
    base.complete &= more.complete;
    let joined = JoinedPackets {
        tap,
        file: file.to_owned(),
        device: device.unwrap_or_default().to_owned(),
        errors: taps
            .iter()
            .map(|t| t.problems.len() as u64)
            .fold(0, u64::saturating_add),
    };
    push(
        &mut base,
        JOINED_PACKETS,
        serde_json::to_value(joined).unwrap_or_default(),
    );
    let own = taps.first().map(|t| t.name.clone()).unwrap_or_default();
    let planned = PlannedTap {
        name: device.map_or(own, str::to_owned),
        ..PlannedTap::default()
    };
    plan(&mut base, planned);
    Ok(base)
}

/// The last part of the other's path.
fn file_name(more: &Capture) -> &str {
    more.source.rsplit('/').next().unwrap_or_default()
}

/// Whether two intervals, ns of one clock, have a moment in common.
fn same_time(file: &str, of: (i64, i64), other: (i64, i64)) -> Result<(), JoinError> {
    let apart = |from: i64, to: i64, side| {
        Err(JoinError::OtherTime {
            file: file.to_owned(),
            seconds: to.saturating_sub(from).unsigned_abs() / 1_000_000_000,
            side,
        })
    };
    match other {
        (_, last) if last < of.0 => apart(last, of.0, "before"),
        (first, _) if first > of.1 => apart(of.1, first, "after"),
        _ => Ok(()),
    }
}

/// The first number that no member of packets and no planned interface has; `None`: they are used up.
fn next_tap(c: &Capture) -> Option<u32> {
    let taken = c.members.iter().filter_map(|m| bundle::parse_packets_name(&m.name));
    let planned = c
        .manifest
        .as_ref()
        .and_then(|m| m.pointer("/plan/packets")?.as_array().map(Vec::len));
    let planned = u32::try_from(planned.unwrap_or(0)).ok()?;
    match taken.map(|n| n.tap).max() {
        None => Some(planned),
        Some(last) => Some(last.checked_add(1)?.max(planned)),
    }
}

/// Puts a value behind the others of a list of the manifest.
fn push(c: &mut Capture, list: &str, value: serde_json::Value) {
    let Some(manifest) = c.manifest.as_mut().and_then(|m| m.as_object_mut()) else {
        return;
    };
    let list = manifest.entry(list).or_insert_with(|| serde_json::Value::Array(vec![]));
    if let Some(list) = list.as_array_mut() {
        list.push(value);
    }
}

/// Says in the plan that an interface's packets are there.
fn plan(c: &mut Capture, tap: PlannedTap) {
    let Some(plan) = c.manifest.as_mut().and_then(|m| m.get_mut("plan")?.as_object_mut()) else {
        return;
    };
    let packets = plan
        .entry("packets")
        .or_insert_with(|| serde_json::Value::Array(vec![]));
    if let (Some(packets), Ok(tap)) = (packets.as_array_mut(), serde_json::to_value(tap)) {
        packets.push(tap);
    }
}

/// Members behind the capture's own bytes.
fn append(c: &mut Capture, members: Vec<(String, Vec<u8>)>) {
    let mut all = std::mem::replace(&mut c.bytes, Bytes::Owned(vec![])).to_vec();
    for (name, bytes) in members {
        let from = all.len() as u64;
        all.extend(bytes);
        c.members.push(Member {
            name,
            range: from..all.len() as u64,
        });
    }
    c.bytes = Bytes::Owned(all);
}

fn text<'m>(c: &'m Capture, pointer: &str) -> &'m str {
    let found = c.manifest.as_ref().and_then(|m| m.pointer(pointer));
    found.and_then(|t| t.as_str()).unwrap_or_default()
}

fn bundles(mut base: Capture, more: &Capture) -> Result<Capture, JoinError> {
    let (one, other) = (base.source.clone(), more.source.clone());
    let boot = |c: &Capture| text(c, "/machine/boot_id").to_owned();
    if boot(&base).is_empty() || boot(&base) != boot(more) {
        return Err(JoinError::OtherBoot(one, other));
    }
    let clock = |c: &Capture| text(c, "/clocks/trace_clock").to_owned();
    if clock(&base) != clock(more) {
        return Err(JoinError::OtherClock(one, other, clock(&base), clock(more)));
    }
    let instances = |c: &Capture| c.streams.iter().map(|s| s.instance.clone()).collect::<Vec<_>>();
    let taken = instances(&base);
    if instances(more).iter().any(|i| taken.contains(i)) {
        return Err(JoinError::Same(one, other));
    }
    let times = |c: &Capture| {
        let readings = c.clock_pairs.iter().map(|p| p.monotonic_ns);
        readings.clone().min().zip(readings.max())
    };
    if let Some((of, span)) = times(&base).zip(times(more)) {
        same_time(&other, of, span)?;
    }
    for f in &more.event_formats {
        let same = |g: &&crate::EventFormat| g.system == f.system && g.name == f.name;
        let clash = |g: &&crate::EventFormat| g.id == f.id;
        match (
            base.event_formats.iter().find(same),
            base.event_formats.iter().find(clash),
        ) {
            (Some(g), _) if g.id == f.id => {}
            (None, None) => base.event_formats.push(f.clone()),
            _ => return Err(JoinError::OtherNumber(f.key(), other)),
        }
    }
    let tap = next_tap(&base).ok_or_else(|| JoinError::TapNumbers(one.clone()))?;
    let numbers = more.members.iter().filter_map(|m| bundle::parse_packets_name(&m.name));
    if numbers
        .map(|n| n.tap)
        .max()
        .is_some_and(|n| n.checked_add(tap).is_none())
    {
        return Err(JoinError::TapNumbers(other));
    }
    let (members, bytes) = (base.members.len(), base.bytes.len() as u64);
    let mut all = std::mem::replace(&mut base.bytes, Bytes::Owned(vec![])).to_vec();
    all.extend_from_slice(&more.bytes);
    base.bytes = Bytes::Owned(all);
    let moved = |r: &std::ops::Range<u64>| r.start.saturating_add(bytes)..r.end.saturating_add(bytes);
    let file = notes::label(&base, more);
    for m in &more.members {
        let name = match bundle::parse_packets_name(&m.name) {
            Some(n) => bundle::packets_name(PacketsName {
                tap: n.tap.saturating_add(tap),
                ..n
            }),
            // A label: which file it is of.
            None => format!("{file}: {}", m.name),
        };
        base.members.push(Member {
            name,
            range: moved(&m.range),
        });
    }
    let first = u32::try_from(members).unwrap_or(u32::MAX);
    for s in &more.streams {
        let mut s = s.clone();
        for c in &mut s.chunks {
            c.range = moved(&c.range);
            c.member = MemberId(c.member.0.saturating_add(first));
        }
        base.streams.push(s);
    }
    let known: std::collections::BTreeSet<i32> = base.comms.iter().map(|c| c.0).collect();
    base.comms
        .extend(more.comms.iter().filter(|c| !known.contains(&c.0)).cloned());
    base.clock_pairs.extend(&more.clock_pairs);
    base.clock_pairs.sort_by_key(|p| p.monotonic_ns);
    base.cpu_stats.extend(more.cpu_stats.iter().cloned());
    base.problems.extend(more.problems.iter().cloned());
    base.complete &= more.complete;
    // Before the base's end is forgotten.
    notes::put(&mut base, more, &file);
    if more.end.is_none() {
        base.end = None;
    }
    let events = more
        .manifest
        .as_ref()
        .and_then(|m| m.pointer("/plan/events")?.as_array().cloned());
    let own = base
        .manifest
        .as_mut()
        .and_then(|m| m.pointer_mut("/plan/events")?.as_array_mut());
    if let (Some(own), Some(events)) = (own, events) {
        own.extend(events);
    }
    push(&mut base, JOINED, other.into());
    Ok(base)
}
