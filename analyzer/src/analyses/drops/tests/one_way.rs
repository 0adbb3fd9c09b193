//! Losses of which the sender's own host told TCP, on a stream that its receiver confirms.

use super::causes::{MS, connection, rpc, transfer};
use crate::Confidence;
use crate::analyses::verdict::Tone;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::reconstruct::skb::tables::SkbClass;
use crate::reconstruct::transmit::tables::TxRow;

const QUIET: (bool, Tone) = (true, Tone::Notice);
const LOUD: (bool, Tone) = (false, Tone::Bad);

/// None was sent again: each was refused in the first queue, and the next left `after` ms later.
fn refused(f: &mut Facts, class: SkbClass, hops: u32, after: i64) {
    let like = crate::testing::life(0);
    for (n, d) in f.drops.iter_mut().enumerate() {
        (d.repair, d.skb_id) = (None, Some(SkbId(n as u32)));
        let mut life = like.clone();
        (life.skb_id, life.class, life.hops) = (SkbId(n as u32), class, hops);
        f.skbs.push(life);
        f.tx.push(TxRow {
            connection: Some(ConnectionId(0)),
            t_sched_ns: d.time_ns + after * MS,
            confidence: Confidence::Certain,
            ..crate::testing::sent()
        });
    }
}

#[test]
fn what_its_own_host_refused_is_sent_anew() {
    let with = |class, hops, after| transfer(20, |f| refused(f, class, hops, after));
    assert_eq!(with(SkbClass::TxClone, 1, 20), QUIET);
    // On its way through a router; nothing left behind it.
    assert_eq!(with(SkbClass::TxClone, 3, 20), LOUD);
    assert_eq!(with(SkbClass::Rx, 1, 20), LOUD);
    assert_eq!(with(SkbClass::TxClone, 1, -2_500), LOUD);
}

/// The receiver says so many words in all, and asked so often; the sender waited so often.
fn confirms(f: &mut Facts, bytes: u64, asked: usize, waited: usize) {
    f.connections.push(connection(1, (2, 5201), (1, 40_000)));
    f.connections[0].peer = Some(ConnectionId(1));
    f.connections[0].bytes_in = bytes;
    let like = rpc().responses.remove(0);
    let turn = |c: u32, n: usize| {
        let mut r = like.clone();
        r.connection = ConnectionId(c);
        (r.send_ns, r.read_ns) = (n as i64 * 40 * MS, n as i64 * 40 * MS + 30 * MS);
        r
    };
    f.responses.extend((0..asked).map(|n| turn(1, n)));
    f.responses.extend((0..waited).map(|n| turn(0, n)));
}

#[test]
fn a_stream_that_is_confirmed_is_waited_for_by_nobody() {
    let with = |bytes, asked, waited| transfer(20, |f| confirms(f, bytes, asked, waited));
    assert_eq!(with(600, 50, 3), QUIET);
    // It waits for each, as who uploads does; what comes back is more than that; hardly any.
    assert_eq!(with(600, 50, 50), LOUD);
    assert_eq!(with(200_000, 50, 3), LOUD);
    assert_eq!(with(600, 10, 1), LOUD);
}
