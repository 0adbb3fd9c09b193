//! `syscalls:sys_exit_<call>`: a system call returns (`ftrace_syscall_exit`, kernel/trace/trace_syscalls.c). One event
//! per call, all of the same fields; this view fits all of them. Since 2.6.3x, needs `CONFIG_FTRACE_SYSCALLS`. The
//! number's field was `nr` before 4.5.
//!
//! Traps: a call that blocks forever or whose thread is killed has an enter and no exit; a restarted call has exits
//! with -512..=-516, which the program never sees.

use crate::endian::Endian;
use crate::event_format::{EventFormat, IntAccess};
use crate::tracepoints::{FieldType, MissingField, Tracepoint};

/// A system call that returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SysExit {
    /// System call number of the architecture.
    pub __syscall_nr: i32,
    /// Result, or a negative errno.
    pub ret: i64,
}

/// Accessors resolved from the format text of one `sys_exit_<call>`.
#[derive(Debug, Clone)]
pub struct Bound {
    nr: IntAccess,
    ret: IntAccess,
}

impl SysExit {
    /// Whether the view is meant for that event.
    pub fn is_of(format: &EventFormat) -> bool {
        format.system == Self::SYSTEM && format.name.starts_with("sys_exit_")
    }
}

impl Tracepoint for SysExit {
    const SYSTEM: &'static str = "syscalls";
    /// A pattern: the view binds to any event of that beginning.
    const NAME: &'static str = "sys_exit_*";
    type Bound = Bound;
    type Event<'a> = SysExit;

    fn bind(format: &EventFormat, endian: Endian) -> Result<Bound, MissingField> {
        let nr = <i32 as FieldType>::bind(format, &["__syscall_nr", "nr"], endian);
        Ok(Bound {
            nr: nr.ok_or(MissingField("__syscall_nr"))?,
            ret: IntAccess::bind(format, "ret", endian).ok_or(MissingField("ret"))?,
        })
    }

    #[inline]
    fn read(bound: &Bound, payload: &[u8]) -> Option<SysExit> {
        Some(SysExit {
            __syscall_nr: bound.nr.u64(payload)? as i32,
            ret: bound.ret.i64(payload)?,
        })
    }
}

#[cfg(test)]
mod tests;
