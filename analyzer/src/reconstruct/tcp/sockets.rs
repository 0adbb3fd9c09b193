//! Identity of TCP sockets.

use std::net::IpAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::reads::Reads;
use super::states::{ESTABLISHED, SYN_RECV, SYN_SENT};
use super::tables::ConnectionRow;
use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::ingest::GapRow;
use crate::name::Name;

/// Sockets of one 4-tuple, newest first, among which an event's is looked for: enough for every namespace of a host that
/// has the same one, and a bound on the work of a recording in which one 4-tuple comes back for ever.
const RECENT: usize = 64;

/// Local and remote end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tuple {
    /// Local address.
    pub saddr: IpAddr,
    /// Local port.
    pub sport: u16,
    /// Remote address.
    pub daddr: IpAddr,
    /// Remote port.
    pub dport: u16,
}

impl Tuple {
    /// As the other end's socket has it.
    pub fn reversed(self) -> Tuple {
        Tuple {
            saddr: self.daddr,
            sport: self.dport,
            daddr: self.saddr,
            dport: self.sport,
        }
    }
}

/// What is kept of a socket besides its row.
#[derive(Debug, Clone)]
pub struct Socket {
    /// The row being built.
    pub row: ConnectionRow,
    /// Ends.
    pub tuple: Tuple,
    /// Last sampled `snd_nxt`.
    pub snd_nxt: Option<u32>,
    /// Last congestion state and when it was set.
    pub cong: Option<(u8, i64)>,
    /// Losses told before that.
    pub cong_era: u64,
    /// CPU and thread that set it, when that was in task context.
    pub cong_task: Option<(u16, i32)>,
    /// Softirq vector in whose run it was set, where that is known.
    pub cong_vec: Option<u32>,
    /// Last `tcp_probe` or retransmission.
    pub last_sign_ns: Option<i64>,
    /// That was a retransmission by a timer.
    pub by_timer: bool,
    /// It was seen to close.
    pub closed: bool,
    /// It was seen to be freed.
    pub freed: bool,
    /// Its reads.
    pub reads: Reads,
}

/// What is known of an address before the first event that says whose it is.
#[derive(Debug, Default, Clone, Copy)]
struct Unnamed {
    /// When a socket that had it ended.
    ended_ns: Option<i64>,
    /// First use after that, and bytes.
    used_ns: Option<i64>,
    written: u64,
    read: u64,
    pid: i32,
    /// Losses told before that use.
    era: u64,
}

/// All sockets, and which of them an address means when.
#[derive(Debug, Default)]
pub struct Sockets {
    /// By id.
    pub all: Vec<Socket>,
    by_cookie: FxHashMap<u64, usize>,
    by_sk: FxHashMap<u64, Vec<(i64, usize)>>,
    /// Addresses that no event named yet.
    unnamed: FxHashMap<u64, Unnamed>,
    by_tuple: FxHashMap<Tuple, Vec<usize>>,
}

impl Unnamed {
    fn is_of(&self, row: &mut ConnectionRow) {
        row.first_ns = self.used_ns.map_or(row.first_ns, |ns| ns.min(row.first_ns));
        if row.pid == 0 {
            row.pid = self.pid;
        }
        let sum = |of: &mut Option<u64>, n: u64| {
            if n > 0 {
                *of = Some(of.unwrap_or(0).saturating_add(n));
            }
        };
        sum(&mut row.bytes_written, self.written);
        sum(&mut row.bytes_read, self.read);
    }
}

