//! What must not be taken for a cause with a name.

use super::{answer, segment};
use crate::Confidence::Certain;
use crate::analyses::Outcome;
use crate::analyses::transmit::{Restarts, Sender};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::negotiated::{Negotiated, Sizes};
use crate::reconstruct::tcp::tables::{SampleRow, StateRow};
use crate::reconstruct::transmit::tables::{TxEnd, TxRow};
use crate::reconstruct::transmit::{FullSegment, Spent, Stage};

const MS: i64 = 1_000_000;
const C: ConnectionId = ConnectionId(3);

fn sample(t: i64, cwnd: u32, flight: u32, wnd: u32) -> SampleRow {
    SampleRow {
        time_ns: t,
        connection: C,
        snd_cwnd: cwnd,
        ssthresh: 0x7fff_ffff,
        srtt_us: 20_000,
        snd_una: 1,
        snd_nxt: 1 + flight,
        snd_wnd: wnd,
        rcv_wnd: 65_536,
        data_len: 0,
        cpu: 0,
    }
}

fn sender(f: &Facts) -> Sender {
    let Outcome::Findings(t) = answer(f) else { panic!() };
    t.connections.first().unwrap().clone()
}

/// Segments every second, each acknowledged after 20 ms; the window before and after each.
fn paused(windows: &[(u32, u32)]) -> Facts {
    let mut f = Facts::empty();
    f.capture.total_events = 1;
    f.capture.enabled_events = Some(vec!["tcp:tcp_retransmit_skb".into()]);
    for (n, (before, after)) in windows.iter().enumerate() {
        let t = n as i64 * 1_000 * MS;
        let waits = [(Stage::Cwnd, 5 * MS), (Stage::Network, 20 * MS)];
        let sent = |from: i64| TxRow {
            start_ns: t + from - 5 * MS,
            t_sched_ns: t + from,
            t_ack_ns: Some(t + from + 20 * MS),
            ..segment(n as u32, TxEnd::Acked, &waits, Certain)
        };
        f.tx.extend([sent(0), sent(25 * MS)]);
        f.tcp_samples.extend([
            sample(t + 20 * MS, *before, 1448, 1 << 20),
            sample(t + 45 * MS, *after, 1448, 1 << 20),
        ]);
    }
    f.spent.insert(C, Spent::told(&[(Stage::Cwnd, 20 * MS)], 100 * MS));
    f
}

fn restarts(f: &Facts) -> (u64, u64) {
    let r: Restarts = sender(f).restarts.unwrap();
    (r.pauses, r.restarts)
}

#[test]
fn only_halvings_in_a_calm_pause_are_slow_start_after_idle() {
    // The first probe after a pause is `before` of the row after it: 1 s and 200 ms are at most four halvings.
    let fell = [(10, 160), (40, 160), (10, 160)];
    let f = paused(&fell);
    assert_eq!(restarts(&f), (2, 2));
    let r = sender(&f).restarts.unwrap();
    assert_eq!((r.before, r.after, r.shortest_ns), (160, 40, 975 * MS));
    // 5 ms before the second segment after each of the two pauses; before the first is the pause.
    assert_eq!((r.wait_ns, r.matter()), (10 * MS, true));
    // Nothing would tell what was sent again.
    let mut untold = paused(&fell);
    untold.capture.enabled_events = None;
    assert!(sender(&untold).restarts.is_none_or(|r| r.restarts == 0));
    // A probe of bbr (4 packets), five halvings, a little less: another cause.
    assert_eq!(restarts(&paused(&[(10, 160), (4, 160)])), (1, 0));
    assert_eq!(restarts(&paused(&[(10, 800), (17, 800)])), (1, 0));
    assert_eq!(restarts(&paused(&[(10, 160), (150, 160)])), (1, 0));
    assert_eq!(restarts(&paused(&[(10, 160), (160, 160)])), (1, 0));
    // A congestion state was set: the pause is not judged.
    let mut f = paused(&fell);
    f.tcp_states.push(state(500 * MS, 3));
    assert_eq!(sender(&f).restarts, None);
    // bbr sets its window itself.
    let mut f = paused(&fell);
    f.negotiated.insert(C, negotiated(true, Some(true)));
    assert_eq!(sender(&f).restarts, None);
}

pub(super) fn negotiated(window_scaling: bool, own_window: Option<bool>) -> Negotiated {
    Negotiated {
        window_scaling,
        congestion: own_window.map(|own| crate::name::Name::new(if own { b"bbr".as_slice() } else { b"cubic" })),
        delivered_ce: None,
        sizes: None,
        ends: None,
    }
}

/// A connection that its peer's window of 65,535 bytes held for that share of its time.
fn held(share: i64, flight: u32, wnd: u32) -> Facts {
    let mut f = Facts::empty();
    f.tx = (0..9)
        .map(|n| TxRow {
            bytes: Some(5_000),
            ..segment(
                n,
                TxEnd::Acked,
                &[(Stage::Rwnd, MS), (Stage::Network, 20 * MS)],
                Certain,
            )
        })
        .collect();
    f.tcp_samples = vec![sample(1, 100, flight, wnd)];
    f.spent.insert(C, Spent::told(&[(Stage::Rwnd, share)], 100));
    f.negotiated.insert(C, negotiated(false, None));
    f
}

