//! Transfers that their server ends in their midst, and such as only look so.

use crate::Confidence;
use crate::analyses::opens::CutOff;
use crate::analyses::opens::cut_off::cut_off;
use crate::analyses::verdict::Tone;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::opens::tables::{ResetRow, Sender};
use crate::reconstruct::tcp::states::{CLOSE, CLOSE_WAIT, FIN_WAIT1, LAST_ACK, SYN_RECV, SYN_SENT};
use crate::reconstruct::tcp::tables::{RetransmitClass, RetransmitRow};
use crate::reconstruct::transmit::LastSend;
use crate::testing::tcp::{connection, state};

const MS: i64 = 1_000_000;

/// A primary's four connections of 3.9 s, each closed `close` ms after its begin, while its last send, 90 ms before, was taken in part; the
/// peer read to the end 100 ms later, and came back after `back` ms.
fn facts(back: i64) -> Facts {
    let mut f = Facts::empty();
    f.capture.start_ns = Some(0);
    f.capture.events.insert("sock:inet_sock_set_state".into(), 1);
    let mut at = 1_000;
    for n in 0..4u32 {
        let mut row = connection(n);
        (row.sport, row.dport, row.task) = (6379, 40_000 + n as u16, Name::new(b"redis-server"));
        (row.bytes_written, row.bytes_in) = (Some(19_000_000 + u64::from(n)), 152);
        (row.first_ns, row.last_ns) = (at * MS, (at + 4_000) * MS);
        row.born = Some(SYN_RECV);
        f.connections.push(row);
        f.tcp_states.push(state(n, SYN_RECV, at * MS));
        f.tcp_states.push(state(n, FIN_WAIT1, (at + 3_900) * MS));
        let last = LastSend {
            at_ns: (at + 3_810) * MS,
            asked: 16_384,
            taken: 9_133,
            whole: 1_000,
        };
        f.last_sends.insert(ConnectionId(n), last);
        at += 4_000 + back;
    }
    f
}

#[test]
fn who_is_cut_off_in_the_midst_and_comes_back_at_once_is_told() {
    let expect = CutOff {
        at: "10.0.0.1:6379".into(),
        task: "redis-server".into(),
        peer: "10.0.0.2".into(),
        connections: 4,
        bytes: 19_000_001,
        every_ns: 4_200 * MS,
        again_ns: 200 * MS,
        same: true,
        last_send: (16_384, 9_133),
        asked: Some(152),
    };
    let f = facts(200);
    assert_eq!(cut_off(&f), Some(expect));
    let lines = crate::analyses::answer(&f).verdict;
    let line = lines.iter().find(|l| l.subject == "opens").unwrap();
    let said = "10.0.0.1:6379 (redis-server) cut off 10.0.0.2 in the middle of 4 transfers, one after the other, every 4.200 s (p50), each after \
        its socket had taken 19.0 MB (p50): it closed the connection itself while its last send had been taken only in part (9.1 kB of 16.4 kB)";
    assert!(line.headline.starts_with(said), "{}", line.headline);
    assert!(line.headline.contains("asked for the same, with as many bytes as before (152 bytes), so it starts from the beginning each time (inferred)"));
    assert!(line.headline.contains("client-output-buffer-limit"));
    assert_eq!((line.tone, line.names_cause), (Tone::Bad, true));
    // By a RST at once: it does not linger, or left something unread.
    let mut f = facts(200);
    f.tcp_states
        .iter_mut()
        .filter(|s| s.state == FIN_WAIT1)
        .for_each(|s| s.state = CLOSE);
    assert_eq!(cut_off(&f).map(|c| c.connections), Some(4));
    // Three are enough, with one that began before the recording; what the peer asked for each time differs: it may go on.
    let mut f = facts(200);
    f.last_sends.remove(&ConnectionId(3));
    f.connections[0].born = None;
    f.connections[1].bytes_in = 170;
    let told = cut_off(&f).unwrap();
    assert_eq!((told.connections, told.asked), (3, None));
    // A program of another name is told without redis' setting.
    let mut f = facts(200);
    f.connections.iter_mut().for_each(|c| c.task = Name::new(b"nginx"));
    let lines = crate::analyses::answer(&f).verdict;
    let line = lines.iter().find(|l| l.subject == "opens").unwrap();
    assert!(line.headline.starts_with("10.0.0.1:6379 (nginx) cut off") && !line.headline.contains("redis"));
}

