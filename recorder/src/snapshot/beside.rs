//! What is read every second beside the counters of `second`, as long as it is cheap: statistics of network cards, qdiscs and classes, sockets with
//! their tcp_info, and the counters of other network namespaces.
//!
//! In: what the snapshots read. Out: sections of a reading: what changed since the last of its kind, and `readings`, which says what was read at all
//! (docs/bundle.md, "Seconds"). It must not cost: each kind rests after it was read, for so long that its share of a CPU, and of the bundle, stays small.
//! A flight gets each reading whole, and packed: what changed is told when a bundle is written (`flight/telling.rs`).
//!
//! ```text
//! second 1: nics 1               all of it        (took 3 ms: rests for 600 ms)
//! second 2: nics 2 after 1       what changed
//! second 3: -                    a reading that was slow is rested from; what is left out is counted
//! second 4: nics 3 after 2       what changed since number 2
//! ```

use std::collections::HashMap;
use std::fmt::Write;
use std::io;
use std::time::{Duration, Instant};

use netmortem_formats::bundle::{ReadingEnd, Second};

use super::netlink::Dumped;
use super::netns::{self, Netns};
use super::owners::Owners;
use super::told::Told;
use super::{MAX_NETNS, PATIENCE, links, nics, proc, qdisc, sockets};

/// A kind takes one part in so many of a CPU at most, by the time that it took (waiting for a busy CPU included).
const SHARE: u32 = 200;
/// And so many bytes each second of what changed, before compression.
const BYTES_PER_S: u64 = 256 << 10;
/// More sockets than these are not read every second: a whole list of them (some 1.1 kB each) would be longer than a text may be.
const MOST_SOCKETS: usize = 2_500;
/// The longest text.
const MOST_BYTES: usize = 3 << 20;
/// Where there are more, they are counted again after this.
const TOO_MANY: Duration = Duration::from_secs(60);
/// How often all processes are asked for their network namespaces.
const LISTED: Duration = Duration::from_secs(60);
/// All is told again at every so many readings of a kind: what a damaged member held is then known again.
pub const WHOLE: u64 = 64;
/// Fewer than so many left out are not worth a sentence.
const FEW: u64 = 10;

/// A kind of reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Statistics of network cards.
    Nics,
    /// Qdiscs of other namespaces, classes of all.
    Qdiscs,
    /// TCP and UDP.
    Sockets,
    /// Files of /proc/net of other namespaces.
    Counters,
}

impl Kind {
    /// As `readings` calls it.
    pub fn what(self) -> &'static str {
        match self {
            Kind::Nics => "nics",
            Kind::Qdiscs => "qdiscs",
            Kind::Sockets => "sockets",
            Kind::Counters => "counters",
        }
    }
}

/// All of them, in the order in which they are read.
pub const KINDS: [Kind; 4] = [Kind::Nics, Kind::Qdiscs, Kind::Sockets, Kind::Counters];

/// How a kind fared in a reading that is kept whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fared {
    /// Which.
    pub kind: Kind,
    /// With what.
    pub outcome: Outcome,
    /// How long it took.
    pub took: Duration,
    /// There was more than is read.
    pub many: bool,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It rested.
    Rested,
    /// It was not whole, or too long.
    Failed,
    /// Its texts, packed.
    Read(Vec<u8>),
}

/// How a kind fares.
#[derive(Debug)]
struct Reader {
    kind: Kind,
    due: Instant,
    /// Number of the last one in the bundle that the next can build upon.
    last: Option<u64>,
    told: ReadingEnd,
    /// Times that there was more than is read.
    many: u64,
}

impl Reader {
    /// After a reading that began at `began`, took `took` and has so many bytes.
    fn rest(&mut self, began: Instant, took: Duration, bytes: u64) {
        let by_bytes = Duration::from_millis(bytes.saturating_mul(1000) / BYTES_PER_S);
        self.due = began + took.saturating_mul(SHARE).max(by_bytes);
        self.told.longest_ns = self
            .told
            .longest_ns
            .max(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }
}

/// All kinds, and what they said last.
#[derive(Debug)]
pub struct Beside {
    readers: Vec<Reader>,
    spaces: Vec<Netns>,
    listed: Option<Instant>,
    /// How often namespaces could not be entered, one after the other.
    refused: HashMap<u64, u32>,
    told: Told,
}

/// Texts of a reading.
pub type Texts = Vec<(String, String)>;

impl Beside {
    /// Nothing read yet.
    pub fn new() -> Beside {
        let reader = |kind: Kind| Reader {
            kind,
            due: Instant::now(),
            last: None,
            many: 0,
            told: ReadingEnd {
                what: kind.what().to_owned(),
                ..ReadingEnd::default()
            },
        };
        Beside {
            readers: KINDS.map(reader).into(),
            spaces: vec![],
            listed: None,
            refused: HashMap::new(),
            told: Told::default(),
        }
    }

