//! Accept queues by lists of sockets.

use crate::analyses::Outcome;
use crate::analyses::opens::{Piled, answer};
use crate::analyses::verdict::Tone;
use crate::facts::Facts;
use crate::name::Name;
use crate::snapshots::tables::SnapshotRow;

/// A listening socket that held so many, of two that a list of sockets has.
fn facts(before: u64, after: u64) -> Facts {
    let mut f = Facts::empty();
    f.capture.duration_ns = 10_000_000_000;
    f.capture.events.insert("sock:inet_sock_set_state".into(), 1);
    f.processes.insert(7, (7, Name::new(b"gunicorn")));
    let row = |n: u64, cookie: &str, start: bool, end: bool| SnapshotRow {
        what: "sockets".into(),
        netns: Some(1),
        start,
        end,
        line: format!(
            "netns=1 proto=tcp family=inet state=listen src=10.0.0.7:8000 dst=0.0.0.0:0 cookie={cookie} rqueue={n} wqueue=2048 pids=7,8"
        ),
    };
    f.snapshots = match before == after {
        true => vec![row(after, "0x1", true, true)],
        false => vec![row(before, "0x1", true, false), row(after, "0x1", false, true)],
    };
    let mut other = row(0, "0x2", true, true);
    other.line = other.line.replace(":8000", ":8001");
    f.snapshots.push(other);
    // A connection's own queue is bytes.
    f.snapshots.push(SnapshotRow {
        line: "netns=1 proto=tcp state=established src=10.0.0.7:8000 dst=10.0.0.9:5000 cookie=0x3 inode=99 rqueue=5000 wqueue=0 pids=7"
            .into(),
        ..row(0, "0x3", true, true)
    });
    f
}

fn found(f: &Facts) -> Vec<Piled> {
    match answer(f) {
        Outcome::Findings(o) => o.piled,
        Outcome::Unknown(why) => panic!("{why:?}"),
    }
}

#[test]
fn queues_that_are_long_both_times_are_told() {
    let f = facts(25, 53);
    let expect = Piled {
        at: "10.0.0.7:8000".into(),
        task: "gunicorn/7".into(),
        before: 25,
        after: 53,
        limit: Some(2048),
        waits_ns: None,
        closed: 0,
        holds: Some(1),
    };
    assert_eq!(found(&f), [expect]);
    let line = crate::analyses::answer(&f)
        .verdict
        .into_iter()
        .find(|l| l.subject == "opens")
        .unwrap();
    let says = "53 connections lay in accept queues when the recording ended, 25 when it began: 53 and 25 at 10.0.0.7:8000 (gunicorn/7, a queue of 2048), while it held 1 other open";
    assert!(line.sentence.contains(says) && line.tone == Tone::Bad, "{line:?}");
    assert_eq!(found(&facts(30, 30)).len(), 1);
    // As many, of a server that takes ten thousand a second; and in a flight, whose lists begin at the trigger.
    let mut busy = facts(30, 30);
    for n in 0..100_000 {
        let mut c = crate::testing::tcp::connection(n);
        (c.sport, c.born) = (8000, Some(3));
        busy.connections.push(c);
    }
    assert_eq!(found(&busy), []);
    let mut flight = facts(30, 30);
    flight.capture.flight = Some(Default::default());
    assert_eq!(found(&flight), []);
    // A burst that is being taken.
    for (before, after) in [(0, 53), (53, 3), (9, 9)] {
        assert_eq!(found(&facts(before, after)), [], "{before} {after}");
    }
}

/// It was empty before: who waits there since when says that its program takes none. A connection that nobody took has no inode.
#[test]
fn those_that_wait_say_since_when() {
    let told = |born: i64, closed: bool| {
        let mut f = facts(0, 20);
        (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(10_000_000_000));
        for n in 0..20u64 {
            let state = if closed && n < 3 { "close_wait" } else { "established" };
            f.snapshots.push(SnapshotRow {
                what: "sockets".into(),
                netns: Some(1),
                start: false,
                end: true,
                line: format!(
                    "netns=1 proto=tcp state={state} src=10.0.0.7:8000 dst=10.0.0.9:{} cookie={:#x} inode=0 rqueue=80 wqueue=0",
                    6000 + n,
                    100 + n
                ),
            });
            let mut c = crate::testing::tcp::connection(n as u32);
            (c.sport, c.born, c.cookie, c.first_ns) = (8000, Some(3), Some(100 + n), born + n as i64 * 10_000_000);
            f.connections.push(c);
        }
        f
    };
    let f = told(4_000_000_000, true);
    let of = found(&f);
    assert_eq!(
        (of[0].before, of[0].after, of[0].closed, of[0].holds),
        (0, 20, 3, Some(1))
    );
    assert_eq!(of[0].waits_ns, Some(6_000_000_000));
    let line = crate::analyses::answer(&f)
        .verdict
        .into_iter()
        .find(|l| l.subject == "opens")
        .unwrap();
    let says = "20 and 0 at 10.0.0.7:8000 (gunicorn/7, a queue of 2048), the first for 6.000 s, 3 closed by their clients since, while it held 1 other open";
    assert!(line.sentence.contains(says) && line.tone == Tone::Bad, "{line:?}");
    // Just come: a burst that is being taken.
    assert_eq!(found(&told(9_700_000_000, false)), []);
    // Two that listen at that port: whose queue they are in is not known.
    let mut two = told(4_000_000_000, true);
    for s in &mut two.snapshots {
        s.line = s.line.replace(":8001", ":8000");
    }
    assert_eq!(found(&two), []);
}
