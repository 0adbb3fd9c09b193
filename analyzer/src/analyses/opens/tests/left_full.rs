//! Connections that their program closed while it could not send on them, and such as only look so.

use crate::analyses::opens::left_full::given_up;
use crate::analyses::opens::{CutOff, GivenUpFull};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::tcp::states::{CLOSE, CLOSE_WAIT, FIN_WAIT1, FIN_WAIT2, SYN_SENT};
use crate::reconstruct::thread::Ended;
use crate::reconstruct::transmit::{Halt, LeftFull, Stage};
use crate::testing::tcp::{connection, state};

const MS: i64 = 1_000_000;

/// Connection 0 of redis-server/7: its last send is refused at 1 s, it is closed at 1.6 s, what was sent is acknowledged at 5 s. Its window is shut all the time. Connection 1
/// is its other end.
fn facts() -> Facts {
    let mut f = Facts::empty();
    f.capture.end_ns = Some(12_000 * MS);
    f.ended = Ended::told();
    for n in 0..2u32 {
        let mut c = connection(n);
        (c.sport, c.dport) = (6379, 46_280);
        (c.pid, c.task) = [(7, Name::new(b"redis-server")), (30, Name::new(b"board"))][n as usize];
        f.connections.push(c);
    }
    f.connections[0].peer = Some(ConnectionId(1));
    f.left_full.push(LeftFull {
        connection: ConnectionId(0),
        pid: 7,
        at_ns: 1_000 * MS,
    });
    let mut close = state(0, FIN_WAIT1, 1_600 * MS);
    (close.in_task, close.pid) = (true, 7);
    f.tcp_states = vec![close, state(0, FIN_WAIT2, 5_000 * MS)];
    let halt = Halt {
        by: Stage::Rwnd,
        from: 500 * MS,
        to: 4_900 * MS,
    };
    f.halts.insert(ConnectionId(0), vec![halt]);
    f
}

#[test]
fn who_reads_too_slowly_and_is_closed_upon_is_told() {
    let expect = GivenUpFull {
        at: "10.0.0.1:6379".into(),
        task: "redis-server/7".into(),
        peer: "10.0.0.2:46280".into(),
        connections: 1,
        first: 0,
        full_ns: 600 * MS,
        behind_ns: Some(3_400 * MS),
        open: false,
        by_window: true,
        reader: "board/30".into(),
    };
    assert_eq!(given_up(&facts(), None), [expect]);
    // Not acknowledged when the recording ended: for at least as long.
    let mut open = facts();
    open.tcp_states.truncate(1);
    let told = given_up(&open, None);
    assert_eq!((told[0].behind_ns, told[0].open), (Some(10_400 * MS), true));
    // Where events were lost behind it, that is not known.
    open.gaps.push(crate::testing::rows::gap(3_000 * MS, 3_100 * MS));
    let told = given_up(&open, None);
    assert_eq!((told[0].behind_ns, told[0].open), (None, true));
    // A RST ended it.
    let mut reset = facts();
    reset.tcp_states[0].state = CLOSE;
    assert_eq!(given_up(&reset, None)[0].behind_ns, None);
    let mut reset = facts();
    reset.tcp_states[1].state = CLOSE;
    assert_eq!(given_up(&reset, None)[0].behind_ns, None);
    let mut open = facts();
    open.halts.clear();
    assert!(!given_up(&open, None)[0].by_window);
}

#[test]
fn whatever_else_ends_a_connection_is_none() {
    let none = |change: &dyn Fn(&mut Facts)| {
        let mut f = facts();
        change(&mut f);
        assert_eq!(given_up(&f, None), []);
    };
    // The peer closed first; another process did; in no call; at once; its process ended.
    none(&|f| {
        let mut left = state(0, CLOSE_WAIT, 1_300 * MS);
        left.pid = 7;
        f.tcp_states.insert(0, left);
    });
    // It never stood; it drained since; events were lost meanwhile.
    none(&|f| f.tcp_states.insert(0, state(0, SYN_SENT, 900 * MS)));
    none(&|f| {
        f.halts.clear();
        f.tcp_states[1].time_ns = 1_601 * MS;
    });
    none(&|f| {
        f.gaps.push(crate::testing::rows::gap(1_100 * MS, 1_200 * MS));
    });
    none(&|f| f.tcp_states[0].pid = 8);
    none(&|f| f.tcp_states[0].in_task = false);
    none(&|f| f.left_full[0].at_ns = 1_560 * MS);
    none(&|f| {
        f.ended.leaves(1_700 * MS, 7, 16);
    });
    none(&|f| f.left_full.clear());
    let cut_off = CutOff {
        at: "10.0.0.1:6379".into(),
        peer: "10.0.0.2".into(),
        ..CutOff::default()
    };
    assert_eq!(given_up(&facts(), Some(&cut_off)), []);
}
