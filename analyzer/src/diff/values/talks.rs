//! Who said what last on each connection whose server is known, and how it ended.
//!
//! In: sockets, payload, states, resets. Out: payload by connection and end; the last message of each client, the last of what the server sent, and what came then. With a window the
//! last message is that of the window, and the server's that of the recording: what it answers later is no silence.

use rustc_hash::FxHashMap;

use super::ends::known;
use crate::analyses::application::Role;
use crate::diff::servers::answers::server;
use crate::diff::sides::options::Recording;
use crate::facts::ConnectionId;
use crate::reconstruct::receive::tables::RxEnd;
use crate::reconstruct::tcp::states::{CLOSE_WAIT, ESTABLISHED};
use crate::reconstruct::transmit::tables::TxKind;

/// Server of each connection that counts, and which end its socket is.
pub(in crate::diff) type Names = FxHashMap<ConnectionId, (String, Role)>;

/// Payload of one packet.
pub(in crate::diff) struct Payload {
    pub connection: ConnectionId,
    pub at_ns: i64,
    /// The client's; else the server's.
    pub asks: bool,
    pub bytes: Option<u32>,
}

/// One end of a connection: the last message of the part compared, its bytes, and the last of what the server sent, whenever that was.
#[derive(Default, Clone, Copy)]
pub(in crate::diff) struct Talk {
    pub asked: Option<(i64, Option<u32>)>,
    pub heard: Option<i64>,
    /// Units that the server sent in the part compared.
    pub units: u64,
}

pub(in crate::diff) fn names(r: &Recording<'_>) -> Names {
    let (facts, here) = (r.facts, r.connections());
    let mut out = Names::default();
    for c in (0..facts.connections.len() as u32).map(ConnectionId) {
        let on = here.as_ref().is_none_or(|h| h.contains(&c));
        let role = known(facts, c).filter(|_| on);
        if let Some((role, name)) = role.and_then(|role| Some((role, server(r, c, role)?))) {
            out.insert(c, (name, role));
        }
    }
    out
}

pub(in crate::diff) fn payload<'r>(r: &Recording<'r>, names: &'r Names) -> impl Iterator<Item = Payload> + use<'r> {
    let rx = r.facts.rx.iter();
    let rx = rx.filter(|x| x.end != RxEnd::Protocol && x.bytes != Some(0));
    let rx = rx.filter_map(|x| Some((x.connection?, x.start_ns, false, x.bytes)));
    let tx = r.facts.tx.iter();
    let tx = tx.filter(|t| t.kind == TxKind::Tcp && t.bytes != Some(0));
    let tx = tx.filter_map(|t| Some((t.connection?, t.start_ns, true, t.bytes)));
    rx.chain(tx).filter_map(|(connection, at_ns, sent, bytes)| {
        let (_, role) = names.get(&connection)?;
        let asks = (*role == Role::Client) == sent;
        Some(Payload {
            connection,
            at_ns,
            asks,
            bytes,
        })
    })
}

pub(in crate::diff) fn talks(r: &Recording<'_>, names: &Names) -> FxHashMap<ConnectionId, Talk> {
    let mut out: FxHashMap<ConnectionId, Talk> = FxHashMap::default();
    for p in payload(r, names) {
        let of = out.entry(p.connection).or_default();
        match p.asks {
            true => of.asked = of.asked.max(Some((p.at_ns, p.bytes)).filter(|(at, _)| r.has(*at))),
            false => {
                of.heard = of.heard.max(Some(p.at_ns));
                of.units += u64::from(r.has(p.at_ns));
            }
        }
    }
    out
}

/// When each left the established state first behind its last message, and whether the peer made it.
pub(in crate::diff) fn ended(
    r: &Recording<'_>,
    talks: &FxHashMap<ConnectionId, Talk>,
) -> FxHashMap<ConnectionId, (i64, bool)> {
    let mut out: FxHashMap<ConnectionId, (i64, bool)> = FxHashMap::default();
    let behind = |c: &ConnectionId, at: i64| talks.get(c).and_then(|t| t.asked).is_some_and(|(asked, _)| at >= asked);
    let states = r.facts.tcp_states.iter();
    let states = states.filter(|s| s.kind == "sock" && s.state != ESTABLISHED);
    let states = states.map(|s| (s.connection, s.time_ns, s.state == CLOSE_WAIT));
    let resets = r.facts.resets.iter().filter(|x| x.received);
    let resets = resets.filter_map(|x| Some((x.connection?, x.time_ns, true)));
    for (c, at, by_peer) in states.chain(resets).filter(|(c, at, _)| behind(c, *at)) {
        let of = out.entry(c).or_insert((at, by_peer));
        if (at, !by_peer) < (of.0, !of.1) {
            *of = (at, by_peer);
        }
    }
    out
}
