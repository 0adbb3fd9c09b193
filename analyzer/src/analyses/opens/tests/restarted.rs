//! Checks of a server that is down for a time.

use super::pooled::{PROXY, proxy, turnaround};
use super::scans::told;
use crate::analyses::opens::aside::{Aside, asides};
use crate::analyses::verdict::Tone;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};

const S: i64 = 1_000_000_000;
/// Ten seconds of a proxy at 10.0.0.1:80 that checks 10.0.0.2:8080 each 500 ms, in vain from 4 s to 6 s, and works by 10.0.0.3:8080 all the time.
fn facts() -> Facts {
    let (mut f, one) = proxy();
    let attempt = |n: u32, last: u8, start_ns: i64, end: OpenEnd| OpenRow {
        connection: Some(ConnectionId(n)),
        to: Some(([10, 0, 0, last].into(), 8080)),
        pid: PROXY,
        task: Name::new(b"proxy"),
        start_ns,
        end_ns: start_ns + 50_000,
        end,
        ..one.clone()
    };
    for n in 0..80 {
        let at = i64::from(n) * S / 8;
        f.opens.push(attempt(100 + n, 3, at + 7_000_000, OpenEnd::Established));
        f.turnarounds.push(turnaround(at + 7_000_000, at + S / 50));
        f.responses.push(crate::analyses::application::tests::response_of(
            100 + n,
            at + 7_000_000,
            S / 100,
        ));
    }
    for n in 0..20u32 {
        let at = i64::from(n) * S / 2;
        let up = !(4 * S..6 * S).contains(&at);
        f.opens.push(attempt(
            200 + n,
            2,
            at,
            if up { OpenEnd::Established } else { OpenEnd::Refused },
        ));
    }
    f.opens.sort_by_key(|o| o.start_ns);
    f
}

fn of(f: &Facts) -> Option<Aside> {
    asides(f)
        .of(f.opens.iter().find(|o| o.end == OpenEnd::Refused)?)
        .cloned()
}

#[test]
fn a_server_that_is_restarted_behind_a_balancer_harms_nobody() {
    let f = facts();
    assert_eq!(of(&f), Some(Aside::Pool("10.0.0.3:8080".into())));
    assert_eq!(told(&f).1.tone, Tone::Notice, "{}", told(&f).1.headline);
}

#[test]
fn who_may_miss_it_is_harmed() {
    let none = |change: &dyn Fn(&mut Facts)| {
        let mut f = facts();
        change(&mut f);
        f.opens.sort_by_key(|o| o.start_ns);
        assert_eq!(of(&f), None);
    };
    let down = |o: &OpenRow| o.end == OpenEnd::Refused;
    // It serves nobody; it works by no other meanwhile; its attempts come at no even distances, or are three.
    none(&|f| f.turnarounds.clear());
    none(&|f| {
        f.opens
            .retain(|o| o.to.unwrap().0 != std::net::Ipv4Addr::new(10, 0, 0, 3) || o.start_ns < 4 * S)
    });
    none(&|f| {
        f.opens
            .iter_mut()
            .filter(|o| down(o) && o.start_ns == 5 * S)
            .for_each(|o| o.start_ns += S / 4)
    });
    none(&|f| f.opens.retain(|o| !down(o) || o.start_ns < 5 * S + S / 2));
    // It stays down; it works by that other one no more than it checks it; that one never answers.
    none(&|f| {
        f.opens
            .retain(|o| down(o) || o.to.unwrap().0 != std::net::Ipv4Addr::new(10, 0, 0, 2) || o.start_ns < 4 * S)
    });
    none(&|f| {
        f.opens
            .retain(|o| o.to.unwrap().0 != std::net::Ipv4Addr::new(10, 0, 0, 3) || o.start_ns % (S / 2) == 7_000_000)
    });
    none(&|f| f.responses.clear());
    // Another program is refused there, too, and has no other.
    none(&|f| {
        let other = f.opens.iter().find(|o| down(o)).cloned();
        f.opens.push(OpenRow {
            pid: 77,
            connection: Some(ConnectionId(999)),
            ..other.unwrap()
        });
    });
    // An answer waited for one.
    none(&|f| {
        let at = f.opens.iter().find(|o| down(o)).unwrap().start_ns;
        f.turnarounds.push(turnaround(at - 1_000, at + 60_000));
    });
}
