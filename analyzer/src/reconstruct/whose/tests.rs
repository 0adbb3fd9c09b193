//! In the order of events of real recordings (6.18).

use crate::facts::Facts;
use crate::reconstruct::whose::Carries;
use crate::testing::tcp::{SOCK, Sock};
use crate::testing::{Ctx, FCLONE, N, S, Script};

const T: u64 = 1_000_000_000;
const A: u64 = 0xffff_8881_0000_0000;
const RULE: u64 = 0xffff_ffff_8100_0000;
const OTHER: Sock = Sock {
    sk: 0xffff_8880_2000_0000,
    cookie: 78,
    sport: 40_001,
    dport: 443,
};

fn script() -> Script {
    let mut s = Script::new("6.18.44", &[]);
    s.symbol(RULE, "nft_do_chain");
    for k in 1..5u64 {
        s.ev(
            k * 10,
            0,
            Ctx::Task(1),
            "tcp:tcp_sendmsg_locked",
            &[("skb_addr", N(A + k * 0x10000))],
        );
        frame(&mut s, k * 10 + 1, 0, A + k * 0x10000 + FCLONE, 366);
    }
    s
}
fn frame(s: &mut Script, ts: u64, cpu: usize, addr: u64, len: u64) {
    let v = [("skbaddr", N(addr)), ("len", N(len)), ("name", S("eth0"))];
    s.ev(ts, cpu, Ctx::Task(1), "net:net_dev_queue", &v);
}
fn dropped(s: &mut Script, ts: u64, cpu: usize, addr: u64) {
    let v = [
        ("skbaddr", N(addr)),
        ("location", N(RULE)),
        ("protocol", N(0x0800)),
        ("reason", N(6)),
    ];
    s.ev(ts, cpu, Ctx::Soft(1), "skb:kfree_skb", &v);
}
/// What each dropped packet carries, and the local port of whose it is.
fn told(f: &Facts) -> Vec<Option<(Carries, Option<u16>)>> {
    let port = |c: crate::facts::ConnectionId| f.connections[c.0 as usize].sport;
    f.drops
        .iter()
        .map(|d| d.owner.map(|o| (o.carries, o.connection.map(port))))
        .collect()
}

/// Two CPUs open connections within microseconds: each SYN is of the socket whose state that CPU set, whatever order they leave in.
#[test]
fn a_syn_is_of_the_socket_that_its_cpu_opened() {
    let mut s = script();
    SOCK.state(&mut s, T, 0, Ctx::Task(1), 7, 2);
    OTHER.state(&mut s, T + 5, 1, Ctx::Task(2), 7, 2);
    // The second one is faster.
    frame(&mut s, T + 10, 1, A + 0x90000 + FCLONE, 74);
    frame(&mut s, T + 20, 0, A + 0xa0000 + FCLONE, 74);
    dropped(&mut s, T + 30, 0, A + 0xa0000 + FCLONE);
    dropped(&mut s, T + 40, 1, A + 0x90000 + FCLONE);
    let expect = [SOCK, OTHER].map(|o| Some((Carries::Syn, Some(o.sport))));
    assert_eq!(told(&s.facts()), expect);
}

/// Nothing ties a frame to a socket that opened long before, or one of another length: it has no owner.
#[test]
fn what_nothing_ties_to_a_socket_has_no_owner() {
    let mut s = script();
    SOCK.state(&mut s, T, 0, Ctx::Task(1), 7, 2);
    frame(&mut s, T + 600_000, 0, A + 0x90000 + FCLONE, 74);
    dropped(&mut s, T + 600_010, 0, A + 0x90000 + FCLONE);
    OTHER.state(&mut s, T + 700_000, 0, Ctx::Task(1), 7, 2);
    frame(&mut s, T + 700_010, 0, A + 0xa0000 + FCLONE, 1514);
    dropped(&mut s, T + 700_020, 0, A + 0xa0000 + FCLONE);
    assert_eq!(told(&s.facts()), [None, None]);
}

/// A frame that fits the opening of one socket and the SYN sent again of another is neither's.
#[test]
fn a_frame_of_two_sockets_is_neithers() {
    let mut s = script();
    SOCK.state(&mut s, T, 0, Ctx::Task(1), 7, 2);
    OTHER.state(&mut s, T + 5, 1, Ctx::Task(2), 7, 2);
    frame(&mut s, T + 10, 0, A + 0x90000 + FCLONE, 74);
    let v = [("state", N(2))];
    OTHER.retransmit(&mut s, T + 20, 0, Ctx::Soft(1), A + 0xa0000, &v);
    dropped(&mut s, T + 30, 0, A + 0x90000 + FCLONE);
    assert_eq!(told(&s.facts()), [None]);
}

