//! Leaves whole sub-buffers out that are older than the window. Only record headers are walked, for times and counts.

use netmortem_formats::sub_buffer::{PageLayout, sub_buffers};
use netmortem_formats::{Locus, StreamItem};

/// What of one CPU's ring is too old, and how much that was.
#[derive(Debug, Clone)]
pub struct Cut {
    layout: PageLayout,
    /// Clock of the ring: a sub-buffer whose last event is before this is left out.
    before: u64,
    /// A sub-buffer was kept: what follows is younger.
    kept: bool,
    /// Sub-buffers left out.
    pub sub_buffers: u64,
    /// Events in them.
    pub events: u64,
    /// Timestamp of the first event that was kept.
    pub first_ts: Option<u64>,
    /// The first event that was read is older than the window, or the ring never ran over: nothing of the window was
    /// overwritten. (What is overwritten is always the oldest.)
    pub starts_before: bool,
    seen: bool,
}

impl Cut {
    /// Leaves out what is before `before`, in the ring's clock; 0 leaves out nothing.
    pub fn new(layout: PageLayout, before: u64) -> Cut {
        Cut {
            layout,
            before,
            kept: false,
            sub_buffers: 0,
            events: 0,
            first_ts: None,
            starts_before: false,
            seen: false,
        }
    }

    /// Removes the front of `batch`, the next sub-buffers of the ring in their order.
    pub fn apply(&mut self, batch: &mut Vec<u8>) {
        let size = self.layout.size as usize;
        let mut gone = 0usize;
        let locus = Locus::default();
        for page in sub_buffers(self.layout, batch, locus) {
            if self.kept {
                break;
            }
            let (mut n, mut first, mut last) = (0u64, None, None);
            // What cannot be walked is kept: the analyzer says what is wrong with it.
            let whole = page.is_ok_and(|p| {
                p.records(self.layout, locus).all(|item| match item {
                    Ok(StreamItem::Record(r)) => {
                        n = n.saturating_add(1);
                        first = first.or(Some(r.ts));
                        last = Some(r.ts);
                        true
                    }
                    Ok(StreamItem::Lost(_)) => true,
                    Err(_) => false,
                })
            });
            if let Some(ts) = first.filter(|_| !self.seen) {
                self.seen = true;
                self.starts_before = ts <= self.before;
            }
            if whole && last.is_some_and(|ts| ts < self.before) {
                self.sub_buffers = self.sub_buffers.saturating_add(1);
                self.events = self.events.saturating_add(n);
                gone = gone.saturating_add(size);
            } else {
                self.kept = true;
                self.first_ts = first;
            }
        }
        batch.drain(..gone.min(batch.len()));
    }
}
