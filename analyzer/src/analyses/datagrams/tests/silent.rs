//! Streams that some of their receivers did not get for a while.

use crate::analyses::answer;
use crate::analyses::datagrams::Silent;
use crate::analyses::verdict::Tone;
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::datagrams::sockets::SocketRow;

const MS: i64 = 1_000_000;

/// A receiver of a datagram each 10 ms from 0 to 20 s, with one silence.
fn receiver(pid: i32, task: &[u8], local: &str, silent: (i64, i64)) -> SocketRow {
    let mut s = SocketRow::begin(0xff00 + pid as u64, 0);
    (s.pid, s.task, s.served, s.named_by) = (pid, Name::new(task), true, "task");
    (s.holder, s.holder_task) = (pid, Name::new(task));
    s.arrived = (2_001 - (silent.1 - silent.0) / 10) as u64;
    s.received = s.arrived;
    (s.first_arrived_ns, s.last_arrived_ns) = (Some(0), Some(19_990 * MS));
    (s.silent_from_ns, s.silent_ns) = (Some(silent.0 * MS), (silent.1 - silent.0) * MS);
    s.last_ns = 19_990 * MS;
    s.local = local.into();
    s
}

fn facts(sockets: Vec<SocketRow>) -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(20_000 * MS));
    f.capture.duration_ns = 20_000 * MS;
    for key in ["sock:sock_send_length", "sock:sock_recv_length", "sock:sk_data_ready"] {
        f.capture.events.insert(key.into(), 1);
    }
    f.udp_sockets = sockets;
    f
}

fn found(sockets: Vec<SocketRow>) -> Vec<Silent> {
    let f = facts(sockets);
    let a = answer(&f);
    a.datagrams.findings().unwrap().silent.clone()
}

const GROUP: &str = "239.1.1.1:5000";

#[test]
fn who_gets_nothing_of_what_another_gets_is_named() {
    let both = || {
        vec![
            receiver(11, b"quoter", GROUP, (8_000, 11_000)),
            receiver(12, b"risk", GROUP, (5_000, 5_010)),
        ]
    };
    let expect = Silent {
        readers: vec!["quoter/11".into()],
        local: GROUP.into(),
        times: 1,
        longest_ns: 3_000 * MS,
        first_ns: 8_000 * MS,
        went_on: "risk/12".into(),
        sent: false,
        meanwhile: 300,
    };
    assert_eq!(found(both()), [expect]);
    let lines = answer(&facts(both())).verdict;
    let line = lines.iter().find(|l| l.subject == "datagrams").unwrap();
    let said = "o datagram came to quoter/11 at 239.1.1.1:5000 for 3.000 s (from 8.0 s on), though they had come steadily and risk/12 got about 300 of the same stream meanwhile";
    assert!(line.headline.contains(said), "{}", line.headline);
    assert_eq!(line.tone, Tone::Bad);
}

#[test]
fn a_stream_that_stops_for_all_or_ends_is_no_loss() {
    // Nobody got it; nobody else is there; another group; lost events.
    let silent = || receiver(11, b"quoter", GROUP, (8_000, 11_000));
    assert_eq!(found(vec![silent(), receiver(12, b"risk", GROUP, (8_000, 11_000))]), []);
    assert_eq!(found(vec![silent()]), []);
    assert_eq!(
        found(vec![silent(), receiver(12, b"risk", "239.1.1.2:5000", (5_000, 5_010))]),
        []
    );
    let mut lost = facts(vec![silent(), receiver(12, b"risk", GROUP, (5_000, 5_010))]);
    lost.gaps.push(crate::testing::gap(0, MS));
    assert_eq!(answer(&lost).datagrams.findings().unwrap().silent, []);
    // Not long enough; one whose program may have ended; one of a few datagrams.
    let other = || receiver(12, b"risk", GROUP, (5_000, 5_010));
    assert_eq!(found(vec![receiver(11, b"quoter", GROUP, (8_000, 8_900)), other()]), []);
    let mut ended = receiver(11, b"quoter", GROUP, (5_000, 5_010));
    (ended.last_arrived_ns, ended.named_by) = (Some(9_000 * MS), "");
    assert_eq!(found(vec![ended.clone(), other()]), []);
    ended.named_by = "task";
    assert_eq!(found(vec![ended, other()]).len(), 1);
    let mut few = silent();
    few.arrived = 40;
    assert_eq!(found(vec![few, other()]), []);
    // Workers that share a port have senders of their own: alike only where their rates are.
    let at = "10.0.0.1:5000";
    let mut rare = receiver(12, b"w", at, (5_000, 5_010));
    rare.arrived = 1_000;
    assert_eq!(found(vec![receiver(11, b"w", at, (8_000, 11_000)), rare]), []);
}
