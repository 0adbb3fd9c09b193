use super::Observer;
use super::counts::Near;
use super::tables::{MARKED_SHARE, ObserverRow};
use crate::Confidence;
use crate::facts::SkbId;
use crate::ingest::Trace;
use crate::name::Name;
use crate::reconstruct::receive::tables::{RxEnd, RxRow, Stage};
use crate::reconstruct::transmit::Stage as TxStage;
use crate::reconstruct::transmit::stages::StageTimes;
use crate::reconstruct::transmit::tables::{TxEnd, TxKind, TxRow, TxStart};
use crate::testing::{Ctx, N, S, Script};

const T: u64 = 1_000_000;

/// `n` events of thread 5 on CPU 0, `gap` ns apart except for every tenth, which comes `rare` ns behind.
fn spaced(n: u64, gap: u64, rare: u64) -> Script {
    let mut s = Script::new("6.18.44", &[]);
    let mut t = T;
    for i in 0..n {
        t += if i % 10 == 9 { rare } else { gap };
        s.ev(t, 0, Ctx::Task(5), "skb:consume_skb", &[("skbaddr", N(i))]);
    }
    s
}
fn per_event(s: &Script) -> Option<i64> {
    let c = s.capture();
    let t = Trace::read(&c, &Default::default());
    Observer::new(&t).per_event_ns()
}

/// One gap in ten is short: 5 % of all lie below it, and it is taken for what an event costs.
#[test]
fn the_gap_of_close_neighbours_is_the_cost() {
    assert_eq!(per_event(&spaced(3_000, 900, 180)), Some(180));
    assert_eq!(per_event(&spaced(3_000, 150, 90_000)), Some(150));
    // Too few gaps, or none short enough to be a recording's.
    assert_eq!(per_event(&spaced(500, 180, 180)), None);
    assert_eq!(per_event(&spaced(3_000, 9_000, 8_000)), None);
}

#[test]
fn events_are_counted_by_cpu_and_by_thread() {
    let mut s = Script::new("6.18.44", &[]);
    let skb = [("skbaddr", N(1))];
    for (t, cpu, ctx) in [
        (10, 0, Ctx::Task(5)),
        (20, 1, Ctx::Task(6)),
        (30, 0, Ctx::Soft(5)),
        (40, 1, Ctx::Task(5)),
        (50, 0, Ctx::Task(0)),
    ] {
        s.ev(T + t, cpu, ctx, "skb:consume_skb", &skb);
    }
    let c = s.capture();
    let t = Trace::read(&c, &Default::default());
    let o = Observer::new(&t);
    let at = |d: u64| (T + d) as i64;
    assert_eq!(
        (
            o.on_cpu(0, at(10), at(50), &mut Near::default()),
            o.on_cpu(0, at(11), at(51), &mut Near::default())
        ),
        (2, 2)
    );
    assert_eq!(
        (
            o.on_cpu(1, at(0), at(100), &mut Near::default()),
            o.on_cpu(9, at(0), at(100), &mut Near::default())
        ),
        (2, 0)
    );
    // On both CPUs, with the softirq on top of it; [from, to).
    assert_eq!((o.of_thread(5, at(10), at(40)), o.of_thread(5, at(0), at(41))), (2, 3));
    assert_eq!((o.of_thread(0, at(0), at(99)), o.of_thread(77, at(0), at(99))), (0, 0));
    assert_eq!(
        (
            o.on_cpu(0, at(50), at(10), &mut Near::default()),
            o.of_thread(5, at(40), at(10))
        ),
        (0, 0)
    );
}

/// Two parts on CPU 1 whose second record is of the far future, around many short ones on CPU 0: counted as one by one.
#[test]
fn parts_that_never_end_are_counted_as_well() {
    let skb = [("skbaddr", N(1))];
    for parts in [10u64, 500] {
        let mut s = Script::new("6.18.44", &[]);
        let mut all: Vec<u64> = vec![];
        let mut mine = |s: &mut Script, t: u64, cpu| {
            s.ev(T + t, cpu, Ctx::Task(5), "skb:consume_skb", &skb);
            all.push(t);
        };
        mine(&mut s, 5, 1);
        mine(&mut s, 90_000_000, 1);
        for i in 0..parts {
            mine(&mut s, 10 + i * 20, 0);
            mine(&mut s, 13 + i * 20, 0);
            s.ev(T + 15 + i * 20, 0, Ctx::Task(6), "skb:consume_skb", &skb);
        }
        let c = s.capture();
        let t = Trace::read(&c, &Default::default());
        let o = Observer::new(&t);
        for to in [0, 5, 6, 10, 11, 13, 14, 95, 150, 10_009, 20_000, 90_000_000, 90_000_001] {
            let expected = all.iter().filter(|t| **t < to).count() as u64;
            assert_eq!(o.of_thread(5, 0, (T + to) as i64), expected, "{parts} {to}");
        }
    }
}

