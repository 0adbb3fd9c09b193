//! Opens an INPUT, and says what to do when it cannot be opened.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use netmortem_analyzer::export::packets;
use netmortem_analyzer::fit;
use netmortem_analyzer::ingest::{Options, check};
use netmortem_analyzer::{Facts, analyze};
use netmortem_formats::join::{join, joined_packets};
use netmortem_formats::open::FORMATS;
use netmortem_formats::packed::{self, Packing};
use netmortem_formats::{Capture, FormatError, FormatErrorKind, open_within};

use crate::failure::{failure, usage};
use crate::memory;
use crate::output::{self, clean};
use crate::part::not_cut;
pub use crate::part::{Opened, Part, Unasked};
use crate::progress::Progress;

/// Opens `path` (`-` is standard input).
pub fn open(path: &Path) -> anyhow::Result<Capture> {
    open_in(path, None)
}

/// Opens `path`, and where it is compressed, in no more than so many bytes of memory (`None`: what is free).
pub fn open_in(path: &Path, memory: Option<u64>) -> anyhow::Result<Capture> {
    let shown = if path.as_os_str() == "-" {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    let most = memory.or_else(memory::free).unwrap_or(u64::MAX);
    let opened = open_within(path, most).map_err(|e| {
        let next = match e.kind() {
            ErrorKind::NotFound => "check the path; `netmortem record -o FILE` makes a recording",
            ErrorKind::PermissionDenied => {
                "a recording made as root belongs to root: sudo chown it, or read it with sudo"
            }
            ErrorKind::IsADirectory => {
                "name a file: a bundle (.nmb) or a trace.dat; all recordings of a folder: netmortem batch FOLDER -o OUT"
            }
            _ => "see whether the file can be read at all, for example with `cat FILE >/dev/null`",
        };
        failure(format!("cannot read {shown}: {e}"), next)
    })?;
    opened.map_err(|e| {
        if std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.len() == 0) {
            return failure(
                format!("{shown} is empty"),
                "copy it again; an empty file has nothing to read",
            );
        }
        let packing = packing(path);
        if e.kind == FormatErrorKind::UnknownFormat {
            let inside = packing.filter(|p| *p != Packing::Xz);
            let what = format!("{shown} is not a recording: {}", of_no_format(inside));
            let next = match packing {
                Some(Packing::Xz) => format!("it is compressed: {} | netmortem check -", unpacked(packing, path)),
                Some(_) => format!("see what is in it: {} | file -", unpacked(packing, path)),
                None => format!("see what it is: file {shown}"),
            };
            return failure(what, next);
        }
        if let Some(why) = too_large(&e) {
            let mut unpack = unpacked(packing, path);
            if e.what == packed::WINDOW {
                unpack = unpack.replacen("-dc", "-dc --long=31", 1);
            }
            return failure(
                format!("{shown} is not read: {why}"),
                format!("if it is a recording, unpack it: {unpack} >FILE"),
            );
        }
        let next = match e.kind {
            FormatErrorKind::Truncated => "the file is cut before anything can be read from it: copy it again",
            _ => "if another tool reads this file, its first kilobytes belong in a bug report",
        };
        let why = match e.what {
            packed::WHAT => "it is compressed, and cut or damaged before the first bytes of what is in it".to_owned(),
            _ => e.to_string(),
        };
        failure(format!("{shown} is not a recording that can be read: {why}"), next)
    })
}

/// Why a file whose bytes nobody knows is no recording; `inside` a compressed one.
pub fn of_no_format(inside: Option<Packing>) -> String {
    let known: Vec<&str> = FORMATS.iter().map(|f| f.name).collect();
    let whose = match inside {
        Some(p) => format!("the first bytes of what {} compressed in it", p.name()),
        None => "its first bytes".to_owned(),
    };
    format!("{whose} are of none of: {}", known.join(", "))
}

