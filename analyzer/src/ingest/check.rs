//! What was read and how well, from decoded chunks: counts, losses, gaps, clock, and which ring buffers are used.

use std::collections::BTreeMap;

use netmortem_formats::Capture;
use netmortem_formats::bundle::TapEnd;
use netmortem_formats::join::JOINED;

use super::Options;
use super::clock::TraceClock;
use super::decode::{DecodedChunk, Keep, decode};
use super::info::{CaptureInfo, GapRow, StreamInfo, TapInfo};
use super::schema::Schema;
use super::short::{short_rings, without_number};

/// Records by event id.
type Counts = BTreeMap<u16, u64>;

fn add(sum: &mut Counts, more: &[(u16, u64)]) {
    for (id, n) in more {
        let of = sum.entry(*id).or_insert(0);
        *of = of.saturating_add(*n);
    }
}

/// Result of reading.
pub struct Reading {
    /// The summary.
    pub info: CaptureInfo,
    /// Gaps of the used streams, by time.
    pub gaps: Vec<GapRow>,
    /// Records out of order inside their CPU.
    pub inversions: u64,
}

/// Decodes everything, keeps nothing: the answer of `netmortem check`.
pub fn check(capture: &Capture, options: &Options<'_>) -> CaptureInfo {
    let clock = TraceClock::of(capture);
    let schema = Schema::new(capture);
    let decoded = decode(capture, &clock, Keep::Counts, options.progress);
    read(capture, &schema, &clock, &decoded).info
}

/// Sums up decoded chunks.
pub fn read(capture: &Capture, schema: &Schema<'_>, clock: &TraceClock, decoded: &[Vec<DecodedChunk<'_>>]) -> Reading {
    let used = used_instances(capture, decoded);
    let part = crate::told::Part::of(capture);
    let mut counts = Counts::new();
    let mut info = CaptureInfo {
        source: capture.source.clone(),
        format: capture.format.to_string(),
        format_version: capture.format_version.clone(),
        kernel_release: capture.host.kernel_release.clone(),
        hostname: capture.host.hostname.clone(),
        machine: capture.host.machine.clone(),
        clock: clock.name.clone(),
        clock_is_ns: clock.is_ns,
        complete: capture.complete,
        problems: capture.problems.iter().map(|p| p.message.clone()).collect(),
        command: text(&capture.manifest, "/recorder/command_line"),
        enabled_events: enabled(&capture.manifest),
        filtered_events: filtered(&capture.manifest),
        stop_reason: text(&capture.end, "/stop_reason"),
        flight: flight(&capture.manifest),
        short_rings: short_rings(capture),
        profile: text(&capture.manifest, "/plan/profile"),
        absent: absent(&capture.manifest),
        taps: taps(&capture.end),
        joined: joined(&capture.manifest),
        whole_host: match part.slice {
            None => whole_host(&capture.manifest).unwrap_or_default(),
            Some(_) => vec![],
        },
        lost_at_unknown_time: (part.slice.as_ref()).map_or(0, |s| s.lost_at_unknown_time.unwrap_or(0)),
        part,
        realtime_offset_ns: realtime_offset(capture, clock),
        ..Default::default()
    };
    let mut gaps = vec![];
    let mut inversions = 0u64;
    let mut cpus: Vec<u32> = vec![];
    for (stream, chunks) in capture.streams.iter().zip(decoded) {
        let mut s = StreamInfo {
            instance: stream.instance.clone(),
            cpu: stream.cpu,
            clock: stream.clock.clone(),
            // Linux has at most 8192 CPUs; a larger number is damage and must not be taken for another CPU's.
            used: used.contains(&stream.instance.as_str()) && stream.cpu <= u32::from(u16::MAX),
            ..Default::default()
        };
        let mut stream_gaps = sum_stream(&mut s, chunks, &mut counts, &mut info);
        if info.short_rings.iter().any(|r| r.cpu == s.cpu) {
            without_number(&mut s, &mut stream_gaps);
        }
        if capture.format == "bundle" && capture.end.is_none() {
            // A bundle without its end: what this CPU recorded after its last member is not in the file.
            stream_gaps.push(GapRow {
                cpu: s.cpu,
                start_ns: s.last_ns,
                end_ns: None,
                lost_events: None,
                cause: "cut",
            });
        }
        if stream.perf.is_none() {
            // Records of perf are sorted.
            inversions = inversions.saturating_add(stream_inversions(chunks));
        }
        info.gaps.extend(stream_gaps.iter().cloned());
        if s.used {
            gaps.extend(stream_gaps);
            info.start_ns = s
                .first_ns
                .map(|t| info.start_ns.map_or(t, |a| a.min(t)))
                .or(info.start_ns);
            info.end_ns = s.last_ns.map(|t| info.end_ns.map_or(t, |a| a.max(t))).or(info.end_ns);
            cpus.push(s.cpu);
        }
        info.total_events = info.total_events.saturating_add(s.events);
        info.lost_events = info.lost_events.saturating_add(s.lost_events);
        info.losses_of_unknown_size = info.losses_of_unknown_size.saturating_add(s.losses_of_unknown_size);
        info.ring_bytes = info.ring_bytes.saturating_add(s.bytes);
        info.streams.push(s);
    }
    cpus.sort_unstable();
    cpus.dedup();
    info.cpus = cpus.len() as u32;
    info.duration_ns = info.start_ns.zip(info.end_ns).map_or(0, |(a, b)| b.saturating_sub(a));
    kernel_says_more_was_lost(capture, &mut info, &mut gaps);
    info.events = name_counts(schema, &counts);
    gaps.sort_by_key(|g| (g.start_ns, g.end_ns, g.cpu));
    Reading { info, gaps, inversions }
}

