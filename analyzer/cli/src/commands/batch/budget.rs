//! How many recordings may be in memory at once.

use std::sync::{Condvar, Mutex};

use netmortem_analyzer::fit;

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
    match head.get(..8) {
        Some(b"PERFILE2" | b"2ELIFREP") => fit::BASE.saturating_add(file_bytes.saturating_mul(PERF_RATIO)),
        _ => 0,
    }
}
