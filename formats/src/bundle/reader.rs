//! Opens a bundle: walks the tar, reads the small members, and says where the sub-buffers are. Never fails because
//! something is missing: what is missing becomes a [`Problem`]. It fails only on a format version it does not know.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::layout::{self, TarMember, WalkEnd};
use super::manifest::{End, FORMAT_VERSION, Manifest};
use super::names::{self, PagesName};
use super::texts::{comms, snapshot_text, symbols};
use crate::bytes::Bytes;
use crate::capture::{Capture, Chunk, ClockPair, Coding, Member, MemberId, Problem, Snapshot, SnapshotWhen, Stream};
use crate::error::{FormatError, FormatErrorKind, Limit};
use crate::event_format::EventFormat;
use crate::item::Locus;
use crate::kallsyms::Kallsyms;
use crate::perf_data::RecordLayout;
use crate::sub_buffer::PageLayout;

/// A JSON member above this is not read (a value tree takes many times its text).
const MAX_JSON_BYTES: usize = 64 << 20;

/// Whether the input starts with a tar header for `manifest.json`.
pub fn sniff(b: &[u8]) -> bool {
    layout::starts_with_member(b, names::MANIFEST)
}

/// Opens a bundle, whole or cut anywhere.
pub fn open(source: &str, bytes: Bytes) -> Result<Capture, FormatError> {
    let (members, end) = layout::walk(&bytes);
    let mut parts = Parts::default();
    let mut seen = HashSet::new();
    for (i, m) in members.iter().enumerate() {
        let id = MemberId(u32::try_from(i).unwrap_or(u32::MAX));
        if !seen.insert(m.name.as_str()) {
            parts.problem(m, None, format!("{}: a second member of this name was ignored", m.name));
            continue;
        }
        parts.take(id, m, &bytes)?;
    }
    let (complete, streams) = parts.conclude(&members, end, bytes.len() as u64);
    let comms = parts.comms();
    let manifest = parts.manifest.unwrap_or_default();
    Ok(Capture {
        source: source.to_owned(),
        format: "bundle",
        format_version: manifest.format_version.to_string(),
        endian: manifest.machine.endian,
        host: manifest.host,
        members: members
            .into_iter()
            .map(|m| Member {
                name: m.name,
                range: m.range,
            })
            .collect(),
        event_formats: parts.event_formats,
        streams,
        comms,
        kallsyms: parts.kallsyms,
        printk_formats: parts.printk_formats,
        cpu_stats: parts.end.map(|e| e.cpu_stats).unwrap_or_default(),
        clock_pairs: parts.clock_pairs,
        clock_conversions: Vec::new(),
        snapshots: parts.snapshots,
        manifest: parts.manifest_json,
        end: parts.end_json,
        complete,
        problems: parts.problems,
        bytes,
    })
}

/// What the members yielded so far.
#[derive(Default)]
struct Parts {
    manifest: Option<Manifest>,
    manifest_json: Option<serde_json::Value>,
    end: Option<End>,
    end_json: Option<serde_json::Value>,
    header_page: Option<(Vec<u8>, Locus)>,
    event_formats: Vec<EventFormat>,
    saved_cmdlines: Vec<(i32, String)>,
    kallsyms: Kallsyms,
    printk_formats: Vec<u8>,
    clock_pairs: Vec<ClockPair>,
    snapshots: Vec<Snapshot>,
    /// Bytes of their texts so far.
    snapshot_bytes: u64,
    pages: BTreeMap<u32, Vec<(u64, Pages)>>,
    perf: BTreeMap<u32, Vec<(u64, Pages)>>,
    problems: Vec<Problem>,
}

/// A trace member: its chunk, and whether the file ends inside it.
struct Pages {
    chunk: Chunk,
    cut: bool,
}

impl Parts {
    fn problem(&mut self, m: &TarMember, error: Option<FormatError>, message: String) {
        self.problems.push(Problem {
            error,
            message,
            member: m.name.clone(),
        });
    }

