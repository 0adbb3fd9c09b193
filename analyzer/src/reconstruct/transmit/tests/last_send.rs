//! Whether the last send of a socket was taken whole.

use super::{BASE, Sender};
use crate::facts::ConnectionId;
use crate::reconstruct::transmit::LastSend;

fn after(sends: &[(u64, i64)]) -> LastSend {
    let mut s = Sender::new(&[]);
    for (n, (asked, ret)) in sends.iter().enumerate() {
        let t = BASE + 100_000 + 1_000 * n as u64;
        s.enter(t);
        s.round(t + 10, *asked);
        s.leave(t + 20, *ret as u64);
    }
    let f = s.facts();
    f.last_sends[&ConnectionId(0)]
}

#[test]
fn what_a_full_socket_took_of_a_send_is_told() {
    let part = after(&[(16_384, 16_384), (16_384, 9_133)]);
    assert_eq!((part.asked, part.taken, part.whole), (16_384, 9_133, 1));
    assert!(part.in_part() && part.at_ns > BASE as i64);
    // Nothing of it (EAGAIN).
    assert!(after(&[(16_384, 16_384), (16_384, -11)]).in_part());
    // The rest was sent later, or the send was whole.
    assert!(!after(&[(16_384, 9_133), (7_251, 7_251)]).in_part());
    // Where what is counted is not what is taken (kTLS), no send is whole.
    assert!(!after(&[(16_406, 16_384), (16_406, 16_384)]).in_part());
}
