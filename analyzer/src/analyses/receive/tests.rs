mod low_water;
mod uneven;
mod waits;

use super::{BLAMED, EXAMPLES, Receive};
use crate::Confidence::{self, Certain, Weak};
use crate::analyses::Outcome;
use crate::analyses::units::Units;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::receive::tables::{Censored, RxEnd, RxRow, RxStart, Stage, StageTimes};

fn answer(facts: &Facts) -> Outcome<Receive> {
    super::answer(facts, &Units::of(&facts.rx))
}

fn unit(n: u32, end: RxEnd, of: &[(Stage, i64)], unattributed_ns: i64, confidence: Confidence) -> RxRow {
    let mut stages = StageTimes::default();
    for (s, v) in of {
        stages.set(*s, Some(*v));
    }
    RxRow {
        skb_id: SkbId(n),
        dev: Name::new(b"eth0"),
        cpu: 0,
        connection: None,
        task: Name::new(b"curl"),
        pid: 7,
        bytes: Some(1),
        start_ns: i64::from(n),
        start: RxStart::Gro,
        total_ns: of.iter().map(|x| x.1).sum::<i64>() + unattributed_ns,
        end,
        unattributed_ns,
        stages,
        confidence,
        ..RxRow::default()
    }
}

#[test]
fn shares_of_all_stages_and_the_rest_make_one() {
    let mut f = Facts::empty();
    f.rx = vec![
        unit(0, RxEnd::Read, &[(Stage::Gro, 30), (Stage::Copy, 10)], 10, Certain),
        unit(1, RxEnd::Read, &[(Stage::Gro, 40)], 10, Weak),
        unit(2, RxEnd::Queued, &[(Stage::Gro, 5_000)], 0, Certain),
        unit(3, RxEnd::Protocol, &[(Stage::Protocol, 7)], 0, Certain),
    ];
    let Outcome::Findings(r) = answer(&f) else { panic!() };
    assert_eq!((r.read, r.queued, r.protocol_only), (2, 1, 1));
    let sum: f64 = r.stages.iter().map(|s| s.share).sum::<f64>() + r.unattributed.share;
    assert!((sum - 1.0).abs() < 1e-12, "{sum}");
    let gro = r.stages.iter().find(|s| s.stage == "gro").unwrap();
    assert_eq!((gro.share, gro.all.n, gro.solid.n), (0.7, 2, 1));
    // A stage that did not happen is unknown there, not 0.
    let copy = r.stages.iter().find(|s| s.stage == "copy").unwrap();
    assert_eq!((copy.all.n, copy.all.unknown, copy.all.min_ns), (1, 1, Some(10)));
    assert_eq!((r.total.all.n, r.total.solid.max_ns), (2, Some(50)));
    assert_eq!((r.by_dev["eth0"].n, r.by_task["curl"].n), (1, 1));
    assert_eq!((r.by_confidence["certain"], r.by_confidence["weak"]), (3, 1));
}

/// A slice of one flow keeps packets of others that it waited with, without their reads: that nobody read these is not known.
#[test]
fn what_a_slice_cut_is_not_unread() {
    let mut f = Facts::empty();
    let of = |n, connection, end| RxRow {
        connection: Some(ConnectionId(connection)),
        censored: (end == RxEnd::Queued).then_some(Censored::End),
        at_least_ns: (end == RxEnd::Queued).then_some(i64::from(n)),
        ..unit(n, end, &[], 10, Certain)
    };
    f.rx = vec![
        of(100, 1, RxEnd::Read),
        of(200, 1, RxEnd::Queued),
        of(300, 2, RxEnd::Queued),
    ];
    let unread = |f: &Facts| {
        let Outcome::Findings(r) = answer(f) else { panic!() };
        (r.queued, r.unread_at_least_ns)
    };
    assert_eq!(unread(&f), (2, Some(300)));
    let slice = |subject: &[&str]| netmortem_formats::bundle::Slice {
        time: Some([0, 1]),
        subject: subject.iter().map(|s| (*s).to_owned()).collect(),
        ..Default::default()
    };
    f.capture.part.slice = Some(slice(&[]));
    assert_eq!(unread(&f), (2, Some(300)));
    f.capture.part.slice = Some(slice(&["flow :1"]));
    assert_eq!(unread(&f), (1, Some(200)));
}

