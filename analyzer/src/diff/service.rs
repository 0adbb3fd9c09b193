//! Whose data a connection carries: the end with the lower port, and whether it sends or is sent to.

use std::net::{IpAddr, SocketAddr};

use crate::facts::{ConnectionId, Facts};

/// Who is sent to, or sends.
pub(super) type Service = (IpAddr, u16, bool);

/// The service that what a connection sends is of.
pub(super) fn service(facts: &Facts, connection: ConnectionId) -> Option<Service> {
    let c = facts.connections.get(connection.0 as usize)?;
    match (c.saddr, c.daddr) {
        (_, Some(to)) if c.dport < c.sport => Some((to, c.dport, true)),
        (Some(from), _) => Some((from, c.sport, false)),
        _ => None,
    }
}

fn end((address, port, _): &Service) -> SocketAddr {
    SocketAddr::new(address.to_canonical(), *port)
}

/// `what is sent to 10.0.0.1:80`.
pub(super) fn whose(of: &Service) -> String {
    match of.2 {
        true => format!("what is sent to {}", end(of)),
        false => format!("what {} sends", end(of)),
    }
}

/// `to 10.0.0.1:80`, in names of metrics.
pub(super) fn name(of: &Service) -> String {
    format!("{} {}", if of.2 { "to" } else { "from" }, end(of))
}