/// Records older than their predecessor, also where that is in the chunk before.
fn stream_inversions(chunks: &[DecodedChunk<'_>]) -> u64 {
    let mut n = 0u64;
    let mut last: Option<i64> = None;
    for c in chunks {
        n = n.saturating_add(c.inversions);
        if let Some((first, end)) = c.ends {
            n = n.saturating_add(u64::from(last.is_some_and(|l| first < l)));
            last = Some(end);
        }
    }
    n
}

fn sum_stream(
    s: &mut StreamInfo,
    chunks: &[DecodedChunk<'_>],
    counts: &mut Counts,
    info: &mut CaptureInfo,
) -> Vec<GapRow> {
    let mut gaps: Vec<GapRow> = vec![];
    // A gap at the end of a chunk ends with the first record of a later one.
    let mut open: Vec<usize> = vec![];
    for c in chunks {
        add(counts, &c.counts);
        for e in &c.errors {
            info.problems.push(format!("CPU {}: {e}", s.cpu));
            info.complete = false;
        }
        for (at, l) in c.losses.iter().enumerate() {
            match l.count {
                Some(n) => s.lost_events = s.lost_events.saturating_add(n),
                None => s.losses_of_unknown_size = s.losses_of_unknown_size.saturating_add(1),
            }
            let (start, end) = (
                c.loss_start.get(at).copied().flatten(),
                c.loss_end.get(at).copied().flatten(),
            );
            let start = start.max(s.last_ns);
            gaps.push(GapRow {
                cpu: s.cpu,
                start_ns: start,
                end_ns: end.map(|e| start.map_or(e, |s| e.max(s))),
                lost_events: l.count,
                cause: l.cause,
            });
        }
        let from = gaps.len().saturating_sub(c.losses.len());
        if let Some((first, _)) = c.ends {
            for i in open.drain(..) {
                if let Some(g) = gaps.get_mut(i) {
                    g.end_ns = Some(g.start_ns.map_or(first, |s| first.max(s)));
                }
            }
        }
        if let Some((lo, hi)) = c.span {
            s.first_ns = Some(s.first_ns.map_or(lo, |l| l.min(lo)));
            s.last_ns = Some(s.last_ns.map_or(hi, |l| l.max(hi)));
        }
        open.extend((from..gaps.len()).filter(|i| gaps.get(*i).is_some_and(|g| g.end_ns.is_none())));
        s.events = s.events.saturating_add(c.events);
        s.bytes = s.bytes.saturating_add(c.ring_bytes);
    }
    gaps
}

/// A loss that no page flag tells (the end of a full buffer) is in the kernel's per-CPU statistics.
fn kernel_says_more_was_lost(capture: &Capture, info: &mut CaptureInfo, gaps: &mut Vec<GapRow>) {
    for st in &capture.cpu_stats {
        // Of a ring that does not reach back it is all since it was armed.
        let short = info.short_rings.iter().any(|r| r.cpu == st.cpu);
        let said = (if short { 0 } else { st.overrun })
            .saturating_add(st.commit_overrun)
            .saturating_add(st.dropped_events);
        let seen = info
            .streams
            .iter_mut()
            .find(|s| s.cpu == st.cpu && s.instance == st.instance);
        let Some(s) = seen else {
            info.lost_events = info.lost_events.saturating_add(said);
            continue;
        };
        if said > s.lost_events {
            let more = said.saturating_sub(s.lost_events);
            s.lost_events = said;
            info.lost_events = info.lost_events.saturating_add(more);
            // A flag without a number stands for these; without any flag nothing was written after them.
            if s.losses_of_unknown_size == 0 {
                let gap = GapRow {
                    cpu: s.cpu,
                    start_ns: s.last_ns,
                    end_ns: None,
                    lost_events: Some(more),
                    cause: "overrun",
                };
                info.gaps.push(gap.clone());
                if s.used {
                    gaps.push(gap);
                }
            }
        }
    }
}

/// One instance, or several whose events do not overlap: a packet recorded twice must not become two.
fn used_instances<'c>(capture: &'c Capture, decoded: &[Vec<DecodedChunk<'_>>]) -> Vec<&'c str> {
    let mut kinds: BTreeMap<&str, Counts> = BTreeMap::new();
    for (s, chunks) in capture.streams.iter().zip(decoded) {
        let sum = kinds.entry(s.instance.as_str()).or_default();
        for c in chunks {
            add(sum, &c.counts);
        }
    }
    let mut order: Vec<(&str, Counts)> = kinds.into_iter().collect();
    order.sort_by_key(|(name, c)| (std::cmp::Reverse(c.values().sum::<u64>()), *name));
    let mut used = vec![];
    let mut taken = Counts::new();
    for (name, counts) in order {
        let overlaps = counts.keys().any(|k| taken.contains_key(k));
        if used.is_empty() || (!overlaps && !counts.is_empty()) {
            used.push(name);
            taken.extend(counts);
        }
    }
    used
}

fn name_counts(schema: &Schema<'_>, counts: &Counts) -> BTreeMap<String, u64> {
    let named = |id: u16| schema.by_id(id).map_or_else(|| format!("id:{id}"), |f| f.key());
    counts.iter().map(|(id, n)| (named(*id), *n)).collect()
}

/// The text (or list of words) at a JSON pointer; empty when there is none.
fn text(json: &Option<serde_json::Value>, pointer: &str) -> String {
    match json.as_ref().and_then(|j| j.pointer(pointer)) {
        Some(serde_json::Value::String(s)) => s.clone(),
        Some(serde_json::Value::Array(a)) => a.iter().filter_map(|v| v.as_str()).collect::<Vec<_>>().join(" "),
        _ => String::new(),
    }
}

/// The trigger of a flight recorder; what cannot be read of it is left out, as an older recorder would have.
fn flight(manifest: &Option<serde_json::Value>) -> Option<netmortem_formats::bundle::Flight> {
    let told = manifest.as_ref()?.get("flight").filter(|f| f.is_object())?;
    serde_json::from_value(told.clone()).ok()
}

/// The events of the profile that were not there.
fn absent(manifest: &Option<serde_json::Value>) -> Vec<String> {
    let absent = manifest.as_ref().and_then(|m| m.pointer("/plan/absent")?.as_array());
    let names = absent.into_iter().flatten().filter_map(|a| a.get("name")?.as_str());
    names.map(str::to_owned).collect()
}

/// The captures of packets.
fn taps(end: &Option<serde_json::Value>) -> Vec<TapInfo> {
    let packets = end.as_ref().and_then(|e| e.get("packets")).cloned();
    let all: Vec<TapEnd> = packets.and_then(|p| serde_json::from_value(p).ok()).unwrap_or_default();
    let of = |t: TapEnd| TapInfo {
        name: t.name,
        packets: t.packets,
        dropped: t.dropped.unwrap_or(0),
    };
    all.into_iter().map(of).collect()
}

/// The bundles that were joined to this one.
fn joined(manifest: &Option<serde_json::Value>) -> Vec<String> {
    let names = manifest.as_ref().and_then(|m| m.get(JOINED)?.as_array());
    let names = names.into_iter().flatten().filter_map(|n| n.as_str());
    names.map(str::to_owned).collect()
}

/// The events that a bundle's manifest says were enabled; none: it does not say (it was made of a trace.dat).
fn enabled(manifest: &Option<serde_json::Value>) -> Option<Vec<String>> {
    let events = manifest.as_ref()?.pointer("/plan/events")?.as_array()?;
    let names = events.iter().filter_map(|e| e.get("name")?.as_str());
    let names: Vec<String> = names.map(str::to_string).collect();
    (!names.is_empty()).then_some(names)
}

/// Events that were recorded with a filter where a filter was asked for (a profile has its own: timers of a socket).
fn filtered(manifest: &Option<serde_json::Value>) -> Vec<String> {
    let plan = manifest.as_ref().and_then(|m| m.get("plan"));
    let all = |what: &str| plan.and_then(|p| p.get(what)?.as_array()).into_iter().flatten();
    if all("filters").next().is_none() {
        return vec![];
    }
    let some = all("events").filter(|e| e.get("filter").and_then(|f| f.as_str()).is_some_and(|f| !f.is_empty()));
    some.filter_map(|e| Some(e.get("name")?.as_str()?.to_owned())).collect()
}

/// CPUs that a bundle's manifest says were drained; none: it says nothing, or only some CPUs, processes or a cgroup were recorded.
fn whole_host(manifest: &Option<serde_json::Value>) -> Option<Vec<u16>> {
    let plan = manifest.as_ref()?.get("plan")?;
    let texts = |path: &str| plan.pointer(path).and_then(|v| v.as_array()).into_iter().flatten();
    let some_cpus = texts("/filters").any(|f| f.as_str().is_none_or(|f| f.starts_with("cpu")));
    let cgroup = plan
        .pointer("/perf/cgroup")
        .and_then(|v| v.as_str())
        .is_some_and(|c| !c.is_empty());
    let some = some_cpus || cgroup || texts("/perf/pids").next().is_some();
    let cpus = plan.get("cpus").filter(|_| !some)?.as_array()?.iter();
    cpus.map(|cpu| u16::try_from(cpu.as_u64()?).ok()).collect()
}

/// Wall clock minus trace clock, for clocks that the recorded pairs cover.
fn realtime_offset(capture: &Capture, clock: &TraceClock) -> Option<i64> {
    let pair = capture.clock_pairs.first()?;
    let real = pair.realtime_ns?;
    real.checked_sub(clock.of_pair(pair)?)
}
