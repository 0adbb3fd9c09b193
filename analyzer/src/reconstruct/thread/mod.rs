//! What each thread was doing when: running, runnable, being woken, asleep.
//!
//! In: sched_switch, sched_waking, sched_wakeup(_new). Out: [`Threads::split`], which divides any interval of a thread
//! into those states, exactly. Has no table of its own.
//!
//! ```text
//!            sched_switch prev (state 0)            sched_switch prev (state != 0)
//!   Runnable <───────────────────────── Running ─────────────────────────────────> Asleep
//!      │  └── sched_switch next ──────────^                                           │ sched_waking
//!      └<──────────── sched_wakeup ───────────────── Waking <──────────────────────────┘
//! ```
//! The low eight bits of prev_state are 0 for a runnable task on every kernel since 4.15 (the preemption marker lies above
//! them). After a loss of events nothing is known of a thread until its next event.

mod states;
#[cfg(test)]
mod tests;

pub use states::{Split, Threads};
