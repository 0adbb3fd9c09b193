//! Lines that wait for a reading: so many bytes at most, the oldest let go of for want of room, and counted.

use std::collections::VecDeque;

use rustix::time::ClockId;

use crate::clock::now_ns;

/// Lines kept until they are taken, bytes.
const MOST_BYTES: usize = 1 << 20;

/// Lines that wait, the oldest first.
#[derive(Debug, Default)]
pub struct Kept {
    pub lines: VecDeque<(i64, String)>,
    bytes: usize,
    /// Let go of for want of room.
    left_out: u64,
    /// When the last of them was.
    left_out_ns: i64,
    /// A thread listens: where it is silent nothing was announced.
    pub listens: bool,
    pub problems: Vec<String>,
}

impl Kept {
    /// One more; the oldest go for it.
    pub fn push(&mut self, at_ns: i64, line: String) {
        self.bytes += line.len();
        self.lines.push_back((at_ns, line));
        while self.bytes > MOST_BYTES {
            let Some((_, line)) = self.lines.pop_front() else {
                return;
            };
            self.bytes -= line.len();
            self.leave_out(at_ns);
        }
    }

    /// Something is not told.
    pub fn leave_out(&mut self, at_ns: i64) {
        self.left_out += 1;
        self.left_out_ns = at_ns;
    }

    /// As text.
    pub fn text(&mut self) -> String {
        let mut out = String::new();
        // Those that waited for their namespace to be known came late.
        self.lines.make_contiguous().sort_by_key(|(at, _)| *at);
        for (at, line) in self.lines.drain(..) {
            out.push_str(&format!("at={at} {line}\n"));
        }
        self.bytes = 0;
        if out.is_empty() && self.listens {
            out = format!("at={} what=listening\n", now_ns(ClockId::Monotonic));
        }
        if self.left_out > 0 {
            let n = std::mem::take(&mut self.left_out);
            out.push_str(&format!("at={} what=left_out count={n}\n", self.left_out_ns));
        }
        out
    }

    /// Lets go of what is older.
    pub fn forget(&mut self, before_ns: i64) {
        while self.lines.front().is_some_and(|(at, _)| *at < before_ns) {
            let gone = self.lines.pop_front().map_or(0, |(_, line)| line.len());
            self.bytes -= gone;
        }
        if self.left_out_ns < before_ns {
            self.left_out = 0;
        }
    }
}