/// Timers of two CPUs run out at the same tick: each SYN that is sent again is of the socket whose event names it.
#[test]
fn syns_that_two_cpus_send_again_at_once_keep_their_sockets() {
    let mut s = script();
    SOCK.state(&mut s, T, 0, Ctx::Task(1), 7, 2);
    frame(&mut s, T + 10, 0, A + 0x90000 + FCLONE, 74);
    dropped(&mut s, T + 30, 0, A + 0x90000 + FCLONE);
    OTHER.state(&mut s, T + 1_000, 1, Ctx::Task(2), 7, 2);
    frame(&mut s, T + 1_010, 1, A + 0xa0000 + FCLONE, 74);
    dropped(&mut s, T + 1_030, 1, A + 0xa0000 + FCLONE);
    let v = [("state", N(2))];
    let again = T + 1_000_000_000;
    frame(&mut s, again, 0, A + 0x90000 + FCLONE, 74);
    frame(&mut s, again + 2, 1, A + 0xa0000 + FCLONE, 74);
    SOCK.retransmit(&mut s, again + 10, 0, Ctx::Soft(1), A + 0x90000, &v);
    OTHER.retransmit(&mut s, again + 12, 1, Ctx::Soft(1), A + 0xa0000, &v);
    dropped(&mut s, again + 30, 0, A + 0x90000 + FCLONE);
    dropped(&mut s, again + 40, 1, A + 0xa0000 + FCLONE);
    let expect = [SOCK, OTHER, SOCK, OTHER].map(|o| Some((Carries::Syn, Some(o.sport))));
    assert_eq!(told(&s.facts()), expect);
}

/// What was cut from a larger segment and sent again has no row of `tx`: the event that tells it sent again names its socket.
#[test]
fn what_was_only_sent_again_is_of_the_socket_that_sent_it() {
    let mut s = script();
    SOCK.state(&mut s, T, 0, Ctx::Task(1), 2, 1);
    frame(&mut s, T + 10, 0, A + 0x90000 + FCLONE, 1514);
    SOCK.retransmit(&mut s, T + 20, 0, Ctx::Task(1), A + 0x90000, &[]);
    dropped(&mut s, T + 30, 0, A + 0x90000 + FCLONE);
    assert_eq!(told(&s.facts()), [Some((Carries::Data, Some(SOCK.sport)))]);
}

