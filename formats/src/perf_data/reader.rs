//! Opens a file: what it says of itself, and which of its bytes are records of which CPU.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::compressed;
use super::describe::Description;
use super::header::{self, Header};
use super::layout::{TYPE_TRACEPOINT, clock_name};
use super::sample::RecordLayout;
use super::split::{Split, split};
use crate::bytes::Bytes;
use crate::capture::{Capture, ClockPair, CpuStats, Member, MemberId, Problem, Stream};
use crate::error::FormatError;
use crate::item::Locus;
use crate::kallsyms::Kallsyms;
use crate::sub_buffer::PageLayout;

/// Opens it, whole or cut anywhere behind its header.
pub(super) fn open(source: &str, bytes: Bytes) -> Result<Capture, FormatError> {
    let header = header::read(&bytes)?;
    let mut members = vec![Member {
        name: "header".to_owned(),
        range: 0..header.data.start as u64,
    }];
    let mut said = Problems::default();
    of_header(&header, &mut said);
    let mut about = Description {
        attrs: header.attrs.clone(),
        bad_attrs: header.bad_attrs,
        ..Default::default()
    };
    for (bit, range) in &header.features {
        let body = bytes.get(range.clone()).unwrap_or(&[]);
        about.feature(*bit, body, header.endian);
    }
    let locus = Locus {
        member: MemberId(1),
        stream: 0,
        offset: header.data.start as u64,
    };
    let data = bytes.get(header.data.clone()).unwrap_or(&[]);
    let (bytes, data) = match compressed::is_used(data, header.endian) {
        false => (bytes, header.data.clone()),
        true => {
            let plain = compressed::expand(data, header.endian, locus);
            of_compressed(&plain, &mut said);
            let all = 0..plain.bytes.len();
            (Bytes::Owned(plain.bytes), all)
        }
    };
    members.push(Member {
        name: "records".to_owned(),
        range: data.start as u64..data.end as u64,
    });
    let locus = Locus {
        offset: data.start as u64,
        ..locus
    };
    let records = bytes.get(data).unwrap_or(&[]);
    about.records(records, header.endian, locus);
    let layout = RecordLayout::new(&about.attrs, header.endian);
    if layout.is_err() {
        said.damage(
            "its samples are laid out in several ways and do not say which: none of them can be read; record tracepoints alone"
                .to_owned(),
        );
    }
    let parts = layout
        .as_ref()
        .map_or_else(|_| Split::default(), |l| split(l, records, locus));
    of_records(&about, &parts, &mut said);
    let clock = clock(&about, &mut said);
    let layout = layout.ok().map(Arc::new);
    let cpu_stats = lost_at_end(&about, layout.as_deref(), &parts, &mut said);
    let mut chunks = parts.cpus;
    for cpu in about.cpu_of_id.values() {
        // A CPU that was recorded and had nothing is covered, and silent.
        chunks.entry(*cpu).or_default();
    }
    let stream = |(cpu, chunks)| Stream {
        instance: String::new(),
        cpu,
        page: PageLayout::none(header.endian),
        perf: layout.clone(),
        clock: clock.to_owned(),
        chunks,
    };
    let streams = chunks.into_iter().map(stream).collect();
    let tracing = about.tracing.take().unwrap_or_default();
    said.take(tracing.problems, tracing.cut);
    let mut comms: BTreeMap<i32, String> = tracing.comms.into_iter().collect();
    comms.extend(std::mem::take(&mut about.comms));
    let manifest = manifest(&about, &tracing.event_formats);
    let clock_pairs = clock_pair(&about, clock);
    Ok(Capture {
        source: source.to_owned(),
        format: super::NAME,
        format_version: header.mode.to_owned(),
        endian: header.endian,
        host: about.host,
        members,
        event_formats: tracing.event_formats,
        streams,
        comms: comms.into_iter().collect(),
        kallsyms: Kallsyms::new(tracing.kallsyms),
        printk_formats: tracing.printk_formats,
        cpu_stats,
        clock_pairs,
        clock_conversions: Vec::new(),
        snapshots: Vec::new(),
        manifest,
        end: None,
        complete: !said.cut,
        problems: said.list,
        bytes,
    })
}

/// What could not be read.
#[derive(Debug, Default)]
struct Problems {
    list: Vec<Problem>,
    cut: bool,
}

impl Problems {
    /// Recorded data are missing by it.
    fn damage(&mut self, message: String) {
        self.cut = true;
        self.remark(None, message);
    }
    /// A person should know.
    fn remark(&mut self, error: Option<FormatError>, message: String) {
        self.list.push(Problem {
            error,
            message,
            member: String::new(),
        });
    }
    fn take(&mut self, list: Vec<Problem>, cut: bool) {
        self.list.extend(list);
        self.cut |= cut;
    }
}

fn of_header(h: &Header, said: &mut Problems) {
    if h.unfinished {
        said.damage(
            "perf did not come to the end of this file: it has no descriptions of its events, so that nothing but their number can be read"
                .to_owned(),
        );
    }
    if h.missing > 0 {
        said.damage(format!("the file is cut: {} bytes of records are missing", h.missing));
    }
    if h.bad_attrs > 0 {
        said.damage(format!("{} attributes of events cannot be read", h.bad_attrs));
    }
    if h.bad_features > 0 {
        said.damage(format!("{} features of the header are not in the file", h.bad_features));
    }
}

fn of_compressed(plain: &compressed::Plain, said: &mut Problems) {
    if let Some(e) = plain.error {
        said.cut = true;
        said.remark(
            Some(e),
            format!(
                "the compressed records cannot be read to their end ({e}): {} compressed bytes are lost",
                plain.skipped
            ),
        );
    }
    if plain.torn > 0 {
        said.damage(format!(
            "the compressed records end inside a record: {} bytes of it are lost",
            plain.torn
        ));
    }
}

