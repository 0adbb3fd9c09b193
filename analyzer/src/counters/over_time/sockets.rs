//! Sockets as the recorder saw them every second: the section `sockets` of its readings, which tells of each what changed.
//!
//! In: its lines, in order. Out: rows of the view `sockets_over_time`. It must not fill in what was not told: a socket whose beginning is in a reading
//! that is lost has no more than what came later.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::snapshots::{hex, number, words};
use crate::table::{Cell, TableDef, col};

/// Rows above this are left out, and told.
const MOST_ROWS: usize = 400_000;
/// Sockets at once above this are not followed.
const MOST: usize = 100_000;
/// A text longer than an address has is cut.
const LONGEST: usize = 80;

/// What a socket is called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ends {
    /// Network namespace (inode).
    pub netns: u64,
    /// `tcp`, `udp`.
    pub proto: String,
    /// `sock_cookie` of the tcp events.
    pub cookie: u64,
    /// Its own address and port.
    pub src: String,
    /// Those of its peer.
    pub dst: String,
}

/// A socket of which something changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketRow {
    /// The reading, on the trace clock.
    pub at_ns: i64,
    /// Which socket.
    pub ends: Arc<Ends>,
    /// State, as `ss` names it with `_`; empty: not told.
    pub state: String,
    /// It was there at the reading before, and is not at this one.
    pub gone: bool,
    /// Numbers, in the order of [`NUMBERS`].
    pub numbers: [Option<u64>; NUMBERS.len()],
    /// Those of [`AGREED`].
    pub agreed: [Option<u64>; AGREED.len()],
}

/// Words of a line that are numbers.
pub const NUMBERS: [&str; 17] = [
    "rqueue",
    "wqueue",
    "mem.rmem_alloc",
    "mem.rcvbuf",
    "mem.wmem_queued",
    "mem.backlog",
    "mem.drops",
    "tcp.snd_cwnd",
    "tcp.snd_ssthresh",
    "tcp.rtt",
    "tcp.unacked",
    "tcp.total_retrans",
    "tcp.notsent_bytes",
    "tcp.bytes_acked",
    "tcp.bytes_received",
    "tcp.snd_wnd",
    "tcp.rcv_wnd",
];
/// Words of what its SYNs agreed on: numbers that are in no column.
pub const AGREED: [&str; 3] = ["tcp.options", "tcp.snd_wscale", "tcp.rcv_wscale"];

impl SocketRow {
    /// A number by its word.
    pub fn number(&self, word: &str) -> Option<u64> {
        let all = NUMBERS.iter().zip(&self.numbers).chain(AGREED.iter().zip(&self.agreed));
        all.into_iter().find(|(name, _)| **name == word).and_then(|(_, n)| *n)
    }
}

type Id = (u64, String, u64);

/// Sockets on the way.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    known: FxHashMap<Id, SocketRow>,
    rows: Vec<SocketRow>,
    left_out: u64,
    touched: Vec<Id>,
}

impl Sockets {
    /// Takes the section of a reading.
    pub(super) fn read(&mut self, text: &str) {
        for line in text.lines() {
            let named = number(line, "netns").zip(hex(line, "cookie"));
            let Some((netns, cookie)) = named else { continue };
            let proto = crate::snapshots::field(line, "proto").unwrap_or("");
            let proto: String = proto.chars().take(LONGEST).collect();
            let id = (netns, proto, cookie);
            if !self.known.contains_key(&id) && self.known.len() >= MOST {
                self.left_out = self.left_out.saturating_add(1);
                continue;
            }
            let row = self.known.entry(id.clone()).or_insert_with(|| SocketRow {
                at_ns: 0,
                ends: Arc::new(Ends {
                    netns,
                    proto: id.1.clone(),
                    cookie,
                    ..Ends::default()
                }),
                state: String::new(),
                gone: false,
                numbers: [None; NUMBERS.len()],
                agreed: [None; AGREED.len()],
            });
            row.gone = false;
            for (key, value) in words(line) {
                let text = || value.chars().take(LONGEST).collect();
                match key {
                    "state" => row.state = text(),
                    "gone" => row.gone = value == "yes",
                    "src" => Arc::make_mut(&mut row.ends).src = text(),
                    "dst" => Arc::make_mut(&mut row.ends).dst = text(),
                    _ => {
                        if let Some(at) = NUMBERS.iter().position(|n| *n == key) {
                            row.numbers[at] = value.parse().ok();
                        } else if let Some(at) = AGREED.iter().position(|n| *n == key) {
                            row.agreed[at] = value.parse().ok();
                        }
                    }
                }
            }
            self.touched.push(id);
        }
    }

