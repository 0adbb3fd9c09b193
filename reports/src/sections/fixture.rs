//! Small made-up fact tables in the analyzer's own row types, so that sections are tested behind the real analyses. Hostile names included.
//! Long because it is data: one row of each table.

use std::net::{IpAddr, Ipv4Addr};

use netmortem_analyzer::analyses::{Answers, answer};
use netmortem_analyzer::ingest::{CaptureInfo, GapRow, Severity, StatRow, StreamInfo};
use netmortem_analyzer::reconstruct::balances::tables::{BalanceKind, BalanceRow};
use netmortem_analyzer::reconstruct::context::{Part, RunBy};
use netmortem_analyzer::reconstruct::drops::tables::DropRow;
use netmortem_analyzer::reconstruct::lineage::tables::{Conserved, LineageKind, LineageRow, Rule};
use netmortem_analyzer::reconstruct::napi::tables::{PollContext, PollRow};
use netmortem_analyzer::reconstruct::observer::tables::ObserverRow;
use netmortem_analyzer::reconstruct::receive::tables::{RxEnd, RxRow, RxStart, Stage, StageTimes as RxStages};
use netmortem_analyzer::reconstruct::skb::tables::{BirthKind, DeathKind, SkbClass, SkbRow};
use netmortem_analyzer::reconstruct::skew::tables::SkewRow;
use netmortem_analyzer::reconstruct::softirq::Counted;
use netmortem_analyzer::reconstruct::softirq::tables::{Blame, SoftirqRow};
use netmortem_analyzer::reconstruct::tcp::tables::{
    ConnectionRow, RetransmitClass, RetransmitRow, SampleRow, StateRow,
};
use netmortem_analyzer::reconstruct::transmit::Stage as TxStage;
use netmortem_analyzer::reconstruct::transmit::stages::StageTimes;
use netmortem_analyzer::reconstruct::transmit::tables::{TxEnd, TxKind, TxRow, TxStart};
use netmortem_analyzer::{Confidence, ConnectionId, Facts, Name, Reason, SkbId};

/// Start of the recording on the trace clock, ns.
pub const START: i64 = 5_000_000_000_000;
/// A task name of exactly the kernel's length that is markup.
pub const HOSTILE_TASK: &str = "<script>alert(1)";

/// Facts of 10 s with everything in them.
pub fn facts() -> Facts {
    Facts {
        capture: capture(),
        gaps: vec![gap()],
        stats: vec![
            StatRow {
                name: "skb_unpaired",
                value: 3,
                severity: Severity::Warning,
                advice: "some lives have no end",
            },
            StatRow {
                name: "softirq_nested",
                value: 2,
                severity: Severity::Info,
                advice: "softirqs inside interrupts",
            },
        ],
        skbs: skbs(),
        rx: rx(),
        tx: tx(),
        balances: balances(),
        lineage: lineage(),
        softirqs: softirqs(),
        polls: polls(),
        softnet: Counted::default(),
        clock_skew: vec![skew()],
        observer: observer(),
        event_cost_ns: Some(180),
        connections: vec![connection()],
        tcp_samples: samples(),
        tcp_states: states(),
        retransmits: retransmits(),
        drops: drops(),
        unknown: vec![Reason {
            subject: "qdisc",
            because: "qdisc:qdisc_enqueue was not recorded".to_owned(),
        }],
        ..Facts::empty()
    }
}

/// Their answers.
pub fn answers(facts: &Facts) -> Answers {
    answer(facts)
}

fn gap() -> GapRow {
    GapRow {
        cpu: 1,
        start_ns: Some(START + 4_000_000_000),
        end_ns: Some(START + 4_500_000_000),
        lost_events: Some(1_204),
        cause: "overrun",
    }
}

