mod joined;

use std::net::IpAddr;

use super::headers::{Ends, ends};
use super::matching::{Match, Seen, Sockets, WINDOW_NS, matches};
use super::sights::Sight;
use super::{PacketsError, write};
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::reconstruct::receive::tables::RxRow;
use crate::reconstruct::tcp::tables::ConnectionRow;

fn ip(s: &str) -> IpAddr {
    s.parse().unwrap()
}

/// A TCP segment from 10.0.0.1:1000 to 10.0.0.2:2000, byte by byte.
fn segment() -> Vec<u8> {
    let mut b = vec![0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0];
    b.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    b.extend([0x03, 0xe8, 0x07, 0xd0, 0x11, 0x22, 0x33, 0x44]);
    b
}

#[test]
fn headers_tell_the_ends() {
    let want = Ends {
        source: (ip("10.0.0.1"), 1000),
        destination: (ip("10.0.0.2"), 2000),
        seq: Some(0x1122_3344),
    };
    assert_eq!(ends(101, &segment()), Some(want));
    let frame = |types: &[u8]| [&[0; 12], types, &segment()[..]].concat();
    assert_eq!(ends(1, &frame(&[8, 0])), Some(want));
    assert_eq!(ends(1, &frame(&[0x81, 0, 0, 5, 8, 0])), Some(want));
    // UDP over IPv6.
    let mut v6 = vec![0x60, 0, 0, 0, 0, 8, 17, 64];
    v6.extend([0; 15]);
    v6.push(1);
    v6.extend([0; 15]);
    v6.push(2);
    v6.extend([0, 53, 0, 54]);
    let found = ends(101, &v6).unwrap();
    assert_eq!(
        (found.source, found.destination, found.seq),
        ((ip("::1"), 53), (ip("::2"), 54), None)
    );
    // A later fragment has no ports; what is cut tells nothing.
    let mut fragment = segment();
    fragment[7] = 1;
    assert_eq!(ends(101, &fragment), None);
    for n in 0..segment().len() {
        assert_eq!(ends(101, &segment()[..n]), None, "{n}");
    }
}

fn facts(sockets: &[(u32, u16)]) -> Facts {
    let mut f = Facts::empty();
    for (i, (skb, sport)) in sockets.iter().enumerate() {
        f.connections.push(ConnectionRow {
            born: None,
            listens: None,
            connection: ConnectionId(i as u32),
            // The receiver's.
            saddr: Some(ip("10.0.0.2")),
            sport: 2000,
            daddr: Some(ip("10.0.0.1")),
            dport: *sport,
            skaddr: 0,
            cookie: None,
            task: Default::default(),
            pid: 0,
            first_ns: 0,
            last_ns: 0,
            bytes_in: 0,
            bytes_out: 0,
            bytes_read: None,
            bytes_written: None,
            retransmits: None,
            retransmit_segments: None,
            retransmits_refused: None,
            samples: 0,
            peer: None,
            confidence: Default::default(),
        });
        f.rx.push(RxRow {
            skb_id: SkbId(*skb),
            connection: Some(ConnectionId(i as u32)),
            ..RxRow::default()
        });
    }
    f
}

fn seen(ts: i64, bytes: u32) -> Seen {
    Seen {
        ts,
        bytes,
        ends: ends(101, &segment()),
    }
}

fn sight(ts: i64, bytes: u32, skb: u32) -> Sight {
    Sight {
        ts,
        bytes,
        skb: Some(SkbId(skb)),
    }
}

#[test]
fn only_what_can_be_nothing_else_is_matched() {
    let sockets = Sockets::of(&facts(&[(1, 1000), (2, 1000), (3, 9)]));
    let of = |p: &[Seen], s: &[Sight]| matches(p, s, &sockets, false);
    // Its socket agrees; nothing tells the socket; another socket's; too long ago; another length.
    assert_eq!(of(&[seen(0, 52)], &[sight(50, 52, 1)]), [Match::One(0, true)]);
    assert_eq!(of(&[seen(0, 52)], &[sight(50, 52, 77)]), [Match::One(0, false)]);
    assert_eq!(of(&[seen(0, 52)], &[sight(50, 52, 3)]), [Match::None]);
    assert_eq!(of(&[seen(0, 52)], &[sight(WINDOW_NS + 1, 52, 1)]), [Match::None]);
    assert_eq!(of(&[seen(0, 52)], &[sight(50, 53, 1)]), [Match::None]);
    // Two events for a packet, and two packets for an event.
    let two = [sight(50, 52, 1), sight(60, 52, 2)];
    assert_eq!(of(&[seen(0, 52)], &two), [Match::Several(2)]);
    let both = [seen(0, 52), seen(10, 52)];
    assert_eq!(of(&both, &[sight(50, 52, 1)]), [Match::Several(1), Match::Several(1)]);
    // As many as there are, all of that socket: in order. Not so if the socket of one is not known.
    assert_eq!(of(&both, &two), [Match::One(0, false), Match::One(1, false)]);
    let unsure = [sight(50, 52, 1), sight(60, 52, 77)];
    assert_eq!(of(&both, &unsure), [Match::Several(2), Match::Several(2)]);
    // Each has one close to it, of three within the window.
    let dense = [sight(2, 52, 1), sight(40_002, 52, 2), sight(80_000, 52, 1)];
    let close = [seen(0, 52), seen(40_000, 52)];
    assert_eq!(of(&close, &dense), [Match::One(0, false), Match::One(1, false)]);
    // A name that several namespaces have needs the socket.
    let doubt = |s| matches(&[seen(0, 52)], &[s], &sockets, true);
    assert_eq!(doubt(sight(50, 52, 1)), [Match::One(0, true)]);
    assert_eq!(doubt(sight(50, 52, 77)), [Match::Unsure(1)]);
    assert_eq!(doubt(sight(50, 52, 3)), [Match::None]);
}

#[test]
fn a_recording_without_packets_says_so() {
    let file = format!("{}/../sample-data/rpc/rpc.nmb", env!("CARGO_MANIFEST_DIR"));
    let capture = netmortem_formats::open_path(file.as_ref()).unwrap().unwrap();
    let said = write(&Facts::empty(), &capture, vec![]).unwrap_err();
    assert!(matches!(said, PacketsError::NoPackets));
}
