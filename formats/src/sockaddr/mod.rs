//! Addresses as tracepoints store them: a `sockaddr_in`/`sockaddr_in6` of 28 bytes, or the pair `saddr[4]`, `saddr_v6[16]`.
//!
//! In: field bytes. Out: [`SockAddr`], [`std::net::IpAddr`]. Must not: guess a family that the bytes do not say.
//! Spec: `struct sockaddr_in` and `struct sockaddr_in6` (include/uapi/linux/in.h, in6.h); filled by `TP_STORE_ADDR_PORTS`
//! (include/trace/events/net_probe_common.h).
//!
//! ```text
//! offset  0        2       4             8                        24        28
//! AF_INET  family   port    v4 address    (zero)
//! AF_INET6 family   port    flow info     v6 address               scope id
//!          host     big     big endian    network order            host order
//! ```

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::endian::Endian;

/// `AF_INET`, the same on every Linux architecture.
pub const AF_INET: u16 = 2;
/// `AF_INET6`, the same on every Linux architecture.
pub const AF_INET6: u16 = 10;

/// An internet socket address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SockAddr {
    /// The address; a v4-mapped IPv6 address stays IPv6 (see [`SockAddr::canonical`]).
    pub ip: IpAddr,
    /// Port, host order.
    pub port: u16,
}

impl SockAddr {
    /// Reads a `sockaddr` of an event recorded with byte order `endian`; `None` when it is too short for its family or
    /// of a family other than `AF_INET` and `AF_INET6` (0 is an address that the kernel did not fill).
    pub fn read(bytes: &[u8], endian: Endian) -> Option<SockAddr> {
        let port = Endian::Big.u16(bytes, 2)?;
        let ip = match endian.u16(bytes, 0)? {
            AF_INET => v4(bytes.get(4..)?)?,
            AF_INET6 => v6(bytes.get(8..)?)?,
            _ => return None,
        };
        Some(SockAddr { ip, port })
    }

    /// From the fields `sport`, `saddr` and `saddr_v6` of an event. Without `family` (before about 5.12) the v6 bytes
    /// decide: v4-mapped or all zero is IPv4. `None` when the bytes are too few or the family is another.
    pub fn from_fields(family: Option<u16>, port: u16, saddr: &[u8], saddr_v6: &[u8]) -> Option<SockAddr> {
        let ip = match family {
            Some(AF_INET) => v4(saddr)?,
            Some(AF_INET6) => v6(saddr_v6)?,
            Some(_) => return None,
            None => match v6(saddr_v6)? {
                IpAddr::V6(a) if a.is_unspecified() || a.to_ipv4_mapped().is_some() => v4(saddr)?,
                ip => ip,
            },
        };
        Some(SockAddr { ip, port })
    }

    /// The same with a v4-mapped IPv6 address (`::ffff:a.b.c.d`) as IPv4: what is on the wire.
    pub fn canonical(self) -> SockAddr {
        SockAddr {
            ip: self.ip.to_canonical(),
            port: self.port,
        }
    }
}

impl fmt::Display for SockAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        std::net::SocketAddr::new(self.ip, self.port).fmt(f)
    }
}

/// The IPv4 address that `bytes` begin with; `None` when they are fewer than 4.
pub fn v4(bytes: &[u8]) -> Option<IpAddr> {
    let octets: [u8; 4] = bytes.first_chunk().copied()?;
    Some(IpAddr::V4(Ipv4Addr::from(octets)))
}

/// The IPv6 address that `bytes` begin with; `None` when they are fewer than 16.
pub fn v6(bytes: &[u8]) -> Option<IpAddr> {
    let octets: [u8; 16] = bytes.first_chunk().copied()?;
    Some(IpAddr::V6(Ipv6Addr::from(octets)))
}

#[cfg(test)]
mod tests;