fn capture() -> CaptureInfo {
    let stream = |cpu, events, lost_events| StreamInfo {
        cpu,
        clock: "mono".into(),
        events,
        lost_events,
        bytes: events * 46,
        first_ns: Some(START),
        last_ns: Some(START + 10_000_000_000),
        used: true,
        ..StreamInfo::default()
    };
    CaptureInfo {
        source: "/srv/<b>bold/<b>incident.nmb".into(),
        format: "bundle".into(),
        format_version: "1".into(),
        kernel_release: "6.18.5".into(),
        hostname: "db-17".into(),
        machine: "x86_64".into(),
        events: [
            ("net:net_dev_queue".to_owned(), 900_000),
            ("skb:kfree_skb".to_owned(), 100_000),
        ]
        .into_iter()
        .collect(),
        total_events: 1_000_000,
        lost_events: 1_204,
        streams: vec![stream(0, 600_000, 0), stream(1, 400_000, 1_204)],
        gaps: vec![gap()],
        clock: "mono".into(),
        clock_is_ns: true,
        start_ns: Some(START),
        end_ns: Some(START + 10_000_000_000),
        duration_ns: 10_000_000_000,
        realtime_offset_ns: Some(1_795_000_000_000_000_000),
        cpus: 2,
        ring_bytes: 46_000_000,
        complete: true,
        missing_events: vec!["qdisc:qdisc_enqueue".into()],
        command: "netmortem record -d 10s".into(),
        stop_reason: "duration".into(),
        ..CaptureInfo::default()
    }
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes())
}

/// 400 units; the receive queue (reader asleep) takes most of the time.
fn rx() -> Vec<RxRow> {
    let unit = |n: i64| {
        let mut stages = RxStages::default();
        let mut total = 0;
        for (stage, base) in [
            (Stage::SoftirqWait, 900),
            (Stage::Gro, 400),
            (Stage::Protocol, 1_500),
            (Stage::Ready, 300),
            (Stage::ReaderAsleep, 40_000),
            (Stage::RunQueue, 2_000),
            (Stage::Copy, 700),
        ] {
            let time = base + base * ((n * 7_919) % 101) / 20;
            total += time;
            stages.set(stage, Some(time));
        }
        RxRow {
            skb_id: SkbId(n as u32),
            dev: name("eth0"),
            cpu: 0,
            connection: Some(ConnectionId(0)),
            task: name(if n % 4 == 0 { HOSTILE_TASK } else { "db-worker" }),
            pid: 42,
            bytes: Some(1_448),
            start_ns: START + n * 20_000_000,
            start: RxStart::NetifRx,
            total_ns: total + 111,
            end: if n % 50 == 49 { RxEnd::Queued } else { RxEnd::Read },
            unattributed_ns: 111,
            stages,
            rcvq_ns: Some(42_000),
            softirq_blame: Some(blame()),
            run_queue_task: name(if n % 2 == 0 { HOSTILE_TASK } else { "" }),
            confidence: if n % 10 == 0 {
                Confidence::Weak
            } else {
                Confidence::Certain
            },
            ..RxRow::default()
        }
    };
    (0..400).map(unit).collect()
}

fn blame() -> Blame {
    Blame {
        part: Part::BhOff,
        who: name(HOSTILE_TASK),
        ns: 500,
    }
}

/// 300 packets: 280 TCP segments, of which 250 acknowledged; of these the congestion window takes most. Two were sent again.
fn tx() -> Vec<TxRow> {
    let segment = |n: i64| {
        let kind = if n < 280 { TxKind::Tcp } else { TxKind::TcpControl };
        let again = n == 10 || n == 20;
        let mut stages = StageTimes::default();
        for (stage, base) in [
            (TxStage::Send, 3_000),
            (TxStage::Cwnd, 900_000),
            (TxStage::Pacing, 100_000),
            (TxStage::Qdisc, 40_000),
            (TxStage::Driver, 1_000),
            (TxStage::Network, 300_000),
        ] {
            stages.set(stage, Some(base + base * ((n * 7_919) % 101) / 20));
        }
        stages.set(TxStage::Recovery, again.then_some(200_000_000 + n));
        TxRow {
            skb_id: SkbId(1_000 + n as u32),
            original: None,
            connection: Some(ConnectionId(0)),
            kind,
            task: name(HOSTILE_TASK),
            pid: 7,
            dev: name("eth0"),
            cpu: 1,
            bytes: Some(1_448),
            start_ns: START + n * 30_000_000,
            start: TxStart::Sendmsg,
            total_ns: stages.sum() + 77,
            end: match (kind, n) {
                (TxKind::Tcp, 0..250) => TxEnd::Acked,
                (TxKind::Tcp, 250..275) => TxEnd::Open,
                (TxKind::Tcp, _) => TxEnd::Dropped,
                _ => TxEnd::Sent,
            },
            retransmits: u16::from(again),
            recovery_by: again.then_some(RetransmitClass::Rto),
            t_sched_ns: START + n * 30_000_000,
            t_snd_ns: None,
            t_ack_ns: None,
            unattributed_ns: 77,
            stages,
            observer_ns: None,
            confidence: if n % 25 == 0 {
                Confidence::Weak
            } else {
                Confidence::Strong
            },
        }
    };
    (0..300).map(segment).collect()
}

