//! Events that a row was made from, told from others of the same nanosecond by what the row knows: names, thread, CPU, socket.
//!
//! A row keeps times, not positions in the trace. A pin that no event fits says so in a note: nothing is put in its place.

use super::Explainer;
use super::fields::Value;
use crate::ingest::Rec;

/// Fields of events that hold the address of a socket.
const SOCKETS: [&str; 2] = ["sk", "skaddr"];

/// What is looked for.
#[derive(Debug, Clone, Copy)]
pub struct Pin {
    /// What it tells of the row, as the subject of a sentence.
    pub what: &'static str,
    /// When it fired.
    pub at: i64,
    /// Names that it may have; one that ends in `*` is the begin of names.
    pub names: &'static [&'static str],
    /// In whose call; `None`: not known, or in none.
    pub pid: Option<i32>,
    /// On which CPU.
    pub cpu: Option<u16>,
    /// Of which socket, where the event names one.
    pub sk: Option<u64>,
}

impl Pin {
    /// By time and name alone.
    pub fn new(what: &'static str, at: i64, names: &'static [&'static str]) -> Pin {
        Pin {
            what,
            at,
            names,
            pid: None,
            cpu: None,
            sk: None,
        }
    }
    /// In a call of a thread; 0: not known.
    pub fn by(self, pid: i32) -> Pin {
        Pin {
            pid: (pid != 0).then_some(pid),
            ..self
        }
    }
    /// On a CPU.
    pub fn on(self, cpu: u16) -> Pin {
        Pin { cpu: Some(cpu), ..self }
    }
    /// Of a socket.
    pub fn of(self, sk: Option<u64>) -> Pin {
        Pin { sk, ..self }
    }
    /// The note where no event fits.
    pub fn not_found(&self) -> String {
        format!(
            "no event at {} ns tells {} by itself: the row has it from others",
            self.at, self.what
        )
    }
}

fn named(name: &str, names: &[&str]) -> bool {
    names.iter().any(|n| match n.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => *n == name,
    })
}

impl Explainer<'_> {
    /// Whether a record is the event that is looked for.
    pub(super) fn fits(&self, p: &Pin, i: u32, r: &Rec) -> bool {
        let name = || self.trace.schema.by_id(r.kind).map_or("", |f| f.name.as_str());
        let mine = |pid: i32| {
            self.trace
                .event(i as usize)
                .is_some_and(|e| e.pid == pid && e.in_task())
        };
        p.at == r.ts
            && p.cpu.is_none_or(|cpu| cpu == r.cpu)
            && named(name(), p.names)
            && p.pid.is_none_or(mine)
            && p.sk.is_none_or(|sk| self.socket(r).is_none_or(|of| of == sk))
    }

    /// The socket that a record names.
    pub(super) fn socket(&self, r: &Rec) -> Option<u64> {
        self.number(r, &SOCKETS)
    }

    /// The first field of these names that holds a number.
    pub(super) fn number(&self, r: &Rec, names: &[&str]) -> Option<u64> {
        let (_, readers) = self.readers.get(&r.kind)?;
        let field = readers.iter().find(|f| names.contains(&f.name.as_str()))?;
        match field.value(self.trace.payload(r)) {
            Value::Pointer(v) | Value::Unsigned(v, _) => Some(v),
            Value::Signed(v, _) => u64::try_from(v).ok(),
            _ => None,
        }
    }

    /// Place of the first record that fits.
    pub(super) fn find(&self, p: &Pin) -> Option<u32> {
        let mut all = self.trace.recs.iter().enumerate();
        let found = all.find(|(i, r)| self.fits(p, *i as u32, r));
        found.map(|(i, _)| i as u32)
    }
}
