//! The common fields that every trace event begins with (`struct trace_entry`, include/linux/trace_events.h): event id,
//! context flags, preemption depth, task. Not a tracepoint: the one folder here that is not in the registry.
//!
//! Flags (`enum trace_flag_type`), bits that have not moved: hard interrupt 0x08, softirq 0x10, NMI 0x40. BH off 0x80 is
//! new (about 6.2): in a recording of an older kernel the bit is always 0, which says nothing.
//!
//! Traps: `pid` is the thread that was running, which in interrupt context is a bystander. The low half of
//! `preempt_count` is the depth, the high half (newer kernels) counts disabled migration.

use crate::endian::Endian;
use crate::event_format::{EventFormat, IntAccess};

/// Where the kernel was when the event fired; the innermost context wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Context {
    /// Non-maskable interrupt.
    Nmi,
    /// Hardware interrupt.
    HardIrq,
    /// Softirq that runs (not merely bottom halves disabled).
    SoftIrq,
    /// The thread itself: system call, kernel thread, idle loop.
    Task,
}

/// The common fields of one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Common {
    /// `common_type`: id of the event in this recording.
    pub id: u16,
    /// `common_flags`; `None` when the format lacks it.
    pub flags: Option<u8>,
    /// `common_preempt_count`; `None` when the format lacks it.
    pub preempt_count: Option<u8>,
    /// `common_pid`: thread id that was running, 0 for idle; `None` when the format lacks it.
    pub pid: Option<i32>,
}

/// Accessors of the common fields. All events of a recording share one layout.
#[derive(Debug, Clone, Copy)]
pub struct Bound {
    id: IntAccess,
    flags: Option<IntAccess>,
    preempt_count: Option<IntAccess>,
    pid: Option<IntAccess>,
    /// The layout is the one of every little-endian kernel so far: id at 0, flags at 2, depth at 3, pid at 4.
    usual: bool,
}

impl Bound {
    /// Resolves the fields from any event's format; `None` without `common_type`.
    pub fn bind(format: &EventFormat, endian: Endian) -> Option<Bound> {
        let lies = |name, offset, size| format.field(name).is_some_and(|f| (f.offset, f.size) == (offset, size));
        let usual = endian == Endian::Little
            && lies("common_type", 0, 2)
            && lies("common_flags", 2, 1)
            && lies("common_preempt_count", 3, 1)
            && lies("common_pid", 4, 4);
        Some(Bound {
            usual,
            id: IntAccess::bind(format, "common_type", endian)?,
            flags: IntAccess::bind(format, "common_flags", endian),
            preempt_count: IntAccess::bind(format, "common_preempt_count", endian),
            pid: IntAccess::bind(format, "common_pid", endian),
        })
    }

    /// Reads one payload; `None` when it is too short for a field that the format has.
    #[inline(always)] // Every event that any tracker looks at passes here.
    pub fn read(&self, payload: &[u8]) -> Option<Common> {
        if let (true, Some([a, b, flags, depth, p, q, r, s])) = (self.usual, payload.first_chunk::<8>()) {
            return Some(Common {
                id: u16::from_le_bytes([*a, *b]),
                flags: Some(*flags),
                preempt_count: Some(*depth),
                pid: Some(i32::from_le_bytes([*p, *q, *r, *s])),
            });
        }
        self.read_fields(payload)
    }

    #[cold]
    fn read_fields(&self, payload: &[u8]) -> Option<Common> {
        let read = |a: &Option<IntAccess>| match a {
            Some(a) => a.u64(payload).map(Some),
            None => Some(None),
        };
        Some(Common {
            id: self.id.u64(payload)? as u16,
            flags: read(&self.flags)?.map(|v| v as u8),
            preempt_count: read(&self.preempt_count)?.map(|v| v as u8),
            pid: read(&self.pid)?.map(|v| v as i32),
        })
    }
}

impl Common {
    /// Inside a hardware interrupt.
    pub fn in_hardirq(&self) -> Option<bool> {
        self.flags.map(|f| f & 0x08 != 0)
    }
    /// Inside a running softirq (also when a hardware interrupt interrupted it).
    pub fn in_softirq(&self) -> Option<bool> {
        self.flags.map(|f| f & 0x10 != 0)
    }
    /// Inside a non-maskable interrupt.
    pub fn in_nmi(&self) -> Option<bool> {
        self.flags.map(|f| f & 0x40 != 0)
    }
    /// Bottom halves are disabled. `Some(false)` of an old kernel says nothing (see the folder's header).
    pub fn bh_off(&self) -> Option<bool> {
        self.flags.map(|f| f & 0x80 != 0)
    }
    /// Depth of disabled preemption.
    pub fn preempt_depth(&self) -> Option<u8> {
        self.preempt_count.map(|c| c & 0x0f)
    }
    /// The innermost context; `None` when the recording has no flags.
    pub fn context(&self) -> Option<Context> {
        self.flags.map(|f| match f {
            f if f & 0x40 != 0 => Context::Nmi,
            f if f & 0x08 != 0 => Context::HardIrq,
            f if f & 0x10 != 0 => Context::SoftIrq,
            _ => Context::Task,
        })
    }
}

#[cfg(test)]
mod tests;
