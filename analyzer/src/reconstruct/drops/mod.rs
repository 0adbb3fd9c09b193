//! `kfree_skb`: what was freed as dropped, where, and whether a healthy kernel does that.
//!
//! In: `kfree_skb`, the lives it ends. Out: rows of `drops`. Reasons are named by the recording's own table, places by its
//! own symbols. Must not count `consume_skb`.
//!
//! ```text
//! kfree_skb(reason, location, protocol) + life (device, class) -> rules (first that fits) -> expected | lost | unclear
//!                                                                 a kernel that records no reasons: the reason that its place stands for (`places`)
//!                                                                 no reason, route of input: multicast that nobody there joined (`unjoined`)
//!                                                                 OTHERHOST: after the walk, by what became of the frame
//!                                                                 IP_INADDRERRORS: after the walk, by where else the frame went
//!                                                                 no route: after the walk, by who sent it
//!                                                                 PKT_TOO_BIG: after the walk, by path MTU discovery
//! ```
//! Rules: RECONSTRUCTION 3i-6. `kfree_skb` is what the kernel calls for anything it does not call consumed.

pub mod by_count;
mod flooded;
mod freed;
mod looked_up;
mod otherhost;
mod passing;
pub mod places;
mod reasons;
mod repair;
mod rules;
pub mod segments;
pub mod tables;
#[cfg(test)]
mod tests;
mod too_big;
mod tracker;
mod unjoined;
mod unrouted;

pub use freed::Freed;
pub use looked_up::Way;
pub use otherhost::{BRIDGE_NS, Hindsight, LINK_HEADERS, TAPPED};
pub use passing::Passing;
pub use reasons::{CHECKSUM, NOT_FORWARDED, OBEYED};
pub use repair::Repair;
pub use rules::{in_words, is_no_packet, judge, ran_out};
pub use tracker::walk;
pub use unjoined::UNJOINED;