fn of_records(about: &Description, parts: &Split, said: &mut Problems) {
    if let Some(e) = about.error {
        said.cut = true;
        said.remark(
            Some(e),
            format!("the records cannot be read to their end ({e}): what follows is lost"),
        );
    }
    if about.attrs.is_empty() {
        said.damage("no attributes of events: no sample can be read".to_owned());
    }
    if about.tracing.is_none() {
        said.damage("no tracing data (descriptions of the events): their fields are unknown".to_owned());
    }
    if parts.ignored > 0 {
        let lacking = about.attrs.iter().any(|a| a.kind == TYPE_TRACEPOINT && !a.is_usable());
        let why = match lacking {
            true => "events that are no tracepoints, or without RAW, TIME or CPU (perf record -R -T --sample-cpu)",
            false => "events that are no tracepoints (cycles and the like)",
        };
        said.remark(None, format!("{} samples are not used: {why}", parts.ignored));
    }
    if parts.unknown > 0 {
        said.damage(format!("{} samples are of no event the file describes", parts.unknown));
    }
    if parts.nowhere > 0 {
        said.damage(format!(
            "{} damaged or lost records could not be told which CPU they are of",
            parts.nowhere
        ));
    }
    if about.throttled > 0 {
        said.remark(
            None,
            format!(
                "the kernel paused events {} times because they were too many (THROTTLE): how many it left out is unknown",
                about.throttled
            ),
        );
    }
    if about.of_threads {
        said.remark(
            None,
            "only what some tasks did was recorded (no -a): interrupts and other tasks are missing, so that a packet's path has holes"
                .to_owned(),
        );
    }
}

/// The kernel's name of the clock; `perf` is its default, sched_clock.
fn clock(about: &Description, said: &mut Problems) -> &'static str {
    let usable = about.attrs.iter().filter(|a| a.is_usable());
    let mut clocks: Vec<Option<i32>> = usable.map(|a| a.clockid).collect();
    clocks.dedup();
    match clocks.as_slice() {
        [] | [None] => {
            if !clocks.is_empty() {
                said.remark(
                    None,
                    "times are of the scheduler's clock, which no other clock is known to be related to; record with -k mono"
                        .to_owned(),
                );
            }
            "perf"
        }
        [Some(id)] => clock_name(*id).unwrap_or_else(|| {
            said.remark(
                None,
                format!("times are of clock {id}, which this program does not know"),
            );
            "unknown"
        }),
        _ => {
            said.damage("its events have different clocks: their times cannot be compared".to_owned());
            "unknown"
        }
    }
}

/// CLOCK_DATA, where it relates the clock to the wall clock. Pairs are always of CLOCK_MONOTONIC, too.
fn clock_pair(about: &Description, clock: &str) -> Vec<ClockPair> {
    let Some((1, wall, own)) = about.clock_data.filter(|_| clock == "mono") else {
        return Vec::new();
    };
    let (wall, own) = (i64::try_from(wall), i64::try_from(own));
    let pair = wall.ok().zip(own.ok()).map(|(wall, own)| ClockPair {
        monotonic_ns: own,
        realtime_ns: Some(wall),
        ..Default::default()
    });
    pair.into_iter().collect()
}

/// LOST records stand where events are missing; LOST_SAMPLES at the end count the same losses for each event and CPU,
/// and those after the last record that found room.
fn lost_at_end(
    about: &Description,
    layout: Option<&RecordLayout>,
    parts: &Split,
    said: &mut Problems,
) -> Vec<CpuStats> {
    let Some(layout) = layout else {
        return Vec::new();
    };
    let mut by_cpu: BTreeMap<u32, u64> = BTreeMap::new();
    let mut nowhere = 0u64;
    for body in &about.lost_samples {
        let count = layout.endian.u64(body, 0).unwrap_or(0);
        let cpu = layout.trailer_id(body).and_then(|id| about.cpu_of_id.get(&id));
        let sum = match cpu {
            Some(cpu) => by_cpu.entry(*cpu).or_default(),
            None => &mut nowhere,
        };
        *sum = sum.saturating_add(count);
    }
    let marked: u64 = parts.lost.values().fold(0, |a, n| a.saturating_add(*n));
    let counted = by_cpu.values().fold(nowhere, |a, n| a.saturating_add(*n));
    if nowhere > 0 && counted > marked {
        said.damage(format!(
            "{} lost events are counted at the end of the file without saying where they are missing",
            counted.saturating_sub(marked)
        ));
    }
    let stats = by_cpu.into_iter().map(|(cpu, overrun)| CpuStats {
        cpu,
        overrun,
        ..Default::default()
    });
    stats.collect()
}

/// What a bundle's manifest would say of it: the command and the events that were enabled.
fn manifest(about: &Description, formats: &[crate::event_format::EventFormat]) -> Option<serde_json::Value> {
    // Both are as many as the file likes. Of two formats with one id the first counts.
    let by_id: HashMap<u64, &crate::event_format::EventFormat> =
        formats.iter().rev().map(|f| (u64::from(f.id), f)).collect();
    let name = |id: u64| by_id.get(&id).map(|f| f.key());
    let mut ids: Vec<u64> = about.attrs.iter().filter(|a| a.is_usable()).map(|a| a.config).collect();
    ids.sort_unstable();
    ids.dedup();
    let events: Vec<_> = ids
        .into_iter()
        .filter_map(name)
        .map(|n| serde_json::json!({ "name": n }))
        .collect();
    Some(serde_json::json!({
        "recorder": { "command_line": about.command_line },
        "plan": { "events": events },
    }))
}