    /// Reads one member. The only error is a format version from the future.
    fn take(&mut self, id: MemberId, m: &TarMember, file: &[u8]) -> Result<(), FormatError> {
        let locus = Locus {
            member: id,
            stream: 0,
            offset: m.range.start,
        };
        let data = usize::try_from(m.range.start)
            .ok()
            .zip(usize::try_from(m.range.end).ok())
            .and_then(|(a, b)| file.get(a..b))
            .unwrap_or(&[]);
        let cut = m.stated_size != data.len() as u64;
        let (of_pages, of_perf) = (names::parse_pages_name(&m.name), names::parse_records_name(&m.name));
        if let Some(PagesName { cpu, sequence }) = of_pages.or(of_perf) {
            let size = zstd::zstd_safe::get_frame_content_size(data).ok().flatten();
            let chunk = Chunk {
                member: id,
                range: m.range.clone(),
                coding: Coding::Zstd { size },
            };
            let members = if of_perf.is_some() {
                &mut self.perf
            } else {
                &mut self.pages
            };
            members.entry(cpu).or_default().push((sequence, Pages { chunk, cut }));
            return Ok(());
        }
        if cut {
            // A piece of a text could be taken for the whole text: not used.
            let error = FormatError::new(FormatErrorKind::Truncated, "bundle member", locus);
            let error = error.sizes(m.stated_size, data.len() as u64, Limit::File);
            let message = format!(
                "{}: cut after {} of {} bytes, not used",
                m.name,
                data.len(),
                m.stated_size
            );
            self.problem(m, Some(error), message);
            return Ok(());
        }
        match m.name.as_str() {
            names::MANIFEST => {
                self.manifest = self.json(m, data, locus);
                self.manifest_json = self.manifest.as_ref().and_then(|_| serde_json::from_slice(data).ok());
                let version = self.manifest.as_ref().map_or(FORMAT_VERSION, |v| v.format_version);
                if version > FORMAT_VERSION || version == 0 {
                    let error = FormatError::new(FormatErrorKind::UnsupportedVersion, "bundle format_version", locus);
                    return Err(error.sizes(u64::from(version), u64::from(FORMAT_VERSION), Limit::Configured));
                }
                self.clock_pairs.extend(self.manifest.as_ref().map(|v| v.clocks.start));
            }
            names::END => {
                self.end = self.json(m, data, locus);
                self.end_json = self.end.as_ref().and_then(|_| serde_json::from_slice(data).ok());
                self.clock_pairs.extend(self.end.as_ref().map(|e| e.clock));
            }
            names::HEADER_PAGE => self.header_page = Some((data.to_vec(), locus)),
            names::SAVED_CMDLINES => self.saved_cmdlines = comms(data),
            names::PRINTK_FORMATS => self.printk_formats = data.to_vec(),
            name @ (names::SYMBOLS | names::KALLSYMS) => match symbols(name, data, locus) {
                Ok(text) => self.kallsyms = Kallsyms::new(text),
                Err(e) => self.problem(m, Some(e), format!("{name}: addresses have no names ({e})")),
            },
            name => {
                if let Some(system) = names::parse_event_format_name(name) {
                    match EventFormat::parse(system, data) {
                        Ok(f) => self.event_formats.push(f),
                        Err(e) => self.problem(m, Some(e), format!("{name}: records of this event are unknown ({e})")),
                    }
                } else if let Some((what, when, coded)) = names::parse_snapshot_name(name) {
                    match snapshot_text(data, coded, self.snapshot_bytes, locus) {
                        Ok(text) => {
                            self.snapshot_bytes = self.snapshot_bytes.saturating_add(text.len() as u64);
                            self.snapshots.push(Snapshot {
                                what: what.to_owned(),
                                when,
                                text,
                            });
                        }
                        Err(e) => self.problem(m, Some(e), format!("{name}: not read ({e})")),
                    }
                } else if names::is_clocks_name(name) {
                    let pair: Option<ClockPair> = self.json(m, data, locus);
                    self.clock_pairs.extend(pair);
                }
            }
        }
        Ok(())
    }

