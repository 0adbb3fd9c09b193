//! Which durations are compared, and their values: one list, from the tables' rows.
//!
//! Only certain and strong rows count, and only whole ones: what was under way when the recording began or ended, or near a
//! loss, is left out and counted.

use std::collections::{BTreeMap, BTreeSet};

use super::{forwarding, rtt};
use crate::diff::servers::{answers, exchanges};
use crate::diff::sides::options::Recording;
use crate::reconstruct::receive::tables::{RxEnd, RxRow, Stage as RxStage};
use crate::reconstruct::skb::tables::SkbRow;
use crate::reconstruct::softirq::tables::NET_RX;
use crate::reconstruct::tcp::tables::SampleRow;
use crate::reconstruct::transmit::stages::Stage as TxStage;
use crate::reconstruct::transmit::tables::{TxEnd, TxKind, TxRow};
use crate::stat::At;

/// Most devices whose receive stages are compared one by one.
const DEVICES: usize = 4;

/// Names one metric.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct Which {
    /// `app`, `rx`, `tx`, `tx_udp`, `device`, `poll`, `softirq`, `lifetime`, `tcp`.
    pub ledger: &'static str,
    /// Stage, `total`, or what is measured.
    pub stage: &'static str,
    /// Device, when it is of one device only.
    pub dev: Option<String>,
    /// `address:port` of the server, when it is of the requests to one server only; the address of a host, when it is of the way to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
}

impl Which {
    pub(in crate::diff) fn new(ledger: &'static str, stage: &'static str) -> Which {
        Which {
            ledger,
            stage,
            dev: None,
            service: None,
        }
    }
    pub(in crate::diff) fn of_dev(mut self, dev: &str) -> Which {
        self.dev = Some(dev.to_owned());
        self
    }
    pub(in crate::diff) fn of_service(mut self, service: &str) -> Which {
        self.service = Some(service.to_owned());
        self
    }
    /// How long clients wait for answers.
    pub(in crate::diff) fn is_wait(&self) -> bool {
        self.ledger == answers::LEDGER && matches!(self.stage, "call" | "response")
    }
    /// The same, or how long the server takes for them.
    pub(in crate::diff) fn is_answer(&self) -> bool {
        self.is_wait() || self.ledger == answers::LEDGER && self.stage == "turnaround"
    }
    /// What forwarding takes of a CPU.
    pub(in crate::diff) fn is_forwarding(&self) -> bool {
        (self.ledger, self.stage) == ("softirq", forwarding::STAGE)
    }
    /// How long requests lie unread.
    pub(in crate::diff) fn is_unread(&self) -> bool {
        self.ledger == answers::LEDGER && self.stage == "unread"
    }
    /// `rx.poll_wait`, `device.qdisc[eth0]`, `app.qdisc[eth0, 10.0.0.7:80]`.
    pub fn name(&self) -> String {
        let of: Vec<&str> = [&self.dev, &self.service]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        match of.is_empty() {
            false => format!("{}.{}[{}]", self.ledger, self.stage, of.join(", ")),
            true => format!("{}.{}", self.ledger, self.stage),
        }
    }
    /// Whether it is a part of a ledger that sums, not the whole of one or a thing of its own.
    pub fn is_stage(&self) -> bool {
        matches!(self.ledger, "rx" | "tx" | "tx_udp") && !matches!(self.stage, "total" | "rcvq")
    }
    /// What it is, for a person.
    pub fn meaning(&self) -> String {
        let rx = || {
            RxStage::ALL
                .iter()
                .find(|s| s.name() == self.stage)
                .map(|s| s.meaning())
        };
        let tx = || {
            TxStage::ALL
                .iter()
                .find(|s| s.name() == self.stage)
                .map(|s| s.meaning())
        };
        let text = match (self.ledger, self.stage) {
            ("rx", "total") => Some("first event of a received unit to the end of its read"),
            ("rx", "rcvq") => Some("residence in the receive queue"),
            ("tx" | "tx_udp", "total") => Some("first event of what was sent to its last"),
            (_, "unattributed") => Some("unexplained: no event covers it"),
            ("app", "response") => Some("answers, at the client: begin of the (last) send to the first byte readable"),
            ("app", "call") => Some("the same, and where it is the first on its connection the opening of that"),
            ("app", "connect") => Some("opening a connection, at the client: SYN sent to established"),
            ("app", "conversation") => Some(
                "a connection with few answers, opened and ended in the recording: SYN sent to its last answer read",
            ),
            ("app", "turnaround") => Some("the server: last byte of the request readable to begin of the send"),
            ("app", "unread") => Some("of that: readable until read"),
            ("app", "qdisc") => {
                Some("in the queueing discipline, packets of these requests and answers that were received")
            }
            ("rx", _) => rx(),
            ("tx" | "tx_udp", _) => tx(),
            ("device", "qdisc") => Some("in the queueing discipline, every packet of the device"),
            ("poll", "duration") => Some("one NAPI poll"),
            ("softirq", "wait") => Some("NET_RX raised until it ran"),
            ("softirq", "run") => Some("one run of NET_RX"),
            ("softirq", "forwarding") => Some(
                "of a CPU for a packet, from its reception on the first device to its queue on the second: routing, netfilter, bridge",
            ),
            ("lifetime", _) => Some("first to last event of an skb of this class"),
            ("tcp", "rtt") => Some(
                "round trip to this host that TCP had smoothed (srtt), at each segment received with more than two in flight; what the peer waits before it acknowledges is in it",
            ),
            ("tcp", "srtt") => Some("smoothed round-trip time that TCP had at each segment"),
            _ => None,
        };
        text.unwrap_or("").to_owned()
    }
    /// Events without which it is not known.
    pub fn needs(&self) -> &'static [&'static str] {
        match (self.ledger, self.stage) {
            ("rx", "softirq_wait") | ("softirq", "wait") => &["irq:softirq_raise", "irq:softirq_entry"],
            ("rx", "wakeup" | "idle_exit" | "run_queue" | "reader_asleep" | "reader_running") => {
                &["sched:sched_switch", "sched:sched_wakeup"]
            }
            ("rx", "irq") => &["irq:irq_handler_entry"],
            ("rx", "gro") => &["net:napi_gro_receive_entry"],
            ("softirq", "forwarding") => &["irq:softirq_entry", "net:netif_receive_skb", "net:net_dev_queue"],
            ("softirq", _) => &["irq:softirq_entry"],
            ("poll", _) => &["napi:napi_poll"],
            ("tx", "rwnd" | "cwnd" | "network") | ("tcp", _) => &["tcp:tcp_probe"],
            ("tx", "recovery") => &["tcp:tcp_retransmit_skb"],
            ("app", "call" | "connect" | "conversation") => &["sock:inet_sock_set_state"],
            ("tx" | "tx_udp" | "device" | "app", "qdisc" | "driver") => {
                &["net:net_dev_queue", "net:net_dev_start_xmit"]
            }
            _ => &[],
        }
    }
}

