//! Servers whose program refuses new connections for a time, and what only looks so.

use crate::analyses::opens::Refuses;
use crate::analyses::opens::refuses::refuses;
use crate::analyses::verdict::Tone;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::receive::tables::RxRow;
use crate::reconstruct::tcp::states::{CLOSE_WAIT, ESTABLISHED, FIN_WAIT1, LAST_ACK, SYN_RECV};
use crate::testing::tcp::{connection, state};

const MS: i64 = 1_000_000;

/// A connection of 10.0.0.`client` to 10.0.0.1:5432 that stood at `at` ms and went as said: bytes that came (+) and were sent (-), one a ms,
/// and who closed it, when.
fn add(f: &mut Facts, client: u8, at: i64, said: &[i32], closed: Option<(i32, i64)>) {
    let n = f.connections.len() as u32;
    let mut row = connection(n);
    (row.sport, row.dport, row.task) = (5432, 40_000, Name::new(b"postgres"));
    row.daddr = Some(std::net::Ipv4Addr::new(10, 0, 0, client).into());
    (row.first_ns, row.born) = (at * MS, Some(SYN_RECV));
    f.connections.push(row);
    f.tcp_states.push(state(n, ESTABLISHED, at * MS));
    for (i, bytes) in said.iter().enumerate() {
        let start_ns = (at + 1 + i as i64) * MS;
        let (connection, bytes, came) = (Some(ConnectionId(n)), Some(bytes.unsigned_abs()), *bytes > 0);
        match came {
            true => f.rx.push(RxRow {
                connection,
                bytes,
                start_ns,
                ..RxRow::default()
            }),
            false => {
                let mut row = crate::testing::sent();
                (row.connection, row.bytes, row.start_ns) = (connection, bytes, start_ns);
                f.tx.push(row);
            }
        }
    }
    if let Some((by, at)) = closed {
        f.tcp_states.push(state(n, by, at * MS));
        let last = if by == FIN_WAIT1 { CLOSE_WAIT } else { LAST_ACK };
        f.tcp_states.push(state(n, last, (at + 1) * MS));
    }
}

const USED: [i32; 4] = [31, -400, 32, -73];

/// 10.0.0.9 opens one each 250 ms from 0 on and leaves them all idle until 10.1 s; 10.0.0.2 opens one each 100 ms, of which those from
/// 5.05 to 9.95 s are refused (`answer` bytes, closed by `by`), the others are used and closed by it.
fn facts(answer: i32, by: i32) -> Facts {
    let mut f = Facts::empty();
    f.capture.start_ns = Some(0);
    f.capture.events.insert("sock:inet_sock_set_state".into(), 1);
    for n in 0..20 {
        add(&mut f, 9, n * 250, &USED, Some((CLOSE_WAIT, 10_100)));
    }
    for n in 0..120 {
        let at = n * 100 + 50;
        match (5_000..10_000).contains(&at) {
            true => add(&mut f, 2, at, &[31, -answer], Some((by, at + 6))),
            false => add(&mut f, 2, at, &USED, Some((CLOSE_WAIT, at + 60))),
        }
    }
    f
}

#[test]
fn who_refuses_new_connections_for_a_time_is_told_with_who_holds_the_others() {
    let f = facts(150, FIN_WAIT1);
    let told = refuses(&f).unwrap();
    assert_eq!((told.at.as_str(), told.task.as_str()), ("10.0.0.1:5432", "postgres"));
    assert_eq!((told.connections, told.of, told.lived_ns), (50, 50, 6 * MS));
    assert_eq!((told.asked, told.answer), (Some(31), 150));
    assert_eq!((told.within_ns, told.went_on), ((5_050 * MS, 9_950 * MS), 70));
    assert_eq!((told.clients, told.stood), (vec![("10.0.0.2".into(), 50)], 21));
    let holder = told.holder.unwrap();
    assert_eq!((holder.address.as_str(), holder.idle), ("10.0.0.9", 20));
    assert_eq!((holder.per_second, holder.closed_ns), (Some(4.0), Some(10_100 * MS)));
    assert_eq!((holder.after, holder.kept), (19, false));
    let lines = crate::analyses::answer(&f).verdict;
    let line = lines.iter().find(|l| l.subject == "opens").unwrap();
    let said = "50 of 50 new connections to 10.0.0.1:5432 (postgres) were closed by the server itself p50 6.00 ms after they were opened, right after \
        the first message of the client (31 bytes), with an answer of 150 bytes (p50), all from 5.050 s to 9.950 s (50 of 10.0.0.2), while before and \
        after 70 went on that began alike: its program refuses them, not the network, most likely for a limit of its connections (inferred; its log \
        may tell); of 21 connections that stood there at the last of them 20 were of 10.0.0.9 and idle for 1 s or more, more than all others \
        together, opened at 4.0/s, none closed until all of them were, at 10.100 s, from when on none was refused (19 went on)";
    assert_eq!(line.headline, said);
    assert_eq!((line.tone, line.names_cause), (Tone::Bad, true));
}

