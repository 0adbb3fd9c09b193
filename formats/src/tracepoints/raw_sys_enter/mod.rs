//! `raw_syscalls:sys_enter`: Any system call begins: the architecture's entry code (kernel/entry/common.c,
//! `trace_sys_enter`). Since 2.6.3x, fields unchanged. The fallback where the kernel has no event per call.
//!
//! Traps: 32-bit calls of a 64-bit kernel have another table of numbers, and nothing here tells.

use crate::tracepoints::{Words, tracepoint};

tracepoint! {
    /// A system call that begins.
    pub struct RawSysEnter: "raw_syscalls" "sys_enter" {
        /// System call number of the architecture.
        id: i64,
        /// Its arguments; those it does not have are garbage.
        args: Words<6>,
    }
}

#[cfg(test)]
mod tests;