    /// Adds what is due to a reading.
    pub fn take(&mut self, second: &mut Second) {
        let mut readings = String::new();
        let mut readers = std::mem::take(&mut self.readers);
        for r in &mut readers {
            let began = Instant::now();
            if began < r.due {
                r.told.skipped += 1;
                continue;
            }
            self.list(began);
            if r.told.read.is_multiple_of(WHOLE) {
                self.told.forget(r.kind);
            }
            let whole = self.told.is_new(r.kind);
            let (texts, failed, many) = self.read(r.kind, began);
            let texts = self.told.changed(r.kind, texts);
            let took = began.elapsed();
            let bytes: usize = texts.iter().map(|(_, t)| t.len()).sum();
            r.rest(began, took, if whole { 0 } else { bytes as u64 });
            let too_long = texts.iter().any(|(_, t)| t.len() > MOST_BYTES);
            if too_long || many {
                r.due = began + TOO_MANY;
                r.many += 1;
            }
            if failed || too_long {
                // What is not told now is not known: the next builds upon nothing, and is whole.
                r.told.failed += 1;
                (r.last, self.listed) = (None, None);
                self.told.forget(r.kind);
                continue;
            }
            r.told.read += 1;
            _ = write!(readings, "{} {}", r.told.what, r.told.read);
            if let Some(last) = r.last {
                _ = write!(readings, " after {last}");
            }
            readings.push('\n');
            r.last = Some(r.told.read);
            let texts = texts.into_iter().filter(|(_, t)| !t.is_empty());
            second.texts.extend(texts.map(|(what, t)| (what, t.into_bytes())));
        }
        self.readers = readers;
        if !readings.is_empty() {
            second.texts.push(("readings".to_owned(), readings.into_bytes()));
        }
    }

    /// What is due, whole, as `pack` makes it of its texts.
    pub fn whole(&mut self, pack: &mut dyn FnMut(Texts) -> io::Result<Vec<u8>>) -> Vec<Fared> {
        let mut readers = std::mem::take(&mut self.readers);
        let all = readers.iter_mut().map(|r| self.whole_of(r, pack)).collect();
        self.readers = readers;
        all
    }

    fn whole_of(&mut self, r: &mut Reader, pack: &mut dyn FnMut(Texts) -> io::Result<Vec<u8>>) -> Fared {
        let began = Instant::now();
        let mut fared = Fared {
            kind: r.kind,
            outcome: Outcome::Rested,
            took: Duration::ZERO,
            many: false,
        };
        if began < r.due {
            return fared;
        }
        self.list(began);
        let (texts, failed, many) = self.read(r.kind, began);
        let too_long = texts.iter().any(|(_, t)| t.len() > MOST_BYTES);
        fared.many = many || too_long;
        let packed = match failed || too_long {
            true => None,
            false => pack(texts).ok(),
        };
        // To pack it is part of what it costs.
        fared.took = began.elapsed();
        r.rest(began, fared.took, 0);
        if fared.many {
            r.due = began + TOO_MANY;
        }
        fared.outcome = match packed {
            Some(packed) => Outcome::Read(packed),
            None => {
                self.listed = None;
                Outcome::Failed
            }
        };
        fared
    }

    /// The last reading is not in the bundle: what it told is not known there.
    pub fn lost(&mut self) {
        self.told = Told::default();
        for r in &mut self.readers {
            r.last = None;
        }
    }

    /// What was read, and what was left out.
    pub fn end(&self) -> Vec<ReadingEnd> {
        self.readers.iter().map(|r| r.told.clone()).collect()
    }

    /// What a person should know about it.
    pub fn sentences(&self) -> Vec<String> {
        let all: Vec<_> = self.readers.iter().map(|r| (&r.told, r.many > 0)).collect();
        sentences(&all)
    }