    fn json<T: DeserializeOwned>(&mut self, m: &TarMember, data: &[u8], locus: Locus) -> Option<T> {
        if data.len() > MAX_JSON_BYTES {
            let error = FormatError::new(FormatErrorKind::TooLarge, "JSON member", locus);
            let error = error.sizes(data.len() as u64, MAX_JSON_BYTES as u64, Limit::Configured);
            self.problem(m, Some(error), format!("{}: too large, not read", m.name));
            return None;
        }
        // serde takes an array for a struct whose keys are all optional; the format does not.
        let object = data.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{');
        let parsed = match object {
            true => serde_json::from_slice(data).map_err(|e| e.to_string()),
            false => Err("it is not a JSON object".to_owned()),
        };
        match parsed {
            Ok(v) => Some(v),
            Err(e) => {
                let error = FormatError::new(FormatErrorKind::BadText, "JSON member", locus);
                self.problem(m, Some(error), format!("{}: not read, {e}", m.name));
                None
            }
        }
    }

    /// Says what is missing and builds the streams; the flag is [`Capture::complete`].
    fn conclude(&mut self, members: &[TarMember], end: WalkEnd, file_bytes: u64) -> (bool, Vec<Stream>) {
        let before = self.problems.len();
        self.clock_pairs.sort_by_key(|p| p.monotonic_ns);
        let layout = self.layout(members);
        let mut streams = self.streams(layout);
        streams.sort_by_key(|s| s.cpu);
        if self.manifest.is_none() {
            self.whole("manifest.json could not be read: host, clocks and plan are unknown".into());
        }
        match end {
            WalkEnd::EndMarker => {}
            WalkEnd::NoEndMarker => self.whole(format!("the file ends at byte {file_bytes} without an end of archive")),
            WalkEnd::Cut { at } => {
                self.whole(format!(
                    "the file is cut at byte {file_bytes}, inside the member that begins at byte {at}"
                ));
            }
            WalkEnd::BadHeader { at, what } => {
                let lost = file_bytes.saturating_sub(at);
                self.whole(format!(
                    "no tar header at byte {at} ({what}): {lost} bytes from there were not read"
                ));
            }
        }
        if self.end.as_ref().is_some_and(|e| e.of_incomplete) {
            self.whole("the recording that this bundle was made of was cut or damaged: what it lacked is missing here, too, and may be of this time".into());
        }
        match self.end.as_ref().map(|e| e.members.clone()) {
            None => self.whole(
                "end.json is missing: the recording was cut short; loss statistics, snapshots taken at the end and checksums are unknown"
                    .into(),
            ),
            Some(stated) => {
                let have: BTreeMap<&str, u64> = members.iter().map(|m| (m.name.as_str(), m.stated_size)).collect();
                let missing = stated.iter().filter(|s| have.get(s.name.as_str()) != Some(&s.size));
                for m in missing.map(|m| m.name.clone()).collect::<Vec<_>>() {
                    self.whole(format!("{m}: listed in end.json, but missing or of another size"));
                }
            }
        }
        (self.problems.len() == before, streams)
    }

    /// By pid, what the kernel saved at the task's own events; for others the list of threads, latest first.
    fn comms(&self) -> Vec<(i32, String)> {
        let mut by_pid = BTreeMap::new();
        let tasks = |when| {
            self.snapshots
                .iter()
                .filter(move |s| s.what == names::TASKS && s.when == when)
        };
        for s in tasks(SnapshotWhen::Start).chain(tasks(SnapshotWhen::End)) {
            by_pid.extend(
                comms(&s.text)
                    .into_iter()
                    .filter_map(|(tid, rest)| Some((tid, rest.split_once(' ')?.1.to_owned()))),
            );
        }
        by_pid.extend(self.saved_cmdlines.iter().cloned());
        by_pid.into_iter().collect()
    }

    fn whole(&mut self, message: String) {
        self.problems.push(Problem {
            error: None,
            message,
            member: String::new(),
        });
    }

    fn layout(&mut self, members: &[TarMember]) -> Option<PageLayout> {
        let endian = self.manifest.as_ref().map(|m| m.machine.endian).unwrap_or_default();
        let Some((text, locus)) = self.header_page.take() else {
            if !self.pages.is_empty() {
                self.whole("header_page is missing: no sub-buffer can be read".into());
            }
            return None;
        };
        match PageLayout::parse(&text, endian) {
            Ok(l) => {
                let size = self.manifest.as_ref().map_or(0, |m| m.plan.sub_buffer_bytes);
                Some(if size > 0 { l.with_size(size) } else { l })
            }
            Err(_) if self.pages.is_empty() && !self.perf.is_empty() => None,
            Err(e) => {
                let e = FormatError { locus, ..e };
                let member = members
                    .get(locus.member.0 as usize)
                    .map_or_else(String::new, |m| m.name.clone());
                let message = format!("header_page: no sub-buffer can be read ({e})");
                self.problems.push(Problem {
                    error: Some(e),
                    message,
                    member,
                });
                None
            }
        }
    }

    fn streams(&mut self, layout: Option<PageLayout>) -> Vec<Stream> {
        let manifest = self.manifest.clone().unwrap_or_default();
        let (plan, clock) = (manifest.plan, manifest.clocks.trace_clock);
        let endian = manifest.machine.endian;
        let (mut pages, mut perf) = (std::mem::take(&mut self.pages), std::mem::take(&mut self.perf));
        let sample_type = plan.perf.as_ref().map(|p| p.sample_type);
        // A CPU that was drained and had nothing is a stream too: it is covered, and silent.
        for cpu in &plan.cpus {
            let members = if sample_type.is_some() { &mut perf } else { &mut pages };
            members.entry(*cpu).or_default();
        }
        let records = sample_type.and_then(|t| RecordLayout::uniform(t, endian)).map(Arc::new);
        if records.is_none() && !perf.is_empty() {
            self.whole(
                "manifest.json does not say how the records of perf/ are laid out: none of them can be read".into(),
            );
        }
        let of_pages = layout.map(|page| (page, None, "trace", pages));
        let of_perf = records.map(|r| (PageLayout::none(endian), Some(r), "perf", perf));
        let mut streams = Vec::new();
        for (page, perf, folder, members) in of_pages.into_iter().chain(of_perf) {
            for (cpu, members) in members {
                streams.push(Stream {
                    instance: plan.instance.clone(),
                    cpu,
                    page,
                    perf: perf.clone(),
                    clock: clock.clone(),
                    chunks: self.chunks(folder, cpu, page, members),
                });
            }
        }
        streams
    }

    /// The chunks of a CPU; says which are missing or cut.
    fn chunks(&mut self, folder: &str, cpu: u32, page: PageLayout, members: Vec<(u64, Pages)>) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        let mut expected = 1u64;
        for (sequence, Pages { mut chunk, cut }) in members {
            if sequence != expected {
                self.whole(format!(
                    "{folder}/cpu{cpu}: member {sequence} where {expected} was due; what lies between is lost"
                ));
            }
            expected = sequence.saturating_add(1);
            if cut {
                let (have, id) = (chunk.range.end.saturating_sub(chunk.range.start), chunk.member);
                let name = PagesName { cpu, sequence };
                // Records of perf are of any multiple of 8 bytes.
                let (unit, what, name) = match folder {
                    "perf" => (8, "records", names::records_name(name)),
                    _ => (page.size, "sub-buffers", names::pages_name(name)),
                };
                chunk.coding = Coding::ZstdPrefix { unit };
                let locus = Locus {
                    member: id,
                    stream: cpu,
                    offset: chunk.range.start,
                };
                self.problems.push(Problem {
                    error: Some(FormatError::new(FormatErrorKind::Truncated, "bundle member", locus)),
                    message: format!(
                        "{name}: cut after {have} bytes; the whole {what} before the cut are read, what CPU {cpu} recorded after them is lost"
                    ),
                    member: name,
                });
            }
            chunks.push(chunk);
        }
        chunks
    }
}
