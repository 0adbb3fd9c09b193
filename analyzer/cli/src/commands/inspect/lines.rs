//! The lines of one chunk: records, losses and errors, as text or as JSON.

use std::borrow::Cow;
use std::io::{self, Write};

use netmortem_analyzer::ingest::TraceClock;
use netmortem_formats::{Capture, Chunk, FormatError, Locus, Member, RawRecord, Stream, StreamItem};
use serde_json::json;

use super::Readers;
use crate::output::clean;

/// What is needed to print a chunk.
pub struct Lines<'l, 'c> {
    pub capture: &'l Capture,
    pub stream: &'l Stream,
    pub chunk: &'l Chunk,
    pub clock: &'l TraceClock,
    pub readers: &'l Readers<'c>,
    pub json: bool,
}

impl Lines<'_, '_> {
    /// Prints at most `left` records; returns how many are left to print.
    pub fn write(&self, mut left: u64, out: &mut dyn Write) -> io::Result<u64> {
        let locus = Locus {
            member: self.chunk.member,
            stream: self.stream.cpu,
            offset: 0,
        };
        let bytes = match self.capture.chunk_bytes(self.chunk) {
            Ok(b) => b,
            Err(e) => {
                self.error(&e, out)?;
                return Ok(left);
            }
        };
        for item in self.stream.items(&bytes, locus) {
            match item {
                Ok(StreamItem::Record(r)) => left -= u64::from(self.record(&r, out)?),
                Ok(StreamItem::Lost(l)) => {
                    let n = l
                        .count
                        .map_or(Cow::Borrowed("an unknown number of"), |n| n.to_string().into());
                    self.note("lost", &format!("{n} events"), l.offset.into(), out)?;
                }
                Err(e) => self.error(&e, out)?,
            }
            if left == 0 {
                return Ok(0);
            }
        }
        Ok(left)
    }

    /// Prints the record when it is asked for, and says whether it was.
    fn record(&self, r: &RawRecord<'_>, out: &mut dyn Write) -> io::Result<bool> {
        let id = self.stream.page.endian.u16(r.payload, 0).unwrap_or(0);
        let reader = self.readers.of(id);
        if reader.is_none() && !self.readers.all {
            return Ok(false);
        }
        let name = reader.map_or_else(|| format!("id:{id}"), |(f, _)| f.key());
        let fields = reader.iter().flat_map(|(_, fields)| fields);
        let (ts, cpu) = (self.clock.ns(r.ts), self.stream.cpu);
        if self.json {
            let fields: serde_json::Map<_, _> = fields.map(|f| (f.name.clone(), f.value(r.payload).json())).collect();
            let line = json!({
                "time_ns": ts, "raw_ts": r.ts, "cpu": cpu, "instance": self.stream.instance, "member": self.member_name(),
                "chunk_at": self.chunk.range.start, "offset": r.offset, "length": r.payload.len(),
                "event": name, "fields": fields,
            });
            writeln!(out, "{line}")?;
        } else {
            write!(out, "{ts} CPU {cpu} {}+{:#x} {}", self.place(), r.offset, clean(&name))?;
            for f in fields {
                write!(out, " {}={}", clean(&f.name), clean(&f.value(r.payload).to_string()))?;
            }
            writeln!(out)?;
        }
        Ok(true)
    }

    fn error(&self, e: &FormatError, out: &mut dyn Write) -> io::Result<()> {
        self.note("error", &e.to_string(), e.locus.offset, out)
    }

    fn note(&self, kind: &str, text: &str, offset: u64, out: &mut dyn Write) -> io::Result<()> {
        let cpu = self.stream.cpu;
        if self.json {
            let line = json!({
                "cpu": cpu, "instance": self.stream.instance, "member": self.member_name(),
                "chunk_at": self.chunk.range.start, "offset": offset, kind: text,
            });
            return writeln!(out, "{line}");
        }
        writeln!(out, "- CPU {cpu} {}+{offset:#x} {kind}: {}", self.place(), clean(text))
    }

    fn member(&self) -> Option<&Member> {
        self.capture.members.get(self.chunk.member.0 as usize)
    }

    fn member_name(&self) -> &str {
        self.member().map_or("", |m| m.name.as_str())
    }

    /// Member, and where the chunk begins in the file when the member holds more than this chunk.
    fn place(&self) -> String {
        let name = clean(self.member_name()).replace(' ', "_");
        match self.member() {
            Some(m) if m.range == self.chunk.range => name,
            _ => format!("{name}@{:#x}", self.chunk.range.start),
        }
    }
}