/// Recording is 35 % of GRO and of the driver's time, 4 % of the protocol's.
fn observer() -> Vec<ObserverRow> {
    let row = |ledger, stage, share| ObserverRow {
        ledger,
        stage,
        rows: 400,
        ns: 1_000_000,
        events: 1_000,
        observer_ns: (share * 1e6) as i64,
        share: Some(share),
    };
    vec![
        row("rx", "gro", 0.35),
        row("rx", "protocol", 0.04),
        row("tx", "driver", 0.35),
    ]
}

fn skew() -> SkewRow {
    SkewRow {
        cpu_a: 0,
        cpu_b: 1,
        pairs_ab: 40,
        pairs_ba: 60,
        ahead_least_ns: Some(-700),
        ahead_most_ns: Some(500),
        residual_ns: 120,
        negative: 2,
        consistent: true,
        ..SkewRow::default()
    }
}

fn balances() -> Vec<BalanceRow> {
    let row = |kind, found, confidence, because| BalanceRow {
        kind,
        connection: Some(ConnectionId(0)),
        bytes_expected: 1_000_000,
        bytes_found: found,
        unexplained_bytes: 1_000_000 - found,
        units: 100,
        matched: 99,
        confidence,
        because,
    };
    vec![
        row(BalanceKind::GroHead, 1_000_000, Confidence::Certain, ""),
        row(
            BalanceKind::CoalesceFifo,
            990_000,
            Confidence::Strong,
            "more arrived than was read",
        ),
        row(BalanceKind::TxPayload, 400_000, Confidence::Unknown, "events were lost"),
    ]
}

fn lineage() -> Vec<LineageRow> {
    let edge = |n: u32| LineageRow {
        ts_ns: START,
        parent: SkbId(n),
        child: SkbId(n + 1),
        kind: if n < 30 {
            LineageKind::GroMerge
        } else {
            LineageKind::Fclone
        },
        rule: Rule::GroExit,
        bytes: Some(1_448),
        conserved: if n < 5 { Conserved::No } else { Conserved::Yes },
        confidence: if n < 5 { Confidence::Weak } else { Confidence::Strong },
    };
    (0..40).map(edge).collect()
}

fn skbs() -> Vec<SkbRow> {
    let life = |n: i64| {
        let (class, dev) = if n % 2 == 0 {
            (SkbClass::Rx, "eth0")
        } else {
            (SkbClass::TxClone, "eth1")
        };
        SkbRow {
            skb_id: SkbId(n as u32),
            skbaddr: 0xffff_8880_0000_0000 + (n as u64 % 4) * 0x100,
            class,
            birth_ns: START + n * 20_000_000,
            birth_kind: BirthKind::Seen,
            death_ns: (n % 5 != 0).then_some(START + n * 20_000_000 + 30_000 + n * 100),
            death_kind: if n % 5 == 0 {
                DeathKind::Unseen
            } else {
                DeathKind::Consumed
            },
            last_ns: START + n * 20_000_000 + 20_000,
            dev: name(dev),
            last_dev: name(dev),
            bytes: Some(1_514),
            hops: 1,
            death_location: 0,
            links: Confidence::Strong,
            confidence: Confidence::Strong,
        }
    };
    (0..400).map(life).collect()
}

fn softirqs() -> Vec<SoftirqRow> {
    let run = |n: i64| SoftirqRow {
        cpu: (n % 2) as u16,
        start_ns: START + n * 40_000_000,
        end_ns: Some(START + n * 40_000_000 + 20_000 + n * 50),
        vec: if n % 10 == 0 { 2 } else { 3 },
        raise_ns: Some(START + n * 40_000_000 - 1_500 - n * 3),
        run_by: if n % 7 == 0 { RunBy::Ksoftirqd } else { RunBy::IrqTail },
        // 1 500 ns: two thirds interrupts, the rest a task with bottom halves off.
        wait: Some([1_000, 0, 500 + n * 3, 0, 0, 0, 0]),
        blame: Some(blame()),
        episode_ns: START + n * 40_000_000,
        squeezed: Some(false),
        pid: 0,
        comm: name("swapper/0"),
        irq_ns: Some(0),
        confidence: Confidence::Certain,
    };
    (0..200).map(run).collect()
}