/// Why a compressed file is not unpacked.
pub fn too_large(e: &FormatError) -> Option<String> {
    if e.kind == FormatErrorKind::TooLarge && e.what == packed::WINDOW {
        return Some(format!(
            "it is compressed with a window of more than {} MiB (zstd --long), and to unpack it takes as much memory again: the limit is \
             half of what memory there is, 2 GiB at most",
            output::group_digits(e.need >> 20)
        ));
    }
    let over = e.kind == FormatErrorKind::TooLarge && e.what == packed::WHAT;
    over.then(|| {
        format!(
            "it is compressed, and unpacks to more than {} MiB: the limit is {} times its size, {} GiB, or what memory there is (--memory)",
            output::group_digits(e.need >> 20),
            packed::PER_BYTE,
            packed::MOST >> 30
        )
    })
}

/// How a file is compressed, by its first bytes; a ticket system may have packed it.
pub fn packing(path: &Path) -> Option<Packing> {
    let mut first = [0; 6];
    std::fs::File::open(path).ok()?.read_exact(&mut first).ok()?;
    packed::packing(&first)
}

/// The command that unpacks a file to standard output.
fn unpacked(packing: Option<Packing>, path: &Path) -> String {
    let program = packing.map_or("zstd", Packing::name);
    format!("{program} -dc {}", output::quoted(path))
}

/// That words stand in the wrong order: where the recording belongs is no file, and where something else belongs is one. `right`
/// writes the command with the file in its place.
pub fn in_order(input: &Path, others: &[&str], right: impl FnOnce(&str) -> String) -> anyhow::Result<()> {
    let is_input = |p: &Path| p.as_os_str() == "-" || p.exists();
    let file = others.iter().map(Path::new).find(|p| p.exists());
    match file.filter(|_| !is_input(input)) {
        None => Ok(()),
        Some(file) => Err(usage(
            format!(
                "{} is no file, and {} is one: the words are in the wrong order",
                input.display(),
                file.display()
            ),
            right(&output::quoted(file)),
        )),
    }
}

/// Opens several recordings of one time as one: a bundle, and packets or bundles of the same boot. Packets whose file does not
/// name their interface are given as `eth0=dump.pcap`.
pub fn open_all(paths: &[PathBuf], memory: Option<u64>) -> anyhow::Result<Capture> {
    let (all, more) = all_of(paths, memory)?;
    joined(all, more)
}

/// A part of several recordings of one time, as one; `checked`: whether the one with events can be analyzed.
pub fn open_part(
    paths: &[PathBuf],
    part: &Part,
    checked: impl Fn(Capture) -> anyhow::Result<Capture>,
) -> anyhow::Result<Opened> {
    let (all, mut more) = all_of(paths, part.memory)?;
    let all = checked(all)?;
    let rings = rings(more.iter().map(|(c, _)| c).chain([&all]));
    let Opened { capture, selected } = part.take(all, rings, Unasked::Said)?;
    if let Some(to) = &selected {
        // Bundles of the same boot have the same clock.
        for (of, _) in more.iter_mut().filter(|(c, _)| c.format == "bundle") {
            let cut = fit::cut(of, to);
            *of = cut.map_err(|e| not_cut(&of.source, &e.into(), part.time.is_some()))?;
        }
    }
    Ok(Opened {
        capture: joined(capture, more)?,
        selected,
    })
}

/// What all of them need beside what any analysis takes.
pub fn rings<'c>(of: impl Iterator<Item = &'c Capture>) -> u64 {
    let each = of.map(|c| fit::needed(c).saturating_sub(fit::BASE));
    each.fold(0, u64::saturating_add)
}

/// A capture, and the device that was given for it.
type Given = (Capture, Option<String>);

/// The recording with events, and the others.
fn all_of(paths: &[PathBuf], memory: Option<u64>) -> anyhow::Result<(Capture, Vec<Given>)> {
    let opened: anyhow::Result<Vec<Given>> = paths
        .iter()
        .map(|p| match device_of(p) {
            Some((device, file)) => Ok((open_in(&file, memory)?, Some(device))),
            None => Ok((open_in(p, memory)?, None)),
        })
        .collect();
    let mut opened = opened?;
    // The one with events first, wherever it stands.
    let events = opened.iter().position(|(c, _)| c.format == "bundle").unwrap_or(0);
    let (all, device) = opened.remove(events);
    if device.is_some() {
        return Err(usage(
            format!("{} is not packets beside a bundle", all.source),
            OF_ONE_TIME,
        ));
    }
    Ok((all, opened))
}

/// What to do about files that cannot be joined.
const OF_ONE_TIME: &str = "give one bundle, and packets (eth0=dump.pcap) or bundles of the same host and time";

