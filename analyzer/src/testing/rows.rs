//! Rows as tests need them: of one thing that happened, of which nothing else is known.

/// A packet that a qdisc of device `va` held for 40 us.
pub fn pass() -> crate::reconstruct::xmits::Pass {
    crate::reconstruct::xmits::Pass {
        skb_id: None,
        parent: None,
        dev: crate::name::Name::new(b"va"),
        ifindex: None,
        queue: None,
        qdisc: crate::name::Name::default(),
        bypass: Some(false),
        bytes: Some(266),
        queued_ns: Some(1000),
        started_ns: Some(41_000),
        ended_ns: Some(41_002),
        completed_ns: None,
        qdisc_ns: Some(40_000),
        bql_ns: None,
        ring_ns: None,
        driver_ns: Some(2),
        nested_ns: None,
        completion_ns: None,
        inside: Default::default(),
        total_ns: 40_002,
        unattributed_ns: 0,
        requeues: 0,
        rc: Some(0),
        end: crate::reconstruct::xmits::PassEnd::Sent,
        cpu: 0,
        confidence: crate::Confidence::Strong,
    }
}

/// A packet that was sent on eth0 and of whose end nothing tells.
pub fn life(n: u32) -> crate::reconstruct::skb::tables::SkbRow {
    use crate::reconstruct::skb::tables::{BirthKind, DeathKind, SkbClass, SkbRow};
    SkbRow {
        skb_id: crate::facts::SkbId(n),
        skbaddr: 0,
        class: SkbClass::TxClone,
        birth_ns: 0,
        birth_kind: BirthKind::Seen,
        death_ns: None,
        death_kind: DeathKind::Unseen,
        last_ns: 0,
        dev: crate::name::Name::new(b"eth0"),
        last_dev: crate::name::Name::new(b"eth0"),
        bytes: Some(1),
        hops: 1,
        gso_size: 0,
        death_location: 0,
        links: crate::Confidence::Certain,
        confidence: crate::Confidence::Certain,
    }
}

/// A TCP segment of 100 bytes that was given to eth0, of nobody.
pub fn sent() -> crate::reconstruct::transmit::tables::TxRow {
    use crate::reconstruct::transmit::tables::{TxEnd, TxKind, TxRow, TxStart};
    TxRow {
        skb_id: crate::facts::SkbId(0),
        original: None,
        connection: None,
        kind: TxKind::Tcp,
        task: crate::name::Name::default(),
        pid: 0,
        dev: crate::name::Name::new(b"eth0"),
        cpu: 0,
        bytes: Some(100),
        start_ns: 0,
        start: TxStart::Sendmsg,
        total_ns: 1,
        end: TxEnd::Sent,
        censored: None,
        at_least_ns: None,
        refused: false,
        retransmits: 0,
        recovery_by: None,
        t_sched_ns: 0,
        t_snd_ns: None,
        t_ack_ns: None,
        unattributed_ns: 1,
        stages: Default::default(),
        observer_ns: None,
        confidence: crate::Confidence::Strong,
    }
}

/// A packet that this host dropped then, of which nothing tells whose it was.
pub fn drop_at(time_ns: i64) -> crate::reconstruct::drops::tables::DropRow {
    crate::reconstruct::drops::tables::DropRow {
        time_ns,
        cpu: 0,
        icmp: None,
        cut_from: None,
        sk: 0,
        to: None,
        way: None,
        repair: None,
        reason: None,
        location: 0,
        dev: crate::name::Name::default(),
        skb_id: None,
        protocol: 0x800,
        expected: Some(false),
        background: false,
        why: "",
        confidence: crate::Confidence::Certain,
        owner: None,
    }
}

/// A poll of a device on CPU 0 that took one packet, in a softirq at the end of an interrupt.
pub fn poll(dev: &[u8], start_ns: Option<i64>, end_ns: i64) -> crate::reconstruct::napi::tables::PollRow {
    crate::reconstruct::napi::tables::PollRow {
        cpu: 0,
        start_ns,
        end_ns,
        napi: 1,
        dev: crate::name::Name::new(dev),
        work: Some(1),
        budget: Some(64),
        nth: Some(0),
        context: crate::reconstruct::napi::tables::PollContext::Softirq,
        run_by: crate::reconstruct::context::RunBy::IrqTail,
        flush_end_ns: None,
        threaded: None,
        confidence: crate::Confidence::Strong,
    }
}