/// Worst first, ties by id, the longest stage named; nothing but read units.
#[test]
fn the_worst_are_examples() {
    let mut f = Facts::empty();
    for n in 0..20 {
        f.rx.push(unit(n, RxEnd::Read, &[(Stage::RunQueue, i64::from(n / 2))], 1, Certain));
    }
    f.rx.push(unit(50, RxEnd::Queued, &[(Stage::Gro, 9_999)], 0, Certain));
    f.rx.push(unit(60, RxEnd::Read, &[], 5_000, Certain));
    let Outcome::Findings(r) = answer(&f) else { panic!() };
    assert_eq!(r.worst.len(), EXAMPLES);
    let ids: Vec<u32> = r.worst.iter().take(4).map(|w| w.skb_id).collect();
    assert_eq!(ids, [60, 18, 19, 16]);
    assert_eq!((r.worst[0].top_stage, r.worst[0].top_ns), ("unattributed", 5_000));
    assert_eq!((r.worst[1].top_stage, r.worst[1].top_ns), ("run_queue", 9));
}

#[test]
fn nothing_received_is_no_answer() {
    assert!(matches!(answer(&Facts::empty()), Outcome::Unknown(_)));
}

/// Censored units are bounded, not averaged in; why is counted.
#[test]
fn what_is_censored_is_in_no_percentile() {
    let mut f = Facts::empty();
    let cut = |n, end, why| RxRow {
        censored: Some(why),
        at_least_ns: Some(900_000),
        ..unit(n, end, &[(Stage::Gro, 900_000)], 0, Certain)
    };
    f.rx = vec![
        unit(0, RxEnd::Read, &[(Stage::Gro, 30)], 0, Certain),
        unit(1, RxEnd::Read, &[(Stage::Gro, 50)], 0, Weak),
        cut(2, RxEnd::Read, Censored::Start),
        cut(3, RxEnd::Queued, Censored::End),
        cut(4, RxEnd::Queued, Censored::Loss),
        cut(5, RxEnd::Queued, Censored::Loss),
    ];
    let Outcome::Findings(r) = answer(&f) else { panic!() };
    assert_eq!((r.total.all.n, r.total.all.max_ns), (2, Some(50)));
    assert_eq!((r.total.solid.n, r.total.solid.max_ns), (1, Some(30)));
    let why: Vec<_> = r.excluded.into_iter().collect();
    assert_eq!(
        why,
        [
            ("censored_end", 1),
            ("censored_start", 1),
            ("loss", 2),
            ("not_solid", 1)
        ]
    );
}

/// The task that ran instead, and what kept the softirq waiting; with no name where the recording has none.
#[test]
fn who_had_the_cpu_is_summed_over_read_units() {
    use crate::reconstruct::context::Part;
    use crate::reconstruct::softirq::tables::Blame;
    let waited = |n, end, stage, ns, who: &str| RxRow {
        run_queue_task: Name::new(who.as_bytes()),
        softirq_blame: (stage == Stage::SoftirqWait).then(|| Blame {
            part: Part::BhOff,
            who: Name::new(who.as_bytes()),
            ns: 1,
        }),
        ..unit(n, end, &[(stage, ns)], 0, Certain)
    };
    let mut f = Facts::empty();
    f.rx = vec![
        waited(0, RxEnd::Read, Stage::RunQueue, 500, "stress"),
        waited(1, RxEnd::Read, Stage::RunQueue, 300, "stress"),
        waited(2, RxEnd::Read, Stage::RunQueue, 50, ""),
        waited(3, RxEnd::Read, Stage::SoftirqWait, 900, "cat"),
        unit(4, RxEnd::Read, &[(Stage::SoftirqWait, 7)], 0, Certain),
        waited(5, RxEnd::Queued, Stage::RunQueue, 9_999, "stress"),
        // A wait that did not happen is nobody's.
        waited(6, RxEnd::Read, Stage::Gro, 9_999, "stress"),
    ];
    let Outcome::Findings(r) = answer(&f) else { panic!() };
    let of: Vec<_> = r
        .blamed
        .iter()
        .map(|b| (b.stage, b.part, b.who.as_str(), b.units, b.ns))
        .collect();
    let expect = [
        ("softirq_wait", "bh_off", "cat", 1, 900),
        ("softirq_wait", "unknown", "", 1, 7),
        ("run_queue", "task", "stress", 2, 800),
        ("run_queue", "unknown", "", 1, 50),
    ];
    assert_eq!(of, expect);
    // Many of one stage leave room for the others.
    for n in 100..100 + 2 * BLAMED as u32 {
        f.rx.push(waited(n, RxEnd::Read, Stage::RunQueue, 100_000, &format!("cc1-{n}")));
    }
    let Outcome::Findings(r) = answer(&f) else { panic!() };
    assert_eq!(r.blamed.len(), 2 + BLAMED);
    assert_eq!(r.blamed[0].stage, "softirq_wait");
}