fn joined(mut all: Capture, others: Vec<Given>) -> anyhow::Result<Capture> {
    for (more, device) in others {
        all = join(all, &more, device.as_deref()).map_err(|e| failure(e.to_string(), OF_ONE_TIME))?;
    }
    known_devices(&all)?;
    Ok(all)
}

/// Devices listed when none has the given name.
const LISTED: usize = 24;

/// That every device given for a file of packets is one of the recording's.
fn known_devices(all: &Capture) -> anyhow::Result<()> {
    let given: Vec<String> = joined_packets(all).into_iter().map(|j| j.device).collect();
    if given.iter().all(String::is_empty) {
        return Ok(());
    }
    let known = packets::devices(all);
    // A recording that names no device says nothing against one.
    let wrong = given.iter().find(|d| !d.is_empty() && !known.contains(*d));
    let Some(wrong) = wrong.filter(|_| !known.is_empty()) else {
        return Ok(());
    };
    let listed: Vec<String> = known.iter().take(LISTED).map(|d| clean(d).into_owned()).collect();
    let more = match known.len().saturating_sub(LISTED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    Err(usage(
        format!(
            "{} knows no device {}; its devices are: {}{more}",
            clean(&all.source),
            clean(wrong),
            listed.join(", ")
        ),
        "write the name of one of these before the =",
    ))
}

/// The files of inputs that may name a device.
pub fn file_of(path: &Path) -> PathBuf {
    device_of(path).map_or_else(|| path.to_owned(), |(_, file)| file)
}

/// `eth0=dump.pcap`, where that is not the name of a file.
fn device_of(path: &Path) -> Option<(String, PathBuf)> {
    let (device, file) = path.to_str()?.split_once('=')?;
    let named = !device.is_empty() && !device.contains('/') && !path.exists();
    named.then(|| (device.to_owned(), PathBuf::from(file)))
}

/// What to do about packets alone.
pub const PACKETS: &str = "`netmortem check` counts its packets; give the bundle of the same time, too";

/// That there are events of the kernel and not only packets.
pub fn with_events(capture: Capture) -> anyhow::Result<Capture> {
    not_packets_alone(capture, PACKETS)
}

/// As [`with_events`], and that the file is not cut before the first; `next` is what to do about packets alone.
pub fn with_an_event(capture: Capture, next: &str) -> anyhow::Result<Capture> {
    let capture = not_packets_alone(capture, next)?;
    if !capture.complete && check(&capture, &Options::default()).total_events == 0 {
        return Err(failure(
            format!(
                "{}: there is no event in it: the file is cut or damaged before its first",
                capture.source
            ),
            "copy it again; `netmortem check FILE` shows what is there",
        ));
    }
    Ok(capture)
}

fn not_packets_alone(capture: Capture, next: &str) -> anyhow::Result<Capture> {
    if ["pcap", "pcapng"].contains(&capture.format) {
        return Err(failure(
            format!(
                "{} has packets, and no event of the kernel: there is nothing to reconstruct",
                capture.source
            ),
            next,
        ));
    }
    Ok(capture)
}

/// Opens `path`, which must have events of the kernel and not only packets, or a part of it.
pub fn open_events(path: &Path, part: &Part) -> anyhow::Result<Opened> {
    let capture = with_events(open_in(path, part.memory)?)?;
    let all = rings([&capture].into_iter());
    part.take(capture, all, Unasked::Refused)
}

/// Opens `path` and analyzes it, with a progress bar.
pub fn facts(path: &Path, part: &Part) -> anyhow::Result<Facts> {
    Ok(open_events(path, part)?.facts())
}

/// Analyzes, with a progress bar.
pub fn facts_of(capture: &Capture) -> Facts {
    let progress = Progress::of_bytes(coded_bytes(capture));
    analyze(
        capture,
        &Options {
            progress: &|n| progress.add(n),
        },
    )
}

/// Coded bytes of all chunks: what a progress bar counts.
pub fn coded_bytes(capture: &Capture) -> u64 {
    let chunks = capture.streams.iter().flat_map(|s| &s.chunks);
    chunks
        .map(|c| c.range.end.saturating_sub(c.range.start))
        .fold(0, u64::saturating_add)
}
