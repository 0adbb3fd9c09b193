use super::T;
use crate::testing::tcp::{SOCK, Sock};
use crate::testing::{Ctx, N, Script};

const SOFT: Ctx = Ctx::Soft(7);

fn bytes_out(seq: &[(u32, u32)]) -> u64 {
    let mut s = Script::new("6.18.44", &[]);
    for (k, (una, nxt)) in seq.iter().enumerate() {
        let v = [("snd_una", N((*una).into())), ("snd_nxt", N((*nxt).into()))];
        SOCK.probe(&mut s, T + k as u64 * 100, 0, SOFT, &v);
    }
    s.facts().connections[0].bytes_out
}

/// The first sample counts what was in flight, later ones what snd_nxt advanced.
#[test]
fn bytes_out_is_new_sequence_space() {
    assert_eq!(bytes_out(&[(1_000, 4_000)]), 3_000);
    assert_eq!(bytes_out(&[(1_000, 4_000), (4_000, 4_000), (4_000, 9_000)]), 8_000);
}

#[test]
fn sequence_numbers_wrap() {
    let near = u32::MAX - 99;
    assert_eq!(bytes_out(&[(near, near), (near, 400), (400, 1_400)]), 500 + 1_000);
    // Many times around: each step is small.
    let steps: Vec<(u32, u32)> = (0..20u32)
        .map(|k| {
            let x = k.wrapping_mul(1 << 30);
            (x, x)
        })
        .collect();
    assert_eq!(bytes_out(&steps), 19 << 30);
}

/// A value behind the last one (an out-of-order record, a damaged one) takes nothing away and adds no 4 GB.
#[test]
fn snd_nxt_never_goes_back() {
    assert_eq!(bytes_out(&[(0, 1_000), (0, 900), (0, 1_500)]), 1_500);
}

/// Samples keep what the event says, in time order.
#[test]
fn a_sample_is_the_event() {
    let mut s = Script::new("6.18.44", &[]);
    let v = [
        ("snd_cwnd", N(30)),
        ("ssthresh", N(21)),
        ("srtt", N(12_345)),
        ("snd_wnd", N(65_535)),
        ("rcv_wnd", N(0)),
        ("data_len", N(1_448)),
    ];
    SOCK.probe(&mut s, T, 1, SOFT, &v);
    let f = s.facts();
    let x = &f.tcp_samples[0];
    assert_eq!(
        (x.time_ns, x.cpu, x.snd_cwnd, x.ssthresh, x.srtt_us),
        (T as i64, 1, 30, 21, 12_345)
    );
    assert_eq!((x.snd_wnd, x.rcv_wnd, x.data_len), (65_535, 0, 1_448));
    assert_eq!(f.connections[0].bytes_in, 1_448);
}

/// Payload that TCP dropped as a duplicate was no arrival.
#[test]
fn dropped_duplicates_are_not_bytes_in() {
    let mut s = Script::new("6.18.44", &[]);
    s.symbol(0xffff_ffff_8300_0000, "tcp_data_queue");
    let a = 0xffff_8881_0000_0000u64;
    let rx = [("skbaddr", N(a)), ("len", N(1_500))];
    s.ev(T, 0, SOFT, "net:netif_receive_skb", &rx);
    SOCK.probe(&mut s, T + 10, 0, SOFT, &[("skbaddr", N(a)), ("data_len", N(1_448))]);
    let v = [
        ("skbaddr", N(a)),
        ("location", N(0xffff_ffff_8300_0010)),
        ("protocol", N(0x0800)),
        ("reason", N(33)),
    ];
    s.ev(T + 20, 0, SOFT, "skb:kfree_skb", &v);
    SOCK.probe(&mut s, T + 30, 0, SOFT, &[("data_len", N(100))]);
    let f = s.facts();
    assert_eq!(f.connections[0].bytes_in, 100);
    assert!(f.rx.iter().all(|r| r.bytes != Some(1_448)), "{:?}", f.rx);
}

/// v4-mapped addresses of IPv6 sockets and the IPv4 fields of the same socket are one tuple.
#[test]
fn mapped_addresses_are_one_socket() {
    let mut s = Script::new("6.18.44", &[]);
    let mapped = |last: u8| {
        let mut b = vec![0; 10];
        b.extend([0xff, 0xff, 10, 0, 0, last]);
        crate::testing::B(b)
    };
    let six = [
        ("family", N(10)),
        ("newstate", N(1)),
        ("saddr_v6", mapped(1)),
        ("daddr_v6", mapped(2)),
    ];
    SOCK.ev(&mut s, T, 0, SOFT, "sock:inet_sock_set_state", &six);
    SOCK.probe(&mut s, T + 10, 0, SOFT, &[]);
    let other = Sock {
        sk: 5,
        cookie: 5,
        ..SOCK
    };
    let none = [("family", N(1))];
    other.ev(&mut s, T + 20, 0, SOFT, "tcp:tcp_cong_state_set", &none);
    let f = s.facts();
    assert_eq!(f.connections.len(), 1);
    assert_eq!(f.connections[0].saddr, Some("10.0.0.1".parse().unwrap()));
}