/// Two readers that waited in run queues of their own: who had the CPU is told of each, and the tasks beside one reader leave
/// room for the other's.
#[test]
fn who_had_the_cpu_is_told_by_reader() {
    let waited = |n: u32, reader: &str, pid, ns, who: &str| RxRow {
        task: Name::new(reader.as_bytes()),
        pid,
        run_queue_task: Name::new(who.as_bytes()),
        ..unit(n, RxEnd::Read, &[(Stage::RunQueue, ns)], 0, Certain)
    };
    let mut f = Facts::empty();
    f.rx = vec![
        waited(0, "server", 7, 430, "stress"),
        waited(1, "server", 7, 20, "drain"),
        waited(2, "client", 8, 800, "cc1"),
        waited(3, "client", 8, 730, "rustc"),
    ];
    for n in 0..2 * BLAMED as u32 {
        f.rx.push(waited(100 + n, "client", 8, 1, &format!("cc1-{n}")));
    }
    let Outcome::Findings(r) = answer(&f) else { panic!() };
    assert_eq!(r.blamed.len(), BLAMED);
    let of = |reader: &str| -> Vec<(String, i64)> {
        let own = r.blamed.iter().filter(|b| b.reader == reader);
        own.map(|b| (b.who.clone(), b.ns)).collect()
    };
    assert_eq!(of("server/7"), [("stress".to_string(), 430), ("drain".to_string(), 20)]);
    assert_eq!(
        of("client/8")[..2],
        [("cc1".to_string(), 800), ("rustc".to_string(), 730)]
    );
    assert_eq!(r.blamed[0].reader, "client/8");
}

/// The reader's own sleep is told from a wait for data, where one kind of call has most of the time.
#[test]
fn the_call_in_which_the_reader_slept_is_named() {
    let slept = |n: u32, ns: i64, call: &str, of: i64| RxRow {
        asleep_in: Name::new(call.as_bytes()),
        asleep_in_ns: of,
        ..unit(n, RxEnd::Read, &[(Stage::ReaderAsleep, ns)], 0, Certain)
    };
    let mut f = Facts::empty();
    f.rx = vec![
        slept(0, 900, "clock_nanosleep", 900),
        slept(1, 300, "epoll_wait", 250),
        slept(2, 40, "", 0),
    ];
    let meaning = |f: &Facts| {
        let Outcome::Findings(r) = answer(f) else { panic!() };
        let of = |b: &super::Blamed| (b.stage, b.part, b.who.clone(), b.units, b.ns);
        let blamed: Vec<_> = r.blamed.iter().map(of).collect();
        let stage = r.stages.iter().find(|s| s.stage == "reader_asleep").unwrap();
        (blamed, stage.meaning)
    };
    let (blamed, words) = meaning(&f);
    let stage = "reader_asleep";
    let expect = [
        (stage, "call", "clock_nanosleep".to_string(), 1, 900),
        (stage, "call", "epoll_wait".to_string(), 1, 250),
        (stage, "unknown", String::new(), 2, 90),
    ];
    assert_eq!(blamed, expect);
    // Three quarters are not all of it.
    assert_eq!(words, Stage::ReaderAsleep.meaning());
    f.rx.push(slept(4, 9_000, "clock_nanosleep", 9_000));
    let (_, words) = meaning(&f);
    assert!(words.contains("slept in clock_nanosleep"), "{words}");
    // Most of it in none that is known: nothing is claimed.
    f.rx.push(slept(3, 5_000, "", 0));
    assert_eq!(meaning(&f).1, Stage::ReaderAsleep.meaning());
}