#[test]
fn no_window_scaling_is_a_cause_only_where_it_holds() {
    let said = |f: &Facts| sender(f).unscaled;
    let u = said(&held(25, 65_535, 65_535)).unwrap();
    // 65,535 bytes in 20 ms.
    assert!((u.most_mbit_per_s() - 26.2).abs() < 0.1, "{u:?}");
    assert_eq!(said(&held(24, 65_535, 65_535)), None);
    // A reader that keeps the window small.
    assert_eq!(said(&held(90, 30_000, 30_000)), None);
    assert_eq!(said(&held(90, 65_535, 65_536)), None);
    let mut scaled = held(90, 65_535, 65_535);
    scaled.negotiated.insert(C, negotiated(true, None));
    assert_eq!(said(&scaled), None);
    // Not known.
    scaled.negotiated.clear();
    assert_eq!(said(&scaled), None);
}

#[test]
fn small_segments_are_half_of_what_the_mtu_allows_or_less() {
    let of = |mss, mtu, wnd| {
        let mut f = held(0, mss, wnd);
        f.tx.iter_mut().for_each(|r| r.bytes = Some(20 * mss));
        let full = FullSegment {
            mss,
            headers: 66,
            link: 14,
            frames: 10,
        };
        f.full_segments.insert(C, full);
        let sizes = Some(Sizes {
            snd_mss: mss,
            advmss: 1448,
            pmtu: mtu,
        });
        f.negotiated.insert(
            C,
            Negotiated {
                sizes,
                ..negotiated(true, None)
            },
        );
        sender(&f).small
    };
    let s = of(724, 1500, 65_536).unwrap();
    assert_eq!((s.mss, s.allowed, s.mtu, s.dev.as_str()), (724, 1448, 1500, ""));
    assert!((s.headers_of(724) - 66.0 / 790.0).abs() < 1e-12);
    assert_eq!(of(725, 1500, 65_536), None);
    // Half of a window is the most that a segment may be; the loopback device's MTU is none of a way to another host.
    assert_eq!(of(500, 1500, 1_999), None);
    assert_eq!(of(1448, 65_536, 1 << 20), None);
}

fn state(time_ns: i64, state: i32) -> StateRow {
    StateRow {
        kind: "cong",
        ..crate::testing::tcp::state(C.0, state, time_ns)
    }
}

/// A window that is full for two hundred round trips and does not grow is held there; one that grows, that something was sent again beside, or that is seldom full is not.
#[test]
fn a_full_window_that_does_not_grow_is_clamped() {
    let with = |cwnd: &dyn Fn(u32) -> u32, full: i64, again: u16, (own, states): (Option<bool>, &[i32])| {
        let mut f = Facts::empty();
        f.capture.total_events = 1;
        let events = ["tcp:tcp_retransmit_skb", "tcp:tcp_cong_state_set"];
        f.capture.enabled_events = Some(events.map(Into::into).to_vec());
        f.tcp_states.extend(states.iter().map(|s| state(1_000 * MS, *s)));
        f.connections = (0..4).map(crate::testing::tcp::connection).collect();
        f.connections[3].saddr = Some([10, 0, 0, 1].into());
        f.connections[3].daddr = Some([10, 0, 9, 2].into());
        for n in 0..200 {
            let t = i64::from(n) * 20 * MS;
            let waits = [(Stage::Cwnd, 5 * MS), (Stage::Network, 20 * MS)];
            f.tx.push(TxRow {
                start_ns: t - 5 * MS,
                t_sched_ns: t,
                t_ack_ns: Some(t + 20 * MS),
                retransmits: again,
                ..segment(n, TxEnd::Acked, &waits, Certain)
            });
            f.tcp_samples.push(sample(t + 20 * MS, cwnd(n), 1448, 1 << 20));
        }
        f.spent.insert(C, Spent::told(&[(Stage::Cwnd, full * MS)], 4_000 * MS));
        f.negotiated.insert(C, negotiated(true, own));
        f.routes = crate::routes::of_lines(&[
            ("addresses", "netns=1 ifindex=2 address=10.0.0.1/24\n"),
            (
                "routes",
                "netns=1 family=2 to=10.0.9.0/24 cwnd=4 via=10.0.0.9 ifindex=2 table=254 type=1\n",
            ),
        ]);
        let Outcome::Findings(t) = answer(&f) else { panic!() };
        (t.clamped.clone(), crate::analyses::verdict::causes_of_sent(&t))
    };
    let four = &|_: u32| 4;
    let (found, said) = with(four, 3_800, 0, (None, &[]));
    let c = found.unwrap();
    assert_eq!((c.connections, c.cwnd, c.to.as_str()), (1, 4, "10.0.9.2"));
    assert_eq!(c.route.as_deref(), Some("10.0.9.0/24 via 10.0.0.9"));
    assert!(
        said.iter()
            .any(|s| s.ends_with("the route 10.0.9.0/24 via 10.0.0.9 has cwnd 4")),
        "{said:?}"
    );
    assert_eq!(with(&|n| 4 + n / 100, 3_800, 0, (None, &[])).0, None);
    assert_eq!(with(four, 800, 0, (None, &[])).0, None);
    assert_eq!(with(four, 3_800, 1, (None, &[])).0, None);
    assert_eq!(with(four, 3_800, 0, (Some(true), &[])).0, None);
    // Open is what a socket begins with; another state is something that happened to it.
    assert!(with(four, 3_800, 0, (None, &[0])).0.is_some());
    assert_eq!(with(four, 3_800, 0, (None, &[0, 2])).0, None);
}
