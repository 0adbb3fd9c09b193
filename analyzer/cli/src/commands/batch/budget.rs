//! How many recordings may be in memory at once.

use std::sync::{Condvar, Mutex};

use netmortem_formats::{Capture, Coding};

/// Peak memory of an analysis with its report and Parquet files, in decoded ring-buffer bytes: measured 4.1 to 5.2, see docs/scale.md.
const PER_RING_BYTE: u64 = 6;
/// What any analysis needs.
const BASE: u64 = 48 << 20;
/// zstd makes ring buffers this much smaller, where a chunk does not say its size.
const UNTOLD_RATIO: u64 = 16;

/// Ring-buffer bytes of a compressed perf.data, in bytes of its file: opening it decompresses it.
const PERF_RATIO: u64 = 16;

/// Bytes that recordings at work may need together.
pub struct Budget {
    whole: u64,
    used: Mutex<u64>,
    freed: Condvar,
}

/// A share of the budget; given back when dropped.
pub struct Share<'b> {
    budget: &'b Budget,
    bytes: u64,
}

impl Budget {
    pub fn new(whole: u64) -> Budget {
        Budget {
            whole,
            used: Mutex::new(0),
            freed: Condvar::new(),
        }
    }
    /// Waits until `bytes` are free. `None`: there will never be so many.
    pub fn take(&self, bytes: u64) -> Option<Share<'_>> {
        if bytes > self.whole {
            return None;
        }
        let mut used = self.used.lock().ok()?;
        while used.saturating_add(bytes) > self.whole {
            used = self.freed.wait(used).ok()?;
        }
        *used = used.saturating_add(bytes);
        Some(Share { budget: self, bytes })
    }
    /// All of it.
    pub fn whole(&self) -> u64 {
        self.whole
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        if let Ok(mut used) = self.budget.used.lock() {
            *used = used.saturating_sub(self.bytes);
        }
        self.budget.freed.notify_all();
    }
}

impl Share<'_> {
    /// Gives back what is above `bytes`. False: it is less than that, and nothing was given back.
    pub fn shrink(&mut self, bytes: u64) -> bool {
        let Some(spare) = self.bytes.checked_sub(bytes) else {
            return false;
        };
        if let Ok(mut used) = self.budget.used.lock() {
            *used = used.saturating_sub(spare);
        }
        self.bytes = bytes;
        self.budget.freed.notify_all();
        true
    }
}

/// What opening a file alone may take, bytes, by its first ones. A bundle or a trace.dat is mapped; a perf.data may be
/// compressed, and is decompressed when it is opened.
pub fn to_open(head: &[u8], file_bytes: u64) -> u64 {
    match head {
        b"PERFILE2" | b"2ELIFREP" => BASE.saturating_add(file_bytes.saturating_mul(PERF_RATIO)),
        _ => 0,
    }
}

/// Memory that the analysis of a capture needs, bytes.
pub fn estimate(capture: &Capture) -> u64 {
    let chunks = capture.streams.iter().flat_map(|s| &s.chunks);
    let decoded = chunks.map(|c| {
        let coded = c.range.end.saturating_sub(c.range.start);
        match c.coding {
            Coding::Stored => coded,
            // What a chunk claims may be anything, but no frame grows more than this without being refused.
            Coding::Zlib { size: Some(n) } | Coding::Zstd { size: Some(n) } => n.min(coded.saturating_mul(1024)),
            _ => coded.saturating_mul(UNTOLD_RATIO),
        }
    });
    let decoded = decoded.fold(0, u64::saturating_add);
    BASE.saturating_add(decoded.saturating_mul(PER_RING_BYTE))
}

/// A size as 500M or 2G.
pub fn size(s: &str) -> Result<u64, String> {
    let (digits, shift) = match s.trim_end_matches(['i', 'B']).as_bytes() {
        [d @ .., b'K' | b'k'] => (d, 10),
        [d @ .., b'M' | b'm'] => (d, 20),
        [d @ .., b'G' | b'g'] => (d, 30),
        d => (d, 0),
    };
    let n = std::str::from_utf8(digits).ok().and_then(|d| d.parse::<u64>().ok());
    n.and_then(|n| n.checked_mul(1 << shift))
        .filter(|n| *n > 0)
        .ok_or_else(|| "give a size as 500M or 2G".to_owned())
}
