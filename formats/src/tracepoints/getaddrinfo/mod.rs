//! `netmortem:getaddrinfo`: a probe of ours (`--extra kprobes`) at `getaddrinfo` of the host's libc: a name is about to be resolved. Of no name: it may be
//! private. Recorders name the group after their pid.
//!
//! Traps: numbers (`127.0.0.1`) and /etc/hosts pass here, too; programs with a libc of their own do not.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A thread begins to resolve a name.
    pub struct Getaddrinfo: "netmortem" "getaddrinfo" {
        /// Address of the function in the process.
        __probe_ip: u64,
    }
}

#[cfg(test)]
mod tests;
