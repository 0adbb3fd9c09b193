//! What a sender waits for: rigs of the transmit ledger. Most hold packets on a [`crate::wire::Wire`], which every kernel
//! has; a few want a queueing discipline, a driver or cards of their own and say so where these are missing.
//!
//! ```text
//! send call ─ sndbuf ─ nagle, cork ─ rwnd, cwnd ─ pacing ─ tsq ─ neighbour ─ tbf, netem ─ ring, bql ─ network ─ rto, tlp, fast
//! ```

pub(super) mod cards;
pub(super) mod cork;
pub(super) mod cwnd;
pub(super) mod fast;
pub(super) mod nagle;
pub(super) mod neighbour;
pub(super) mod netem;
pub(super) mod network;
pub(super) mod pacing;
pub(super) mod refused;
pub(super) mod ring_veth;
pub(super) mod rto;
pub(super) mod rwnd;
pub(super) mod sndbuf;
pub(super) mod stamps;
pub(super) mod tbf;
pub(super) mod tbf_loss;
pub(super) mod tlp;
pub(super) mod tsq;
pub(super) mod untold;