fn polls() -> Vec<PollRow> {
    let poll = |n: i64| PollRow {
        cpu: (n % 2) as u16,
        start_ns: Some(START + n * 40_000_000),
        end_ns: START + n * 40_000_000 + 9_000,
        napi: 0xffff_8880_1234_0000,
        dev: name("eth0"),
        work: Some(if n % 20 == 0 { 64 } else { (n % 8) as i32 }),
        budget: Some(64),
        nth: Some(0),
        context: PollContext::Softirq,
        run_by: RunBy::IrqTail,
        flush_end_ns: None,
        confidence: Confidence::Strong,
    };
    (0..200).map(poll).collect()
}

fn connection() -> ConnectionRow {
    ConnectionRow {
        connection: ConnectionId(0),
        saddr: Some(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1))),
        sport: 5_201,
        daddr: Some(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2))),
        dport: 41_022,
        skaddr: 0xffff_8880_5555_0000,
        cookie: None,
        task: name(HOSTILE_TASK),
        pid: 7,
        first_ns: START,
        last_ns: START + 10_000_000_000,
        bytes_in: 4_096,
        bytes_out: 60_000_000,
        bytes_read: None,
        bytes_written: None,
        retransmits: Some(3),
        samples: 1_000,
        confidence: Confidence::Certain,
    }
}

/// One sample every 10 ms but in the gap and in one second of silence from 7 s on.
fn samples() -> Vec<SampleRow> {
    let sample = |n: i64| SampleRow {
        time_ns: START + n * 10_000_000,
        connection: ConnectionId(0),
        snd_cwnd: 20 + (n % 250) as u32 / 4,
        ssthresh: if n < 250 { 0x7fff_ffff } else { 56 },
        srtt_us: 20_000 + (n % 250) as u32 * 20,
        snd_una: (n * 1_448) as u32,
        snd_nxt: (n * 1_448 + 14_480) as u32,
        snd_wnd: 65_535,
        rcv_wnd: 65_535,
        data_len: 0,
        cpu: 1,
    };
    (0..1_000)
        .filter(|n| !(400..450).contains(n) && !(700..800).contains(n))
        .map(sample)
        .collect()
}

fn states() -> Vec<StateRow> {
    let state = |at_ms: i64, state, name| StateRow {
        time_ns: START + at_ms * 1_000_000,
        connection: ConnectionId(0),
        kind: "cong",
        state,
        name,
    };
    vec![
        state(2_500, 3, "Recovery"),
        state(2_620, 0, "Open"),
        state(5_000, 3, "Recovery"),
        state(5_130, 0, "Open"),
        state(9_000, 4, "Loss"),
    ]
}

fn retransmits() -> Vec<RetransmitRow> {
    let sent = |at_ms: i64, class| RetransmitRow {
        index: 0,
        time_ns: START + at_ms * 1_000_000,
        connection: Some(ConnectionId(0)),
        class,
        err: Some(0),
        bytes: Some(1_448),
        confidence: Confidence::Strong,
    };
    vec![
        sent(2_505, RetransmitClass::Fast),
        sent(5_004, RetransmitClass::Fast),
        sent(9_001, RetransmitClass::Rto),
    ]
}

fn drops() -> Vec<DropRow> {
    let drop = |n: i64, expected, why| DropRow {
        time_ns: START + n * 1_000_000,
        cpu: 0,
        reason: Some(70),
        location: 0xffff_ffff_8100_0000,
        dev: name("eth1"),
        skb_id: None,
        protocol: 0x800,
        expected,
        why,
        confidence: Confidence::Strong,
    };
    vec![
        drop(2_490, Some(false), "a queue was full"),
        drop(4_990, Some(false), "a queue was full"),
        drop(1_000, Some(true), "socket closed"),
        drop(1_100, None, "no rule"),
    ]
}
