//! Which end of a connection a socket is, where that is known: by its handshake; of one older than its recording by its ports, where these lie clearly on both sides
//! of what clients are given, or lists of sockets say which of them listens. By the lower port alone the client of an old connection passes for its server.

use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::tcp::role::{Role, RoleBy, role};

/// First port that clients are given where nobody chose others (net.ipv4.ip_local_port_range).
const EPHEMERAL: u16 = 32_768;

/// Which end this socket is; `None`: not known.
pub(super) fn known(facts: &Facts, connection: ConnectionId) -> Option<Role> {
    let row = facts.connections.get(connection.0 as usize)?;
    let (role, by) = role(row.born, row.sport, row.dport);
    let (server, client) = match role {
        Role::Client => (row.dport, row.sport),
        Role::Server => (row.sport, row.dport),
    };
    let listens = |port: u16| facts.listening.contains(&port);
    let known = match (by, listens(server), listens(client)) {
        (RoleBy::Handshake, ..) | (_, true, false) => true,
        (_, false, true) => false,
        _ => server < EPHEMERAL && client >= EPHEMERAL,
    };
    known.then_some(role)
}

/// Port of the server of this socket's connection; `None`: which it is, is not known.
pub(super) fn server_port(facts: &Facts, connection: ConnectionId) -> Option<u16> {
    let row = facts.connections.get(connection.0 as usize)?;
    Some(match known(facts, connection)? {
        Role::Client => row.dport,
        Role::Server => row.sport,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reconstruct::tcp::states::SYN_SENT;

    fn of(born: Option<i32>, sport: u16, dport: u16, listening: &[u16]) -> (Option<Role>, Option<u16>) {
        let mut f = Facts::empty();
        let mut row = crate::testing::tcp::connection(0);
        (row.born, row.sport, row.dport) = (born, sport, dport);
        f.connections.push(row);
        f.listening.extend(listening);
        (known(&f, ConnectionId(0)), server_port(&f, ConnectionId(0)))
    }

    #[test]
    fn an_old_connection_has_a_server_where_its_ports_tell() {
        let (client, server) = (Some(Role::Client), Some(Role::Server));
        assert_eq!(of(None, 40_000, 8080, &[]), (client, Some(8080)));
        assert_eq!(of(None, 8080, 40_000, &[]), (server, Some(8080)));
        // 50051 may be asked from 40000; two low ports, two high ones.
        assert_eq!(of(None, 40_000, 50_051, &[]), (None, None));
        assert_eq!(of(None, 7000, 8080, &[]), (None, None));
        // Who listens tells, also against the ports.
        assert_eq!(of(None, 20_000, 8080, &[8080]), (client, Some(8080)));
        assert_eq!(of(None, 30_000, 50_051, &[50_051]), (None, None));
        assert_eq!(of(None, 7000, 8080, &[7000, 8080]), (None, None));
        // The handshake tells all.
        assert_eq!(of(Some(SYN_SENT), 40_000, 50_051, &[]), (client, Some(50_051)));
    }
}
