//! Transfers that a rule has always policed.

use super::drop_row;
use crate::analyses::drops::{Steady, answer};
use crate::analyses::verdict::Tone;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::whose::{Carries, Owner};
use crate::testing::tcp::{connection, state};

const S: i64 = 1_000_000_000;

/// Eight seconds in which a rule drops a segment of a transfer each 100 ms.
fn facts() -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns, f.capture.duration_ns) = (Some(0), Some(8 * S), 8 * S);
    f.names.drop_reasons = Some(netmortem_formats::event_format::ValueTable {
        entries: vec![(12, "NETFILTER_DROP".into())],
        kind: netmortem_formats::event_format::ValueTableKind::Symbolic,
    });
    let mut row = connection(0);
    (row.sport, row.dport, row.bytes_out, row.bytes_in) = (41_164, 8730, 20_000_000, 1_000);
    f.connections.push(row);
    for n in 0..80 {
        let mut row = drop_row(n * S / 10, 12, 0x10, Some(false));
        row.why = "an nftables rule or policy";
        row.owner = Some(Owner {
            connection: Some(ConnectionId(0)),
            carries: Carries::Data,
            task: Name::default(),
            pid: 0,
            confidence: crate::Confidence::Strong,
        });
        f.drops.push(row);
    }
    // What gets through is acknowledged.
    for n in 0..80 {
        f.tx.push(crate::reconstruct::transmit::tables::TxRow {
            connection: Some(ConnectionId(0)),
            t_ack_ns: Some(n * S / 10),
            bytes: Some(100_000),
            ..crate::testing::sent()
        });
    }
    f
}

fn told(f: &Facts) -> (Option<Steady>, Tone) {
    let line = crate::analyses::answer(f)
        .verdict
        .into_iter()
        .find(|l| l.subject == "drops")
        .unwrap();
    (answer(f).findings().unwrap().groups[0].steady.clone(), line.tone)
}

#[test]
fn what_it_lost_all_along_is_no_alarm() {
    let steady = Steady {
        count: 80,
        most: "10.0.0.1:41164 > 10.0.0.2:8730".into(),
        others: 0,
    };
    assert_eq!(told(&facts()), (Some(steady), Tone::Notice));
}

/// It lost some late alone, and is as fast: its bursts met the policer then.
#[test]
fn when_it_lost_them_does_not_matter() {
    let mut f = facts();
    f.drops.retain(|d| d.time_ns > 6 * S);
    let (steady, tone) = told(&f);
    assert_eq!((steady.unwrap().count, tone), (19, Tone::Notice));
}

#[test]
fn what_began_or_ended_here_or_is_answered_may_be_missed() {
    let with = |change: &dyn Fn(&mut Facts)| {
        let mut f = facts();
        change(&mut f);
        assert_eq!(told(&f), (None, Tone::Bad));
    };
    // Nothing gets through, or nothing in a quarter, or a third as much from the middle on.
    with(&|f| f.tx.clear());
    with(&|f| f.tx.retain(|t| t.t_ack_ns > Some(3 * S)));
    with(&|f| f.connections[0].bytes_out = 0);
    with(&|f| {
        f.tx.iter_mut()
            .filter(|t| t.t_ack_ns > Some(4 * S))
            .for_each(|t| t.bytes = Some(30_000))
    });
    // It was opened, or ended, in the recording; as much comes back; another reason.
    with(&|f| f.connections[0].born = Some(2));
    with(&|f| f.tcp_states.push(state(0, 4, 6 * S)));
    with(&|f| f.connections[0].bytes_in = 1_000_000);
    with(&|f| {
        f.names.drop_reasons.as_mut().unwrap().entries = vec![(12, "QDISC_DROP".into())];
    });
    with(&|f| {
        let mut asked = crate::analyses::application::tests::response_of(0, S, S);
        asked.peer = None;
        f.responses.push(asked);
    });
}
