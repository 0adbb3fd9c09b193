//! Attempts of a monitor at an end that others know to be down.

use super::checks::facts as checked;
use super::scans::told;
use crate::analyses::opens::aside::{Aside, asides};
use crate::analyses::verdict::Tone;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::opens::tables::{End, OpenEnd, OpenRow};

const S: i64 = 1_000_000_000;
const DOWN: u8 = 2;

/// Ten seconds in which a balancer (42) checks 10.0.0.2:8080 each second and serves by 10.0.0.3:8080, and a monitor (50) tries one of both ten times a second, as it comes: what it tries of the one is refused.
fn facts() -> Facts {
    let mut f = checked();
    let balancer = f.opens.clone();
    f.opens = (0..2i64)
        .flat_map(|n| {
            balancer.iter().map(move |o| OpenRow {
                connection: o.connection.map(|c| ConnectionId(c.0 + 100 * n as u32)),
                start_ns: o.start_ns + 6 * n * S,
                end_ns: o.end_ns + 6 * n * S,
                ..o.clone()
            })
        })
        .filter(|o| o.start_ns < 10 * S)
        .collect();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(10 * S));
    f.opens.extend((0..100).map(|n| probe(n, down(n))));
    f.opens.sort_by_key(|o| o.start_ns);
    f
}

/// Which one is tried: no check's even distances.
fn down(n: u32) -> bool {
    (n * n % 13).is_multiple_of(2)
}

/// The nth of the monitor, at the one that is down or at the other.
fn probe(n: u32, down: bool) -> OpenRow {
    let like: OpenRow = checked().opens[0].clone();
    let to: End = ([10, 0, 0, if down { DOWN } else { 3 }].into(), 8080);
    OpenRow {
        connection: Some(ConnectionId(1_000 + n)),
        from: Some(([10, 0, 0, 9].into(), 40_000 + n as u16)),
        to: Some(to),
        pid: 50,
        task: Name::new(b"blackbox"),
        start_ns: i64::from(n) * S / 10,
        end_ns: i64::from(n) * S / 10 + 100_000,
        end: if down { OpenEnd::Refused } else { OpenEnd::Established },
        syns_again: Some(0),
        ..like
    }
}

fn of(f: &Facts) -> Option<Aside> {
    let one = f.opens.iter().find(|o| o.pid == 50 && o.end != OpenEnd::Established)?;
    asides(f).of(one).cloned()
}

#[test]
fn who_probes_others_as_well_misses_nothing() {
    let f = facts();
    assert_eq!(of(&f), Some(Aside::Probes(45)));
    let (_, line) = told(&f);
    assert_eq!(line.tone, Tone::Notice, "{}", line.headline);
    let says = "55 attempts to connect to 10.0.0.2:8080 by blackbox/50 were refused, as it probes others, 45 times well, while a check of another program finds it down, too (inferred)";
    assert!(line.headline.contains(says), "{}", line.headline);
}

#[test]
fn what_is_no_steady_probe_of_what_is_known_to_be_down_is_wrong() {
    let none = |change: &dyn Fn(&mut Facts)| {
        let mut f = facts();
        change(&mut f);
        f.opens.sort_by_key(|o| o.start_ns);
        assert_eq!(of(&f), None);
        assert_eq!(told(&f).1.tone, Tone::Bad, "{}", told(&f).1.headline);
    };
    let own = |o: &OpenRow| o.pid == 50;
    let stood = |o: &OpenRow| o.end == OpenEnd::Established;
    // Nobody else finds it down; or the balancer has no other server.
    none(&|f| f.opens.retain(own));
    none(&|f| f.opens.retain(|o| own(o) || !stood(o)));
    // It probes nothing else, or less often than one for two.
    none(&|f| f.opens.retain(|o| !own(o) || !stood(o)));
    none(&|f| f.opens.retain(|o| !own(o) || !stood(o) || o.start_ns % S < S / 4));
    // At once elsewhere, whenever it failed: somebody waits.
    none(&|f| {
        for n in (1..100).filter(|n| down(n - 1) && !down(*n)) {
            let own = f
                .opens
                .iter_mut()
                .find(|o| o.connection == Some(ConnectionId(1_000 + n)));
            own.unwrap().start_ns -= S / 10 - 1_000_000;
        }
    });
    // Or here again, each of them.
    none(&|f| {
        let again: Vec<OpenRow> = f.opens.iter().filter(|o| own(o) && !stood(o)).cloned().collect();
        f.opens.extend(again.into_iter().map(|o| OpenRow {
            start_ns: o.start_ns + 1_000_000,
            end_ns: o.end_ns + 1_000_000,
            ..o
        }));
    });
    // More than one exchange on a connection that stood.
    none(&|f| {
        let c = f.opens.iter().find(|o| own(o) && stood(o)).unwrap().connection.unwrap();
        let rpc = crate::tests::facts("rpc/rpc.nmb");
        let mut r = rpc.responses[0].clone();
        r.connection = c;
        f.responses = vec![r.clone(), r];
    });
    // Not from the begin to the end: it may have gone, or come back.
    none(&|f| f.opens.retain(|o| !own(o) || stood(o) || o.start_ns > 3 * S));
    none(&|f| f.opens.retain(|o| !own(o) || stood(o) || o.start_ns < 7 * S));
    // Somebody gets there.
    none(&|f| {
        let mut other = probe(200, true);
        (other.end, other.pid) = (OpenEnd::Established, 51);
        f.opens.push(other);
    });
}
