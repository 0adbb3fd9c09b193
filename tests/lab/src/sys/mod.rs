//! System calls without a safe interface. The only `unsafe` of this crate.
//!
//! In: plain values. Out: plain values and owned descriptors. Must not know what a rig plants. Spec: the manual pages named
//! in each file.
#![allow(unsafe_code)]

mod fault;
mod packet;
mod socket;
mod stamps;
mod tcp_info;
mod tun;
mod uring;

pub use fault::Fault;
pub use packet::{PacketSocket, Received, burning_filter};
pub use socket::{send, set};
pub use stamps::{Stage, Stamp, stamp, stamps};
pub use tcp_info::{TcpInfo, tcp_info};
pub use tun::{Layer, attach};
pub use uring::Ring;

use std::io::{Error, Result};
use std::os::unix::process::CommandExt;
use std::process::Command;

fn check(rc: libc::c_int) -> Result<()> {
    if rc == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

/// CLOCK_MONOTONIC, ns: the clock of the recordings.
pub fn now_ns() -> i64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    t.tv_sec * 1_000_000_000 + t.tv_nsec
}

/// Makes the calling thread SCHED_FIFO with this priority (1 to 99).
pub fn fifo(priority: i32) -> Result<()> {
    fifo_other(0, priority)
}

/// The same for another task; 0 is the calling thread.
pub fn fifo_other(pid: i32, priority: i32) -> Result<()> {
    let param = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: the structure lives through the call.
    check(unsafe { libc::sched_setscheduler(pid, libc::SCHED_FIFO, &param) })
}

/// Keeps the calling thread on one CPU.
pub fn pin(cpu: usize) -> Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

/// Keeps another task on one CPU.
pub fn pin_other(pid: i32, cpu: usize) -> Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    Ok(rustix::thread::sched_setaffinity(
        rustix::thread::Pid::from_raw(pid),
        &set,
    )?)
}

/// Thread id of the caller, as the recording names it.
pub fn tid() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// The child gets SIGTERM when the thread that starts it ends, however it ends.
pub fn die_with_parent(command: &mut Command) {
    // SAFETY: prctl is async-signal-safe and changes only the child.
    unsafe {
        command.pre_exec(|| check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM)));
    }
}
