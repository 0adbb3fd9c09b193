//! Builds sub-buffers byte by byte, in both byte orders and word sizes.

use crate::endian::Endian;
use crate::error::FormatError;
use crate::item::{Locus, StreamItem};
use crate::sub_buffer::{PageLayout, sub_buffers};

pub fn layout(endian: Endian, long: u32, size: u32) -> PageLayout {
    PageLayout {
        endian,
        timestamp_offset: 0,
        commit_offset: 8,
        commit_size: long,
        data_offset: 8 + long,
        size,
    }
}

/// All four shapes of kernel.
pub fn shapes() -> [PageLayout; 4] {
    [
        layout(Endian::Little, 8, 4096),
        layout(Endian::Little, 4, 4096),
        layout(Endian::Big, 8, 4096),
        layout(Endian::Big, 4, 4096),
    ]
}

pub struct Page {
    pub layout: PageLayout,
    pub timestamp: u64,
    pub flags: u32,
    pub data: Vec<u8>,
    /// Written behind the records.
    pub missed: Option<u64>,
    /// Commit word other than the length of `data`.
    pub commit: Option<u32>,
}

impl Page {
    pub fn new(layout: PageLayout, timestamp: u64) -> Page {
        Page {
            layout,
            timestamp,
            flags: 0,
            data: Vec::new(),
            missed: None,
            commit: None,
        }
    }
    pub fn u32(&mut self, v: u32) -> &mut Page {
        match self.layout.endian {
            Endian::Little => self.data.extend(v.to_le_bytes()),
            Endian::Big => self.data.extend(v.to_be_bytes()),
        }
        self
    }
    pub fn header(&mut self, type_len: u32, delta: u32) -> &mut Page {
        match self.layout.endian {
            Endian::Little => self.u32(delta << 5 | type_len),
            Endian::Big => self.u32(type_len << 27 | delta),
        }
    }
    /// A record with type_len 1..=28.
    pub fn short(&mut self, delta: u32, payload: &[u8]) -> &mut Page {
        assert!(payload.len().is_multiple_of(4) && (4..=112).contains(&payload.len()));
        self.header(payload.len() as u32 / 4, delta).data.extend(payload);
        self
    }
    /// A record with type_len 0, padded to 4.
    pub fn long(&mut self, delta: u32, payload: &[u8]) -> &mut Page {
        self.header(0, delta).u32(payload.len() as u32 + 4).data.extend(payload);
        self.data.resize(self.data.len().next_multiple_of(4), 0);
        self
    }
    /// Time extend (30) or absolute stamp (31) of `value`.
    pub fn time(&mut self, type_len: u32, value: u64) -> &mut Page {
        self.header(type_len, (value & ((1 << 27) - 1)) as u32)
            .u32((value >> 27) as u32)
    }
    fn put_long(&self, out: &mut Vec<u8>, v: u64) {
        match (self.layout.endian, self.layout.commit_size) {
            (Endian::Little, 4) => out.extend((v as u32).to_le_bytes()),
            (Endian::Big, 4) => out.extend((v as u32).to_be_bytes()),
            (Endian::Little, _) => out.extend(v.to_le_bytes()),
            (Endian::Big, _) => out.extend(v.to_be_bytes()),
        }
    }
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self.layout.endian {
            Endian::Little => out.extend(self.timestamp.to_le_bytes()),
            Endian::Big => out.extend(self.timestamp.to_be_bytes()),
        }
        // The kernel's constant is an int: bit 31 fills the upper half of a 64-bit long with ones.
        let word = self.commit.unwrap_or(self.data.len() as u32) | self.flags;
        self.put_long(&mut out, word as i32 as i64 as u64);
        out.extend(&self.data);
        if let Some(missed) = self.missed {
            self.put_long(&mut out, missed);
        }
        assert!(out.len() <= self.layout.size as usize);
        // Stale bytes, not zeroes: nothing behind the commit may be read.
        out.resize(self.layout.size as usize, 0x21);
        out
    }
}

/// Item as something easy to write down: (ts, payload) or a loss.
#[derive(Debug, PartialEq, Eq, Clone)]
pub enum Seen {
    Rec(u64, Vec<u8>),
    Lost(Option<u64>),
    Err(FormatError),
}

/// All items of a chunk; checks that every record's offset is where its payload is.
pub fn all(layout: PageLayout, chunk: &[u8]) -> Vec<Seen> {
    let locus = Locus {
        offset: 1000,
        stream: 3,
        ..Locus::default()
    };
    let mut out = Vec::new();
    for sub in sub_buffers(layout, chunk, locus) {
        let sub = match sub {
            Ok(s) => s,
            Err(e) => {
                out.push(Seen::Err(e));
                continue;
            }
        };
        let mut records = sub.records(layout, locus);
        for item in records.by_ref() {
            out.push(match item {
                Ok(StreamItem::Record(r)) => {
                    assert_eq!(
                        &chunk[r.offset as usize..][..r.payload.len()],
                        r.payload,
                        "offset of a payload"
                    );
                    Seen::Rec(r.ts, r.payload.to_vec())
                }
                Ok(StreamItem::Lost(l)) => {
                    assert_eq!(l.offset, sub.offset);
                    Seen::Lost(l.count)
                }
                Err(e) => Seen::Err(e),
            });
        }
        assert!(records.next().is_none() && records.next().is_none(), "fused");
    }
    out
}
