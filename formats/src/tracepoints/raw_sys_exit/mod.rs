//! `raw_syscalls:sys_exit`: Any system call returns: the architecture's exit code (kernel/entry/common.c,
//! `trace_sys_exit`). Since 2.6.3x, fields unchanged. The fallback where the kernel has no event per call.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A system call that returns.
    pub struct RawSysExit: "raw_syscalls" "sys_exit" {
        /// System call number of the architecture; -1 when a tracer cancelled it.
        id: i64,
        /// Result, or a negative errno.
        ret: i64,
    }
}

#[cfg(test)]
mod tests;
