//! Opens an INPUT, and says what to do when it cannot be opened.

use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use netmortem_analyzer::export::bundle::RewriteError;
use netmortem_analyzer::export::packets;
use netmortem_analyzer::fit::{self, FitError, Selected};
use netmortem_analyzer::ingest::{Options, check};
use netmortem_analyzer::{Facts, analyze};
use netmortem_formats::join::{join, joined_packets};
use netmortem_formats::open::FORMATS;
use netmortem_formats::packed::{self, Packing};
use netmortem_formats::{Capture, FormatError, FormatErrorKind, open_within};

use crate::failure::{failure, usage};
use crate::output::{self, clean};
use crate::progress::Progress;
use crate::{memory, times};

/// Which part of a recording is analyzed.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Part {
    /// Only this time, like 1s..3s, ..500ms or 2s.. since its first event
    #[arg(long, value_name = "FROM..TO", value_parser = times::part)]
    pub time: Option<times::Part>,
    /// Memory that the analysis may take; of a recording that needs more a part is analyzed, and it says which [default: what
    /// is free]
    #[arg(long, value_name = "SIZE", value_parser = memory::size)]
    pub memory: Option<u64>,
}

impl Part {
    /// Bytes.
    fn memory(&self) -> u64 {
        self.memory.or_else(memory::free).unwrap_or(u64::MAX)
    }

    /// Bytes of the memory for `share` in `of`.
    pub fn share(&self, (share, of): (u64, u64)) -> u64 {
        let part = u128::from(self.memory()) * u128::from(share) / u128::from(of.max(1));
        u64::try_from(part).unwrap_or(u64::MAX)
    }

    /// The part of a capture, of `share` in `of` of the memory.
    pub fn take(&self, capture: Capture, (share, of): (u64, u64)) -> anyhow::Result<Opened> {
        let memory = self.share((share, of));
        let source = capture.source.clone();
        let (capture, selected) =
            fit::fit(capture, self.time, memory).map_err(|e| not_cut(&source, &e, self.time.is_some()))?;
        if let Some(because) = selected.as_ref().and_then(|s| s.because.as_ref()) {
            // Nothing is left to do where that cannot be written.
            let _ = writeln!(std::io::stderr(), "netmortem: {}: {because}", clean(&source));
        }
        Ok(Opened { capture, selected })
    }
}

fn not_cut(source: &str, e: &FitError, asked: bool) -> anyhow::Error {
    let next = match (e, asked) {
        (FitError::Rewrite(RewriteError::Empty), _) => {
            "`netmortem check INPUT` prints how long it is; --time counts from its first event"
        }
        (FitError::TooLittle, _) => "--memory SIZE says how much there is",
        (_, true) => "leave out --time: a part cannot be taken of this one",
        (_, false) => {
            "it needs more memory than is free, and a part cannot be taken of it: --memory SIZE analyzes it all the same"
        }
    };
    failure(format!("{}: {e}", clean(source)), next)
}

/// A recording, or the part of it that is analyzed.
pub struct Opened {
    /// What is analyzed.
    pub capture: Capture,
    /// Which part, where it is not all.
    pub selected: Option<Selected>,
}

impl Opened {
    /// Analyzes, with a progress bar.
    pub fn facts(&self) -> Facts {
        let mut facts = facts_of(&self.capture);
        facts.capture.selected.clone_from(&self.selected);
        facts
    }
}

/// Opens `path` (`-` is standard input).
pub fn open(path: &Path) -> anyhow::Result<Capture> {
    let shown = if path.as_os_str() == "-" {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    let most = memory::free().unwrap_or(u64::MAX);
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
            return failure(
                format!("{shown} is not read: {why}"),
                format!("if it is a recording, unpack it: {} >FILE", unpacked(packing, path)),
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
    let over = e.kind == FormatErrorKind::TooLarge && e.what == packed::WHAT;
    over.then(|| {
        format!(
            "it is compressed, and unpacks to more than {} MiB: the limit is {} times its size, {} GiB, or what memory there is",
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
pub fn open_all(paths: &[PathBuf]) -> anyhow::Result<Capture> {
    let (all, more) = all_of(paths)?;
    joined(all, more)
}

/// A part of several recordings of one time, as one; `checked`: whether the one with events can be analyzed.
pub fn open_part(
    paths: &[PathBuf],
    part: &Part,
    checked: impl Fn(Capture) -> anyhow::Result<Capture>,
) -> anyhow::Result<Opened> {
    let (all, mut more) = all_of(paths)?;
    let all = checked(all)?;
    let own = fit::needed(&all);
    let others = more.iter().map(|(c, _)| fit::needed(c));
    let needed = others.fold(own, u64::saturating_add);
    let Opened { capture, selected } = part.take(all, (own, needed))?;
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

/// A capture, and the device that was given for it.
type Given = (Capture, Option<String>);

/// The recording with events, and the others.
fn all_of(paths: &[PathBuf]) -> anyhow::Result<(Capture, Vec<Given>)> {
    let opened: anyhow::Result<Vec<Given>> = paths
        .iter()
        .map(|p| match device_of(p) {
            Some((device, file)) => Ok((open(&file)?, Some(device))),
            None => Ok((open(p)?, None)),
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
    part.take(with_events(open(path)?)?, (1, 1))
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