    fn list(&mut self, now: Instant) {
        if self.listed.is_none_or(|at| now.duration_since(at) >= LISTED) {
            self.listed = Some(now);
            self.spaces = netns::list();
            // What is refused again is not asked for again.
            self.spaces
                .retain(|s| self.refused.get(&s.inode).is_none_or(|n| *n < 2));
            self.spaces.truncate(MAX_NETNS);
        }
    }

    /// Reads a kind in all namespaces; whether that failed in one, and whether there was more than is read.
    fn read(&mut self, kind: Kind, began: Instant) -> (Texts, bool, bool) {
        let mut all = (String::new(), String::new());
        let mut files = vec![];
        let mut room = MOST_SOCKETS;
        let mut failed = false;
        for space in &self.spaces {
            match space.inside(|| visit(kind, space, &mut room, &mut all, &mut files)) {
                Ok(done) => {
                    failed |= done.is_err();
                    self.refused.remove(&space.inode);
                }
                // It is gone, or the process by which it was found is.
                Err(_) => {
                    failed = true;
                    *self.refused.entry(space.inode).or_default() += 1;
                }
            }
            if room == 0 || began.elapsed() > PATIENCE {
                failed = true;
                break;
            }
        }
        let (first, second) = all;
        let texts = match kind {
            Kind::Nics => vec![("nics".to_owned(), first)],
            Kind::Sockets => vec![("sockets".to_owned(), first)],
            Kind::Qdiscs => vec![("qdiscs".to_owned(), first), ("classes".to_owned(), second)],
            Kind::Counters => files,
        };
        (texts, failed, room == 0)
    }
}

/// Of kinds that were left out more often than read, and why: what was read of each, and whether there was more than is read.
pub fn sentences(all: &[(&ReadingEnd, bool)]) -> Vec<String> {
    let seldom = |r: &ReadingEnd| r.skipped + r.failed >= FEW.max(r.read + 1);
    let of = |many: bool| {
        let told = all.iter().filter(|(r, m)| seldom(r) && *m == many);
        told.map(|(t, _)| {
            let ms = t.longest_ns as f64 / 1e6;
            format!(
                "{} (read {} times, left out {}, failed {}; the longest took {ms:.1} ms)",
                t.what, t.read, t.skipped, t.failed
            )
        })
        .collect::<Vec<_>>()
    };
    let said = |kinds: Vec<String>, why: String| {
        (!kinds.is_empty()).then(|| {
            format!(
                "readings of every second: {why}, these were made seldom: {}",
                kinds.join(", ")
            )
        })
    };
    let dear = format!("to cost less than {:.1} % of a CPU each", 100.0 / f64::from(SHARE));
    let much = format!(
        "as there were more than {MOST_SOCKETS} sockets, or {} MiB of text",
        MOST_BYTES >> 20
    );
    said(of(false), dear).into_iter().chain(said(of(true), much)).collect()
}

/// Inside a namespace.
fn visit(kind: Kind, space: &Netns, room: &mut usize, out: &mut (String, String), files: &mut Texts) -> io::Result<()> {
    let netns = space.inode;
    match kind {
        Kind::Nics => {
            let (done, all) = links::links(netns, &mut String::new())?;
            nics::nics(netns, &all, false, &mut out.0)?;
            settled(done)
        }
        Kind::Qdiscs => {
            let mut own = String::new();
            // Those of the recorder's own are in every reading already, whole.
            let qdiscs = if space.own { &mut own } else { &mut out.0 };
            let (done, with_qdisc) = qdisc::qdiscs(netns, qdiscs)?;
            settled(done)?;
            settled(qdisc::classes(netns, &with_qdisc, &mut out.1)?)
        }
        Kind::Sockets => {
            let owners = Owners::default();
            let done = sockets::sockets(netns, &owners, room, &mut out.0)?;
            settled(Dumped { changed: false, ..done })
        }
        Kind::Counters if space.own => Ok(()),
        Kind::Counters => {
            let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
            files.extend(proc::of_namespace(netns).into_iter().map(|(what, t)| (what, text(t))));
            Ok(())
        }
    }
}

/// A list that changed while it was read, or was cut, says nothing of what it lacks.
fn settled(done: Dumped) -> io::Result<()> {
    match done.changed || done.cut {
        true => Err(io::ErrorKind::Interrupted.into()),
        false => Ok(()),
    }
}
