//! Whose data a connection carries: the end that accepted it (of an old connection the one with the lower port), and whether it sends or is sent to.

use std::net::{IpAddr, SocketAddr};

use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::tcp::role::{Role, RoleBy};

/// Who is sent to, or sends.
pub(in crate::diff) type Service = (IpAddr, u16, bool);

/// The service that what a connection sends is of.
pub(in crate::diff) fn service(facts: &Facts, connection: ConnectionId) -> Option<Service> {
    let c = facts.connections.get(connection.0 as usize)?;
    let to = match c.role() {
        (role, RoleBy::Handshake | RoleBy::Listens) => role == Role::Client,
        (_, RoleBy::Ports) => c.dport < c.sport,
    };
    match (c.saddr, c.daddr) {
        (_, Some(peer)) if to => Some((peer.to_canonical(), c.dport, true)),
        (Some(own), _) => Some((own.to_canonical(), c.sport, false)),
        _ => None,
    }
}

fn end((address, port, _): &Service) -> SocketAddr {
    SocketAddr::new(address.to_canonical(), *port)
}

/// `what is sent to 10.0.0.1:80`.
pub(in crate::diff) fn whose(of: &Service) -> String {
    match of.2 {
        true => format!("what is sent to {}", end(of)),
        false => format!("what {} sends", end(of)),
    }
}

/// `to 10.0.0.1:80`, in names of metrics.
pub(in crate::diff) fn name(of: &Service) -> String {
    format!("{} {}", if of.2 { "to" } else { "from" }, end(of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_who_accepted_and_has_one_address() {
        let mut f = Facts::empty();
        let mut of = |born, saddr: &str, sport, daddr: &str, dport| {
            let mut row = crate::testing::tcp::connection(f.connections.len() as u32);
            (row.born, row.saddr, row.daddr) = (born, saddr.parse().ok(), daddr.parse().ok());
            (row.sport, row.dport) = (sport, dport);
            let c = row.connection;
            f.connections.push(row);
            service(&f, c).map(|s| name(&s))
        };
        // The handshake tells, whatever the ports.
        let to = Some("to 10.0.0.2:50051".to_owned());
        assert_eq!(of(Some(2), "10.0.0.1", 40_000, "10.0.0.2", 50_051), to);
        let from = Some("from 10.0.0.1:50051".to_owned());
        assert_eq!(of(Some(3), "10.0.0.1", 50_051, "10.0.0.2", 40_000), from);
        assert_eq!(
            of(None, "10.0.0.1", 40_000, "10.0.0.2", 80),
            Some("to 10.0.0.2:80".into())
        );
        // One service of both ways to write its address.
        let [a, b] = ["10.0.0.2", "::ffff:10.0.0.2"].map(|to| {
            let mut f = Facts::empty();
            let mut row = crate::testing::tcp::connection(0);
            (row.daddr, row.sport, row.dport) = (to.parse().ok(), 40_000, 80);
            f.connections.push(row);
            service(&f, ConnectionId(0))
        });
        assert!(a.is_some() && a == b);
    }
}
