//! The items of one ring buffer, a few at a time: a sub-buffer of it, or all of it where they are perf's and to be sorted.
//! What the analysis does not decode (`ingest::allowed`) is not decoded here either, so a small file cannot take the machine's
//! memory, and both tell the same loss.

use std::borrow::Cow;

use netmortem_formats::{Capture, Locus, Stream, StreamItem};

/// One item of a stream, with the time it is at.
#[derive(Debug, Clone, Copy)]
pub struct Item {
    /// On the recorded clock.
    pub ts: u64,
    /// What.
    pub what: What,
}

/// What an item is.
#[derive(Debug, Clone, Copy)]
pub enum What {
    /// A record, whose payload lies there.
    Record {
        /// Number of its chunk in the stream.
        chunk: u32,
        /// Bytes from the begin of the decoded chunk.
        offset: u32,
        /// Bytes.
        len: u32,
    },
    /// Events lost, when it is known how many.
    Lost(Option<u64>),
}

/// A ring buffer that is being read.
pub struct Source<'c> {
    capture: &'c Capture,
    stream: &'c Stream,
    /// The next chunk, and the first that may not be decoded.
    next: usize,
    allowed: usize,
    /// Decoded chunks: one, or all where the items are sorted; without bytes where that failed.
    blocks: Vec<Cow<'c, [u8]>>,
    /// Bytes of the last block that were read.
    read: usize,
    /// Items that are at hand, the next one last.
    items: Vec<Item>,
    /// A loss is behind all that came before it.
    latest: u64,
    /// Chunks and records that could not be decoded.
    errors: u64,
}

impl<'c> Source<'c> {
    /// Of a stream of which so many chunks may be decoded.
    pub fn new(capture: &'c Capture, stream: &'c Stream, allowed: usize) -> Source<'c> {
        Source {
            capture,
            stream,
            next: 0,
            allowed,
            blocks: vec![],
            read: 0,
            items: vec![],
            latest: 0,
            errors: 0,
        }
    }

    /// Chunks and records so far that could not be decoded.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// Time of the next item.
    pub fn peek(&mut self) -> Option<u64> {
        while self.items.is_empty() {
            let more = match self.stream.perf {
                Some(_) => self.sorted(),
                None => self.sub_buffer() || self.chunk(),
            };
            if !more {
                return None;
            }
            self.items.reverse();
        }
        self.items.last().map(|i| i.ts)
    }

    /// The next item. What cannot be decoded is a loss of unknown size, where it is.
    pub fn pop(&mut self) -> Option<What> {
        self.peek()?;
        self.items.pop().map(|i| i.what)
    }

    /// A record's bytes, until the next item is asked for.
    pub fn payload(&self, chunk: u32, offset: u32, len: u32) -> &[u8] {
        let first = self.next.saturating_sub(self.blocks.len());
        let at = (chunk as usize).checked_sub(first);
        let block = at.and_then(|at| self.blocks.get(at)).map_or(&[][..], |b| b);
        let from = offset as usize;
        block.get(from..from.saturating_add(len as usize)).unwrap_or_default()
    }

    /// Decodes the next chunk; false behind the last.
    fn chunk(&mut self) -> bool {
        let Some(chunk) = self.stream.chunks.get(self.next) else {
            return false;
        };
        let may = self.next < self.allowed;
        self.next += 1;
        if self.stream.perf.is_none() {
            // Given back before the next one is taken.
            self.blocks.clear();
        }
        self.read = 0;
        match may.then(|| self.capture.chunk_bytes(chunk)) {
            Some(Ok(bytes)) => self.blocks.push(bytes),
            None | Some(Err(_)) => {
                self.blocks.push(Cow::Borrowed(&[]));
                self.errors += 1;
                let what = What::Lost(None);
                self.items.push(Item { ts: self.latest, what });
            }
        }
        true
    }

    /// Reads the next sub-buffer of the chunk; false at its end.
    fn sub_buffer(&mut self) -> bool {
        let size = match self.stream.page.size as usize {
            0 => usize::MAX,
            n => n,
        };
        let len = self.blocks.last().map_or(0, |b| b.len());
        if self.read >= len {
            return false;
        }
        let to = self.read.saturating_add(size).min(len);
        self.items_of(self.read, to);
        self.read = to;
        true
    }

    /// All chunks, by time; false when that is done.
    fn sorted(&mut self) -> bool {
        if self.next > 0 {
            return false;
        }
        while self.chunk() {
            let len = self.blocks.last().map_or(0, |b| b.len());
            self.items_of(0, len);
        }
        self.items.sort_by_key(|i| i.ts);
        !self.items.is_empty()
    }

    /// Items of these bytes of the last block.
    fn items_of(&mut self, from: usize, to: usize) {
        let (items, latest, errors) = (&mut self.items, &mut self.latest, &mut self.errors);
        let chunk = self.next.saturating_sub(1) as u32;
        let bytes = self.blocks.last().and_then(|b| b.get(from..to)).unwrap_or_default();
        self.stream.for_each(bytes, Locus::default(), |item| {
            let what = match item {
                Ok(StreamItem::Record(r)) => {
                    *latest = (*latest).max(r.ts);
                    let what = What::Record {
                        chunk,
                        offset: (from as u32).saturating_add(r.offset),
                        len: r.payload.len() as u32,
                    };
                    items.push(Item { ts: r.ts, what });
                    return;
                }
                Ok(StreamItem::Lost(l)) => What::Lost(l.count),
                Err(_) => {
                    *errors += 1;
                    What::Lost(None)
                }
            };
            items.push(Item { ts: *latest, what });
        });
    }
}