/// Values of one metric in one recording.
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// Whole and solid.
    pub at: Vec<At>,
    /// Left out.
    pub excluded: u64,
}

/// Every metric of one recording.
pub type Table = BTreeMap<Which, Values>;

pub(in crate::diff) struct Filling<'r, 'f> {
    pub(in crate::diff) of: &'r Recording<'f>,
    out: Table,
}

impl Filling<'_, '_> {
    pub(in crate::diff) fn put(&mut self, which: &Which, time_ns: i64, value: Option<i64>) {
        let Some(value) = value.filter(|_| self.of.has(time_ns)) else {
            return;
        };
        let at = At { time_ns, value };
        match self.out.get_mut(which) {
            Some(v) => v.at.push(at),
            None => {
                let v = Values {
                    at: vec![at],
                    excluded: 0,
                };
                self.out.insert(which.clone(), v);
            }
        }
    }
    pub(in crate::diff) fn exclude(&mut self, which: &Which, time_ns: i64) {
        if self.of.has(time_ns) {
            self.out.entry(which.clone()).or_default().excluded += 1;
        }
    }
}

/// Whether a receive row's time counts.
pub(in crate::diff) fn rx_counts(r: &RxRow) -> bool {
    r.end == RxEnd::Read && r.censored.is_none() && r.confidence.is_solid()
}

/// The transmit ledger that a row's time counts in.
pub(in crate::diff) fn tx_counts(r: &TxRow) -> Option<&'static str> {
    let ended = matches!(r.end, TxEnd::Acked | TxEnd::Completed | TxEnd::Sent);
    let whole = ended && r.censored.is_none() && r.confidence.is_solid();
    tx_ledger(r).filter(|_| whole)
}

fn tx_ledger(r: &TxRow) -> Option<&'static str> {
    match r.kind {
        TxKind::Tcp => Some("tx"),
        TxKind::Udp => Some("tx_udp"),
        _ => None,
    }
}

