use super::*;
use crate::analyses::verdict::Tone;
use crate::reconstruct::tcp::tables::RetransmitClass;
use crate::snapshots::tables::SnapshotRow;

const S: i64 = 1_000_000_000;

/// Three sockets of a removed container send again when their neighbour has failed, each 3 s; a list of sockets has another.
fn facts() -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns, f.capture.duration_ns) = (Some(0), Some(10 * S), 10 * S);
    f.capture.events.insert("tcp:tcp_retransmit_skb".into(), 9);
    f.snapshots.push(SnapshotRow {
        what: "sockets".into(),
        netns: Some(1),
        start: true,
        end: true,
        line: "netns=1 proto=tcp state=established src=10.0.0.7:5000 dst=10.0.0.9:80 cookie=0x7 inode=5".into(),
    });
    for n in 0..3 {
        let mut c = crate::testing::tcp::connection(n);
        (c.born, c.cookie, c.pid, c.task, c.samples, c.bytes_in) = (None, None, 0, Name::default(), 0, 0);
        c.retransmits = Some(3);
        f.connections.push(c);
    }
    for nth in 0..3i64 {
        let at = S + nth * 3 * S;
        for n in 0..3 {
            f.retransmits.push(crate::testing::tcp::again(n, at + 40_000 + i64::from(n) * 10_000, RetransmitClass::Pmtu));
        }
    }
    f
}

fn tcp(f: &Facts) -> (Tone, String) {
    let line = crate::analyses::answer(f).verdict.into_iter().find(|l| l.subject == "tcp").unwrap();
    (line.tone, line.sentence)
}

#[test]
fn sockets_that_no_list_has_are_nobodys() {
    let f = facts();
    assert_eq!(sockets(&f).len(), 3);
    let (tone, said) = tcp(&f);
    let says = "9 TCP segments were sent again by 3 sockets that no list of sockets has and no process: left behind in a network namespace that was removed, as a container's, and nobody waits for them (inferred); none by others";
    assert!(said.starts_with(says) && tone == Tone::Ok, "{said}");
    // One that a list has, or a thread reads, or that was answered, or began meanwhile; without lists, across a loss, in a flight.
    let changes: [fn(&mut Facts); 7] = [
        |f| f.connections[0].cookie = Some(7),
        |f| f.connections[0].pid = 9,
        |f| f.connections[0].bytes_in = 100,
        |f| f.connections[0].born = Some(2),
        |f| f.snapshots.clear(),
        |f| f.gaps.push(crate::testing::gap(S, 2 * S)),
        |f| f.capture.flight = Some(Default::default()),
    ];
    for (nth, change) in changes.into_iter().enumerate() {
        let mut f = facts();
        change(&mut f);
        assert_eq!(sockets(&f).len(), if nth < 4 { 2 } else { 0 }, "{nth}");
        assert_eq!(tcp(&f).0, Tone::Notice, "{nth}");
    }
}
