//! Packets for ends where nobody is served: refused before, and dropped after.

use super::samples::{facts as sample, of};
use super::stopped::{END, MS, open};
use crate::Confidence;
use crate::diff::judged::nobody::moderate;
use crate::diff::judged::rates::Rate;
use crate::diff::sides::options::Recording;
use crate::diff::{DiffOptions, Outcome};
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::datagrams::tables::TurnRow;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::opens::tables::OpenEnd;
use crate::reconstruct::whose::{Carries, Owner};

/// So many openings of a monitor (process 7) to 10.0.0.9:80 and as many questions to 10.0.0.9:161, each of which has so many packets dropped for one reason.
fn asked(n: u32, packets: usize, end: OpenEnd) -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(END - 1));
    for c in 0..n {
        let at = END / i64::from(n) * i64::from(c);
        let mut row = crate::testing::tcp::connection(c);
        (row.saddr, row.daddr, row.dport) = (Some([10, 0, 0, 1].into()), Some([10, 0, 0, 9].into()), 80);
        (row.bytes_in, row.bytes_out, row.pid) = (0, 0, 7);
        f.connections.push(row);
        f.opens.push(open(c, at, end, 0));
        f.udp_turns.push(TurnRow {
            to: Some(([10, 0, 0, 9], 161).into()),
            skb_id: Some(SkbId(c)),
            ..TurnRow::begin(0, 7, at)
        });
        for _ in 0..packets {
            f.drops.push(dropped(at, Some(ConnectionId(c)), Carries::Syn, None));
            f.drops.push(dropped(at, None, Carries::Datagram, Some(SkbId(c))));
        }
    }
    f
}

fn dropped(at: i64, connection: Option<ConnectionId>, carries: Carries, skb_id: Option<SkbId>) -> DropRow {
    let owner = Owner {
        connection,
        carries,
        task: Name::default(),
        pid: 7,
        confidence: Confidence::Strong,
    };
    DropRow {
        skb_id,
        expected: Some(false),
        owner: Some(owner),
        ..crate::testing::drop_at(at)
    }
}

/// What becomes of the rate of these drops, called worse or better.
fn judged(before: &Facts, after: &Facts) -> (Outcome, Option<String>) {
    let f = sample("rpc/rpc.nmb");
    let d = of(&f, &f);
    let mut rate: Rate = d.rates.into_iter().next().unwrap();
    let sides = [before, after].map(|f| Recording::all(std::slice::from_ref(&f), &[], None));
    let name = |side: &[Recording<'_>]| {
        let r = &side[0];
        r.facts
            .drops
            .iter()
            .find_map(|d| crate::diff::values::counted::drop_metric(r, d))
    };
    rate.metric = name(&sides[0]).or_else(|| name(&sides[1])).unwrap();
    assert!(rate.metric.starts_with("drops."), "{}", rate.metric);
    (rate.before.of, rate.after.of) = (before.drops.len() as f64, after.drops.len() as f64);
    (rate.before.out_of, rate.after.out_of) = (1_000.0, 1_000.0);
    rate.difference = (rate.after.of - rate.before.of) / 1_000.0;
    rate.outcome = if rate.difference > 0.0 {
        Outcome::Worse
    } else {
        Outcome::Better
    };
    let mut rates = [rate];
    moderate(&mut rates, [&sides[0], &sides[1]]);
    (rates[0].outcome, rates[0].nobodys.clone())
}

#[test]
fn what_was_refused_and_is_dropped_harms_nobody() {
    let (refused, dropped) = (asked(40, 0, OpenEnd::Refused), asked(30, 2, OpenEnd::GivenUp));
    let words = "10.0.0.9:161 (UDP), 10.0.0.9:80";
    assert_eq!(judged(&refused, &dropped), (Outcome::Changed, Some(words.into())));
    // And what is no longer dropped, as it is refused, helps nobody.
    assert_eq!(judged(&dropped, &refused), (Outcome::Changed, Some(words.into())));
}