/// A datagram read by a thread: events between its reception and its read are its recording's cost; the parts of its
/// stages are counted where they were spent.
#[test]
fn a_unit_costs_the_events_on_its_way() {
    let mut s = spaced(2_000, 500, 100);
    let t0 = 10_000_000;
    let rx = [("skbaddr", N(0xab)), ("name", S("eth0")), ("len", N(128))];
    s.ev(t0, 0, Ctx::Soft(5), "irq:softirq_entry", &[("vec", N(3))]);
    s.ev(t0 + 100, 0, Ctx::Soft(5), "net:netif_receive_skb", &rx);
    for i in 1..=3 {
        s.ev(
            t0 + 100 + 100 * i,
            0,
            Ctx::Soft(5),
            "skb:consume_skb",
            &[("skbaddr", N(i))],
        );
    }
    let ready = [("skaddr", N(0x51)), ("family", N(2)), ("protocol", N(17))];
    s.ev(t0 + 1_000, 0, Ctx::Soft(5), "sock:sk_data_ready", &ready);
    s.ev(t0 + 1_100, 0, Ctx::Soft(5), "irq:softirq_exit", &[("vec", N(3))]);
    s.ev(t0 + 1_200, 0, Ctx::Task(5), "skb:consume_skb", &[("skbaddr", N(9))]);
    let read = [("sk", N(0x51)), ("family", N(2)), ("protocol", N(17)), ("ret", N(100))];
    s.ev(t0 + 1_500, 0, Ctx::Task(5), "sock:sock_recv_length", &read);
    let f = s.facts();
    assert_eq!((f.event_cost_ns, f.rx.len()), (Some(100), 1), "{:?}", f.rx);
    let row = &f.rx[0];
    // Nothing tells what the reader did: that time is in no stage, the stages before it have their place all the same.
    assert_eq!(
        (row.stage(Stage::BatchWait), row.stage(Stage::Protocol)),
        (Some(300), Some(600))
    );
    assert_eq!(row.unattributed_ns, 500);
    // The reception itself and three frees on the CPU; the announcement, the exit and one free in the thread.
    assert_eq!(row.observer_ns, Some(700));
    let of = |stage: &str| f.observer.iter().find(|o| o.stage == stage).unwrap();
    let (batch, protocol) = (of("batch_wait"), of("protocol"));
    assert_eq!(
        (batch.rows, batch.ns, batch.events, batch.observer_ns),
        (1, 300, 3, 300)
    );
    assert_eq!((protocol.ns, protocol.events, protocol.marked()), (600, 1, false));
    assert!(batch.marked());
}

/// A segment held behind a hole for 200 us, in which its CPU records 400 events: none of them is on its way.
#[test]
fn what_a_cpu_does_while_a_unit_is_held_costs_it_nothing() {
    let c = spaced(3_000, 500, 500).capture();
    let t = Trace::read(&c, &Default::default());
    let o = Observer::new(&t);
    let of = |held: Option<i64>| {
        let mut row = RxRow {
            start_ns: T as i64,
            total_ns: 2_000 + held.unwrap_or(0),
            end: RxEnd::Queued,
            ..RxRow::default()
        };
        row.stages.set(Stage::Protocol, Some(2_000));
        row.stages.set(Stage::OutOfOrder, held);
        let mut rows = [row];
        super::receive(&o, &mut rows);
        rows[0].observer_ns
    };
    assert_eq!(of(Some(200_000)), of(None));
}

/// A segment's send call ran 2 us, then it waited 1 ms for the window while its thread did other things: those events are not
/// on its way, however many they are.
#[test]
fn what_a_thread_does_while_a_segment_waits_costs_the_segment_nothing() {
    let s = spaced(3_000, 500, 100);
    let c = s.capture();
    let t = Trace::read(&c, &Default::default());
    let o = Observer::new(&t);
    let mut stages = StageTimes::default();
    stages.set(TxStage::Send, Some(2_000));
    stages.set(TxStage::Cwnd, Some(1_000_000));
    let start_ns = T as i64;
    let mut rows = [TxRow {
        skb_id: SkbId(0),
        original: None,
        connection: None,
        kind: TxKind::Tcp,
        task: Name::new(b"curl"),
        pid: 5,
        dev: Name::new(b"eth0"),
        cpu: 0,
        bytes: Some(100),
        start_ns,
        start: TxStart::Sendmsg,
        total_ns: 1_002_000,
        end: TxEnd::Acked,
        censored: None,
        at_least_ns: None,
        refused: false,
        retransmits: 0,
        recovery_by: None,
        t_sched_ns: start_ns + 1_002_000,
        t_snd_ns: None,
        t_ack_ns: None,
        unattributed_ns: 0,
        stages,
        observer_ns: None,
        confidence: Confidence::Certain,
    }];
    let sums = super::transmit(&o, &mut rows);
    // Events at 0.5, 1.0 and 1.5 us: three of the about two thousand until it was queued.
    assert_eq!(rows[0].observer_ns, Some(300));
    assert_eq!((sums[0].stage, sums[0].ns, sums[0].events), ("send", 2_000, 3));
}

#[test]
fn marked_above_a_fifth() {
    let share = |share| ObserverRow {
        ledger: "rx",
        stage: "copy",
        rows: 1,
        ns: 1,
        events: 1,
        observer_ns: 1,
        share,
    };
    let marked = [None, Some(MARKED_SHARE), Some(0.21), Some(3.0)].map(|s| share(s).marked());
    assert_eq!(marked, [false, false, true, true]);
    assert_eq!((super::share_of(10, 0), super::share_of(10, 40)), (None, Some(0.25)));
}
