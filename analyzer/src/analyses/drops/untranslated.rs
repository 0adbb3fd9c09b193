//! Packets for which there was no route, while what else their connections sent to that address came to a server under another: an address translation (NAT,
//! a service's) that was missing when they came, or the route to that server was.
//!
//! Needs `connections` with their peers: a packet keeps its skb from the sender's device to the server's socket, whatever netfilter writes into its headers.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::tcp::tables::ConnectionRow;

/// No route, where an address of a service is nobody's.
const NO_ROUTE: &str = "IP_INNOROUTES";

/// Both addresses, and what that is a sign of, where most of them were of such connections.
pub(super) fn untranslated(facts: &Facts, reason: &str, rows: &[&DropRow]) -> Option<String> {
    if reason != NO_ROUTE {
        return None;
    }
    let of = |c: ConnectionId| facts.connections.get(c.0 as usize).filter(|row| row.connection == c);
    let translated = |row: &ConnectionRow| {
        let peer = of(row.peer?)?;
        let asked = SocketAddr::new(row.daddr?, row.dport);
        let is = SocketAddr::new(peer.saddr?, peer.sport);
        (asked != is).then_some((asked, is))
    };
    let owned: Vec<ConnectionId> = rows.iter().filter_map(|r| r.owner?.connection).collect();
    let mut by: BTreeMap<(SocketAddr, SocketAddr), usize> = BTreeMap::new();
    for ends in owned.iter().filter_map(|c| translated(of(*c)?)) {
        *by.entry(ends).or_default() += 1;
    }
    let ((asked, is), n) = by.into_iter().max_by_key(|(ends, n)| (*n, std::cmp::Reverse(*ends)))?;
    (n.saturating_mul(2) > rows.len()).then(|| {
        format!(
            "what else these connections sent to {asked} was translated and came to {is}: either these came untranslated, as the address translation (NAT, a service's) of established connections was missing then, as while its rules are loaded anew in several steps, or the route to {} was (inferred)",
            is.ip()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyses::drops::tests::causes::{connection, lose};
    use crate::reconstruct::whose::Carries;

    #[test]
    fn what_others_of_the_connection_were_translated_to_is_told() {
        let said = |server: u8, peer: bool, others: usize, reason: &str| {
            let mut f = Facts::empty();
            f.connections = vec![
                connection(0, (1, 50_001), (9, 80)),
                connection(1, (server, 80), (1, 50_001)),
                connection(2, (1, 50_002), (8, 80)),
            ];
            f.connections[0].peer = peer.then_some(ConnectionId(1));
            lose(&mut f, 10, 0, Carries::Data);
            (0..others).for_each(|n| lose(&mut f, 20 + n as i64, 2, Carries::Data));
            let rows: Vec<&DropRow> = f.drops.iter().collect();
            untranslated(&f, reason, &rows)
        };
        let of = said(2, true, 0, NO_ROUTE).unwrap();
        assert!(
            of.starts_with("what else these connections sent to 10.0.0.9:80 was translated and came to 10.0.0.2:80"),
            "{of}"
        );
        // The server has that address itself; no packet tells its socket; half of them are of others; another reason.
        assert_eq!(said(9, true, 0, NO_ROUTE), None);
        assert_eq!(said(2, false, 0, NO_ROUTE), None);
        assert_eq!(said(2, true, 1, NO_ROUTE), None);
        assert_eq!(said(2, true, 0, "IP_RPFILTER"), None);
    }
}