/// The metrics of a recording.
pub(in crate::diff) fn table(of: &Recording<'_>) -> Table {
    let mut f = Filling { of, out: Table::new() };
    receive(&mut f);
    transmit(&mut f);
    devices(&mut f);
    if of.devices.is_empty() {
        softirqs(&mut f);
        forwarding::durations(&mut f);
    }
    let facts = of.facts;
    let left = |s: &SkbRow| of.left_out.is_some_and(|l| l.skbs.contains(&s.skb_id));
    for s in facts
        .skbs
        .iter()
        .filter(|s| s.confidence.is_solid() && of.on(s.dev) && !left(s))
    {
        let which = Which::new("lifetime", s.class.word());
        match s.life_ns() {
            Some(ns) => f.put(&which, s.birth_ns, Some(ns)),
            None => f.exclude(&which, s.birth_ns),
        }
    }
    answers::durations(&mut f);
    exchanges::durations(&mut f);
    rtt::durations(&mut f);
    let srtt = Which::new("tcp", "srtt");
    let here = of.connections();
    let counts = |s: &&SampleRow| s.srtt_us > 0 && here.as_ref().is_none_or(|h| h.contains(&s.connection));
    for s in facts.tcp_samples.iter().filter(counts) {
        f.put(&srtt, s.time_ns, Some(i64::from(s.srtt_us) * 1_000));
    }
    f.out
}

fn receive(f: &mut Filling<'_, '_>) {
    let facts = f.of.facts;
    let of = f.of;
    let devs: BTreeSet<_> = facts.rx.iter().map(|r| r.dev).filter(|d| of.on(*d)).collect();
    let by_dev = (2..=DEVICES).contains(&devs.len());
    let total = Which::new("rx", "total");
    let stages = RxStage::ALL.map(|s| (s, Which::new("rx", s.name())));
    let rest = Which::new("rx", "unattributed");
    let rcvq = Which::new("rx", "rcvq");
    for r in facts
        .rx
        .iter()
        .filter(|r| r.end != RxEnd::Protocol && of.takes(r.dev, r.connection))
    {
        if !rx_counts(r) {
            f.exclude(&total, r.start_ns);
            continue;
        }
        f.put(&total, r.start_ns, Some(r.total_ns));
        if by_dev {
            f.put(&total.clone().of_dev(&r.dev.text()), r.start_ns, Some(r.total_ns));
        }
        for (s, which) in &stages {
            f.put(which, r.start_ns, r.stage(*s));
            if by_dev {
                f.put(&which.clone().of_dev(&r.dev.text()), r.start_ns, r.stage(*s));
            }
        }
        f.put(&rest, r.start_ns, Some(r.unattributed_ns));
        f.put(&rcvq, r.start_ns, r.rcvq_ns);
    }
}

fn transmit(f: &mut Filling<'_, '_>) {
    let of = f.of;
    for r in of.facts.tx.iter().filter(|r| of.takes(r.dev, r.connection)) {
        let Some(ledger) = tx_ledger(r) else { continue };
        let total = Which::new(ledger, "total");
        if tx_counts(r).is_none() {
            f.exclude(&total, r.start_ns);
            continue;
        }
        f.put(&total, r.start_ns, Some(r.total_ns));
        for s in TxStage::ALL {
            f.put(&Which::new(ledger, s.name()), r.start_ns, r.stage(s));
        }
        let rest = Which::new(ledger, "unattributed");
        f.put(&rest, r.start_ns, Some(r.unattributed_ns));
    }
}

fn devices(f: &mut Filling<'_, '_>) {
    let of = f.of;
    for p in of.facts.xmits.iter().filter(|p| p.parent.is_none() && of.on(p.dev)) {
        let dev = p.dev.text();
        let qdisc = Which::new("device", "qdisc").of_dev(&dev);
        match p.confidence.is_solid() {
            true => f.put(&qdisc, p.first_ns(), p.qdisc_ns),
            false => f.exclude(&qdisc, p.first_ns()),
        }
    }
}

fn softirqs(f: &mut Filling<'_, '_>) {
    let facts = f.of.facts;
    let (wait, run) = (Which::new("softirq", "wait"), Which::new("softirq", "run"));
    for s in facts.softirqs.iter().filter(|s| s.vec == NET_RX) {
        let solid = s.confidence.is_solid();
        f.put(&wait, s.start_ns, s.raise_ns.filter(|_| solid).map(|t| s.start_ns - t));
        f.put(&run, s.start_ns, s.end_ns.filter(|_| solid).map(|t| t - s.start_ns));
    }
    let duration = Which::new("poll", "duration");
    for p in &facts.polls {
        let solid = p.confidence.is_solid();
        f.put(&duration, p.end_ns, p.start_ns.filter(|_| solid).map(|t| p.end_ns - t));
    }
}

/// Values of a metric.
pub(in crate::diff) fn count(side: &[Table], which: &Which) -> usize {
    side.iter().filter_map(|t| t.get(which)).map(|v| v.at.len()).sum()
}

/// Whether a metric of one device has the same values as the metric of all devices: that would be told twice.
pub(in crate::diff) fn is_of_one_device(which: &Which, before: &[Table], after: &[Table]) -> bool {
    let all = Which {
        dev: None,
        ..which.clone()
    };
    let same = |side: &[Table]| count(side, which) == count(side, &all);
    which.dev.is_some() && same(before) && same(after)
}
