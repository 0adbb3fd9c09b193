//! Trackers.
pub mod drops;
pub mod napi;
pub mod receive;
pub mod skb;
pub mod softirq;
pub mod tcp;
