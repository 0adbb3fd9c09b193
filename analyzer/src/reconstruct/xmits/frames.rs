//! What a CPU is inside of: transmit functions, hard interrupts, softirqs. They nest, so they are a stack, and the time
//! of an inner one is not the outer one's own.

/// Deeper nesting than the kernel allows means a lost end: the stack is emptied.
const DEPTH: usize = 32;
/// More frames in a row inside one transmit function are not kept.
const WIDTH: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inside {
    /// `ndo_start_xmit` of a pass, and the address handed over.
    Xmit { pass: u32, addr: u64 },
    /// A hard interrupt handler.
    Irq,
    /// A softirq.
    Softirq,
}

#[derive(Debug, Clone)]
struct Frame {
    of: Inside,
    start: i64,
    /// Frames directly inside it: begin and end.
    inner: Vec<(i64, i64)>,
}

/// The stack of one CPU.
#[derive(Debug, Default)]
pub(super) struct Frames(Vec<Frame>);

/// A frame that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ended {
    pub of: Inside,
    pub start: i64,
    /// Frames directly inside it: begin and end.
    pub inner: Vec<(i64, i64)>,
}

impl Frames {
    pub fn begin(&mut self, of: Inside, ts: i64) {
        if self.0.len() >= DEPTH {
            self.0.clear();
        }
        let (start, inner) = (ts, vec![]);
        self.0.push(Frame { of, start, inner });
    }
    /// Ends the innermost frame that fits, and those above it, whose ends are missing.
    pub fn end(&mut self, fits: impl Fn(&Inside) -> bool, ts: i64) -> Option<Ended> {
        let at = self.0.iter().rposition(|f| fits(&f.of))?;
        self.0.truncate(at + 1);
        let f = self.0.pop()?;
        if let Some(outer) = self.0.last_mut()
            && matches!(outer.of, Inside::Xmit { .. })
            && outer.inner.len() < WIDTH
        {
            outer.inner.push((f.start, ts));
        }
        Some(Ended {
            of: f.of,
            start: f.start,
            inner: f.inner,
        })
    }
    /// Whether the CPU is in the transmit function of a pass.
    pub fn in_xmit(&self, pass: u32) -> bool {
        let is = |f: &Frame| matches!(f.of, Inside::Xmit { pass: p, .. } if p == pass);
        self.0.iter().any(is)
    }
    /// Whether the CPU is in any transmit function.
    pub fn sending(&self) -> bool {
        let is = |f: &Frame| matches!(f.of, Inside::Xmit { .. });
        self.0.iter().any(is)
    }
}
