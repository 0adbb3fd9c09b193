//! Sends of sockets, by their events.

use rustc_hash::FxHashMap;

use crate::explain::Explainer;
use crate::explain::fields::Value;
use crate::facts::{ConnectionId, Facts};
use crate::ingest::Rec;
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::reconstruct::transmit::tables::{TxKind, TxStart};

/// A call that sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sent {
    pub connection: ConnectionId,
    /// Begin of the call; where that was not recorded, the event.
    pub at_ns: i64,
    pub pid: i32,
    pub bytes: Option<u64>,
    /// Without `sys_enter_`; empty: not recorded.
    pub call: String,
}

/// All of some sockets.
#[derive(Debug, Default)]
pub(super) struct Sends {
    pub all: Vec<Sent>,
    /// By segments, for want of events.
    pub inferred: bool,
}

/// What tells how much a call sent (net/socket.c, since Linux 6.3).
const LENGTH: &str = "sock_send_length";

/// An event that is looked at.
#[derive(Clone)]
enum Kind {
    Enter(String),
    Exit,
    Length,
}

pub(super) fn sends(explainer: &Explainer<'_>, facts: &Facts, sockets: &[&ConnectionRow]) -> Sends {
    let named = sockets.iter().all(|s| s.skaddr != 0);
    if named && facts.capture.recorded("sock:sock_send_length") {
        return Sends {
            all: by_events(explainer, sockets),
            inferred: false,
        };
    }
    Sends {
        all: by_segments(facts, sockets),
        inferred: true,
    }
}

fn by_events(explainer: &Explainer<'_>, sockets: &[&ConnectionRow]) -> Vec<Sent> {
    let kinds = explainer.readers.iter().filter_map(|(id, (format, _))| {
        let kind = match format.name.as_str() {
            LENGTH => Kind::Length,
            name => match name.strip_prefix("sys_enter_") {
                Some(call) => Kind::Enter(call.to_owned()),
                None => name.starts_with("sys_exit_").then_some(Kind::Exit)?,
            },
        };
        Some((*id, kind))
    });
    let kinds: FxHashMap<u16, Kind> = kinds.collect();
    // Which call each thread is in, and since when.
    let mut calls: FxHashMap<i32, (i64, u16)> = FxHashMap::default();
    let mut out = vec![];
    for (i, r) in explainer.trace.recs.iter().enumerate() {
        let Some(kind) = kinds.get(&r.kind) else { continue };
        let Some(e) = explainer.trace.event(i) else { continue };
        match kind {
            Kind::Enter(_) => _ = calls.insert(e.pid, (r.ts, r.kind)),
            Kind::Exit => _ = calls.remove(&e.pid),
            Kind::Length => {
                let sk = explainer.socket(r);
                let within = |s: &&&ConnectionRow| Some(s.skaddr) == sk && (s.first_ns..=s.last_ns).contains(&r.ts);
                let (Some(s), Some(bytes)) = (sockets.iter().find(within), length(explainer, r)) else {
                    continue;
                };
                let call = calls.get(&e.pid).copied();
                let name = call.and_then(|(_, kind)| match kinds.get(&kind)? {
                    Kind::Enter(name) => Some(name.clone()),
                    _ => None,
                });
                out.push(Sent {
                    connection: s.connection,
                    at_ns: call.map_or(r.ts, |c| c.0),
                    pid: e.pid,
                    bytes: Some(bytes),
                    call: name.unwrap_or_default(),
                });
            }
        }
    }
    out
}

/// Bytes that were taken; `None`: none, or it failed.
fn length(explainer: &Explainer<'_>, r: &Rec) -> Option<u64> {
    let (_, readers) = explainer.readers.get(&r.kind)?;
    let field = readers.iter().find(|f| f.name == "ret")?;
    match field.value(explainer.trace.payload(r)) {
        Value::Signed(n, _) => u64::try_from(n).ok(),
        Value::Unsigned(n, _) => Some(n),
        _ => None,
    }
    .filter(|n| *n > 0)
}

fn by_segments(facts: &Facts, sockets: &[&ConnectionRow]) -> Vec<Sent> {
    let mut out: Vec<Sent> = vec![];
    for s in sockets {
        let mut of: Vec<Sent> = facts
            .tx
            .iter()
            .filter(|t| t.connection == Some(s.connection) && t.kind == TxKind::Tcp && t.start != TxStart::Queue)
            .map(|t| Sent {
                connection: s.connection,
                at_ns: t.start_ns,
                pid: t.pid,
                bytes: t.bytes.map(u64::from),
                call: String::new(),
            })
            .collect();
        of.sort_by_key(|t| (t.at_ns, t.pid));
        for t in of {
            match out.last_mut() {
                Some(o) if (o.connection, o.at_ns, o.pid) == (t.connection, t.at_ns, t.pid) => {
                    o.bytes = o.bytes.zip(t.bytes).map(|(a, b)| a.saturating_add(b));
                }
                _ => out.push(t),
            }
        }
    }
    out
}
