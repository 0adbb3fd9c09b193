//! Resets behind complete exchanges.

use std::net::Ipv4Addr;

use crate::analyses::verdict::{Line, Tone};
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow, ResetRow, Sender};
use crate::reconstruct::receive::tables::{RxEnd, RxRow};
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::reconstruct::transmit::tables::{TxEnd, TxRow};

const MS: i64 = 1_000_000;
const CHECKS: u16 = 20;

fn end(last: u8, port: u16) -> Option<(std::net::IpAddr, u16)> {
    Some((Ipv4Addr::new(10, 0, 0, last).into(), port))
}
fn client(n: u16) -> ConnectionId {
    ConnectionId(2 * u32::from(n))
}
fn server(n: u16) -> ConnectionId {
    ConnectionId(2 * u32::from(n) + 1)
}
fn sent(c: ConnectionId, at: i64) -> TxRow {
    TxRow {
        connection: Some(c),
        start_ns: at,
        end: TxEnd::Acked,
        ..crate::testing::sent()
    }
}
fn came(c: ConnectionId, at: i64) -> RxRow {
    RxRow {
        connection: Some(c),
        bytes: Some(100),
        start_ns: at,
        end: RxEnd::Read,
        ..Default::default()
    }
}

/// haproxy opens a connection each 100 ms, asks and is answered on every second one, and ends each by a RST.
fn facts() -> Facts {
    let mut f = Facts::empty();
    for key in [
        "sock:inet_sock_set_state",
        "sock:sock_send_length",
        "skb:skb_copy_datagram_iovec",
        "tcp:tcp_receive_reset",
    ] {
        f.capture.events.insert(key.into(), 1);
    }
    for n in 0..CHECKS {
        let at = i64::from(n) * 100 * MS;
        let (from, to) = (end(1, 40_000 + n), end(2, 80));
        f.opens.push(OpenRow {
            connection: Some(client(n)),
            from,
            to,
            pid: 42,
            task: Name::new(b"haproxy"),
            start_ns: at,
            end_ns: at + 100_000,
            end: OpenEnd::Established,
            error: None,
            message: false,
            syns_again: Some(0),
            confidence: crate::Confidence::Certain,
        });
        if n % 2 == 0 {
            f.tx.extend([sent(client(n), at + MS), sent(server(n), at + 3 * MS)]);
            f.rx.extend([came(server(n), at + 2 * MS), came(client(n), at + 4 * MS)]);
        }
        let rst = |received, connection, from, to| ResetRow {
            time_ns: at + 5 * MS + if received { 10_000 } else { 0 },
            received,
            connection: Some(connection),
            from,
            to,
            reason: if received { "" } else { "TCP_STATE" }.into(),
            sender: if received { Sender::Peer } else { Sender::Here },
            confidence: crate::Confidence::Certain,
        };
        f.resets
            .extend([rst(false, client(n), from, to), rst(true, server(n), to, from)]);
    }
    f
}

fn line(change: impl Fn(&mut Facts)) -> Line {
    let mut f = facts();
    change(&mut f);
    let answers = crate::analyses::answer(&f);
    answers.verdict.into_iter().find(|l| l.subject == "opens").unwrap()
}

#[test]
fn they_are_no_headline() {
    let l = line(|_| {});
    assert_eq!((l.tone, l.headline.as_str()), (Tone::Ok, ""), "{}", l.sentence);
    let said = "20 connections (first 10.0.0.2:80 > 10.0.0.1:40000) were reset after complete exchanges by haproxy/42, which had opened them, as health checks and proxies do: all that was sent was acknowledged and read, the server sent last, or nobody sent";
    assert!(l.sentence.contains(said), "{}", l.sentence);
}

#[test]
fn others_lead() {
    let leads = |what: &str, n: u64, change: &dyn Fn(&mut Facts)| {
        let l = line(change);
        assert_eq!(l.tone, Tone::Notice, "{what}: {}", l.sentence);
        let said = match n {
            1 => "1 connection (".to_owned(),
            n => format!("{n} connections ("),
        };
        assert!(
            l.headline.starts_with(&said) && l.headline.contains("reset by"),
            "{what}: {}",
            l.headline
        );
    };
    leads("a request was open", 10, &|f| {
        f.tx.retain(|t| t.connection.is_some_and(|c| c.0 % 2 == 0))
    });
    leads("an answer was not read", 1, &|f| f.rx[1].end = RxEnd::Queued);
    leads("an answer was not acknowledged", 1, &|f| f.tx[1].end = TxEnd::Sent);
    // One byte of it, and then nothing for 100 ms: its client gave up.
    leads("it did not follow on the last read", 1, &|f| {
        for r in f.resets.iter_mut().take(2) {
            r.time_ns += 100 * MS;
        }
    });
    leads("a greeting did not come", 1, &|f| {
        for r in f.resets.iter_mut().skip(2).take(2) {
            r.time_ns += 100 * MS;
        }
    });
    leads("who sent it is not in the recording", 20, &|f| {
        f.resets.retain(|r| r.received)
    });
    leads("the server sent it", 20, &|f| f.opens.clear());
    leads("data is not recorded", 20, &|f| {
        f.capture.events.remove("sock:sock_send_length");
    });
}

