//! Clients whose answers take many times as long as others', and that ask more often on one side.

use super::samples::facts;
use crate::diff::servers::{clients::Apart, parts};
use crate::diff::sides::options::Recording;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::ResponseRow;

const MS: i64 = 1_000_000;

/// Clients 10.0.0.1, .2, ... ask 10.0.0.9:80 so many times each, and are answered after so many ms.
fn asked(clients: &[(i64, i64)]) -> Facts {
    let like = facts("rpc/rpc.nmb").responses.remove(0);
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(100_000 * MS));
    for (c, (answers, ms)) in clients.iter().enumerate() {
        let mut row = crate::testing::tcp::connection(c as u32);
        row.saddr = Some(std::net::Ipv4Addr::new(10, 0, 0, 1 + c as u8).into());
        row.daddr = Some(std::net::Ipv4Addr::new(10, 0, 0, 9).into());
        (row.sport, row.dport) = (40_000, 80);
        let connection = row.connection;
        crate::testing::tcp::born(&mut f, row, 2);
        for n in 0..*answers {
            let send_ns = (10 + 200 * n) * MS;
            f.responses.push(ResponseRow {
                connection,
                send_ns,
                ready_ns: Some(send_ns + ms * MS),
                read_ns: send_ns + ms * MS,
                complete_ns: Some(send_ns + ms * MS),
                overlap: false,
                confidence: crate::Confidence::Strong,
                ..like.clone()
            });
        }
    }
    f
}

fn name(before: &Facts, after: &Facts) -> String {
    let side = |f| Recording::all(&[f], &[], None);
    let apart = Apart::of(&side(before), &side(after));
    apart.name(after, ConnectionId(1), "10.0.0.9:80")
}

#[test]
fn whose_share_changed_is_compared_apart() {
    // 40 of 100 answers took 150 ms, 120 of 180 take 20 ms: all together the median is 1 ms before, and 20 ms after.
    let before = asked(&[(60, 1), (40, 150)]);
    assert_eq!(
        name(&before, &asked(&[(60, 1), (120, 20)])),
        "10.0.0.9:80 from 10.0.0.2"
    );
    // The same shares; clients that are alike; too few answers of the other.
    assert_eq!(name(&before, &asked(&[(120, 1), (80, 20)])), "10.0.0.9:80");
    assert_eq!(
        name(&asked(&[(60, 1), (40, 2)]), &asked(&[(60, 1), (120, 2)])),
        "10.0.0.9:80"
    );
    assert_eq!(name(&before, &asked(&[(9, 1), (120, 20)])), "10.0.0.9:80");
    // Of those that one side alone has nothing would be said.
    assert_eq!(
        name(&asked(&[(60, 1), (40, 150), (40, 5)]), &asked(&[(60, 1), (120, 20)])),
        "10.0.0.9:80"
    );
}

/// The same, with what the server did of each: half of the time.
fn served(clients: &[(i64, i64)]) -> Facts {
    use crate::reconstruct::application::tables::Peer;
    let mut f = asked(clients);
    let like = facts("rpc/rpc.nmb").turnarounds.remove(0);
    let first = f.connections.len() as u32;
    for c in 0..first {
        let mut row = f.connections[c as usize].clone();
        (row.saddr, row.daddr, row.sport, row.dport) = (row.daddr, row.saddr, row.dport, row.sport);
        row.connection = ConnectionId(first + c);
        crate::testing::tcp::born(&mut f, row, 3);
    }
    for r in &mut f.responses {
        let whole = r.ready_ns.unwrap() - r.send_ns;
        let connection = ConnectionId(first + r.connection.0);
        r.peer = Some(Peer {
            connection,
            there_ns: whole / 4,
            turnaround_ns: whole / 2,
            back_ns: whole / 4,
        });
        let ready = r.send_ns + whole / 4;
        f.turnarounds
            .push(crate::reconstruct::application::tables::TurnaroundRow {
                connection,
                ready_ns: Some(ready),
                read_ns: ready,
                send_ns: ready + whole / 2,
                overlap: false,
                ..like.clone()
            });
    }
    f
}

#[test]
fn parts_of_a_client_are_its_own() {
    let (before, after) = (served(&[(60, 1), (40, 150)]), served(&[(60, 1), (120, 20)]));
    let side = |f| Recording::all(&[f], &[], None);
    let (mut b, mut a) = (side(&before), side(&after));
    let apart = Apart::of(&b, &a);
    for r in b.iter_mut().chain(&mut a) {
        r.apart = Some(&apart);
    }
    let of = parts::of(&b, &a);
    let [x, y] = of.get("10.0.0.9:80 from 10.0.0.2").unwrap();
    assert_eq!((x.n, x.way_ns, y.n, y.way_ns), (40, 40 * 75 * MS, 120, 120 * 10 * MS));
    assert_eq!(of.get("10.0.0.9:80").unwrap()[0].n, 100);
    // Where clients are not compared by themselves there are none.
    let of = parts::of(&side(&before), &side(&after));
    assert_eq!(of.keys().collect::<Vec<_>>(), ["", "10.0.0.9:80"]);
}
