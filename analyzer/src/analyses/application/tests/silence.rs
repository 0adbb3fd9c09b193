//! Hosts from which nothing more comes.

use std::net::Ipv4Addr;

use super::MS;
use crate::analyses::application::{Silence, answer};
use crate::analyses::verdict::Tone;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::opens::tables::{ResetRow, Sender};
use crate::reconstruct::tcp::tables::{RetransmitClass, RetransmitRow, SampleRow};
use crate::reconstruct::transmit::tables::{TxKind, TxRow};

fn came(connection: u32, ms: i64) -> SampleRow {
    crate::testing::tcp::sample(connection, ms * MS)
}

fn again(connection: u32, ms: i64) -> RetransmitRow {
    crate::testing::tcp::sent_again(connection, RetransmitClass::Rto, ms * MS)
}

fn sent(connection: u32, ms: i64) -> TxRow {
    TxRow {
        connection: Some(ConnectionId(connection)),
        kind: TxKind::Tcp,
        t_sched_ns: ms * MS,
        ..crate::testing::sent()
    }
}

/// Two hosts, 10.0.0.2 and 10.0.0.3, both answer each 100 ms for 2 s, and from then on the second alone; 5 s in all.
fn facts() -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(5_000 * MS));
    f.capture.events.insert("skb:kfree_skb".into(), 1);
    f.capture.duration_ns = 5_000 * MS;
    for n in 0..2 {
        let mut c = crate::testing::tcp::connection(n);
        (c.daddr, c.sport) = (Some(Ipv4Addr::new(10, 0, 0, 2 + n as u8).into()), 40_000 + n as u16);
        f.connections.push(c);
    }
    f.tcp_samples = (0..20)
        .map(|n| came(0, n * 100))
        .chain((0..50).map(|n| came(1, n * 100)))
        .collect();
    f.tx = (0..50)
        .map(|n| sent(1, n * 100))
        .chain([sent(0, 1_950), sent(0, 2_100), sent(0, 3_000)])
        .collect();
    f.responses.push(super::response(1, 0, 1));
    f.retransmits = [2_300, 2_700, 3_500].map(|ms| again(0, ms)).to_vec();
    f
}

fn found(f: &Facts) -> Option<Silence> {
    answer(f).findings().and_then(|a| a.silence.clone())
}

#[test]
fn one_host_is_silent_and_another_is_not() {
    let f = facts();
    let expect = Silence {
        one_client: false,
        address: "10.0.0.2".into(),
        since_ns: 1_900 * MS,
        for_ns: 3_100 * MS,
        sent: 3,
        again: 3,
        dropped: 0,
        dropped_unknown: Some(0),
        heard: Some("10.0.0.3".into()),
    };
    assert_eq!(found(&f), Some(expect));
    let line = crate::analyses::answer(&f).verdict;
    let line = line.iter().find(|l| l.subject == "application").unwrap();
    let said = "no TCP segment came from 10.0.0.2 after 1.900 s, for 3.100 s, while 10.0.0.3 was heard until the end; 3 segments and SYNs and 3 repetitions were sent to it meanwhile: none of these is known to have been dropped by this host, so they, or what answers them, were lost silently beyond it";
    assert_eq!((line.tone, line.headline.as_str()), (Tone::Bad, said));
}

/// Packets of the peer that a rule of this host drops have no owner; where drops are not recorded nothing tells of them.
#[test]
fn what_may_have_been_dropped_here_is_not_called_lost_beyond() {
    let said = |change: fn(&mut Facts)| {
        let mut f = facts();
        change(&mut f);
        let lines = crate::analyses::answer(&f).verdict;
        lines.into_iter().find(|l| l.subject == "application").unwrap().headline
    };
    let not_recorded = said(|f| f.capture.events.clear());
    assert!(
        not_recorded.ends_with("sent to it meanwhile; whether this host dropped any was not recorded"),
        "{not_recorded}"
    );
    let dropped = said(|f| f.drops = vec![crate::testing::drop_at(2_000 * MS), crate::testing::drop_at(2_500 * MS)]);
    let expect = "were lost silently beyond this host or dropped in it (2 packets were dropped meanwhile and nothing tells whose, see drops)";
    assert!(dropped.ends_with(expect), "{dropped}");
    let before = said(|f| f.drops = vec![crate::testing::drop_at(1_000 * MS)]);
    assert!(before.ends_with("lost silently beyond it"), "{before}");
}

