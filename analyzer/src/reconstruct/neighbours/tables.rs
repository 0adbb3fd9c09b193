//! Rows of the view `neighbours`.

use std::net::IpAddr;

use crate::confidence::Confidence;
use crate::name::Name;
use crate::table::{Cell, TableDef, col};

/// States (include/uapi/linux/neighbour.h NUD_*).
const STATES: [(u8, &str); 9] = [
    (0x00, "none"),
    (0x01, "incomplete"),
    (0x02, "reachable"),
    (0x04, "stale"),
    (0x08, "delay"),
    (0x10, "probe"),
    (0x20, "failed"),
    (0x40, "noarp"),
    (0x80, "permanent"),
];
/// NUD_VALID: packets are sent to its address.
const VALID: u8 = 0x02 | 0x04 | 0x08 | 0x10 | 0x40 | 0x80;

/// A link-layer address as printed; empty where an entry has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub struct LinkAddr {
    bytes: [u8; 8],
    len: u8,
}

impl LinkAddr {
    /// Of the first `len` of these bytes; `None` where they are all 0, or there are none, or more than 8 (InfiniBand).
    pub fn of(bytes: &[u8], len: u8) -> Option<LinkAddr> {
        let used = bytes.get(..usize::from(len)).filter(|b| b.iter().any(|x| *x != 0))?;
        let mut of = LinkAddr { bytes: [0; 8], len };
        of.bytes.get_mut(..used.len())?.copy_from_slice(used);
        Some(of)
    }
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or(&[])
    }
}

impl std::fmt::Display for LinkAddr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, byte) in self.bytes().iter().enumerate() {
            let colon = if at == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02x}")?;
        }
        Ok(())
    }
}

/// An entry's address and state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    /// Link-layer address.
    pub lladdr: Option<LinkAddr>,
    /// `NUD_*`.
    pub state: u8,
}

impl Held {
    /// The address to which packets are sent.
    pub fn valid(&self) -> Option<LinkAddr> {
        self.lladdr.filter(|_| self.state & VALID != 0)
    }
}

/// The word of a state; a number where it is none of the kernel's.
pub fn state_word(state: u8) -> String {
    let known = STATES.iter().find(|s| s.0 == state);
    known.map_or_else(|| format!("0x{state:02x}"), |s| s.1.to_owned())
}

/// One event of a neighbour entry.
#[derive(Debug, Clone, PartialEq)]
pub struct NeighbourRow {
    /// When; of an update its begin.
    pub time_ns: i64,
    /// CPU.
    pub cpu: u16,
    /// Name of the event, without `neigh_`.
    pub event: &'static str,
    /// Device.
    pub dev: Name,
    /// Whose.
    pub address: IpAddr,
    /// Before an update; the entry's own of other events; `None` of neigh_create.
    pub before: Option<Held>,
    /// After an update; `None` of other events, and where it was not recorded.
    pub after: Option<Held>,
    /// The kernel's result, 0 or negative; of event_send_done 1: the packet has to wait, or is freed.
    pub err: Option<i32>,
    /// Netlink port of who asked for an update; 0 for the kernel.
    pub netlink: u32,
    /// Task in whose call it happened; empty in an interrupt or a softirq.
    pub task: Name,
    /// Its thread id; 0 there.
    pub pid: i32,
    /// Of `after`.
    pub confidence: Confidence,
}

fn lladdr(h: Option<Held>) -> Cell<'static> {
    h.and_then(|h| h.lladdr)
        .map_or(Cell::Null, |a| Cell::str(a.to_string()))
}

fn state(h: Option<Held>) -> Cell<'static> {
    h.map_or(Cell::Null, |h| Cell::str(state_word(h.state)))
}

/// The view `neighbours`.
pub static NEIGHBOURS: TableDef<NeighbourRow> = TableDef {
    name: "neighbours",
    meaning: "one row per event of a neighbour entry (ARP, neighbour discovery), by time; an update and its end are one row",
    columns: &[
        col!("time_ns", "ns", I64, "when; of an update its begin", |r, _| Cell::I64(
            r.time_ns
        )),
        col!(
            "event",
            "",
            Str,
            "update, create, event_send_done (a packet asked for an entry that was not known to be reachable), event_send_dead, timer_handler, cleanup_and_release: the kernel's events of neigh",
            |r, _| Cell::str(r.event)
        ),
        col!("dev", "", Str, "device; of which namespace no event tells", |r, _| {
            Cell::name(&r.dev)
        }),
        col!("address", "", Str, "address of the neighbour", |r, _| Cell::str(
            r.address.to_string()
        )),
        col!(
            "lladdr",
            "",
            Str,
            "its link-layer address, of an update the one before; empty when it has none",
            |r, _| lladdr(r.before)
        ),
        col!(
            "state",
            "",
            Str,
            "state of the entry (NUD_*), of an update the one before",
            |r, _| state(r.before)
        ),
        col!(
            "new_lladdr",
            "",
            Str,
            "link-layer address after an update; empty when it has none, and for other events",
            |r, _| lladdr(r.after)
        ),
        col!("new_state", "", Str, "state after an update", |r, _| state(r.after)),
        col!(
            "err",
            "",
            I64,
            "the kernel's result, 0 or a negative errno; of event_send_done 1: the packet waits for the answer, or is freed",
            |r, _| r.err.map(i64::from).into()
        ),
        col!(
            "netlink_port",
            "id",
            U64,
            "port of who asked for the update over netlink (of a program's first socket its process id); empty: the kernel itself",
            |r, _| (r.netlink != 0).then_some(r.netlink).into()
        ),
        col!(
            "task",
            "",
            Str,
            "task in whose system call it happened; empty in a softirq, as when an answer came",
            |r, _| Cell::name(&r.task)
        ),
        col!("pid", "id", I64, "its thread id", |r, _| Cell::thread(r.pid)),
        col!("cpu", "id", U64, "CPU", |r, _| Cell::U64(r.cpu.into())),
        col!(
            "confidence",
            "",
            Str,
            "of new_lladdr and new_state: weak when only what was asked for is recorded",
            |r, _| Cell::str(r.confidence.word())
        ),
    ],
};
