use super::super::tables::RetransmitClass;
use super::super::timers::{Again, by_counters};
use crate::Confidence;
use crate::counters::tables::CounterRow;

use RetransmitClass::{Fast, Rto, Syn, Tlp};

fn rose(netns: u64, name: &str, by: u64) -> CounterRow {
    CounterRow {
        source: "netstat",
        netns: Some(netns),
        of: String::new(),
        name: name.into(),
        start: Some(4),
        end: Some(4 + by),
    }
}
fn counted(netns: u64, by: u64) -> CounterRow {
    rose(netns, "TcpExtTCPTimeouts", by)
}
fn row((class, place): (RetransmitClass, Option<u64>)) -> Again {
    Again {
        class,
        synack: false,
        segments: 1,
        place,
    }
}

/// What the scene `outage_backoff` has: a guessed probe, a timeout, recovery behind them; TCPTimeouts rose by 2.
#[test]
fn a_guessed_probe_is_a_timeout_where_as_many_were_counted() {
    let of = |rows: &[(RetransmitClass, Option<u64>)], counters: &[CounterRow]| {
        let mut classes: Vec<RetransmitClass> = rows.iter().map(|r| r.0).collect();
        let rows: Vec<Again> = rows.iter().copied().map(row).collect();
        for (at, label) in by_counters(&rows, counters) {
            assert_eq!(label, Confidence::Strong);
            classes[at] = Rto;
        }
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

/// Timers that send nothing that is seen here count as timeouts, too: as many as were sent say nothing, where the kernel counted a probe.
#[test]
fn a_probe_is_none_where_as_many_timeouts_were_of_others() {
    let label = |rows: &[Again], counters: &[CounterRow]| {
        let named = by_counters(rows, counters);
        named.iter().find(|(at, _)| *at == 0).map(|(_, label)| *label)
    };
    let probe = row((Tlp, Some(7)));
    let counters = |probes: u64| [counted(7, 1), rose(7, "TcpExtTCPLossProbes", probes)];
    // A SYN-ACK's timer (`tcp_syn_ack_timeout`).
    let synack = Again {
        synack: true,
        ..row((Syn, Some(7)))
    };
    assert_eq!(label(&[probe, synack], &counters(1)), None);
    // One that a socket's owner ran for it; no route any more, which no counter tells; before the recording.
    let task = row((RetransmitClass::Unknown, Some(7)));
    assert_eq!(label(&[probe, task], &counters(1)), None);
    assert_eq!(label(&[probe], &counters(1)), None);
    // No probe at all.
    for rows in [&[probe][..], &[probe, task], &[probe, synack]] {
        assert_eq!(label(rows, &counters(0)), Some(Confidence::Strong));
        assert_eq!(label(rows, &[counted(7, 3)]), Some(Confidence::Strong));
    }
    // Not read at both ends.
    let cut = CounterRow {
        end: None,
        ..rose(7, "TcpExtTCPLossProbes", 0)
    };
    assert_eq!(label(&[probe], &[counted(7, 1), cut]), None);
}

/// The reordering timer of RACK sends in the same softirq: counted as what ACKs send again.
#[test]
fn a_reordering_timer_makes_it_weak() {
    let label = |fast: u64, slow: u64| {
        let rows = [Tlp, Fast].map(|class| row((class, Some(7))));
        let recovery = [
            rose(7, "TcpExtTCPFastRetrans", fast),
            rose(7, "TcpExtTCPSlowStartRetrans", slow),
        ];
        let counters = [vec![counted(7, 1)], recovery.to_vec()].concat();
        by_counters(&rows, &counters).first().map(|(_, label)| *label)
    };
    assert_eq!(label(1, 0), Some(Confidence::Strong));
    assert_eq!(label(1, 1), Some(Confidence::Weak));
    assert_eq!(label(2, 0), Some(Confidence::Weak));
}
