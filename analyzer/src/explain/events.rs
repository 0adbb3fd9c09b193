//! Events of the merged sequence as lines: when, what, the decoded fields, and where in the file they lie.

use std::net::IpAddr;

use netmortem_formats::sockaddr::{SockAddr, v4, v6};
use rustc_hash::FxHashMap;

use super::Explainer;
use super::fields::Value;
use super::pins::Pin;
use crate::facts::SkbId;
use crate::ingest::Rec;

/// Why an event is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It names an skb of the story.
    Skb,
    /// It is the row's own event, or a sample of the connection.
    Row,
    /// It fired at the begin or end of a stage.
    Boundary,
    /// It names the row's socket, in its time.
    Socket,
    /// The reading or sending thread, while the unit waited for it.
    Task,
    /// The same CPU, inside the run.
    Cpu,
}

/// Where an event lies in the file: `netmortem inspect` prints the same.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Place {
    /// Member of the container.
    pub member: String,
    /// Byte of the file where its chunk begins.
    pub chunk_at: u64,
    /// Whether the member is more than this chunk.
    pub of_many: bool,
    /// Offset of the payload in the chunk's decoded bytes.
    pub offset: u32,
}

impl Place {
    /// As `inspect` writes it.
    pub fn text(&self) -> String {
        match self.of_many {
            true => format!("{}@{:#x}+{:#x}", self.member, self.chunk_at, self.offset),
            false => format!("{}+{:#x}", self.member, self.offset),
        }
    }
}

/// One event.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct EventLine {
    /// ns on the trace clock.
    pub time_ns: i64,
    /// CLOCK_REALTIME, when clock pairs were recorded.
    pub realtime_ns: Option<i64>,
    /// Since the begin of the story.
    pub since_ns: i64,
    /// CPU.
    pub cpu: u16,
    /// Thread that ran or was interrupted; -1 when not recorded.
    pub pid: i32,
    /// `task`, `softirq` or `hardirq`.
    pub context: &'static str,
    /// `system:name`.
    pub event: String,
    /// Its own fields in the order of the format, but for IPv4 addresses that an event of an IPv6 socket does not fill; texts as
    /// recorded.
    pub fields: Vec<(String, String)>,
    /// The skb it names, as `skb:12`.
    pub skb: Option<String>,
    /// Why it is listed.
    pub why: Why,
    /// Tracing instance, empty for the top one.
    pub instance: String,
    /// Where it lies.
    pub place: Place,
}

/// What to list.
#[derive(Debug, Default)]
pub struct Wanted {
    /// Lives.
    pub skbs: Vec<SkbId>,
    /// Lives, in an interval alone.
    pub skbs_within: Vec<(SkbId, i64, i64)>,
    /// Positions in the merged sequence.
    pub positions: Vec<u32>,
    /// Events that the row was made from.
    pub pins: Vec<Pin>,
    /// All events that name a socket, in an interval.
    pub sockets: Vec<(u64, i64, i64)>,
    /// Errors that a socket of these ports, local and remote, is told in an interval: the event names no address of it.
    pub told: Vec<(u16, u16, i64, i64)>,
    /// Moments, and the names of the events meant there; no name: any.
    pub moments: FxHashMap<i64, &'static [&'static str]>,
    /// Why events at the moments are listed.
    pub moments_are: Option<Why>,
    /// A thread's own and the scheduler's events of it, in an interval.
    pub tasks: Vec<(i32, i64, i64)>,
    /// All events of a CPU in an interval.
    pub cpus: Vec<(u16, i64, i64)>,
    /// Begin of the story.
    pub since: i64,
}

/// What is listed.
#[derive(Debug, Default)]
pub struct Listed {
    /// In order of time.
    pub events: Vec<EventLine>,
    /// How many more there are.
    pub left_out: u64,
    /// Pins that no event fits.
    pub not_found: Vec<Pin>,
}

/// Tells a socket of an error.
const TOLD: &str = "inet_sk_error_report";
/// Fields of the scheduler's events that name a thread.
const THREADS: [&str; 3] = ["pid", "prev_pid", "next_pid"];

/// An address that IPv4 does not have: the event is of an IPv6 socket.
fn is_v6(name: &str, v: &Value) -> bool {
    let of = ["saddr_v6", "daddr_v6"].contains(&name);
    let Value::Bytes(b) = v else { return false };
    match v6(b) {
        Some(IpAddr::V6(a)) if of && b.len() == 16 => !a.is_unspecified() && a.to_ipv4_mapped().is_none(),
        _ => false,
    }
}

/// 0.0.0.0, which the kernel writes where there is no IPv4 address.
fn is_no_v4(name: &str, v: &Value) -> bool {
    ["saddr", "daddr"].contains(&name) && matches!(v, Value::Bytes(b) if *b == [0; 4])
}

