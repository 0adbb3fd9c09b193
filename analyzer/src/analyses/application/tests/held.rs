//! Requests that wait when the recording ends, of a kind that is held, and of servers that hang.

use super::given_up::came;
use super::{MS, answered_after};
use crate::analyses::application::answer;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::transmit::tables::TxRow;

/// A request at `at` ms on a connection of its own that was answered at once before: after `took` ms, or never (`None`).
fn ask(f: &mut Facts, at: i64, took: Option<i64>, bytes: u32) {
    let n = f.connections.len() as u32;
    let mut c = crate::testing::tcp::connection(n);
    (c.sport, c.dport, c.task) = (10_000 + n as u16, 80, Name::new(b"nginx"));
    f.connections.push(c);
    let mut one = |at: i64, took: Option<i64>, bytes: u32| {
        f.tx.push(TxRow {
            connection: Some(ConnectionId(n)),
            start_ns: at,
            bytes: Some(bytes),
            ..crate::testing::sent()
        });
        let Some(took) = took else { return };
        f.responses.push(answered_after(n, at, took));
        f.rx.push(came(n, at + took));
    };
    // What was asked on it before is of another kind.
    if bytes != 84 || took.is_none() {
        one((at - 20) * MS, Some(4 * MS), 84);
    }
    one(at * MS, took.map(|ms| ms * MS), bytes);
}

struct Site {
    /// Held and answered: begin, and how long, ms.
    answered: Vec<(i64, i64)>,
    /// Held and open at the end: begin, ms.
    open: Vec<i64>,
    /// How long what else is asked takes at a time, ms.
    others: fn(i64) -> i64,
}

fn site() -> Site {
    Site {
        answered: vec![(2_000, 9_000), (5_500, 8_600), (7_800, 8_100), (13_000, 4_100)],
        open: vec![500, 1_500, 3_000, 4_000, 6_000, 9_000, 12_000, 15_000],
        others: |_| 5,
    }
}

/// 18 s, two other requests a second.
fn facts(s: &Site) -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(18_000 * MS));
    f.capture.duration_ns = 18_000 * MS;
    for (at, took) in &s.answered {
        ask(&mut f, *at, Some(*took), 59);
    }
    for at in &s.open {
        ask(&mut f, *at, None, 59);
    }
    for at in (100..17_500).step_by(500) {
        ask(&mut f, at, Some((s.others)(at)), 84);
    }
    f.tx.sort_by_key(|t| t.start_ns);
    f
}

/// Of those that wait: how many are held, and of how many answers it is known.
fn held(f: &Facts) -> (usize, Option<u64>) {
    let a = answer(f).findings().unwrap().clone();
    let of: Vec<_> = a.unanswered.iter().filter_map(|u| u.held.as_ref()).collect();
    (of.len(), of.first().map(|h| h.answered))
}

#[test]
fn long_polls_that_are_open_at_the_end_are_held() {
    assert_eq!(held(&facts(&site())), (8, Some(4)));
    let a = answer(&facts(&site())).findings().unwrap().clone();
    let h = a.unanswered.first().and_then(|u| u.held.clone()).unwrap();
    assert_eq!((h.bytes, h.p50_ns), (59, 8_100 * MS + 10_000));
}

/// Since a time no such request is answered: what came before does not excuse it.
#[test]
fn a_server_that_hangs_since_a_time_holds_nothing() {
    // All that were asked from 6 s on are open, those before were answered.
    let s = Site {
        answered: vec![(500, 2_000), (1_000, 2_500), (2_000, 3_000), (3_000, 2_500)],
        open: vec![6_000, 7_000, 8_000, 9_000, 12_000],
        ..site()
    };
    assert_eq!(held(&facts(&s)).0, 0);
    // Some had been asked before, and were overtaken then: none came in the second half.
    let s = Site {
        answered: vec![(500, 2_000), (1_000, 2_500), (2_000, 3_000), (3_000, 2_500)],
        open: vec![100, 6_000, 7_000, 8_000, 9_000, 12_000],
        ..site()
    };
    assert_eq!(held(&facts(&s)).0, 0);
    // What else is asked meanwhile is not answered in time.
    let s = Site {
        others: |at| if at > 4_000 { 3_000 } else { 5 },
        ..site()
    };
    assert_eq!(held(&facts(&s)).0, 0);
    // Nor at all: one of a fast kind waits as long.
    let mut f = facts(&site());
    ask(&mut f, 9_000, None, 84);
    assert_eq!(held(&f).0, 0);
}

/// A kind with fast answers, one let go at one moment, few answers, one that was given up or sent again, lost events.
#[test]
fn what_is_not_always_held_stays_loud() {
    let fast = Site {
        answered: vec![(2_000, 9_000), (5_500, 8_600), (7_800, 8_100), (13_000, 20)],
        ..site()
    };
    assert_eq!(held(&facts(&fast)).0, 0);
    let at_once = Site {
        answered: vec![(2_000, 14_000), (5_500, 10_500), (7_800, 8_200), (13_000, 3_000)],
        ..site()
    };
    assert_eq!(held(&facts(&at_once)).0, 0);
    let few = Site {
        answered: vec![(5_500, 8_600), (13_000, 4_100)],
        ..site()
    };
    assert_eq!(held(&facts(&few)).0, 0);
    let mut again = facts(&site());
    let open = again.connections.len() as u32;
    ask(&mut again, 10_000, None, 59);
    let sent = again.tx.iter_mut().rfind(|t| t.connection == Some(ConnectionId(open)));
    sent.unwrap().retransmits = 2;
    assert_eq!(held(&again).0, 0);
    let mut lost = facts(&site());
    lost.gaps.push(crate::testing::gap(17_900 * MS, 17_950 * MS));
    assert_eq!(held(&lost).0, 0);
}