/// Events of CPU 0 were lost between these times.
pub fn gap(start_ns: i64, end_ns: i64) -> crate::ingest::GapRow {
    crate::ingest::GapRow {
        cpu: 0,
        start_ns: Some(start_ns),
        end_ns: Some(end_ns),
        lost_events: None,
        cause: "overrun",
    }
}

/// A step of a life on CPU 0, of which no length is told.
pub fn hop(skb: u32, time_ns: i64, kind: &'static str, dev: &str) -> crate::reconstruct::skb::tables::HopRow {
    crate::reconstruct::skb::tables::HopRow {
        skb_id: crate::facts::SkbId(skb),
        time_ns,
        cpu: 0,
        kind,
        dev: crate::name::Name::new(dev.as_bytes()),
        bytes: None,
        confidence: crate::Confidence::Certain,
    }
}

/// A recording without events that has these lists.
pub fn listed(texts: &[(&str, netmortem_formats::capture::SnapshotWhen, &str)]) -> netmortem_formats::Capture {
    let one = |(what, when, text): &(&str, netmortem_formats::capture::SnapshotWhen, &str)| {
        netmortem_formats::capture::Snapshot {
            what: (*what).into(),
            when: *when,
            text: text.as_bytes().to_vec(),
        }
    };
    let mut capture = super::Script::new("6.18.44", &[]).capture();
    capture.snapshots = texts.iter().map(one).collect();
    capture
}

/// A softirq run behind an interrupt, of which nothing else is known.
pub fn softirq(
    cpu: u16,
    vec: u32,
    start_ns: i64,
    end_ns: Option<i64>,
) -> crate::reconstruct::softirq::tables::SoftirqRow {
    crate::reconstruct::softirq::tables::SoftirqRow {
        cpu,
        start_ns,
        end_ns,
        vec,
        raise_ns: None,
        run_by: crate::reconstruct::context::RunBy::IrqTail,
        wait: None,
        blame: None,
        episode_ns: start_ns,
        squeezed: None,
        pid: 0,
        comm: crate::name::Name::default(),
        irq_ns: None,
        preempted: None,
        confidence: crate::Confidence::Certain,
    }
}

/// A request that was read as soon as it came, and answered by the same thread, of which nothing else is known.
pub fn turnaround(
    connection: u32,
    pid: i32,
    (read_ns, send_ns): (i64, i64),
) -> crate::reconstruct::application::tables::TurnaroundRow {
    let nobody = crate::name::Name::default();
    crate::reconstruct::application::tables::TurnaroundRow {
        connection: crate::facts::ConnectionId(connection),
        pid,
        task: nobody,
        sender_pid: pid,
        sender: nobody,
        ready_ns: Some(read_ns),
        read_ns,
        send_ns,
        reads: 1,
        split: crate::reconstruct::thread::Split::default(),
        asleep_in: nobody,
        asleep_in_ns: 0,
        held_ns: 0,
        woken_by: nobody,
        woken_by_pid: 0,
        woken_by_ns: 0,
        woken_at_ns: 0,
        ran_meanwhile: nobody,
        ran_meanwhile_pid: 0,
        ran_meanwhile_ns: 0,
        asleep_on: None,
        run_queue_task: nobody,
        overlap: false,
        confidence: crate::Confidence::Certain,
    }
}

/// An answer that a thread read so many ns after it had asked, by itself, on a connection whose other end is not in the recording.
pub fn answered(connection: u32, send_ns: i64, took_ns: i64) -> crate::reconstruct::application::tables::ResponseRow {
    crate::reconstruct::application::tables::ResponseRow {
        connection: crate::facts::ConnectionId(connection),
        pid: 8,
        task: crate::name::Name::default(),
        send_ns,
        ready_ns: Some(send_ns + took_ns),
        read_ns: send_ns + took_ns,
        complete_ns: None,
        reads: 1,
        sends: 1,
        sending_ns: 0,
        pause_ns: 0,
        paused_in: crate::name::Name::default(),
        peer: None,
        overlap: false,
        confidence: crate::Confidence::Strong,
    }
}
