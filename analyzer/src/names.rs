//! What numbers in the rows are called.

use std::net::SocketAddr;

use netmortem_formats::Capture;
use netmortem_formats::event_format::ValueTable;
use rustc_hash::FxHashMap;

use crate::facts::ConnectionId;
use crate::reconstruct::tcp::role::Role;
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::table::Cell;

/// Both ends of a TCP socket; `None`: the address is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Its own.
    pub local: Option<SocketAddr>,
    /// The other.
    pub remote: Option<SocketAddr>,
    /// Which it is itself.
    pub role: Role,
}

impl Ends {
    /// Of a row of `connections`.
    pub fn of(row: &ConnectionRow) -> Ends {
        Ends {
            local: row.local(),
            remote: row.remote(),
            role: row.role().0,
        }
    }
    /// The client's end, and the server's.
    pub fn client_and_server(&self) -> (Option<SocketAddr>, Option<SocketAddr>) {
        match self.role {
            Role::Client => (self.local, self.remote),
            Role::Server => (self.remote, self.local),
        }
    }
}

/// What numbers in the rows are called, from the recording alone.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Function names of kernel text addresses that occur in the tables.
    pub locations: FxHashMap<u64, String>,
    /// The recording's own drop-reason table.
    pub drop_reasons: Option<ValueTable>,
    /// It is not the recording's: the kernel records no reasons, and the functions that free stand for some (inferred).
    pub reasons_by_place: bool,
    /// The same of RSTs that were sent (before Linux 6.10).
    pub reset_reasons_inferred: bool,
    /// No event names a UDP socket (before Linux 6.3): a process' descriptor is one, by its calls and the packets in them (inferred).
    pub udp_by_calls: bool,
    /// Ends of the TCP sockets, by their number.
    pub ends: Vec<Ends>,
}

impl Names {
    /// What places in the kernel are called.
    pub(crate) fn locations(capture: &Capture, places: impl Iterator<Item = u64>) -> FxHashMap<u64, String> {
        let mut known: FxHashMap<u64, Option<String>> = FxHashMap::default();
        for address in places.filter(|a| *a != 0) {
            let name = || capture.kallsyms.resolve(address).map(|(name, _)| name.to_string());
            known.entry(address).or_insert_with(name);
        }
        known.into_iter().filter_map(|(a, n)| Some((a, n?))).collect()
    }

    fn end<'a>(&self, of: ConnectionId, which: impl Fn(&Ends) -> Option<SocketAddr>) -> Cell<'a> {
        let end = self.ends.get(of.0 as usize).and_then(which);
        end.map_or(Cell::Null, |end| Cell::str(end.to_string()))
    }
    /// Who opened a connection, as `address:port`.
    pub fn client(&self, of: ConnectionId) -> Cell<'_> {
        self.end(of, |e| e.client_and_server().0)
    }
    /// Who accepted it.
    pub fn server(&self, of: ConnectionId) -> Cell<'_> {
        self.end(of, |e| e.client_and_server().1)
    }
    /// A socket's own end.
    pub fn local(&self, of: Option<ConnectionId>) -> Cell<'_> {
        of.map_or(Cell::Null, |of| self.end(of, |e| e.local))
    }
    /// The other end.
    pub fn remote(&self, of: Option<ConnectionId>) -> Cell<'_> {
        of.map_or(Cell::Null, |of| self.end(of, |e| e.remote))
    }

    /// A location as its function name; as an address when the recording has no symbols; empty when 0.
    pub fn location(&self, address: u64) -> Cell<'_> {
        match (address, self.locations.get(&address)) {
            (0, _) => Cell::Null,
            (_, Some(name)) => Cell::str(name.as_str()),
            (a, None) => Cell::address(a),
        }
    }
    /// Why a RST was sent, and whether that is inferred.
    pub fn reset_reason(&self, reason: &str) -> String {
        match self.reset_reasons_inferred && !reason.is_empty() {
            true => format!("{reason} (inferred)"),
            false => reason.to_owned(),
        }
    }
    /// A drop reason by name; as a number when the recording's table lacks it; empty when not recorded.
    pub fn drop_reason(&self, reason: Option<u32>) -> Cell<'_> {
        let Some(r) = reason else { return Cell::Null };
        let known = self
            .drop_reasons
            .as_ref()
            .and_then(|t| t.entries.iter().find(|(v, _)| *v == u64::from(r)));
        known.map_or_else(|| Cell::str(format!("reason {r}")), |(_, n)| Cell::str(n.as_str()))
    }
}
