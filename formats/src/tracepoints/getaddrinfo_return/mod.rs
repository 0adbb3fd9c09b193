//! `netmortem:getaddrinfo_return`: a probe of ours (`--extra kprobes`) at the return of `getaddrinfo` of the host's libc, on the thread that called it.
//! Recorders name the group after their pid.
//!
//! Traps: what it found is not told, nor whether it found anything.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A thread has resolved a name, or given up.
    pub struct GetaddrinfoReturn: "netmortem" "getaddrinfo_return" {
        /// Where it returns to.
        __probe_ret_ip: u64,
    }
}

#[cfg(test)]
mod tests;