impl Sockets {
    /// The socket an event is about; a new one when none fits.
    pub fn resolve(&mut self, ts: i64, sk: Option<u64>, cookie: Option<u64>, tuple: Tuple) -> usize {
        let (sk, cookie) = (sk.filter(|a| *a != 0), cookie.filter(|c| *c != 0));
        let found = self.find(sk, cookie, &tuple);
        let i = found.map_or_else(|| self.create(ts, tuple), |f| f.0);
        if let Some(s) = self.all.get_mut(i) {
            if s.tuple.sport == 0 && tuple.sport != 0 {
                (s.tuple, s.row.saddr, s.row.sport) = (tuple, Some(tuple.saddr), tuple.sport);
                self.by_tuple.entry(tuple).or_default().push(i);
            }
            if let Some((_, link)) = found {
                s.row.confidence = s.row.confidence.min(link);
            }
            s.row.last_ns = s.row.last_ns.max(ts);
            if let (Some(c), None) = (cookie, s.row.cookie) {
                s.row.cookie = Some(c);
            }
            if let Some(a) = sk {
                s.row.skaddr = a;
            }
        }
        if let Some(c) = cookie {
            self.by_cookie.insert(c, i);
        }
        if let Some(a) = sk {
            let of = self.by_sk.entry(a).or_default();
            if of.last().is_none_or(|(_, last)| *last != i) {
                of.push((ts, i));
            }
        }
        i
    }

    /// A task used a socket by an address that nothing named yet: so many bytes. What was used before a loss may have been another's.
    pub fn used_early(&mut self, (sk, era): (u64, u64), ts: i64, pid: i32, (written, read): (u64, u64)) {
        if self.by_sk.contains_key(&sk) {
            return;
        }
        let of = self.unnamed.entry(sk).or_default();
        if of.era != era {
            *of = Unnamed {
                era,
                ended_ns: of.ended_ns,
                ..Unnamed::default()
            };
        }
        of.used_ns = of.used_ns.or(Some(ts));
        of.written = of.written.saturating_add(written);
        of.read = of.read.saturating_add(read);
        if pid > 0 {
            of.pid = pid;
        }
    }

    /// A socket at an address ended: what used the address before is of that one.
    pub fn ended(&mut self, sk: u64, ts: i64) {
        if !self.by_sk.contains_key(&sk) {
            self.unnamed.insert(
                sk,
                Unnamed {
                    ended_ns: Some(ts),
                    ..Unnamed::default()
                },
            );
        }
    }

    /// The first socket that events name at an address had it before, too, from the last end of another one: a socket that was open when the
    /// recording began and silent until it was used. Not across lost events: they may be another's end.
    pub fn reach_back(&mut self, gaps: &[GapRow]) {
        // Begins of losses, and when all of those up to each were over.
        let mut lost: Vec<(i64, i64)> = (gaps.iter())
            .map(|g| (g.start_ns.unwrap_or(i64::MIN), g.end_ns.unwrap_or(i64::MAX)))
            .collect();
        lost.sort_unstable();
        let mut over = i64::MIN;
        for gap in &mut lost {
            over = over.max(gap.1);
            gap.1 = over;
        }
        let since = |first: i64| {
            let last = lost.partition_point(|g| g.0 <= first).checked_sub(1);
            last.and_then(|n| lost.get(n)).map_or(i64::MIN, |g| g.1)
        };
        for (sk, of) in &mut self.by_sk {
            let early = self.unnamed.get(sk);
            let ended = early.and_then(|u| u.ended_ns);
            let Some(first) = of.first_mut() else { continue };
            // One whose begin was seen has nothing before it.
            let born = self.all.get(first.1).and_then(|s| s.row.born);
            if matches!(born, Some(SYN_SENT | SYN_RECV | ESTABLISHED)) {
                continue;
            }
            first.0 = since(first.0).max(ended.unwrap_or(i64::MIN)).min(first.0);
            // What was used across a loss may have been another's.
            let own = early.filter(|u| u.used_ns.is_some_and(|ns| ns >= first.0));
            if let Some((early, s)) = own.zip(self.all.get_mut(first.1)) {
                early.is_of(&mut s.row);
            }
        }
        self.unnamed = FxHashMap::default();
    }