/// Of connections that stood before the recording began the address is one that others were opened to.
#[test]
fn clients_of_before_are_known_by_where_they_go() {
    let before = |to: u16| {
        line(move |f| {
            f.connections = (0..2 * u32::from(CHECKS))
                .map(crate::testing::tcp::connection)
                .collect();
            let c = &mut f.connections[0];
            (c.daddr, c.dport, c.pid) = (end(2, 0).map(|e| e.0), to, 42);
            c.task = Name::new(b"haproxy");
            f.opens.remove(0);
        })
    };
    let l = before(80);
    assert_eq!(l.tone, Tone::Ok, "{}", l.sentence);
    assert!(
        l.sentence.contains(
            "20 connections (first 10.0.0.2:80 > 10.0.0.1:40000) were reset after complete exchanges by haproxy/42"
        ),
        "{}",
        l.sentence
    );
    assert_eq!(before(81).tone, Tone::Notice);
}

/// By neither end: somebody else sent it.
#[test]
fn between_is_never_complete() {
    let l = line(|f| {
        for r in f.resets.iter_mut().filter(|r| r.received) {
            r.sender = Sender::Between;
        }
    });
    assert_eq!(l.tone, Tone::Bad, "{}", l.sentence);
}

/// A RST in the peer's name that TCP of this recording sent for want of a socket, just before it came: two hosts have that address.
#[test]
fn a_reset_by_who_has_the_same_address_is_told() {
    let twin = |early: i64| {
        line(move |f| {
            for r in f.resets.iter_mut().filter(|r| r.received) {
                r.sender = Sender::Between;
            }
            for r in f.resets.iter_mut().filter(|r| !r.received) {
                (r.connection, r.reason) = (None, "NO_SOCKET".into());
                r.time_ns -= early;
            }
        })
    };
    let l = twin(100_000);
    assert_eq!(l.tone, Tone::Bad, "{}", l.sentence);
    assert!(
        l.headline
            .starts_with("20 connections (first 10.0.0.2:80 > 10.0.0.1:40000) were reset ")
            && l.headline.ends_with("two hosts have that address"),
        "{}",
        l.headline
    );
    assert!(!twin(2 * MS).headline.contains("two hosts"));
}

/// A listener that has the peer's address, too, just before it came; with frames that went by another device before.
#[test]
fn who_listens_at_the_same_address_is_told_with_the_ways() {
    let by = |moved: bool| {
        line(move |f| {
            for r in f.resets.iter_mut().filter(|r| r.received) {
                r.sender = Sender::Between;
            }
            for r in f.resets.iter_mut().filter(|r| !r.received) {
                (r.connection, r.to, r.reason) = (None, None, "TCP_FLAGS".into());
            }
            f.connections = (0..2 * u32::from(CHECKS))
                .map(|n| ConnectionRow {
                    peer: Some(ConnectionId(n ^ 1)),
                    ..crate::testing::tcp::connection(n)
                })
                .collect();
            // The RSTs come to servers here: their frames went by b0, the last one by b1.
            f.tx.clear();
            for n in 0..CHECKS {
                let at = i64::from(n) * 100 * MS;
                for (nth, dev) in ["b0", "b1"].into_iter().enumerate() {
                    let skb_id = SkbId(2 * u32::from(n) + nth as u32);
                    f.tx.push(TxRow {
                        skb_id,
                        t_sched_ns: at + nth as i64 * MS,
                        ..sent(server(n), at)
                    });
                    for dev in ["eth0", if moved { dev } else { "b0" }] {
                        f.hops.push(crate::testing::hop(skb_id.0, at, "queue", dev));
                    }
                }
            }
        })
    };
    let l = by(true);
    assert_eq!(l.tone, Tone::Bad, "{}", l.sentence);
    let says =
        "not by the peer but by another host of this recording that has the peer's address too and did not know them";
    assert!(l.headline.contains(says), "{}", l.headline);
    assert!(
        l.headline.contains("went by b1 in place of b0 (20) then"),
        "{}",
        l.headline
    );
    let l = by(false);
    assert!(
        l.headline.contains("listens at the peer's address too") && !l.headline.contains("in place of"),
        "{}",
        l.headline
    );
}
