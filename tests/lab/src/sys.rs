//! System calls without a safe interface. The only `unsafe` of this crate.
#![allow(unsafe_code)]

use std::io::{Error, Result};
use std::os::fd::AsRawFd;
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
    let param = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: the structure lives through the call; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &param) })
}

/// Keeps the calling thread on one CPU.
pub fn pin(cpu: usize) -> Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
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

/// Attaches a classic BPF filter that executes `instructions` (2 to 4096) and then accepts nothing.
pub fn burning_filter(socket: &impl AsRawFd, instructions: usize) -> Result<()> {
    // ALU adds: nothing a compiler of the kernel would drop. BPF_ALU|BPF_ADD|BPF_K, then BPF_RET|BPF_K 0.
    let add = libc::sock_filter {
        code: 0x04,
        jt: 0,
        jf: 0,
        k: 1,
    };
    let mut code = vec![add; instructions.clamp(2, 4096)];
    if let Some(last) = code.last_mut() {
        *last = libc::sock_filter {
            code: 0x06,
            jt: 0,
            jf: 0,
            k: 0,
        };
    }
    set_filter(socket, &mut code)
}

fn set_filter(socket: &impl AsRawFd, code: &mut [libc::sock_filter]) -> Result<()> {
    let program = libc::sock_fprog {
        len: u16::try_from(code.len()).unwrap_or(u16::MAX),
        filter: code.as_mut_ptr(),
    };
    // SAFETY: program and code live through the call, the length is theirs.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    })
}
