//! What threads of programs gave to their devices, and took from them: event sequences of openvpn on 6.18.

use netmortem_formats::capture::{Snapshot, SnapshotWhen};

use super::{A, T, script};
use crate::reconstruct::skb::{ByProgram, Traffic};
use crate::testing::{Ctx, N, S, Script};

const READ: u64 = 0xffff_ffff_8500_0000;

/// Two packets that a program wrote, and one that it read; one that came in by a softirq.
fn moved(s: &mut Script, dev: &'static str) {
    s.symbol(READ, "tun_do_read");
    let v = |addr: u64, len| {
        let of = [
            ("skbaddr", N(addr)),
            ("len", N(len)),
            ("name", S(dev)),
            ("network_offset", N(0)),
        ];
        of.to_vec()
    };
    for n in 0..2 {
        let (at, addr) = (T + n * 1000, A + n * 0x1000);
        s.ev(at, 0, Ctx::Task(7), "net:netif_receive_skb", &v(addr, 60));
    }
    let out = A + 0x9000;
    s.ev(T + 5000, 0, Ctx::Task(9), "net:net_dev_queue", &v(out, 100));
    s.ev(T + 5100, 0, Ctx::Task(9), "net:net_dev_start_xmit", &v(out, 100));
    let at = [("skbaddr", N(out)), ("location", N(READ + 16))];
    s.ev(T + 9000, 0, Ctx::Task(7), "skb:consume_skb", &at);
    s.ev(T + 9500, 0, Ctx::Soft(7), "net:netif_receive_skb", &v(A + 0xa000, 60));
}

fn by_program(s: &Script, links: &str) -> Vec<ByProgram> {
    let mut capture = s.capture();
    capture.snapshots.push(Snapshot {
        what: "links".into(),
        when: SnapshotWhen::Start,
        text: links.as_bytes().to_vec(),
    });
    crate::analyze(&capture, &Default::default()).by_program
}

#[test]
fn the_thread_of_the_event_is_the_programs() {
    let mut s = script();
    moved(&mut s, "tun0");
    let links = "netns=1 ifindex=2 name=tun0 kind=tun\nnetns=2 ifindex=2 name=tun0 kind=tun\n";
    let of = by_program(&s, links);
    let expect = ByProgram {
        dev: crate::Name::new(b"tun0"),
        pid: 7,
        gave: Traffic { packets: 2, bytes: 120 },
        took: Traffic { packets: 1, bytes: 100 },
    };
    assert_eq!(of, [expect]);
    // Of another kind, of several kinds, or nothing tells.
    for links in [
        "netns=1 ifindex=2 name=tun0 kind=veth\n",
        "netns=1 ifindex=2 name=tun0 kind=tun\nnetns=2 ifindex=2 name=tun0 kind=dummy\n",
        "",
    ] {
        assert_eq!(by_program(&s, links), [], "{links}");
    }
}
