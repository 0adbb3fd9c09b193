//! Records to sub-buffers: the writing half of `formats::sub_buffer`. Only what is given is written, so what a kernel left
//! behind in unused parts of its pages is not. What was recorded otherwise (perf) becomes sub-buffers of a layout of ours.

use netmortem_formats::Endian;
use netmortem_formats::sub_buffer::PageLayout;

const TIME_DELTA_BITS: u32 = 27;
const PADDED_TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
const SHORT_WORDS: usize = 28;
const MISSED_EVENTS: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;

/// Bytes of a sub-buffer of what was recorded otherwise.
const PAGE: u32 = 4096;

/// Sub-buffers of a 64-bit kernel with pages of 4096 bytes.
pub fn layout(endian: Endian) -> PageLayout {
    PageLayout {
        endian,
        timestamp_offset: 0,
        commit_offset: 8,
        commit_size: 8,
        data_offset: 16,
        size: PAGE,
    }
}

/// What tracefs says of them.
pub fn header_page() -> String {
    let data = PAGE - 16;
    format!(
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:{data};\tsigned:1;\n"
    )
}

/// Builds sub-buffers of one CPU.
pub struct PageWriter {
    layout: PageLayout,
    done: Vec<u8>,
    data: Vec<u8>,
    first: u64,
    clock: u64,
    /// A loss before the first record of the sub-buffer, and how many events.
    lost: Option<Option<u64>>,
}

impl PageWriter {
    /// Of a layout; `size` must hold a record.
    pub fn new(layout: PageLayout) -> PageWriter {
        PageWriter {
            layout,
            done: vec![],
            data: vec![],
            first: 0,
            clock: 0,
            lost: None,
        }
    }

    /// Events were lost after the last record.
    pub fn lost(&mut self, count: Option<u64>) {
        self.close();
        self.lost = Some(match self.lost {
            None => count,
            Some(before) => before.zip(count).map(|(a, b)| a.saturating_add(b)),
        });
    }

    /// A record; false when no sub-buffer can hold it.
    pub fn record(&mut self, ts: u64, payload: &[u8]) -> bool {
        let words = payload.len().div_ceil(4);
        let short = payload.len().is_multiple_of(4) && (1..=SHORT_WORDS).contains(&words);
        // Worst case: a time stamp, a header, a length.
        let need = words * 4 + 16;
        if need > self.room() {
            return false;
        }
        if self.data.len() + need > self.room() {
            self.close();
        }
        if self.data.is_empty() {
            (self.first, self.clock) = (ts, ts);
        }
        let mut delta = ts.wrapping_sub(self.clock);
        if ts < self.clock {
            self.time(TIME_STAMP, ts & ((1 << 59) - 1));
            delta = 0;
        } else if delta >> TIME_DELTA_BITS != 0 {
            self.time(PADDED_TIME_EXTEND, delta);
            delta = 0;
        }
        self.clock = ts;
        if short {
            self.header(words as u32, delta as u32);
        } else {
            self.header(0, delta as u32);
            self.word(payload.len() as u32 + 4);
        }
        self.data.extend(payload);
        self.data.resize(self.data.len().next_multiple_of(4), 0);
        true
    }

    /// Bytes of whole sub-buffers so far.
    pub fn len(&self) -> usize {
        self.done.len()
    }

    /// The sub-buffers; the writer goes on.
    pub fn take(&mut self) -> Vec<u8> {
        self.close();
        std::mem::take(&mut self.done)
    }

    /// The same, and a loss that no record follows.
    pub fn finish(mut self) -> Vec<u8> {
        self.close();
        if self.lost.is_some() {
            self.page();
        }
        self.done
    }

    /// Bytes for records; the count of a loss needs a place behind them.
    fn room(&self) -> usize {
        (self.layout.size as usize).saturating_sub(self.layout.data_offset as usize + 8)
    }

    fn time(&mut self, kind: u32, value: u64) {
        self.header(kind, (value & ((1 << TIME_DELTA_BITS) - 1)) as u32);
        self.word((value >> TIME_DELTA_BITS) as u32);
    }

    fn header(&mut self, type_len: u32, delta: u32) {
        match self.layout.endian {
            Endian::Little => self.word(delta << 5 | type_len),
            Endian::Big => self.word(type_len << TIME_DELTA_BITS | delta),
        }
    }

    fn word(&mut self, v: u32) {
        match self.layout.endian {
            Endian::Little => self.data.extend(v.to_le_bytes()),
            Endian::Big => self.data.extend(v.to_be_bytes()),
        }
    }

    fn close(&mut self) {
        if !self.data.is_empty() {
            self.page();
        }
    }

    fn page(&mut self) {
        let l = self.layout;
        let mut page = vec![0u8; l.size as usize];
        let long = |v: u64, wide: usize| match (l.endian, wide) {
            (Endian::Little, 4) => (v as u32).to_le_bytes().to_vec(),
            (Endian::Big, 4) => (v as u32).to_be_bytes().to_vec(),
            (Endian::Little, _) => v.to_le_bytes().to_vec(),
            (Endian::Big, _) => v.to_be_bytes().to_vec(),
        };
        let mut put = |at: usize, bytes: &[u8]| {
            if let Some(to) = page.get_mut(at..at + bytes.len()) {
                to.copy_from_slice(bytes);
            }
        };
        let (wide, data) = (l.commit_size as usize, l.data_offset as usize);
        let mut commit = self.data.len() as u64;
        put(data, &self.data);
        match self.lost.take() {
            None => {}
            Some(None) => commit |= MISSED_EVENTS,
            Some(Some(n)) => {
                commit |= MISSED_EVENTS | MISSED_STORED;
                put(data + self.data.len(), &long(n, wide));
            }
        }
        put(l.timestamp_offset as usize, &long(self.first, 8));
        put(l.commit_offset as usize, &long(commit, wide));
        self.done.extend(page);
        self.data.clear();
    }
}