/// Of a host with several programs what comes next may be another's: that it was back so soon is not said.
#[test]
fn what_another_program_of_that_host_opens_is_not_called_its_return() {
    let mut f = facts(200);
    f.connections.iter_mut().for_each(|c| c.task = Name::new(b"nginx"));
    for n in 0..4u32 {
        let mut row = connection(4 + n);
        (row.sport, row.dport, row.task) = (6379, 50_000 + n as u16, Name::new(b"nginx"));
        (row.bytes_written, row.bytes_in, row.born) = (Some(900), 80, Some(SYN_RECV));
        row.first_ns = f.connections[n as usize].first_ns + 3_950 * MS;
        row.last_ns = row.first_ns + MS;
        f.connections.push(row);
    }
    let told = cut_off(&f).unwrap();
    assert_eq!((told.connections, told.again_ns, told.same), (4, 0, false));
    let lines = crate::analyses::answer(&f).verdict;
    let said = &lines.iter().find(|l| l.subject == "opens").unwrap().headline;
    assert!(
        said.contains("10.0.0.2 came again and asked for the same, with as many bytes as before (152 bytes)"),
        "{said}"
    );
    assert!(said.contains("proxy_temp_path") && !said.contains("was back"), "{said}");
}

/// Jobs one after the other, downloads that are given up, and what nobody may tell.
#[test]
fn what_ends_in_order_or_by_the_peer_is_none() {
    let with = |change: &dyn Fn(&mut Facts)| {
        let mut f = facts(200);
        change(&mut f);
        cut_off(&f)
    };
    assert!(with(&|_| ()).is_some());
    // Finished: all that was to be sent was taken, however full the socket was then.
    assert_eq!(
        with(&|f| f.last_sends.values_mut().for_each(|l| l.taken = l.asked)),
        None
    );
    // The peer closed first.
    let first = |f: &mut Facts, state_of: i32| {
        for n in 0..4 {
            let at = f.tcp_states[n * 3 + 1].time_ns;
            f.tcp_states.insert(n * 3 + 1, state(n as u32, state_of, at - MS));
            f.tcp_states[n * 3 + 2].state = LAST_ACK;
        }
    };
    assert_eq!(with(&|f| first(f, CLOSE_WAIT)), None);
    // A retransmission timer ran out on each: what was sent may never have come.
    let timer = |f: &mut Facts| {
        for n in 0..4 {
            f.retransmits.push(RetransmitRow {
                index: 0,
                time_ns: f.tcp_states[n as usize * 2 + 1].time_ns - MS,
                connection: Some(ConnectionId(n)),
                synack: None,
                class: RetransmitClass::Rto,
                err: None,
                bytes: None,
                original: None,
                segments: Some(1),
                confidence: Confidence::Strong,
            });
        }
    };
    assert_eq!(with(&timer), None);
    // Or reset it.
    let reset = |f: &mut Facts| {
        for n in 0..4 {
            f.resets.push(ResetRow {
                time_ns: f.tcp_states[n as usize * 2 + 1].time_ns - MS,
                received: true,
                connection: Some(ConnectionId(n)),
                from: None,
                to: None,
                reason: String::new(),
                sender: Sender::Peer,
                confidence: crate::Confidence::Certain,
            });
            f.tcp_states[n as usize * 2 + 1].state = CLOSE;
        }
    };
    assert_eq!(with(&reset), None);
    // Nobody's call: a timer of the kernel gave up.
    assert_eq!(with(&|f| f.tcp_states.iter_mut().for_each(|s| s.in_task = false)), None);
    // Health checks carry little; two are no loop; who comes back later had enough, or is another job.
    assert_eq!(
        with(&|f| f.connections.iter_mut().for_each(|c| c.bytes_written = Some(9_000))),
        None
    );
    assert_eq!(with(&|f| f.last_sends.retain(|c, _| c.0 < 2)), None);
    assert_eq!(cut_off(&facts(1_500)), None);
    // Beside each other, as many readers of one host.
    assert_eq!(with(&|f| f.connections.iter_mut().for_each(|c| c.first_ns = 0)), None);
    // To several peers; by who connected.
    let several = |f: &mut Facts| {
        for (n, c) in f.connections.iter_mut().enumerate() {
            c.daddr = Some(std::net::Ipv4Addr::new(10, 0, 1, n as u8).into());
        }
    };
    assert_eq!(with(&several), None);
    assert_eq!(
        with(&|f| f.connections.iter_mut().for_each(|c| c.born = Some(SYN_SENT))),
        None
    );
    // What was sent behind it may be among the events that were lost.
    assert_eq!(with(&|f| f.gaps = vec![crate::testing::gap(0, 20_000 * MS)]), None);
}