/// Heard means: in the last tenth of the silence.
#[test]
fn who_falls_silent_later_was_not_heard_until_the_end() {
    let mut f = facts();
    f.tcp_samples.retain(|s| s.time_ns < 4_500 * MS);
    assert_eq!(found(&f).unwrap().heard, None);
}

#[test]
fn what_is_answered_in_the_end_is_no_silence() {
    let none = |change: fn(&mut Facts)| {
        let mut f = facts();
        change(&mut f);
        assert_eq!(found(&f), None);
    };
    // It answered after all.
    none(|f| f.tcp_samples.push(came(0, 4_900)));
    // Its ACK came to a socket that was closing, which no probe sees.
    none(|f| f.tx[50].t_ack_ns = Some(4_900 * MS));
    // Data of it came.
    none(|f| {
        f.rx.push(crate::reconstruct::receive::tables::RxRow {
            connection: Some(ConnectionId(0)),
            start_ns: 4_900 * MS,
            ..Default::default()
        })
    });
    // It refused, late.
    none(|f| {
        f.resets.push(ResetRow {
            time_ns: 4_800 * MS,
            received: true,
            connection: None,
            from: None,
            to: Some((Ipv4Addr::new(10, 0, 0, 2).into(), 2)),
            reason: String::new(),
            sender: Sender::Unknown,
            confidence: crate::Confidence::Certain,
        });
    });
    // It is in the recording, which tells itself.
    none(|f| f.connections[0].peer = Some(ConnectionId(1)));
    // Another socket of the recording has its address.
    none(|f| f.connections[1].saddr = f.connections[0].daddr);
    // Nothing was sent twice: a last ACK has no answer.
    none(|f| f.retransmits.truncate(1));
    // The end came soon after.
    none(|f| f.capture.end_ns = Some(2_300 * MS));
}

/// One that called at a port at which others call, too, and whom this host asked nothing: it was switched off.
#[test]
fn one_client_of_several_that_is_gone_is_no_alarm() {
    let told = |change: fn(&mut Facts)| {
        let mut f = facts();
        f.connections.iter_mut().for_each(|c| c.sport = 443);
        for n in 5..9 {
            let mut c = crate::testing::tcp::connection(n);
            (c.daddr, c.sport) = (Some(Ipv4Addr::new(10, 0, 0, n as u8).into()), 443);
            f.connections.push(c);
        }
        change(&mut f);
        let lines = crate::analyses::answer(&f).verdict;
        let line = lines.into_iter().find(|l| l.subject == "application").unwrap();
        (line.tone, line.headline)
    };
    let (tone, said) = told(|_| {});
    let says = "no TCP segment came from 10.0.0.2 (a client of this host, one of several: switched off, away, or the way to it is broken, inferred) after 1.900 s";
    assert!(tone == Tone::Notice && said.starts_with(says), "{tone:?} {said}");
    // Two of them; or the port is its own.
    let two = told(|f| {
        f.tcp_samples.insert(1, came(2, 100));
        f.tx.extend([sent(2, 2_000), sent(2, 3_000)]);
        f.retransmits.extend([again(2, 2_500), again(2, 3_600)]);
    });
    assert_eq!(two.0, Tone::Bad);
    assert_eq!(told(|f| f.connections[0].sport = 50_000).0, Tone::Bad);
    // Of few it is half of what there is.
    assert_eq!(told(|f| f.connections.truncate(4)).0, Tone::Bad);
}
