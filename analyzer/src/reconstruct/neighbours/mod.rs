//! Neighbour entries (ARP, neighbour discovery): what happened to each, when, and at whose wish.
//!
//! In: every event of `neigh` that the recorder's profiles have. Out: rows of `neighbours`. Must not say which packets an entry
//! was used for: no event does.
//!
//! ```text
//! neigh_update (before, who asked) ─ neigh_update_done (after, err), same CPU and entry ──> one row
//! neigh_create, neigh_event_send_done, neigh_event_send_dead, neigh_timer_handler, neigh_cleanup_and_release ──> a row each
//! ```
//! An update can be cut by a softirq that handles another packet, so several may be under way on a CPU. Events name a device, not
//! its namespace: entries of two namespaces whose devices have one name look like one.
//! Source: net/core/neighbour.c `__neigh_update`, `___neigh_create`, `__neigh_event_send`, `neigh_timer_handler`,
//! `neigh_cleanup_and_release`; include/trace/events/neigh.h.

pub mod tables;
#[cfg(test)]
mod tests;
mod tracker;

pub use tracker::walk;