impl Explainer<'_> {
    /// At most `limit` events. What names the skbs or the row comes before what stands around it.
    pub(super) fn list(&self, w: &Wanted, limit: usize) -> Listed {
        let mut found: Vec<(Why, u32)> = vec![];
        let mut hit = vec![false; w.pins.len()];
        for (i, r) in self.trace.recs.iter().enumerate() {
            let mut pinned = false;
            for (hit, _) in hit.iter_mut().zip(&w.pins).filter(|(_, p)| self.fits(p, i as u32, r)) {
                (*hit, pinned) = (true, true);
            }
            let why = if pinned {
                Some(Why::Row)
            } else {
                self.why(w, i as u32, r)
            };
            found.extend(why.map(|why| (why, i as u32)));
        }
        let left_out = found.len().saturating_sub(limit) as u64;
        if left_out > 0 {
            found.sort();
            found.truncate(limit);
        }
        found.sort_by_key(|f| f.1);
        let events = found.iter().filter_map(|(why, i)| self.line(*i, *why, w.since));
        Listed {
            events: events.collect(),
            left_out,
            not_found: w
                .pins
                .iter()
                .zip(hit)
                .filter(|(_, hit)| !hit)
                .map(|(p, _)| *p)
                .collect(),
        }
    }

    fn why(&self, w: &Wanted, i: u32, r: &Rec) -> Option<Why> {
        if w.positions.contains(&i) {
            return Some(Why::Row);
        }
        let inside = |from: i64, to: i64| (from..=to).contains(&r.ts);
        let skb = self.identity.of(i);
        let within = |s: SkbId| (w.skbs_within.iter()).any(|(of, from, to)| *of == s && inside(*from, *to));
        if skb.is_some_and(|s| w.skbs.contains(&s) || within(s)) {
            return Some(Why::Skb);
        }
        if let Some(names) = w.moments.get(&r.ts) {
            let name = self.trace.schema.by_id(r.kind).map_or("", |f| f.name.as_str());
            if names.is_empty() || names.contains(&name) {
                return Some(w.moments_are.unwrap_or(Why::Boundary));
            }
        }
        let mut sockets = w.sockets.iter().filter(|s| inside(s.1, s.2)).peekable();
        if sockets.peek().is_some() {
            let own = self.socket(r);
            if sockets.any(|s| own == Some(s.0)) {
                return Some(Why::Socket);
            }
        }
        if w.told.iter().any(|t| inside(t.2, t.3) && self.tells(r, (t.0, t.1))) {
            return Some(Why::Socket);
        }
        if w.tasks
            .iter()
            .any(|(pid, from, to)| inside(*from, *to) && self.is_of(r, i, *pid))
        {
            return Some(Why::Task);
        }
        let on = w.cpus.iter().any(|(cpu, from, to)| *cpu == r.cpu && inside(*from, *to));
        on.then_some(Why::Cpu)
    }

    /// Whether a record is an error that a socket of these ports is told.
    fn tells(&self, r: &Rec, (local, remote): (u16, u16)) -> bool {
        let of = self.trace.schema.by_id(r.kind).is_some_and(|f| f.name == TOLD);
        let port = |name: &str| self.number(r, &[name]);
        of && port("sport") == Some(local.into()) && port("dport") == Some(remote.into())
    }

    /// Whether a record is a thread's, or the scheduler's about it. Interrupts that stop it are not its own.
    fn is_of(&self, r: &Rec, i: u32, pid: i32) -> bool {
        let own = self
            .trace
            .event(i as usize)
            .is_some_and(|e| e.pid == pid && e.in_task());
        let Some((format, readers)) = self.readers.get(&r.kind) else {
            return own;
        };
        if format.system != "sched" {
            return own;
        }
        let payload = self.trace.payload(r);
        let of = readers.iter().filter(|f| THREADS.contains(&f.name.as_str()));
        let mut named = of.map(|f| f.value(payload));
        named.any(|v| matches!(v, Value::Signed(n, _) if n == i64::from(pid)))
    }

    fn line(&self, i: u32, why: Why, since: i64) -> Option<EventLine> {
        let (e, r) = (self.trace.event(i as usize)?, self.trace.recs.get(i as usize)?);
        let (event, fields) = match self.readers.get(&r.kind) {
            None => (format!("id:{}", r.kind), vec![]),
            Some((format, readers)) => {
                let own = readers.iter().filter(|f| !f.name.starts_with("common_"));
                let mut own: Vec<(&str, Value)> = own.map(|f| (f.name.as_str(), f.value(e.payload))).collect();
                if own.iter().any(|(name, v)| is_v6(name, v)) {
                    own.retain(|(name, v)| !is_no_v4(name, v));
                }
                let text = |v: Value, name: &str| self.address(&v, name).unwrap_or_else(|| v.to_string());
                let fields = own.into_iter().map(|(name, v)| (name.to_owned(), text(v, name)));
                (format.key(), fields.collect())
            }
        };
        let (instance, place) = self.place(r)?;
        Some(EventLine {
            time_ns: e.ts,
            realtime_ns: self.trace.info.realtime_offset_ns.map(|o| e.ts.saturating_add(o)),
            since_ns: e.ts.wrapping_sub(since),
            cpu: e.cpu,
            pid: e.pid,
            context: match (e.in_hardirq(), e.in_softirq()) {
                (true, _) => "hardirq",
                (_, true) => "softirq",
                _ => "task",
            },
            event,
            fields,
            skb: self.identity.of(i).map(|s| format!("skb:{}", s.0)),
            why,
            instance,
            place,
        })
    }

    /// An address in the words of a person; `None` for what is no address.
    fn address(&self, v: &Value, name: &str) -> Option<String> {
        let Value::Bytes(b) = v else { return None };
        match (name, b.len()) {
            ("saddr" | "daddr", 28) => Some(SockAddr::read(b, self.trace.schema.endian)?.to_string()),
            ("saddr" | "daddr", 4) => Some(v4(b)?.to_string()),
            ("saddr_v6" | "daddr_v6", 16) => Some(v6(b)?.to_string()),
            _ => None,
        }
    }

    fn place(&self, r: &Rec) -> Option<(String, Place)> {
        let (s, c) = *self.chunks.get(r.block as usize)?;
        let stream = self.capture.streams.get(s as usize)?;
        let chunk = stream.chunks.get(c as usize)?;
        let member = self.capture.members.get(chunk.member.0 as usize);
        let place = Place {
            member: member.map_or_else(String::new, |m| m.name.clone()),
            chunk_at: chunk.range.start,
            of_many: member.is_none_or(|m| m.range != chunk.range),
            offset: r.offset,
        };
        Some((stream.instance.clone(), place))
    }
}
