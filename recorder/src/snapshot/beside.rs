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

use std::fmt::Write;
use std::io;
use std::time::{Duration, Instant};

use netmortem_formats::bundle::{ReadingEnd, Second};

use super::told::Told;
use super::visits::{Got, MOST_SOCKETS, Visits};

/// A kind takes one part in so many of a CPU at most, by the time that it took (waiting for a busy CPU included).
const SHARE: u32 = 200;
/// And so many bytes each second of what changed, before compression.
const BYTES_PER_S: u64 = 256 << 10;
/// The longest text.
const MOST_BYTES: usize = 3 << 20;
/// Where there are more, they are counted again after this.
const TOO_MANY: Duration = Duration::from_secs(60);
/// All is told again at every so many readings of a kind: what a damaged member held is then known again.
pub const WHOLE: u64 = 64;
/// Fewer than so many left out are not worth a sentence, where any was read.
const FEW: u64 = 3;

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

/// All of them, in the order in which they are told.
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
    visits: Visits,
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
            visits: Visits::default(),
            told: Told::default(),
        }
    }

    /// Adds what is due to a reading.
    pub fn take(&mut self, second: &mut Second) {
        let began = Instant::now();
        let mut readings = String::new();
        let mut due = self.read(began).into_iter();
        for r in &mut self.readers {
            if began < r.due {
                r.told.skipped += 1;
                continue;
            }
            let Some(mut got) = due.next() else { continue };
            if r.told.read.is_multiple_of(WHOLE) {
                self.told.forget(r.kind);
            }
            let whole = self.told.is_new(r.kind);
            let telling = Instant::now();
            let texts = self.told.changed(r.kind, got.texts());
            let bytes: usize = texts.iter().map(|(_, t)| t.len()).sum();
            r.rest(
                began,
                got.took + telling.elapsed(),
                if whole { 0 } else { bytes as u64 },
            );
            let too_long = texts.iter().any(|(_, t)| t.len() > MOST_BYTES);
            if too_long || got.many {
                r.due = began + TOO_MANY;
                r.many += 1;
            }
            if got.failed || too_long {
                // What is not told now is not known: the next builds upon nothing, and is whole.
                r.told.failed += 1;
                r.last = None;
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
        if !readings.is_empty() {
            second.texts.push(("readings".to_owned(), readings.into_bytes()));
        }
    }

    /// What is due, whole, as `pack` makes it of its texts.
    pub fn whole(&mut self, pack: &mut dyn FnMut(Texts) -> io::Result<Vec<u8>>) -> Vec<Fared> {
        let began = Instant::now();
        let mut due = self.read(began).into_iter();
        let mut all = vec![];
        for r in &mut self.readers {
            let got = if began < r.due { None } else { due.next() };
            let Some(mut got) = got else {
                all.push(Fared {
                    kind: r.kind,
                    outcome: Outcome::Rested,
                    took: Duration::ZERO,
                    many: false,
                });
                continue;
            };
            let packing = Instant::now();
            let texts = got.texts();
            let too_long = texts.iter().any(|(_, t)| t.len() > MOST_BYTES);
            let outcome = match got.failed || too_long {
                true => None,
                false => pack(texts).ok().map(Outcome::Read),
            };
            let (took, many) = (got.took + packing.elapsed(), got.many || too_long);
            r.rest(began, took, 0);
            if many {
                r.due = began + TOO_MANY;
            }
            all.push(Fared {
                kind: r.kind,
                outcome: outcome.unwrap_or(Outcome::Failed),
                took,
                many,
            });
        }
        all
    }

    /// Those that are due, in their order.
    fn read(&mut self, now: Instant) -> Vec<Got> {
        let due: Vec<Kind> = self.readers.iter().filter(|r| now >= r.due).map(|r| r.kind).collect();
        match due.is_empty() {
            true => vec![],
            false => self.visits.read(&due),
        }
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
}

/// Why a kind was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// It would have cost too much.
    Dear,
    /// There was more than is read.
    Many,
    /// What came was not whole.
    Part,
}

/// Of kinds that were never read, or left out more often than read, and why: what was read of each, and whether there was more than is read.
pub fn sentences(all: &[(&ReadingEnd, bool)]) -> Vec<String> {
    let seldom = |r: &ReadingEnd| match (r.read, r.skipped + r.failed) {
        (0, missed) => missed > 0,
        (read, missed) => missed >= FEW.max(read + 1),
    };
    let why = |(r, many): &(&ReadingEnd, bool)| match (many, r.failed > r.read) {
        (true, _) => Why::Many,
        (false, true) => Why::Part,
        (false, false) => Why::Dear,
    };
    let said = |because: Why, text: String| {
        let told = all.iter().filter(|r| seldom(r.0) && why(r) == because);
        let kinds: Vec<String> = told
            .map(|(t, _)| {
                let ms = t.longest_ns as f64 / 1e6;
                format!(
                    "{} (read {} times, left out {}, failed {}; the longest took {ms:.1} ms)",
                    t.what, t.read, t.skipped, t.failed
                )
            })
            .collect();
        (!kinds.is_empty()).then(|| {
            format!(
                "readings of every second: {text}, these were made seldom or never: {}",
                kinds.join(", ")
            )
        })
    };
    let dear = format!("to cost less than {:.1} % of a CPU each", 100.0 / f64::from(SHARE));
    let much = format!(
        "as there were more than {MOST_SOCKETS} sockets, or {} MiB of text",
        MOST_BYTES >> 20
    );
    let part =
        "as what came was not whole (a list that changed meanwhile, a namespace that could not be entered)".to_owned();
    [(Why::Dear, dear), (Why::Many, much), (Why::Part, part)]
        .into_iter()
        .filter_map(|(why, text)| said(why, text))
        .collect()
}
