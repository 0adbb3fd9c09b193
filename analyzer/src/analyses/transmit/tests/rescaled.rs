//! Ends that do not believe the same of windows, SACK and timestamps; and what is laid to a small receive buffer.

use super::{answer, segment};
use crate::Confidence::Certain;
use crate::analyses::Outcome;
use crate::analyses::transmit::{Reader, Transmit};
use crate::analyses::verdict::{Tone, causes_of_sent};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::negotiated::{Ends, Negotiated, Options};
use crate::reconstruct::tcp::states::{SYN_RECV, SYN_SENT};
use crate::reconstruct::tcp::tables::SampleRow;
use crate::reconstruct::transmit::tables::{TxEnd, TxRow};
use crate::reconstruct::transmit::{Spent, Stage};
use crate::testing::tcp::{born, connection};

const MS: i64 = 1_000_000;

fn options(snd_wscale: u8, rcv_wscale: u8) -> Options {
    Options {
        snd_wscale,
        rcv_wscale,
        window_scaling: true,
        timestamps: true,
        sack: true,
    }
}

fn none() -> Options {
    Options {
        window_scaling: false,
        ..options(0, 0)
    }
}

/// Connections 0 to 5: a server's ends at 10.0.0.1:80 and their clients' at 10.0.0.2; the even ones are the server's. The server sends 501
/// bytes every 228 ms on the first, held by its peer's window for that share of its time.
fn facts(server: Options, client: Options, held: i64) -> Facts {
    let mut f = Facts::empty();
    f.capture.total_events = 1;
    for n in 0..6u32 {
        let mut row = connection(n);
        row.peer = Some(ConnectionId(n ^ 1));
        let (own, peer, state) = match n % 2 {
            0 => (server, client, SYN_RECV),
            _ => (client, server, SYN_SENT),
        };
        let port = 40_000 + n as u16 / 2;
        (row.sport, row.dport) = (80, port);
        if n % 2 == 1 {
            std::mem::swap(&mut row.saddr, &mut row.daddr);
            (row.sport, row.dport) = (port, 80);
        }
        born(&mut f, row, state);
        let ends = Ends {
            own,
            peer,
            peer_rcvbuf: Some(131_072),
        };
        let of = Negotiated {
            window_scaling: own.window_scaling,
            congestion: Some(crate::name::Name::new(b"cubic")),
            delivered_ce: None,
            sizes: None,
            ends: Some(ends),
        };
        f.negotiated.insert(ConnectionId(n), of);
    }
    let waits = [(Stage::Rwnd, 200 * MS), (Stage::Network, 20 * MS)];
    f.tx = (0..40)
        .map(|n| TxRow {
            connection: Some(ConnectionId(0)),
            bytes: Some(501),
            start_ns: i64::from(n) * 228 * MS,
            ..segment(n, TxEnd::Acked, &waits, Certain)
        })
        .collect();
    f.tcp_samples = (0..40)
        .map(|n| SampleRow {
            time_ns: n * 228 * MS,
            connection: ConnectionId(0),
            snd_cwnd: 10,
            ssthresh: 0x7fff_ffff,
            srtt_us: 20_000,
            snd_una: 1,
            snd_nxt: 502,
            snd_wnd: 501,
            rcv_wnd: 65_152,
            data_len: 0,
            cpu: 0,
        })
        .collect();
    let busy = 40 * 228 * MS;
    f.spent
        .insert(ConnectionId(0), Spent::told(&[(Stage::Rwnd, busy / 100 * held)], busy));
    f
}

fn found(f: &Facts) -> Transmit {
    let Outcome::Findings(t) = answer(f) else { panic!() };
    t
}

fn said(f: &Facts) -> String {
    causes_of_sent(&found(f)).join("; ")
}

fn tone(f: &Facts) -> Tone {
    let lines = crate::analyses::answer(f).verdict;
    lines.iter().find(|l| l.subject == "transmit").unwrap().tone
}

const REWRITTEN: &str = "10.0.0.1:80 reads the receive windows of 10.0.0.2 128 times too small: the SYN that reached it had a window scale of 0, \
    its socket uses a window scale of 7 (each of 3 connections whose two ends are in lists of sockets), so something between them changes or strips \
    that option of the SYN (a firewall, a load balancer, a WAN optimiser)";

