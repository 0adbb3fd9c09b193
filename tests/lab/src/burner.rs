//! A device on which every long packet costs milliseconds: many packet sockets, each with a filter that computes and then
//! accepts nothing. On the way out they run in the sender's context with bottom halves off; on the way in, in NET_RX.

use crate::net::Netns;
use crate::sys::{PacketSocket, burning_filter};

/// Packets up to this length cost nothing.
pub const FREE_BYTES: u32 = 1_000;

/// Divisions that a filter computes.
const DIVISIONS: usize = 2_000;

/// The sockets; dropping them makes the device cheap again.
#[derive(Debug)]
pub struct Burner(#[allow(dead_code)] Vec<PacketSocket>);

impl Burner {
    /// `sockets` of them on `dev`.
    pub fn new(ns: &Netns, dev: &str, sockets: usize) -> anyhow::Result<Burner> {
        ns.inside(|| {
            let one = || {
                let s = PacketSocket::new()?;
                // Older kernels allow only short ones (net.core.optmem_max, 20 KiB).
                burning_filter(&s, FREE_BYTES, DIVISIONS)
                    .or_else(|_| burning_filter(&s, FREE_BYTES, DIVISIONS / 10))?;
                s.bind(dev)?;
                anyhow::Ok(s)
            };
            Ok(Burner((0..sockets).map(|_| one()).collect::<anyhow::Result<_>>()?))
        })
    }
}
