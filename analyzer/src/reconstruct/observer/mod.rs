//! What the recording itself cost: an estimate of the ns that one event adds, and of the events on the way of a unit.
//!
//! In: the times of all events, per CPU and per thread; rows of the ledgers. Out: [`Observer`] (events between two times), the
//! rows' `observer_ns`, rows of `observer`. Nothing is subtracted.
//!
//! ```text
//! CPU c:  e1 ─ gap ─ e2 ─ gap ─ e3 ...     ns per event = the gap that 5 % of all neighbours on a CPU stay below:
//!                                          events between which the kernel does next to nothing (netif_rx_exit, net_dev_xmit)
//! rx:     [first event, readable) on its CPU + [readable, end) of its reader's thread     events x ns per event
//! tx:     [start, handed over) in its thread + the driver stage on its CPU; its waits become no longer by events on the way
//! ```
//! Such a gap holds the end of one event's recording and the beginning of the next one's, so it bounds an event's cost from
//! above; that recording also cools caches is not in it. Measured on Linux 6.18 (loopback request/response, one CPU): 14.78 us
//! per round trip without and 24.61 us with 48.5 events each, 203 ns per event; this estimate from the same recording: 181 ns.
//! Where 5 % of the gaps are not below [`MOST_NS`], too few events lie close together to tell.

mod cost;
mod counts;
mod stages;
pub mod tables;
#[cfg(test)]
mod tests;

pub use cost::MOST_NS;
pub use counts::Observer;
pub use stages::{receive, share_of, transmit};
