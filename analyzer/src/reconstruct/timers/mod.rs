//! Timers of TCP sockets and qdiscs: which socket each armed or expired timer belongs to.
//!
//! In: timer_start, timer_expire_entry, hrtimer_start, hrtimer_expire_entry, the addresses of known sockets, the symbols of
//! the recording. Out: [`Timers`]: arms and expiries in order, each with its owner, and how far behind its owner's address
//! each kind of timer lies. Has no table of its own; must not know what a timer means for a connection.
//!
//! A timer is a field of its socket, so its address minus that of the `struct sock` is one number for a kernel and a kind of
//! timer. It is learned: of the distances from timers of a kind to the nearest socket below each, the one that fits most timers.
//!
//! ```text
//! timer/hrtimer event ─ function ─(kallsyms)─> kind ─┬─ socket timer: address - distance = struct sock
//!                                                    └─ qdisc_watchdog: its own address stands for the qdisc
//! ```
//! Expiry and its slip are in the timer's own clock (CLOCK_MONOTONIC ns), whatever the clock of the recording is.
//! Source: net/ipv4/tcp_timer.c, `tcp_pace_kick` (net/ipv4/tcp_output.c), `qdisc_watchdog` (net/sched/sch_api.c); 3d, 3e.

mod learn;
#[cfg(test)]
mod tests;
mod tracker;

pub use tracker::{Kind, TimerEvent, Timers, What};
