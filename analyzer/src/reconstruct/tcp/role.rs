//! Which end of a connection a socket is.

use std::collections::BTreeSet;

use super::states::{ESTABLISHED, SYN_RECV, SYN_SENT};
use super::tables::ConnectionRow;

/// Which end of a connection a socket is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Opened it.
    Client,
    /// Accepted it.
    Server,
}

impl Role {
    /// As in tables.
    pub fn word(self) -> &'static str {
        match self {
            Role::Client => "client",
            Role::Server => "server",
        }
    }
}

/// What says which end a socket is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RoleBy {
    /// Its states.
    Handshake,
    /// A list of sockets: something listens at one of its ports.
    Listens,
    /// Its ports: the server's is the lower one.
    Ports,
}

impl RoleBy {
    /// As in tables.
    pub fn word(self) -> &'static str {
        match self {
            RoleBy::Handshake => "handshake",
            RoleBy::Listens => "listens",
            RoleBy::Ports => "ports",
        }
    }
}

/// What a socket that was accepted is born with.
const ACCEPTED: [i32; 2] = [ESTABLISHED, SYN_RECV];

/// First port that clients are given where nobody chose others (net.ipv4.ip_local_port_range).
pub const EPHEMERAL: u16 = 32_768;

impl ConnectionRow {
    /// By the first state seen of it; else by who listens; else by its own port and its peer's.
    pub fn role(&self) -> (Role, RoleBy) {
        match (self.born, self.listens) {
            (Some(SYN_SENT), _) => (Role::Client, RoleBy::Handshake),
            (Some(s), _) if ACCEPTED.contains(&s) => (Role::Server, RoleBy::Handshake),
            (_, Some(role)) => (role, RoleBy::Listens),
            _ if self.sport < self.dport => (Role::Server, RoleBy::Ports),
            _ => (Role::Client, RoleBy::Ports),
        }
    }
}

/// Which end a socket is by the ports at which something listens; `None`: at both, or neither. Where the lower port is none that clients are given, nothing
/// that listens at the number of the other, in another namespace perhaps, tells otherwise.
pub fn by_listening(listening: &BTreeSet<u16>, sport: u16, dport: u16) -> Option<Role> {
    let higher = |listens: u16, other: u16| listens > other && other < EPHEMERAL;
    match (listening.contains(&sport), listening.contains(&dport)) {
        (true, false) if !higher(sport, dport) => Some(Role::Server),
        (false, true) if !higher(dport, sport) => Some(Role::Client),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_tells_ends_whose_ports_are_both_given_to_clients() {
        let listening = BTreeSet::from([80, 50_051]);
        let of = |sport, dport| by_listening(&listening, sport, dport);
        assert_eq!(
            (of(39_884, 50_051), of(50_051, 39_884)),
            (Some(Role::Client), Some(Role::Server))
        );
        assert_eq!(
            (of(80, 50_052), of(50_052, 80)),
            (Some(Role::Server), Some(Role::Client))
        );
        // Somebody else's listener at a client's port.
        assert_eq!((of(443, 50_051), of(50_051, 443)), (None, None));
        assert_eq!((of(39_884, 39_885), of(80, 50_051)), (None, None));
        let mut row = crate::testing::tcp::connection(1);
        (row.sport, row.dport, row.born) = (50_051, 39_884, None);
        assert_eq!(row.role(), (Role::Client, RoleBy::Ports));
        row.listens = of(50_051, 39_884);
        assert_eq!(row.role(), (Role::Server, RoleBy::Listens));
        row.born = Some(SYN_SENT);
        assert_eq!(row.role(), (Role::Client, RoleBy::Handshake));
    }
}
