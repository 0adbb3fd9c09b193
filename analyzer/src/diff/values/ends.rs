//! Which end of a connection a socket is, where that is known: by its handshake; of one older than its recording by lists of sockets, which say at which of its ports something listens, or
//! by its ports, where these lie clearly on both sides of what clients are given. By the lower port alone the client of an old connection passes for its server.
//!
//! Ports tell nothing where the lower one is of those that clients are given here (net.ipv4.ip_local_port_range, of the recorder's own network namespace), or where many speak to the higher one.

use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::tcp::role::{Ends, Role, RoleBy};

/// Which end this socket is; `None`: not known.
pub(in crate::diff) fn known(facts: &Facts, connection: ConnectionId) -> Option<Role> {
    let row = facts.connections.get(connection.0 as usize)?;
    let (role, by) = row.role();
    if by != RoleBy::Ports {
        return Some(role);
    }
    let ends = Ends {
        listening: &facts.listening,
        given: facts.settings.client_ports(),
        asked_by_many: &facts.asked_by_many,
    };
    let (server, client, address) = match role {
        Role::Client => (row.dport, row.sport, row.saddr),
        Role::Server => (row.sport, row.dport, row.daddr),
    };
    let listens = |port: u16| facts.listening.contains(&port);
    // Something listens at the number of what is plainly a client's port alone: whose it is, is not known.
    let settled = listens(server) || !listens(client);
    (settled && ends.plain(server, client, address)).then_some(role)
}

/// Port of the server of this socket's connection; `None`: which it is, is not known.
pub(in crate::diff) fn server_port(facts: &Facts, connection: ConnectionId) -> Option<u16> {
    let row = facts.connections.get(connection.0 as usize)?;
    Some(match known(facts, connection)? {
        Role::Client => row.dport,
        Role::Server => row.sport,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reconstruct::listeners::asked_by_many;
    use crate::reconstruct::tcp::states::SYN_SENT;

    /// As the reconstruction does.
    fn settle(f: &mut Facts) {
        let given = f.settings.client_ports();
        let ends = Ends {
            listening: &f.listening,
            given,
            asked_by_many: &f.asked_by_many,
        };
        for row in &mut f.connections {
            row.listens = ends.by_listening(row);
        }
    }

    fn of(born: Option<i32>, sport: u16, dport: u16, listening: &[u16]) -> (Option<Role>, Option<u16>) {
        let mut f = Facts::empty();
        let mut row = crate::testing::tcp::connection(0);
        (row.born, row.sport, row.dport) = (born, sport, dport);
        f.connections.push(row);
        f.listening.extend(listening);
        settle(&mut f);
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
        // Who alone listens is the server, whichever port is the lower.
        assert_eq!(of(None, 7000, 8080, &[8080]), (client, Some(8080)));
        assert_eq!(of(None, 8080, 7000, &[8080]), (server, Some(8080)));
        // The handshake tells all.
        assert_eq!(of(Some(SYN_SENT), 40_000, 50_051, &[]), (client, Some(50_051)));
    }

    #[test]
    fn ports_that_clients_are_given_are_no_servers() {
        let mut f = Facts::empty();
        for n in 0..3 {
            let mut row = crate::testing::tcp::connection(n);
            (row.saddr, row.daddr) = (Some([10, 0, 0, 1].into()), Some([10, 0, 0, 2].into()));
            (row.born, row.sport, row.dport) = (None, 2874 + n as u16, 50_051);
            f.connections.push(row);
        }
        let all = |f: &Facts| [0, 1, 2].map(|n| server_port(f, ConnectionId(n)));
        assert_eq!(all(&f), [Some(2874), Some(2875), Some(2876)]);
        // The range of this host has them.
        f.settings
            .0
            .insert("net.ipv4.ip_local_port_range".into(), "2000 3000".into());
        assert_eq!(all(&f), [None; 3]);
        // Three speak to one port: it is no client's.
        f.settings
            .0
            .insert("net.ipv4.ip_local_port_range".into(), "32768 60999".into());
        assert_eq!(all(&f), [Some(2874), Some(2875), Some(2876)]);
        f.asked_by_many = asked_by_many(&f.connections);
        assert_eq!(all(&f), [None; 3]);
        // It is known to listen.
        f.listening.insert(50_051);
        settle(&mut f);
        assert_eq!(all(&f), [Some(50_051); 3]);
    }
}
