use super::super::tables::RetransmitClass;
use super::super::timers::by_counters;
use crate::counters::tables::CounterRow;

use RetransmitClass::{Fast, Rto, Syn, Tlp};

fn counted(netns: u64, rose: u64) -> CounterRow {
    CounterRow {
        source: "netstat",
        netns: Some(netns),
        of: String::new(),
        name: "TcpExtTCPTimeouts".into(),
        start: Some(4),
        end: Some(4 + rose),
    }
}

/// What the scene `outage_backoff` has: a guessed probe, a timeout, recovery behind them; TCPTimeouts rose by 2.
#[test]
fn a_guessed_probe_is_a_timeout_where_as_many_were_counted() {
    let of = |rows: &[(RetransmitClass, Option<u64>)], counters: &[CounterRow]| {
        let mut classes: Vec<RetransmitClass> = rows.iter().map(|r| r.0).collect();
        let places: Vec<Option<u64>> = rows.iter().map(|r| r.1).collect();
        let named = by_counters(&classes, &places, counters);
        named.iter().for_each(|at| classes[*at] = Rto);
        classes
    };
    let one = [(Tlp, Some(7)), (Rto, Some(7)), (Fast, Some(7))];
    assert_eq!(of(&one, &[counted(7, 2)]), [Rto, Rto, Fast]);
    // A probe among them; not counted; another namespace; an end of which it is not known where it is.
    assert_eq!(of(&one, &[counted(7, 1)]), [Tlp, Rto, Fast]);
    assert_eq!(of(&one, &[]), [Tlp, Rto, Fast]);
    assert_eq!(of(&one, &[counted(8, 2)]), [Tlp, Rto, Fast]);
    let unknown = [one.as_slice(), &[(Tlp, None)]].concat();
    assert_eq!(of(&unknown, &[counted(7, 2)]), [Tlp, Rto, Fast, Tlp]);
    // One that ran out and gave the connection up sent nothing.
    let given_up = CounterRow {
        name: "TcpExtTCPAbortOnTimeout".into(),
        ..counted(7, 1)
    };
    assert_eq!(of(&one, &[counted(7, 2), given_up]), [Tlp, Rto, Fast]);
    // Nor did one whose segment still waited in a queue of this host.
    let queued = CounterRow {
        name: "TcpExtTCPSpuriousRtxHostQueues".into(),
        ..counted(7, 1)
    };
    assert_eq!(of(&one, &[counted(7, 2), queued]), [Tlp, Rto, Fast]);
    // The timers of SYNs count as well.
    let syn = [one.as_slice(), &[(Syn, Some(7))]].concat();
    assert_eq!(of(&syn, &[counted(7, 3)])[0], Rto);
    assert_eq!(of(&syn, &[counted(7, 2)])[0], Tlp);
}
