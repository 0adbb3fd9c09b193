//! Connections whose packets went untranslated.

use super::translated::{MS, behind_a_service, end, line, recorded, rst};
use crate::analyses::verdict::{Line, Tone};
use crate::facts::Facts;

/// The server of each is reset by its client's host, which has no such connection, and 30 ms later the client by the server's listener.
fn reloaded(change: impl Fn(&mut Facts)) -> Line {
    let mut f = recorded();
    for (n, (port, client, server)) in behind_a_service(&mut f).into_iter().enumerate() {
        let (at, later) = ((1 + n as i64) * 2_000 * MS, 30 * MS);
        f.resets.extend([
            rst(at, false, None, end(1, port), end(5, 80)),
            rst(at + 50_000, true, Some(server), end(5, 80), end(1, port)),
            rst(at + later, false, None, end(0, 80), None),
            rst(at + later + 50_000, true, Some(client), end(1, port), end(9, 80)),
        ]);
    }
    change(&mut f);
    line(&f)
}

#[test]
fn a_translation_that_was_missing_for_a_moment_is_told() {
    let l = reloaded(|_| {});
    assert_eq!(l.tone, Tone::Bad, "{}", l.sentence);
    let said = "3 connections (first 10.0.0.1:40000 > 10.0.0.9:80) were reset not by the peer's program, but because the client's host knew no such connection: what the server had \
                sent came untranslated from its own address, 10.0.0.5:80, and was answered by a RST, at 2.030 s, 4.030 s and 6.030 s, so the address translation (NAT, a \
                service's) of established connections was missing then, as while its rules are loaded anew in several steps, a flush before the new ones, or where its entries \
                are flushed, age out or do not survive a failover (inferred)";
    assert_eq!(l.headline, said);
    // Clients that send nothing more: the server's end tells.
    let l = reloaded(|f| f.resets.retain(|r| r.connection.is_none_or(|c| c.0 % 2 == 1)));
    assert!(
        l.headline.starts_with(
            "3 connections (first 10.0.0.5:80 > 10.0.0.1:40000) were reset not by the peer's program, but because "
        ),
        "{}",
        l.headline
    );
}

#[test]
fn a_reset_that_has_another_reason_is_no_missing_translation() {
    let other = |change: &dyn Fn(&mut Facts)| {
        let l = reloaded(change);
        assert!(!l.sentence.contains("untranslated"), "{}", l.sentence);
    };
    // The client's host sent none before; long before; to another server's address.
    other(&|f| f.resets.retain(|r| r.received || r.to.is_none()));
    other(&|f| {
        let sent = f.resets.iter_mut().filter(|r| !r.received && r.to.is_some());
        sent.for_each(|r| r.time_ns -= 5 * MS);
    });
    other(&|f| {
        let sent = f.resets.iter_mut().filter(|r| !r.received && r.to.is_some());
        sent.for_each(|r| r.to = end(6, 80));
    });
    // No translation between them; another port of the client; events were lost.
    other(&|f| {
        for c in f.connections.iter_mut().filter(|c| c.daddr == end(9, 80).map(|e| e.0)) {
            c.daddr = end(5, 80).map(|e| e.0);
        }
    });
    other(&|f| {
        f.connections
            .iter_mut()
            .filter(|c| c.dport == 80)
            .for_each(|c| c.sport += 100)
    });
    other(&|f| f.gaps.push(crate::testing::gap(0, MS)));
}
