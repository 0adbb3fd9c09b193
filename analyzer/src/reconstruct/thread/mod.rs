//! What each thread was doing when: running, waiting for a CPU, being woken, asleep.
//!
//! In: sched_switch, sched_waking, sched_wakeup(_new), sched_migrate_task, sys_enter_*, sys_exit_*, sock_recv_length, tcp_rcv_space_adjust. Out: [`Threads::split`],
//! which divides any interval of a thread into those states, exactly, [`Threads::ran_instead`], and [`Threads::slept_in`].
//! Has no table of its own.
//!
//! ```text
//!            sched_switch prev (state 0)            sched_switch prev (state != 0)
//!   RunQueue <───────────────────────── Running ─────────────────────────────────> Asleep
//!    ^   └──── sched_switch next ─────────^ ^                                         │ sched_waking
//!    │ its CPU takes another task first     │ sched_switch from idle (prev_pid 0)     v
//!   IdleExit ───────────────────────────────┘                                       Waking
//!    ^  ^<─────────── sched_wakeup, its CPU runs the idle task ───────────────────────┤
//!   RunQueue <─────── sched_wakeup, its CPU runs something else ──────────────────────┘
//! ```
//! The low eight bits of prev_state are 0 for a runnable task on every kernel since 4.15 (the preemption marker lies above
//! them). After a loss of events nothing is known of a thread until its next event. Who is named by a waking first slept before (`began.rs`).
//!
//! A question costs the logarithm of the recording, not the number of changes in its interval: a reader that lags has
//! thousands of packets waiting through thousands of switches.

mod began;
mod calls;
mod cpus;
mod ended;
mod states;
#[cfg(test)]
mod tests;
mod timeline;
mod unseen;
mod waits;

pub use calls::{ReadOf, STOPPED, Slept, TRACED, UNINTERRUPTIBLE, UNRECORDED};
pub use ended::{ENDS_NS, Ended};
pub use states::{IDLE, Threads};
pub use timeline::Split;