/// Packets of so many bytes that wait so long, and reads of so many bytes.
/// The thread and the end with half of the time or more; of a server with many threads its end alone.
#[test]
fn who_had_most_of_the_time_is_named() {
    let of = |pids: [i32; 4], sports: [u16; 4]| {
        let mut f = Facts::empty();
        for (n, (pid, sport)) in pids.into_iter().zip(sports).enumerate() {
            let mut c = crate::testing::tcp::connection(n as u32);
            c.sport = sport;
            f.connections.push(c);
            let mut r = unit(n as u32, RxEnd::Read, &[(Stage::Protocol, 100)], 0, Certain);
            (r.connection, r.pid) = (Some(ConnectionId(n as u32)), pid);
            f.rx.push(r);
        }
        let Outcome::Findings(found) = answer(&f) else { panic!() };
        found.reader.map(|r| (r.task, r.at, r.share))
    };
    let end = "10.0.0.1:80".to_owned();
    assert_eq!(of([7, 7, 7, 9], [80; 4]), Some(("curl/7".into(), end.clone(), 0.75)));
    assert_eq!(of([1, 2, 3, 4], [80, 80, 80, 81]), Some((String::new(), end, 0.75)));
    assert_eq!(
        of([7, 7, 7, 9], [1, 2, 3, 4]),
        Some(("curl/7".into(), String::new(), 0.75))
    );
    assert_eq!(of([1, 2, 3, 4], [1, 2, 3, 4]), None);
    // Each has half, and a quarter together: not both are named.
    assert_eq!(
        of([7, 7, 8, 9], [1, 80, 80, 2]),
        Some(("curl/7".into(), String::new(), 0.5))
    );
}

fn read_by(packet: u32, waits: i64, calls: u64, bytes: u64) -> Facts {
    let mut f = Facts::empty();
    f.connections = vec![crate::testing::tcp::connection(0)];
    f.rx = (0..3)
        .map(|n| RxRow {
            connection: Some(crate::facts::ConnectionId(0)),
            bytes: Some(packet),
            ..unit(n, RxEnd::Read, &[(Stage::Copy, waits)], 0, Certain)
        })
        .collect();
    let mut reads = crate::reconstruct::tcp::Reads::default();
    (0..calls).for_each(|_| reads.add(bytes));
    f.reads.insert(crate::facts::ConnectionId(0), reads);
    f
}

#[test]
fn a_reader_of_one_byte_a_call() {
    let found = |f: &Facts| {
        let Outcome::Findings(r) = answer(f) else { panic!() };
        r.small_reads
    };
    let f = read_by(1448, 1_000_000, 1_000, 1);
    let s = found(&f).unwrap();
    assert_eq!((s.calls, s.p50_bytes, s.packet_bytes), (1_000, 1, 1448));
    let answers = crate::analyses::answer(&f);
    let line = answers.verdict.iter().find(|l| l.subject == "receive").unwrap();
    let cause =
        "/0 read 1 byte per call (p50 of 1000 calls on 10.0.0.1:1 > 10.0.0.2:2) of packets that bring 1448 bytes (p50)";
    assert!(
        line.headline.starts_with(cause) && line.names_cause,
        "{}",
        line.headline
    );
    assert!(line.sentence.ends_with(&format!(" {cause}.")), "{}", line.sentence);
    // It keeps up; it makes few calls; it reads what comes; it reads more.
    assert_eq!(found(&read_by(1448, 999_999, 1_000, 1)), None);
    assert_eq!(found(&read_by(1448, 1_000_000, 999, 1)), None);
    assert_eq!(found(&read_by(15, 1_000_000, 1_000, 1)), None);
    assert_eq!(found(&read_by(1448, 1_000_000, 1_000, 17)), None);
}

/// What the reader's read was of is told by its return; half of the time asleep names it.
#[test]
fn the_other_connection_that_a_reader_read_is_named() {
    let slept = |n: u32, ns: i64, on: Option<u32>| RxRow {
        asleep_in: Name::new(b"read"),
        asleep_in_ns: ns,
        asleep_on: on.map(ConnectionId),
        asleep_on_ns: if on.is_some() { ns } else { 0 },
        ..unit(n, RxEnd::Read, &[(Stage::ReaderAsleep, ns)], 0, Certain)
    };
    let of = |rows: Vec<RxRow>| {
        let mut f = Facts::empty();
        f.connections = (0..4).map(crate::testing::tcp::connection).collect();
        f.connections[2].born = Some(1);
        f.rx = rows;
        let Outcome::Findings(r) = answer(&f) else { panic!() };
        r.read_of.map(|of| (of.connections, of.first, of.share))
    };
    let first = "10.0.0.2:2 > 10.0.0.1:1".to_string();
    assert_eq!(
        of(vec![
            slept(0, 600, Some(3)),
            slept(1, 300, Some(2)),
            slept(2, 100, None)
        ]),
        Some((2, first, 0.9))
    );
    assert_eq!(of(vec![slept(0, 400, Some(3)), slept(1, 600, None)]), None);
}
