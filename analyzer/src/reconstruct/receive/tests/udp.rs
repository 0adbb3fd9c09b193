use super::*;
use crate::Confidence;
use crate::reconstruct::receive::tables::{ReadBy, RxEnd};

const SK: u64 = 0xffff_8880_2000_0000;

fn udp_ready(s: &mut Script, t: u64, family: u64) {
    let v = [("skaddr", N(SK)), ("family", N(family)), ("protocol", N(17))];
    s.ev(T + t, 0, SOFT, "sock:sk_data_ready", &v);
}
fn udp_read(s: &mut Script, t: u64, ret: i64) {
    let v = [
        ("sk", N(SK)),
        ("family", N(2)),
        ("protocol", N(17)),
        ("ret", N(ret as u64)),
    ];
    s.ev(T + t, 1, TASK, "sock:sock_recv_length", &v);
    exit(s, t + 3, "recvfrom", ret);
}
/// An IPv4 datagram.
fn datagram(s: &mut Script, t: u64, addr: u64, payload: u64) {
    skb(s, t, 0, SOFT, "net:netif_receive_skb", addr, payload + 28);
}

/// 3a: linear UDP datagrams are copied without an event: one sock_recv_length takes one datagram, in order.
#[test]
fn one_datagram_per_read() {
    let mut s = script();
    for k in 0..2u64 {
        soft(&mut s, k * 100, 0, "entry");
        datagram(&mut s, k * 100 + 10, A + k * 256, 500);
        udp_ready(&mut s, k * 100 + 25, 2);
        soft(&mut s, k * 100 + 30, 0, "exit");
    }
    udp_read(&mut s, 300, 500);
    udp_read(&mut s, 400, 500);
    let r = rx(&s);
    assert_eq!(r.len(), 2);
    for (k, r) in r.iter().enumerate() {
        assert_eq!(
            (r.end, r.bytes, r.confidence),
            (RxEnd::Read, Some(500), Confidence::Strong)
        );
        assert_eq!((r.stage(Stage::Protocol), r.stage(Stage::Ready)), (Some(15), None));
        assert_eq!(r.start_ns + r.total_ns, (T + 303 + 100 * k as u64) as i64);
    }
}

/// A VPN's program reads its TUN device, which is a copy and no socket's read; then it receives a datagram, which is linear and copied without an event.
#[test]
fn a_copy_of_another_call_is_none_of_a_datagrams() {
    for told in [true, false] {
        let mut s = script();
        copy(&mut s, 5, A + 4096, 77);
        soft(&mut s, 10, 0, "entry");
        datagram(&mut s, 100, A, 500);
        udp_ready(&mut s, 125, 2);
        soft(&mut s, 130, 0, "exit");
        if told {
            let v = [("len", N(2048))];
            s.ev(T + 290, 1, TASK, "syscalls:sys_enter_recvfrom", &v);
        }
        udp_read(&mut s, 300, 500);
        let r = rx(&s);
        assert_eq!((r.len(), r[0].end, r[0].bytes), (1, RxEnd::Read, Some(500)));
        assert_eq!(
            (r[0].read_by, r[0].stage(Stage::Copy)),
            (Some(ReadBy::RecvLength), None)
        );
        assert!(r[0].unattributed_ns >= 0);
    }
}

/// Two datagrams of one batch: which of them was announced first is a guess from order.
#[test]
fn a_batch_of_datagrams_is_weak() {
    let mut s = script();
    soft(&mut s, 0, 0, "entry");
    datagram(&mut s, 10, A, 500);
    datagram(&mut s, 12, A + 256, 600);
    udp_ready(&mut s, 20, 2);
    udp_ready(&mut s, 30, 2);
    udp_read(&mut s, 100, 500);
    udp_read(&mut s, 200, 600);
    let r = rx(&s);
    let got: Vec<_> = r.iter().map(|r| (r.bytes, r.confidence)).collect();
    assert_eq!(got, [(Some(500), Confidence::Weak), (Some(600), Confidence::Strong)]);
}

/// A length that does not fit the datagram: cut by the buffer, or not this one. Never strong.
#[test]
fn another_length_is_weak() {
    let mut s = script();
    datagram(&mut s, 10, A, 500);
    udp_ready(&mut s, 20, 2);
    udp_read(&mut s, 100, 77);
    assert_eq!(rx(&s)[0].confidence, Confidence::Weak);
}

/// After a loss a socket may hold datagrams that were not seen, until it is found empty.
#[test]
fn after_a_loss_reads_are_weak_until_the_socket_was_empty() {
    let mut s = script();
    s.lost(0, None);
    s.ev(T - 100, 0, Ctx::Task(1), "napi:napi_poll", &[]);
    datagram(&mut s, 10, A, 500);
    udp_ready(&mut s, 20, 2);
    udp_read(&mut s, 100, 500);
    udp_read(&mut s, 150, -11);
    datagram(&mut s, 210, A + 256, 500);
    udp_ready(&mut s, 220, 2);
    udp_read(&mut s, 300, 500);
    let c: Vec<_> = rx(&s).iter().map(|r| r.confidence).collect();
    assert_eq!(c, [Confidence::Weak, Confidence::Strong]);
}

/// unix and netlink sockets announce data too: never a packet's.
#[test]
fn other_families_claim_nothing() {
    let mut s = script();
    datagram(&mut s, 10, A, 500);
    udp_ready(&mut s, 20, 1);
    udp_read(&mut s, 100, 500);
    assert!(rx(&s).is_empty());
}

/// Where softirq ends are not recorded, an unclaimed packet of long ago is no candidate.
#[test]
fn a_packet_of_another_run_is_no_candidate() {
    let mut s = Script::new("6.18.44", &["irq:softirq_entry", "irq:softirq_exit"]);
    datagram(&mut s, 10, A, 28); // ARP, say: nobody claims it
    datagram(&mut s, 50_000_000, A + 256, 500);
    udp_ready(&mut s, 50_000_010, 2);
    udp_read(&mut s, 50_000_100, 500);
    let r = rx(&s);
    assert_eq!(
        (r.len(), r[0].start_ns, r[0].total_ns),
        (1, (T + 50_000_000) as i64, 103)
    );
}

/// A bridge's second netif_receive_skb of the same datagram does not make it two.
#[test]
fn reinjected_is_one_candidate() {
    let mut s = script();
    soft(&mut s, 0, 0, "entry");
    datagram(&mut s, 10, A, 500);
    let v = [("skbaddr", N(A)), ("len", N(528)), ("name", S("br0"))];
    s.ev(T + 12, 0, SOFT, "net:netif_receive_skb", &v);
    udp_ready(&mut s, 20, 2);
    udp_read(&mut s, 100, 500);
    let r = rx(&s);
    assert_eq!(
        (r.len(), r[0].dev.text(), r[0].confidence),
        (1, "br0".into(), Confidence::Strong)
    );
    assert_eq!(r[0].start_ns, (T + 10) as i64);
}
