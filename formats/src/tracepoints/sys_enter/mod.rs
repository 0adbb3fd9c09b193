//! `syscalls:sys_enter_<call>`: a system call begins (`ftrace_syscall_enter`, kernel/trace/trace_syscalls.c). One event
//! per call, each with the call's own argument names and order; this view fits all of them. Since 2.6.3x, needs
//! `CONFIG_FTRACE_SYSCALLS`. The number's field was `nr` before 4.5.
//!
//! Traps: every argument is stored as a machine word whatever its declared type, so a negative `int` has its upper half
//! clear or set by what the program left there: `fd` is cut to 32 bits here. Newer kernels append dynamic copies of user
//! memory to some events: they are no arguments and are left out. 32-bit calls of a 64-bit kernel are not traced.

use crate::endian::Endian;
use crate::event_format::{EventFormat, FieldKind, IntAccess};
use crate::tracepoints::{MissingField, Tracepoint};

/// Most arguments that a system call has.
pub const MAX_ARGS: usize = 6;

/// A system call that begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SysEnter {
    /// System call number of the architecture.
    pub __syscall_nr: i32,
    /// Arguments in the call's order; `None` past its last.
    pub args: [Option<u64>; MAX_ARGS],
    /// The argument named `fd` or `epfd`.
    pub fd: Option<i32>,
    /// The argument named `len`, `size` or `count`: bytes of the buffer.
    pub len: Option<u64>,
    /// The argument named `flags`.
    pub flags: Option<u32>,
}

/// Accessors resolved from the format text of one `sys_enter_<call>`.
#[derive(Debug, Clone)]
pub struct Bound {
    nr: IntAccess,
    args: [Option<IntAccess>; MAX_ARGS],
    fd: Option<usize>,
    len: Option<usize>,
    flags: Option<usize>,
}

impl SysEnter {
    /// Whether the view is meant for that event.
    pub fn is_of(format: &EventFormat) -> bool {
        format.system == Self::SYSTEM && format.name.starts_with("sys_enter_")
    }
}

impl Tracepoint for SysEnter {
    const SYSTEM: &'static str = "syscalls";
    /// A pattern: the view binds to any event of that beginning.
    const NAME: &'static str = "sys_enter_*";
    type Bound = Bound;
    type Event<'a> = SysEnter;

    fn bind(format: &EventFormat, endian: Endian) -> Result<Bound, MissingField> {
        let number = ["__syscall_nr", "nr"].into_iter().find(|n| format.field(n).is_some());
        let number = number.ok_or(MissingField("__syscall_nr"))?;
        let nr = IntAccess::bind(format, number, endian).ok_or(MissingField("__syscall_nr"))?;
        let mut bound = Bound {
            nr,
            args: [None; MAX_ARGS],
            fd: None,
            len: None,
            flags: None,
        };
        let arguments = format
            .fields
            .iter()
            .filter(|f| f.kind == FieldKind::Int && f.name != number);
        for ((at, slot), field) in bound.args.iter_mut().enumerate().zip(arguments) {
            *slot = IntAccess::bind(format, &field.name, endian);
            match field.name.as_str() {
                "fd" | "epfd" => bound.fd = Some(at),
                "len" | "size" | "count" => bound.len = Some(at),
                "flags" => bound.flags = Some(at),
                _ => {}
            }
        }
        Ok(bound)
    }

    #[inline]
    fn read(bound: &Bound, payload: &[u8]) -> Option<SysEnter> {
        let mut args = [None; MAX_ARGS];
        for (value, access) in args.iter_mut().zip(&bound.args) {
            if let Some(access) = access {
                *value = Some(access.u64(payload)?);
            }
        }
        let arg = |at: Option<usize>| at.and_then(|at| args.get(at).copied().flatten());
        Some(SysEnter {
            __syscall_nr: bound.nr.u64(payload)? as i32,
            args,
            fd: arg(bound.fd).map(|v| v as i32),
            len: arg(bound.len),
            flags: arg(bound.flags).map(|v| v as u32),
        })
    }
}

#[cfg(test)]
mod tests;
