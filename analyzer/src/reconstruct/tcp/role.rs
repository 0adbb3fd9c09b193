//! Which end of a connection a socket is.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

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
    /// Its own end; `None`: its address is not known.
    pub fn local(&self) -> Option<SocketAddr> {
        Some(SocketAddr::new(self.saddr?.to_canonical(), self.sport))
    }
    /// The other end.
    pub fn remote(&self) -> Option<SocketAddr> {
        Some(SocketAddr::new(self.daddr?.to_canonical(), self.dport))
    }
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

/// What tells of the ports of a recording which are servers'.
#[derive(Debug, Clone, Copy)]
pub struct Ends<'a> {
    /// At which something listens, in any network namespace.
    pub listening: &'a BTreeSet<u16>,
    /// First and last port that clients are given (net.ipv4.ip_local_port_range), where the recording says it.
    pub given: Option<(u16, u16)>,
    /// Ends that several others speak to: one port of a client leads to one server as a rule.
    pub asked_by_many: &'a BTreeSet<(IpAddr, u16)>,
}

impl Ends<'_> {
    /// Whether one port is plainly a server's and the other one, of this address, a client's: they lie on both sides of what clients are given.
    pub fn plain(&self, server: u16, client: u16, address: Option<IpAddr>) -> bool {
        let given = self.given.is_some_and(|(from, to)| (from..=to).contains(&server));
        let many = || address.is_some_and(|a| self.asked_by_many.contains(&(a.to_canonical(), client)));
        server < EPHEMERAL && client >= EPHEMERAL && !given && !many()
    }

    /// Which end a socket is by who listens; `None`: something does at both ports or at neither, or only at the number of a port that is plainly a client's: in
    /// another namespace, perhaps.
    pub fn by_listening(&self, row: &ConnectionRow) -> Option<Role> {
        let (role, server, client, address) =
            match (self.listening.contains(&row.sport), self.listening.contains(&row.dport)) {
                (true, false) => (Role::Server, row.sport, row.dport, row.saddr),
                (false, true) => (Role::Client, row.dport, row.sport, row.daddr),
                _ => return None,
            };
        (!self.plain(client, server, address)).then_some(role)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(sport: u16, dport: u16) -> ConnectionRow {
        let mut row = crate::testing::tcp::connection(1);
        (row.sport, row.dport, row.born) = (sport, dport, None);
        (row.saddr, row.daddr) = (Some([10, 0, 0, 1].into()), Some([10, 0, 0, 2].into()));
        row
    }

    #[test]
    fn who_listens_tells_ends_whose_ports_are_both_given_to_clients() {
        let (listening, none) = (BTreeSet::from([80, 50_051]), BTreeSet::new());
        let ends = Ends {
            listening: &listening,
            given: None,
            asked_by_many: &none,
        };
        let of = |sport, dport| ends.by_listening(&row(sport, dport));
        let (client, server) = (Some(Role::Client), Some(Role::Server));
        assert_eq!((of(39_884, 50_051), of(50_051, 39_884)), (client, server));
        assert_eq!((of(80, 50_052), of(50_052, 80)), (server, client));
        // Somebody else's listener at a client's port.
        assert_eq!((of(443, 50_051), of(50_051, 443)), (None, None));
        assert_eq!((of(39_884, 39_885), of(80, 50_051)), (None, None));
        let mut row = row(50_051, 39_884);
        assert_eq!(row.role(), (Role::Client, RoleBy::Ports));
        row.listens = of(50_051, 39_884);
        assert_eq!(row.role(), (Role::Server, RoleBy::Listens));
        row.born = Some(SYN_SENT);
        assert_eq!(row.role(), (Role::Client, RoleBy::Handshake));
    }

    /// The lower port may be a client's: where clients are given such ones, where neither is of those that clients are given, where many speak to the higher.
    #[test]
    fn who_listens_at_the_higher_port_is_a_server_where_the_lower_is_not_plainly_one() {
        let (listening, none) = (BTreeSet::from([7000, 50_051]), BTreeSet::new());
        let many = BTreeSet::from([([10, 0, 0, 2].into(), 50_051)]);
        let of = |given, asked_by_many, sport, dport| {
            let ends = Ends {
                listening: &listening,
                given,
                asked_by_many,
            };
            (
                ends.by_listening(&row(sport, dport)),
                ends.by_listening(&row(dport, sport)),
            )
        };
        let told = (Some(Role::Client), Some(Role::Server));
        assert_eq!(of(None, &none, 3000, 7000), told);
        assert_eq!(of(Some((1024, 65_000)), &none, 3000, 50_051), told);
        assert_eq!(of(Some((32_768, 60_999)), &none, 3000, 50_051), (None, None));
        assert_eq!(of(None, &many, 3000, 50_051).0, told.0);
    }
}