/// Of one connection, by rows: an original's frames before and after the connection was there (a SYN with data, then data), and what was sent again
/// as long as an ACK (a FIN) or longer (data).
#[test]
fn when_a_frame_left_and_how_long_it_is_tells_what_it_carries() {
    use crate::facts::{ConnectionId, SkbId};
    use crate::reconstruct::lineage::tables::{Conserved, LineageKind, LineageRow, Rule};
    use crate::reconstruct::tcp::tables::{RetransmitClass, RetransmitRow, StateRow};
    use crate::reconstruct::transmit::tables::{TxKind, TxRow};
    use crate::testing::{life, sent};

    let mut f = Facts::empty();
    let c = ConnectionId(0);
    let state = |time_ns, state| StateRow {
        time_ns,
        connection: c,
        kind: "sock",
        state,
        name: "",
        cpu: 0,
        in_task: true,
        pid: 0,
        task: crate::name::Name::default(),
    };
    f.tcp_states = vec![state(5, 2), state(100, 1)];
    // Life, birth, bytes: the original and its two frames, an ACK, and two originals that are sent again.
    for (n, birth_ns, bytes) in [
        (0, 6, 0),
        (1, 10, 237),
        (2, 200, 217),
        (3, 150, 66),
        (4, 300, 66),
        (5, 400, 80),
    ] {
        let mut l = life(n);
        (l.birth_ns, l.bytes) = (birth_ns, Some(bytes));
        f.skbs.push(l);
    }
    let of = |skb, original, kind, bytes| TxRow {
        skb_id: SkbId(skb),
        original,
        connection: Some(c),
        kind,
        bytes: Some(bytes),
        ..sent()
    };
    f.tx = vec![
        of(1, Some(SkbId(0)), TxKind::Tcp, 143),
        of(3, None, TxKind::TcpControl, 0),
    ];
    for child in [1, 2] {
        f.lineage.push(LineageRow {
            ts_ns: 0,
            parent: SkbId(0),
            child: SkbId(child),
            kind: LineageKind::Fclone,
            rule: Rule::FcloneDistance,
            bytes: None,
            conserved: Conserved::Unknown,
            why: crate::reconstruct::lineage::Why::default(),
            confidence: crate::Confidence::Certain,
        });
    }
    for (original, bytes) in [(4, 66), (5, 80)] {
        f.retransmits.push(RetransmitRow {
            index: 0,
            time_ns: 500,
            connection: Some(c),
            synack: None,
            class: RetransmitClass::Rto,
            err: None,
            bytes: Some(bytes),
            original: Some(SkbId(original)),
            segments: Some(1),
            confidence: crate::Confidence::Certain,
        });
    }
    let whose = super::Whose::of((&f).into());
    let carries = |n| whose.packet(SkbId(n)).map(|o| o.carries);
    let told = [1, 2, 4, 5].map(carries);
    let expected = [Carries::SynData, Carries::Data, Carries::Fin, Carries::Data].map(Some);
    assert_eq!(told, expected);
    // One that has closed its side before: as long as the shortest of others' frames that carry nothing.
    let mut other = (f.tx[1].connection.replace(ConnectionId(1)), f.tcp_states.clone());
    let fin = |f: &Facts| super::Whose::of(f.into()).packet(SkbId(4)).map(|o| o.carries);
    assert_eq!(fin(&f), Some(Carries::Data));
    f.tcp_states.push(state(450, 4));
    assert_eq!(fin(&f), Some(Carries::Fin));
    // The other's are of IPv6: what is longer than IPv4's may carry a few bytes.
    f.skbs[3].bytes = Some(86);
    let few = super::Whose::of((&f).into()).packet(SkbId(5)).map(|o| o.carries);
    assert_eq!((fin(&f), few), (Some(Carries::Fin), Some(Carries::Data)));
    f.skbs[3].bytes = Some(66);
    f.tcp_states[2].time_ns = 501;
    assert_eq!(fin(&f), Some(Carries::Data));
    std::mem::swap(&mut f.tx[1].connection, &mut other.0);
    f.tcp_states = other.1;
    // Where no frame is known to be without options, the small one may carry a line.
    f.skbs[3].bytes = Some(78);
    assert_eq!(
        super::Whose::of((&f).into()).packet(SkbId(4)).map(|o| o.carries),
        Some(Carries::Data)
    );
    (f.skbs[3].bytes, f.skbs[3].birth_ns) = (Some(66), 99);
    assert_eq!(
        super::Whose::of((&f).into()).packet(SkbId(4)).map(|o| o.carries),
        Some(Carries::Data)
    );
    f.skbs[3].birth_ns = 150;
    // A frame from before the socket began is another's.
    f.skbs[1].birth_ns = 4;
    assert_eq!(super::Whose::of((&f).into()).packet(SkbId(1)), None);
    f.skbs[1].birth_ns = 10;
    // A recording that ends before the connection is there: what left right behind the state is its SYN, what left later is not known to be.
    f.tcp_states.pop();
    f.skbs[2].birth_ns = 600_000;
    let whose = super::Whose::of((&f).into());
    let told = [1, 2].map(|n| whose.packet(SkbId(n)).map(|o| o.carries));
    assert_eq!(told, [Carries::SynData, Carries::Data].map(Some));
}

/// Three segments pass a tunnel's device: one comes back from it cut to 576 bytes, one as it was (a redirect), one goes on. X-8 of the
/// container host had the first: 1514 bytes out by vxlan42, 576 in by it.
#[test]
fn what_a_tunnel_turned_round_is_no_data_any_more() {
    let mut s = script();
    let back = |s: &mut Script, ts: u64, skb: u64, len: u64| {
        let v = [
            ("skbaddr", N(skb)),
            ("len", N(1514)),
            ("name", S("vxlan42")),
            ("protocol", N(0x0800)),
        ];
        s.ev(ts, 0, Ctx::Soft(1), "net:net_dev_start_xmit", &v);
        let v = [("skbaddr", N(skb)), ("len", N(len)), ("name", S("vxlan42"))];
        s.ev(ts + 1, 0, Ctx::Soft(1), "net:netif_rx", &v);
        dropped(s, ts + 2, 0, skb);
    };
    back(&mut s, T, A + 0x10000 + FCLONE, 576);
    back(&mut s, T + 10, A + 0x20000 + FCLONE, 1500);
    dropped(&mut s, T + 20, 0, A + 0x30000 + FCLONE);
    let mut f = s.facts();
    let whose = |f: &Facts| {
        let whose = crate::reconstruct::whose::Whose::of(f.into());
        let of = |d: &crate::reconstruct::drops::tables::DropRow| {
            let skb = d.skb_id.unwrap();
            (whose.packet(skb).map(|o| o.carries), whose.turned_by(skb))
        };
        f.drops.iter().map(of).collect::<Vec<_>>()
    };
    for row in &mut f.tx {
        row.connection = Some(crate::facts::ConnectionId(0));
        row.kind = crate::reconstruct::transmit::tables::TxKind::Tcp;
    }
    let expect = [
        (Some(Carries::TooBig), Some(crate::name::Name::new(b"vxlan42"))),
        (Some(Carries::Data), None),
        (Some(Carries::Data), None),
    ];
    assert_eq!(whose(&f), expect);
}