    /// Ends the reading of this moment.
    pub(super) fn close(&mut self, at_ns: Option<i64>) {
        for id in std::mem::take(&mut self.touched) {
            let Some(row) = self.known.get_mut(&id).filter(|_| at_ns.is_some()) else {
                continue;
            };
            row.at_ns = at_ns.unwrap_or(0);
            let gone = row.gone;
            match self.rows.len() < MOST_ROWS {
                true => self.rows.push(row.clone()),
                false => self.left_out = self.left_out.saturating_add(1),
            }
            if gone {
                self.known.remove(&id);
            }
        }
    }

    /// The rows, and how many are left out.
    pub(super) fn finish(self) -> (Vec<SocketRow>, u64) {
        (self.rows, self.left_out)
    }
}

macro_rules! number {
    ($name:literal, $unit:literal, $meaning:literal, $at:literal) => {
        col!($name, $unit, U64, $meaning, |r, _| r.numbers[$at].into())
    };
}

/// The view.
pub static SOCKETS_OVER_TIME: TableDef<SocketRow> = TableDef {
    name: "sockets_over_time",
    meaning: "one row per TCP or UDP socket and reading (every second while that cost little) at which something of it was not as at the reading before; \
              what a column says holds until the next row of the socket",
    columns: &[
        col!("at_ns", "ns", I64, "the reading, trace clock", |r, _| Cell::I64(
            r.at_ns
        )),
        col!("netns", "id", U64, "network namespace (inode)", |r, _| Cell::U64(
            r.ends.netns
        )),
        col!("proto", "", Str, "tcp, udp", |r, _| Cell::str(r.ends.proto.as_str())),
        col!("state", "", Str, "established, listen, ...; empty: not told", |r, _| {
            Cell::str(r.state.as_str())
        }),
        col!("src", "", Str, "its own address and port", |r, _| Cell::str(
            r.ends.src.as_str()
        )),
        col!("dst", "", Str, "address and port of its peer", |r, _| Cell::str(
            r.ends.dst.as_str()
        )),
        col!("cookie", "id", U64, "sock_cookie of the tcp events", |r, _| Cell::U64(
            r.ends.cookie
        )),
        col!("gone", "", Bool, "true: it is not there any more", |r, _| Cell::Bool(
            r.gone
        )),
        number!(
            "rqueue",
            "count",
            "bytes not read; of a listening socket connections that wait to be accepted",
            0
        ),
        number!(
            "wqueue",
            "count",
            "bytes not acknowledged; of a listening socket the most that may wait",
            1
        ),
        number!("rmem_bytes", "bytes", "memory of its receive queue (sk_rmem_alloc)", 2),
        number!("rcvbuf_bytes", "bytes", "limit of that (sk_rcvbuf)", 3),
        number!(
            "wmem_queued_bytes",
            "bytes",
            "memory of its write queue (sk_wmem_queued)",
            4
        ),
        number!(
            "backlog_bytes",
            "bytes",
            "memory of segments that came while it was in use (sk_backlog.len)",
            5
        ),
        number!("drops", "count", "packets that it refused (sk_drops)", 6),
        number!("snd_cwnd", "packets", "congestion window", 7),
        number!("snd_ssthresh", "packets", "slow start threshold", 8),
        number!("rtt_us", "us", "smoothed round trip", 9),
        number!("unacked", "packets", "segments in flight", 10),
        number!("total_retrans", "count", "segments sent again so far", 11),
        number!("notsent_bytes", "bytes", "written and not sent yet", 12),
        number!("bytes_acked", "bytes", "acknowledged by the peer so far", 13),
        number!("bytes_received", "bytes", "received so far", 14),
        number!("snd_wnd_bytes", "bytes", "window that the peer offers", 15),
        number!("rcv_wnd_bytes", "bytes", "window that it offers", 16),
    ],
};