#[test]
fn a_scale_that_only_one_end_knows_is_wrong_where_it_holds_users_up() {
    let f = facts(options(0, 7), options(7, 7), 98);
    let expect = format!(
        "{REWRITTEN}; 10.0.0.1:80 > 10.0.0.2:40000 was held 98 % of the time it was busy by that, with 501 bytes in flight, at 18 kbit/s"
    );
    assert_eq!(said(&f), expect);
    assert_eq!(tone(&f), Tone::Bad);
    let headline = &crate::analyses::answer(&f).verdict;
    let line = headline.iter().find(|l| l.subject == "transmit").unwrap();
    assert!(line.headline.starts_with(REWRITTEN) && line.names_cause, "{line:?}");
    // Nobody waited long for it: worth a look, not wrong.
    let f = facts(options(0, 7), options(7, 7), 20);
    assert_eq!(
        said(&f),
        format!("{REWRITTEN}, by which none of those that sent most was held up for long")
    );
    assert_eq!(tone(&f), Tone::Notice);
    // Both believe the same, be it 0, or nothing; each direction has a scale of its own.
    for (server, client) in [
        (options(7, 9), options(9, 7)),
        (options(0, 0), options(0, 0)),
        (none(), none()),
    ] {
        let f = facts(server, client, 98);
        assert!(found(&f).disagreed.windows.is_empty());
        assert!(!said(&f).contains("too small"), "{}", said(&f));
        assert_ne!(tone(&f), Tone::Bad);
    }
    // A scale of 0 is none, to who reads windows.
    let zero = Options {
        snd_wscale: 0,
        rcv_wscale: 0,
        ..options(0, 0)
    };
    assert!(found(&facts(zero, none(), 98)).disagreed.windows.is_empty());
    // One end is in no list: nothing is known.
    let mut f = facts(options(0, 7), options(7, 7), 98);
    f.negotiated.values_mut().for_each(|n| n.ends = None);
    assert_eq!(found(&f).disagreed, Default::default());
    assert_ne!(tone(&f), Tone::Bad);
}

#[test]
fn a_stripped_answer_is_read_too_small_at_one_end_and_too_large_at_the_other() {
    // The client saw no scale in the SYN-ACK, the server took both as agreed.
    let f = facts(options(7, 7), none(), 98);
    let told = said(&f);
    let small = "10.0.0.2 reads the receive windows of 10.0.0.1 128 times too small: the SYN-ACK that reached it had no window scale, its socket \
        uses a window scale of 7 (each of 3 connections";
    let large = "; 10.0.0.1:80 reads the receive windows of 10.0.0.2 128 times too large: the SYN that reached it had a window scale of 7, its \
        socket uses no window scale";
    assert!(told.starts_with(small) && told.contains(large), "{told}");
}

#[test]
fn other_connections_between_the_two_are_counted() {
    let mut f = facts(options(0, 7), options(7, 7), 98);
    for c in [4, 5] {
        let n = f.negotiated.get_mut(&ConnectionId(c)).unwrap();
        let same = options(7, 7);
        n.ends = Some(Ends {
            own: same,
            peer: same,
            peer_rcvbuf: None,
        });
    }
    assert!(said(&f).contains("(2 of 3 connections whose two ends"), "{}", said(&f));
}

#[test]
fn sack_and_timestamps_are_of_both_ends_or_of_neither() {
    let plain = options(7, 7);
    let without = Options {
        sack: false,
        timestamps: false,
        ..plain
    };
    let f = facts(plain, without, 0);
    let expect = "10.0.0.1:80 > 10.0.0.2:40000 uses SACK, and the other end of the connection does not (3 connections): something between them \
        strips that option of a SYN or SYN-ACK";
    assert_eq!(said(&f), format!("{expect}; {}", expect.replace("SACK", "timestamps")));
    assert_eq!(tone(&f), Tone::Notice);
    assert_eq!(said(&facts(without, without, 0)), "");
}

/// What held the connection was its peer's window, which stayed at its most.
#[test]
fn a_small_window_is_no_small_buffer_where_the_readers_socket_says_otherwise() {
    let same = options(7, 7);
    let of = |reader: Reader| {
        let mut t = found(&facts(same, same, 98));
        t.connections.iter_mut().for_each(|s| s.reader = Some(reader));
        causes_of_sent(&t).join("; ")
    };
    let reader = |offered, rcvbuf| Reader {
        offered,
        rcvbuf,
        misread: false,
    };
    let small = "the receive buffer is small (SO_RCVBUF, net.ipv4.tcp_rmem)";
    assert!(of(reader(None, None)).ends_with(small));
    // A buffer of 2,304 bytes offers no more; twice a window is what any buffer is.
    assert!(
        of(reader(Some(501), Some(2_304))).ends_with(small),
        "{}",
        of(reader(Some(501), Some(2_304)))
    );
    assert!(of(reader(Some(1_001), Some(2_504))).ends_with(small));
    let between = "its reader's own socket offered 64.1 kB, so something between them made that window small";
    assert!(of(reader(Some(64_128), Some(2_304))).contains(between));
    let large = of(reader(Some(501), Some(131_072)));
    assert!(
        large.contains("its socket's receive buffer of 131.1 kB is not what is small") && !large.contains(small),
        "{large}"
    );
    // The reader is looked for among the recording's sockets.
    let mut f = facts(same, same, 98);
    let mut wide = f.tcp_samples[0].clone();
    (wide.connection, wide.rcv_wnd) = (ConnectionId(1), 64_128);
    f.tcp_samples.push(wide);
    let expect = Reader {
        offered: Some(64_128),
        rcvbuf: Some(131_072),
        misread: false,
    };
    assert_eq!(found(&f).connections[0].reader, Some(expect));
}