#[test]
fn who_was_served_or_may_be_or_waits_is_harmed() {
    let worse = |change: &dyn Fn(&mut Facts, &mut Facts)| {
        let (mut before, mut after) = (asked(40, 0, OpenEnd::Refused), asked(30, 2, OpenEnd::GivenUp));
        change(&mut before, &mut after);
        assert_eq!(judged(&before, &after), (Outcome::Worse, None));
    };
    // Served before, as an opening, a connection or an answer by UDP tells; or after, in part.
    worse(&|b, _| b.opens[3].end = OpenEnd::Established);
    worse(&|_, a| a.opens[3].end = OpenEnd::Established);
    worse(&|b, _| b.connections[3].bytes_in = 1);
    worse(&|b, _| b.udp_turns[3].ready_ns = Some(4 * MS));
    worse(&|b, _| b.udp_turns[3].landed = 1);
    // Not asked before, or not nearly so often.
    worse(&|b, _| b.opens.clear());
    worse(&|b, _| b.opens.truncate(10));
    // Of others whose end is not known, or that are no question.
    worse(&|_, a| (0..20).for_each(|n| a.drops.push(dropped(n * MS, None, Carries::Sent, None))));
    worse(&|_, a| {
        (0..20).for_each(|n| {
            a.drops
                .push(dropped(n * MS, Some(ConnectionId(1)), Carries::Data, None))
        })
    });
    // Who asks has other work.
    worse(&|_, a| {
        let mut other = open(99, MS, OpenEnd::Established, 0);
        other.to = Some(([10, 0, 0, 8].into(), 80));
        a.opens.push(other);
    });
    // Events were lost.
    worse(&|b, _| b.gaps.push(crate::testing::gap(0, 1)));
}

/// The whole comparison of the same recording, with a monitor that is refused before and after dropped.
#[test]
fn it_is_said_and_no_verdict() {
    let with = |packets: usize, end: OpenEnd| {
        let mut f = sample("rpc/rpc.nmb");
        let (from, to) = (f.capture.start_ns.unwrap(), f.capture.end_ns.unwrap());
        let extra = asked(100, packets, end);
        let first = f.connections.len() as u32;
        let at = |ns: i64| from + (to - from) / 1_000 * (ns * 1_000 / END);
        let own = |c: Option<ConnectionId>| c.map(|c| ConnectionId(c.0 + first));
        for mut row in extra.connections {
            row.connection = ConnectionId(row.connection.0 + first);
            f.connections.push(row);
        }
        for mut o in extra.opens {
            (o.connection, o.start_ns, o.end_ns) = (own(o.connection), at(o.start_ns), at(o.start_ns) + 1);
            f.opens.push(o);
        }
        f.udp_turns.extend(extra.udp_turns.into_iter().map(|t| TurnRow {
            start_ns: at(t.start_ns),
            skb_id: t.skb_id.map(|s| SkbId(s.0 + 1_000_000)),
            ..t
        }));
        let (n, births) = (extra.drops.len(), f.skbs.len());
        for (nth, mut d) in extra.drops.into_iter().enumerate() {
            // As even among packets as they come.
            d.time_ns = f.skbs[births * nth / n].birth_ns.max(from);
            d.skb_id = d.skb_id.map(|s| SkbId(s.0 + 1_000_000));
            d.owner = d.owner.map(|o| Owner {
                connection: own(o.connection),
                ..o
            });
            f.drops.push(d);
        }
        f.opens.sort_by_key(|o| o.start_ns);
        f.drops.sort_by_key(|d| d.time_ns);
        f
    };
    let (before, after) = (with(0, OpenEnd::Refused), with(2, OpenEnd::GivenUp));
    let d = crate::diff::compare(&[&before], &[&after], &DiffOptions::default());
    let rate = d.rates.iter().find(|r| r.metric.starts_with("drops.")).unwrap();
    assert_eq!(rate.outcome, Outcome::Changed, "{}", d.verdict.sentence);
    assert_eq!(d.verdict.outcome, Outcome::Same, "{}", d.verdict.sentence);
    let words =
        "Dropped on the way to 10.0.0.9:161 (UDP), 10.0.0.9:80, where nobody was served before, nor is after: drops.";
    assert!(d.verdict.sentence.contains(words), "{}", d.verdict.sentence);
}
