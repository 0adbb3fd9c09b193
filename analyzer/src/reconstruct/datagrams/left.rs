//! Sockets that were destroyed with datagrams in them, and those that had their address before: of a socket that nobody ever read or sent on no call tells when it is closed, and the next
//! one at its address would be taken for it.
//!
//! Needs the frees of what was left in sockets when they were destroyed (net/ipv4/udp.c `udp_destruct_common`, net/ipv4/af_inet.c `inet_sock_destruct`).

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::landed::Landed;
use super::sockets::SocketRow;
use super::tables::TurnRow;
use crate::facts::SkbId;

/// Counts what was left in each, and makes two rows of one where it was destroyed before who used it did.
pub(super) fn two_of_one_address(
    sockets: &mut Vec<SocketRow>,
    landed: &mut FxHashMap<SkbId, Landed>,
    turns: &[TurnRow],
    left: &FxHashMap<SkbId, i64>,
) {
    // The last of these frees, and how many.
    let mut by: BTreeMap<u32, (i64, u64)> = BTreeMap::new();
    for (skb, at) in left {
        if let Some(l) = landed.get(skb) {
            let of = by.entry(l.socket).or_insert((*at, 0));
            *of = (of.0.max(*at), of.1 + 1);
        }
    }
    let mut first_use: FxHashMap<u32, i64> = FxHashMap::default();
    for t in turns.iter().filter(|t| by.contains_key(&t.socket)) {
        let of = first_use.entry(t.socket).or_insert(t.start_ns);
        *of = (*of).min(t.start_ns);
    }
    let mut came: FxHashMap<u32, Vec<(i64, SkbId)>> = FxHashMap::default();
    for (skb, l) in landed.iter().filter(|(_, l)| by.contains_key(&l.socket)) {
        came.entry(l.socket).or_default().push((l.at, *skb));
    }
    for (n, (destroyed, count)) in by {
        let new = u32::try_from(sockets.len()).unwrap_or(u32::MAX);
        let Some(row) = sockets.get_mut(n as usize) else {
            continue;
        };
        let mut came = came.remove(&n).unwrap_or_default();
        came.sort_unstable();
        let (old_ones, new_ones) = came.split_at(came.partition_point(|(at, _)| *at <= destroyed));
        // What was read must have come to who used it.
        let unread = row.received <= new_ones.len() as u64;
        let used = first_use.get(&n).copied().filter(|used| *used > destroyed && unread);
        let Some(used) = used else {
            (row.left, row.destroyed_ns) = (count, Some(destroyed));
            row.closed |= row.last_ns <= destroyed;
            continue;
        };
        // All that came before was its predecessor's.
        let mut old = SocketRow::begin(row.sk, row.first_ns);
        (old.closed, old.left, old.destroyed_ns) = (true, count, Some(destroyed));
        (old.last_ns, old.confidence) = (destroyed, row.confidence);
        for (at, skb) in old_ones {
            old.came(*at);
            if let Some(l) = landed.get_mut(skb) {
                l.socket = new;
            }
        }
        row.arrived = row.arrived.saturating_sub(old.arrived);
        row.first_ns = used;
        // What is known of silences is of both together.
        (row.silent_ns, row.silent_from_ns) = (0, None);
        row.first_arrived_ns = new_ones.first().map(|(at, _)| *at);
        row.last_arrived_ns = new_ones.last().map(|(at, _)| *at);
        row.served = row.first_arrived_ns.is_some_and(|at| at < used);
        sockets.push(old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confidence::Confidence;

    fn landed(socket: u32, at: i64, left: bool) -> Landed {
        Landed {
            socket,
            at,
            unread: false,
            left,
            confidence: Confidence::Strong,
        }
    }

    /// Three datagrams came, at 10, 20 and 30, two of which were in it when it was destroyed at 50; one more at 70. Thread 7 sends on it from then on.
    fn of(sends: i64) -> (Vec<SocketRow>, FxHashMap<SkbId, Landed>) {
        let mut row = SocketRow::begin(1 << 41, 10);
        (row.pid, row.sent, row.received, row.last_ns, row.closed) = (7, 1, 1, 80, true);
        [10, 20, 30, 70].iter().for_each(|at| row.came(*at));
        let mut sockets = vec![row];
        let came = [(1, 10, false), (2, 20, true), (3, 30, true), (4, 70, false)];
        let mut all = came
            .map(|(n, at, left)| (SkbId(n), landed(0, at, left)))
            .into_iter()
            .collect();
        let left = [(SkbId(2), 49), (SkbId(3), 50), (SkbId(9), 60)].into_iter().collect();
        two_of_one_address(&mut sockets, &mut all, &[TurnRow::begin(0, 7, sends)], &left);
        (sockets, all)
    }

    #[test]
    fn who_uses_its_address_next_is_another_socket() {
        let (sockets, landed) = of(60);
        let told = |s: &SocketRow| {
            (
                s.pid, s.first_ns, s.last_ns, s.arrived, s.received, s.left, s.served, s.closed,
            )
        };
        assert_eq!(told(&sockets[0]), (7, 60, 80, 1, 1, 0, false, true));
        assert_eq!(told(&sockets[1]), (0, 10, 50, 3, 0, 2, true, true));
        assert_eq!(sockets[1].last_arrived_ns, Some(30));
        let at = |n| landed[&SkbId(n)].socket;
        assert_eq!([at(1), at(2), at(3), at(4)], [1, 1, 1, 0]);
    }

    #[test]
    fn what_its_own_thread_left_is_its_own() {
        let (sockets, landed) = of(5);
        assert_eq!((sockets.len(), sockets[0].left, sockets[0].arrived), (1, 2, 4));
        assert!(landed.values().all(|l| l.socket == 0));
    }
}
