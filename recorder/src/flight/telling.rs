//! Whole readings of a flight as a bundle tells them: the first of each kind whole, then what changed (docs/bundle.md, "Seconds").
//!
//! In: moments, the oldest first. Out: seconds of a bundle with `readings`, and what `end.json` says of them. It takes about as long as to read them took:
//! at most 0.5 % of the window for each kind.

use std::fmt::Write;
use std::time::Duration;

use netmortem_formats::bundle::{ReadingEnd, Second};

use super::history::{Beside, MOST_KEPT, Moment};
use super::pack::unpack;
use crate::snapshot::beside::{Fared, KINDS, Kind, Outcome, WHOLE, sentences};
use crate::snapshot::told::Told;

/// A kind in one bundle.
#[derive(Debug)]
struct Row {
    kind: Kind,
    end: ReadingEnd,
    many: bool,
}

/// The readings of one bundle.
#[derive(Debug)]
pub struct Telling {
    told: Told,
    rows: Vec<Row>,
    /// Moments whose reading did not come, and those for which there was no room.
    late: u64,
    gone: u64,
    all: u64,
}

impl Telling {
    /// None told yet.
    pub fn new() -> Telling {
        let row = |kind: Kind| Row {
            kind,
            end: ReadingEnd {
                what: kind.what().to_owned(),
                ..ReadingEnd::default()
            },
            many: false,
        };
        Telling {
            told: Told::default(),
            rows: KINDS.map(row).into(),
            late: 0,
            gone: 0,
            all: 0,
        }
    }

    /// The next moment as a second of the bundle.
    pub fn tell(&mut self, moment: &Moment) -> Second {
        let mut second = moment.second.clone();
        self.all += 1;
        let kinds = match &moment.beside {
            Beside::Here(kinds) => kinds.as_slice(),
            Beside::Waited => {
                self.late += 1;
                &[]
            }
            Beside::Gone => {
                self.gone += 1;
                &[]
            }
        };
        let mut readings = String::new();
        for row in &mut self.rows {
            match kinds.iter().find(|f| f.kind == row.kind) {
                Some(fared) => row.take(fared, &mut self.told, &mut second, &mut readings),
                None => row.end.skipped += 1,
            }
        }
        if !readings.is_empty() {
            second.texts.push(("readings".to_owned(), readings.into_bytes()));
        }
        second
    }

    /// What was read, and what was left out.
    pub fn end(&self) -> Vec<ReadingEnd> {
        self.rows.iter().map(|r| r.end.clone()).collect()
    }

    /// What a person should know about it.
    pub fn sentences(&self) -> Vec<String> {
        let all = self.all;
        let gone = (self.gone > 0).then(|| {
            format!(
                "readings of every second: of {} of {all} seconds, the oldest, they were left out, as a flight keeps no more than {} MiB of them \
                 (what is read beside the counters)",
                self.gone,
                MOST_KEPT >> 20
            )
        });
        let late = (self.late > 0).then(|| {
            format!(
                "readings of every second: {} of {all} have nothing beside the counters, because that did not come in time: a busy host, or \
                 something in the kernel holds a lock that it needs",
                self.late
            )
        });
        let rows: Vec<_> = self.rows.iter().map(|r| (&r.end, r.many)).collect();
        gone.into_iter().chain(late).chain(sentences(&rows)).collect()
    }
}

impl Row {
    fn take(&mut self, fared: &Fared, told: &mut Told, second: &mut Second, readings: &mut String) {
        self.many |= fared.many;
        let ns = |d: Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
        self.end.longest_ns = self.end.longest_ns.max(ns(fared.took));
        let texts = match &fared.outcome {
            Outcome::Rested => {
                self.end.skipped += 1;
                return;
            }
            Outcome::Failed => None,
            Outcome::Read(packed) => unpack(packed),
        };
        // The next builds upon the last that was whole.
        let Some(texts) = texts else {
            self.end.failed += 1;
            return;
        };
        let whole = self.end.read.is_multiple_of(WHOLE);
        if whole {
            told.forget(self.kind);
        }
        self.end.read += 1;
        let n = self.end.read;
        _ = match n {
            1 => writeln!(readings, "{} 1", fared.kind.what()),
            _ => writeln!(readings, "{} {n} after {}", fared.kind.what(), n - 1),
        };
        let changed = told
            .changed(self.kind, texts)
            .into_iter()
            .filter(|(_, t)| !t.is_empty());
        second.texts.extend(changed.map(|(what, t)| (what, t.into_bytes())));
    }
}