/// One whose server speaks first and closes (a banner of refusal); nobody holds the others.
#[test]
fn a_refusal_before_any_message_is_told() {
    let mut f = Facts::empty();
    f.capture.events.insert("sock:inet_sock_set_state".into(), 1);
    for n in 0..60 {
        let at = n * 100;
        match (20..40).contains(&n) {
            true => add(&mut f, 2, at, &[-36], Some((FIN_WAIT1, at + 2))),
            false => add(&mut f, 2, at, &[-80, 120, -11], Some((CLOSE_WAIT, at + 60))),
        }
    }
    // They ask once only and may be ended by nature.
    assert_eq!(refuses(&f), None);
    for n in 60..80 {
        add(
            &mut f,
            2,
            n * 100,
            &[-80, 120, -11, 30, -200],
            Some((CLOSE_WAIT, n * 100 + 60)),
        );
    }
    let told = refuses(&f).unwrap();
    assert_eq!(
        (told.connections, told.asked, told.answer, told.holder),
        (20, None, 36, None)
    );
    let lines = crate::analyses::answer(&f).verdict;
    let line = lines.iter().find(|l| l.subject == "opens").unwrap();
    assert!(
        line.headline
            .contains("before any message of the client, with an answer of 36 bytes")
    );
    assert!(
        line.headline
            .ends_with("(inferred; its log may tell); 1 connection stood there at the last of them"),
        "{}",
        line.headline
    );
}

fn with(change: impl Fn(&mut Facts)) -> Option<Refuses> {
    let mut f = facts(150, FIN_WAIT1);
    change(&mut f);
    refuses(&f)
}

#[test]
fn what_ends_by_its_nature_or_by_the_client_is_none() {
    assert!(with(|_| ()).is_some());
    // The client closed, as a health check; a TLS alert; the same answer as others get, of a server that is drained.
    assert_eq!(refuses(&facts(150, CLOSE_WAIT)), None);
    assert_eq!(refuses(&facts(7, FIN_WAIT1)), None);
    assert_eq!(refuses(&facts(400, FIN_WAIT1)), None);
    // A page, and no short word.
    assert_eq!(refuses(&facts(9_000, FIN_WAIT1)), None);
    // Nobody's call.
    assert_eq!(with(|f| f.tcp_states.iter_mut().for_each(|s| s.in_task = false)), None);
    assert_eq!(with(|f| f.gaps = vec![crate::testing::gap(0, 20_000 * MS)]), None);
    // All along each is one exchange, which the server ends.
    let mut f = Facts::empty();
    for n in 0..100 {
        add(&mut f, 2, n * 100, &[31, -150], Some((FIN_WAIT1, n * 100 + 6)));
    }
    assert_eq!(refuses(&f), None);
    // Checks of the same length beside kept connections, from the begin to the end.
    for n in 0..100 {
        add(&mut f, 2, n * 99 + 10, &USED, Some((CLOSE_WAIT, n * 99 + 60)));
    }
    assert_eq!(refuses(&f), None);
}

#[test]
fn a_few_among_many_and_other_clients_are_none() {
    // One error in four, which ends its connection.
    let mut f = Facts::empty();
    for n in 0..400 {
        let at = n * 20;
        match n % 4 == 0 && (100..300).contains(&n) {
            true => add(&mut f, 2, at, &[31, -150], Some((FIN_WAIT1, at + 6))),
            false => add(&mut f, 2, at, &USED, Some((CLOSE_WAIT, at + 60))),
        }
    }
    assert_eq!(refuses(&f), None);
    // A moment's, where all come at once.
    let mut f = Facts::empty();
    for n in 0..60 {
        let at = n * 100;
        add(&mut f, 2, at, &USED, Some((CLOSE_WAIT, at + 60)));
        add(&mut f, 2, 3_000 + n, &[31, -150], Some((FIN_WAIT1, 3_006 + n)));
    }
    assert_eq!(refuses(&f), None);
    // A client of its own that never goes on: it may be one that asks once.
    let mut f = Facts::empty();
    for n in 0..100 {
        let at = n * 100;
        match (40..60).contains(&n) {
            true => add(&mut f, 3, at, &[31, -150], Some((FIN_WAIT1, at + 6))),
            false => add(&mut f, 2, at, &USED, Some((CLOSE_WAIT, at + 60))),
        }
    }
    assert_eq!(refuses(&f), None);
    // What began with another length may be asked of something else.
    let mut f = facts(150, FIN_WAIT1);
    let refused: Vec<ConnectionId> = (f
        .tcp_states
        .iter()
        .filter(|s| s.state == FIN_WAIT1)
        .map(|s| s.connection))
    .collect();
    for r in
        f.rx.iter_mut()
            .filter(|r| r.connection.is_some_and(|c| refused.contains(&c)))
    {
        r.bytes = Some(55);
    }
    assert_eq!(refuses(&f), None);
}

/// Who uses what it holds is no holder, and a pool of as many as the others have is none.
#[test]
fn who_uses_its_connections_is_not_blamed() {
    let told = with(|f| {
        for n in 0..20 {
            let mut row = crate::testing::sent();
            (row.connection, row.start_ns) = (Some(ConnectionId(n)), 9_500 * MS);
            f.tx.push(row);
        }
    });
    assert_eq!(told.map(|r| (r.connections, r.holder)), Some((50, None)));
    let told = with(|f| {
        for n in 0..30 {
            add(f, 10 + n, 100, &USED, None);
        }
    });
    assert_eq!(told.map(|r| (r.stood, r.holder)), Some((51, None)));
    // Still held at the end.
    let told = with(|f| f.tcp_states.retain(|s| s.connection.0 >= 20 || s.time_ns < 10_100 * MS));
    let holder = told.unwrap().holder.unwrap();
    assert_eq!((holder.kept, holder.closed_ns), (true, None));
}
