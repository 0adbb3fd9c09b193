//! What an engineer works out by hand stands beside the connection that was held most.

use super::{Stage, segment};
use crate::Confidence::Certain;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::tcp::tables::SampleRow;
use crate::reconstruct::transmit::Spent;
use crate::reconstruct::transmit::tables::{TxEnd, TxRow};

const MS: i64 = 1_000_000;

fn sample(t: i64, flight: u32, wnd: u32, cwnd: u32) -> SampleRow {
    SampleRow {
        time_ns: t,
        connection: ConnectionId(3),
        snd_cwnd: cwnd,
        ssthresh: 0x7fff_ffff,
        srtt_us: 20_600,
        // Sequence numbers wrap.
        snd_una: u32::MAX - 100,
        snd_nxt: (u32::MAX - 100).wrapping_add(flight),
        snd_wnd: wnd,
        rcv_wnd: 65_536,
        data_len: 0,
        cpu: 0,
    }
}

/// 100 segments of 5792 bytes in 2 s, each 20.6 ms on its way, held by `by` for 1.7 s of them.
fn line(by: Stage) -> String {
    let mut f = Facts::empty();
    let rows = (0..100).map(|n| TxRow {
        bytes: Some(5792),
        ..segment(
            n,
            TxEnd::Acked,
            &[(by, 100 * MS), (Stage::Network, 20_600_000)],
            Certain,
        )
    });
    f.tx = rows.collect();
    f.spent.insert(
        ConnectionId(3),
        Spent::told(&[(by, 1700 * MS), (Stage::Sndbuf, 100 * MS)], 2000 * MS),
    );
    // With nothing in flight the windows held nothing.
    f.tcp_samples = vec![
        sample(0, 0, 1, 1),
        sample(1, 5792, 5792, 20),
        sample(2, 2896, 5792, 20),
        sample(3, 5792, 5792, 20),
    ];
    let lines = crate::analyses::answer(&f).verdict;
    lines.into_iter().find(|l| l.subject == "transmit").unwrap().sentence
}

#[test]
fn the_window_that_binds_and_the_rate_are_said() {
    // 579,200 bytes in 2 s.
    let s = line(Stage::Rwnd);
    let expect = " by the peer's receive window, 85 % of the time it was busy: 5.8 kB in flight of 5.8 kB, 20.60 ms to the ACK (n 100), 2.3 Mbit/s while busy";
    assert!(s.contains(expect), "{s}");
    let s = line(Stage::Cwnd);
    let expect = " by its congestion window, 85 % of the time it was busy: 5.8 kB in flight, the congestion window is 20 segments, 20.60 ms";
    assert!(s.contains(expect), "{s}");
    let s = line(Stage::Pacing);
    let expect = " by pacing, 85 % of the time it was busy: at most 5.8 kB in flight (the peer's window is 5.8 kB, the congestion window 20 segments)";
    assert!(s.contains(expect), "{s}");
}

/// A window that is filled and at its most all the time is small; one that shrinks is of a slow reader.
#[test]
fn a_small_receive_buffer_is_told_from_a_slow_reader() {
    let head = |window: fn(i64) -> u32| {
        let mut f = Facts::empty();
        let of = |n| TxRow {
            bytes: Some(5792),
            ..segment(
                n,
                TxEnd::Acked,
                &[(Stage::Rwnd, 100 * MS), (Stage::Network, 20_600_000)],
                Certain,
            )
        };
        f.tx = (0..100).map(of).collect();
        f.spent
            .insert(ConnectionId(3), Spent::told(&[(Stage::Rwnd, 1700 * MS)], 2000 * MS));
        f.tcp_samples = (0..40).map(|n| sample(n, window(n), window(n), 20)).collect();
        let lines = crate::analyses::answer(&f).verdict;
        lines.into_iter().find(|l| l.subject == "transmit").unwrap().headline
    };
    let small = head(|_| 5792);
    // 579,200 bytes in 2 s: a window each 20 ms.
    let says = "was held 85 % of the time it was busy by the size of its peer's receive window: 5.8 kB in flight of 5.8 kB, once every 20.00 ms: 2.3 Mbit/s; that window stayed at its most";
    assert!(small.contains(says) && !small.contains("held mostly by"), "{small}");
    let slow = head(|n| if n % 4 == 0 { 65_536 } else { 5792 });
    assert!(
        !slow.contains("stayed at its most") && slow.contains("held mostly by"),
        "{slow}"
    );
}