    fn find(&self, sk: Option<u64>, cookie: Option<u64>, tuple: &Tuple) -> Option<(usize, Confidence)> {
        if let Some(i) = cookie.and_then(|c| self.by_cookie.get(&c)) {
            return Some((*i, Confidence::Certain));
        }
        // A socket whose cookie is known is not the one of another cookie.
        let free = |i: &usize| {
            self.all
                .get(*i)
                .is_some_and(|s| !s.closed && (cookie.is_none() || s.row.cookie.is_none() || s.row.cookie == cookie))
        };
        if let Some(a) = sk {
            let last = self.by_sk.get(&a).and_then(|of| of.last()).map(|(_, i)| *i);
            // SYN_SENT is set before the local port is chosen.
            let is = |s: &Socket| {
                s.tuple == *tuple
                    || (s.tuple.sport == 0 && (s.tuple.daddr, s.tuple.dport) == (tuple.daddr, tuple.dport))
            };
            if let Some(i) = last.filter(|i| free(i) && self.all.get(*i).is_some_and(is)) {
                return Some((i, Confidence::Certain));
            }
        }
        let same: Vec<usize> = self.by_tuple.get(tuple).map_or(vec![], |of| {
            let recent = of.iter().rev().take(RECENT).copied();
            recent.filter(free).take(2).collect()
        });
        let addressless = |i: &usize| self.all.get(*i).is_some_and(|s| s.row.skaddr == 0) || sk.is_none();
        match same.as_slice() {
            [one] if addressless(one) => Some((*one, Confidence::Strong)),
            // The same 4-tuple in several network namespaces
            [last, ..] if sk.is_none() && cookie.is_none() => Some((*last, Confidence::Weak)),
            _ => None,
        }
    }

    fn create(&mut self, ts: i64, tuple: Tuple) -> usize {
        let i = self.all.len();
        self.all.push(Socket {
            row: ConnectionRow {
                born: None,
                listens: None,
                connection: ConnectionId(i as u32),
                saddr: Some(tuple.saddr),
                sport: tuple.sport,
                daddr: Some(tuple.daddr),
                dport: tuple.dport,
                skaddr: 0,
                cookie: None,
                task: Name::default(),
                pid: 0,
                first_ns: ts,
                last_ns: ts,
                bytes_in: 0,
                bytes_out: 0,
                bytes_read: None,
                bytes_written: None,
                retransmits: None,
                retransmit_segments: None,
                retransmits_refused: None,
                samples: 0,
                peer: None,
                confidence: Confidence::Certain,
            },
            tuple,
            snd_nxt: None,
            cong: None,
            cong_era: 0,
            cong_task: None,
            cong_vec: None,
            last_sign_ns: None,
            by_timer: false,
            closed: false,
            freed: false,
            reads: Reads::default(),
        });
        self.by_tuple.entry(tuple).or_default().push(i);
        i
    }

    /// The socket that now has an address.
    pub fn current(&mut self, sk: u64) -> Option<&mut Socket> {
        let i = self.by_sk.get(&sk)?.last()?.1;
        self.all.get_mut(i).filter(|s| !s.closed)
    }

    /// The socket at an address that somebody may read: what a RST closed keeps what it had received until it is freed.
    pub fn readable(&mut self, sk: u64) -> Option<&mut Socket> {
        let i = self.by_sk.get(&sk)?.last()?.1;
        self.all.get_mut(i).filter(|s| !s.freed)
    }

    /// The socket at an address was freed.
    pub fn free(&mut self, sk: u64, ts: i64) {
        self.close(sk, ts);
        if let Some(s) = self.readable(sk) {
            s.freed = true;
        }
    }

    /// The socket at an address closed; later events of the address are of another one, unless a cookie says otherwise.
    pub fn close(&mut self, sk: u64, ts: i64) {
        if let Some(s) = self.current(sk) {
            s.closed = true;
            s.row.last_ns = s.row.last_ns.max(ts);
        }
    }

    /// All addresses of socks that events named.
    pub fn addresses(&self) -> FxHashSet<u64> {
        self.by_sk.keys().copied().collect()
    }

    /// Whose an address is at a time: the last that had it by then; before any, nobody.
    pub fn at(&self, sk: u64, ts: i64) -> Option<ConnectionId> {
        let of = self.by_sk.get(&sk)?;
        let i = of.partition_point(|(since, _)| *since <= ts).checked_sub(1)?;
        of.get(i).map(|(_, s)| ConnectionId(*s as u32))
    }
}
