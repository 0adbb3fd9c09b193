//! A frame whose header has a block of SACK: neither its own bytes nor those of others before it are told wrong by it.

use super::*;

/// Requests of a socket that is older than the recording; the fifth frame's header is 12 bytes longer. `told`: what lies outside of the linear part is.
fn with_sack(told: bool) -> Facts {
    let born = Sender::new(&[]);
    let mut s = Sender {
        s: Script::new("6.18.44", &[]),
        ..born
    };
    for i in 0..40 {
        s.frame(BASE + 1000 + i * 10, SOFT, 0xffff_8881_3000_0000 + i * 512, 42);
    }
    s.probe(BASE + 50_000, 0, &[]);
    requests(&mut s, 100_000, 4);
    let t = BASE + 500_000;
    s.enter(t);
    s.round(t + 100, 200);
    let addr = ORIGINAL + s.originals * 512 + FCLONE;
    (s.originals, s.nxt) = (s.originals + 1, s.nxt + 200);
    let mut v = vec![("skbaddr", N(addr)), ("len", N(200 + HEADERS + 12)), ("name", S("va"))];
    s.s.ev(t + 1000, 0, TASK, "net:net_dev_queue", &v);
    if told {
        v.push(("data_len", N(200)));
    }
    s.s.ev(t + 1001, 0, TASK, "net:net_dev_start_xmit", &v);
    s.s.ev(t + 1003, 0, TASK, "net:net_dev_xmit", &v[..3]);
    s.leave(t + 2000, 200);
    s.probe(t + 40_000, 200, &[]);
    requests(&mut s, 600_000, 4);
    s.facts()
}

#[test]
fn each_request_has_its_own_call_on_both_sides_of_a_longer_header() {
    for told in [true, false] {
        let f = with_sack(told);
        let rows = segments(&f);
        let begun: Vec<_> = rows.iter().map(|r| (r.start, r.t_sched_ns - r.start_ns)).collect();
        assert_eq!(begun, vec![(TxStart::Sendmsg, 1000); 9], "told {told}");
        let weak: Vec<usize> = (0..8).filter(|i| rows[*i].confidence == Confidence::Weak).collect();
        let bytes: Vec<_> = rows.iter().filter_map(|r| r.bytes).collect();
        match told {
            true => assert_eq!((weak, bytes), (vec![], vec![200; 9])),
            false => assert_eq!((weak, bytes[4]), (vec![4], 212)),
        }
    }
}
