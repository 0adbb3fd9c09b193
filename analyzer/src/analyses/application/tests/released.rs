//! Whose request ended what late answers waited for.

use super::{MS, turnaround};
use crate::analyses::application::Released;
use crate::analyses::application::released::released;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::TurnaroundRow;

/// By thread `pid` on connection `c`: read at, answered at, woken by.
fn row(c: u32, pid: i32, (read, sent): (i64, i64), woken_by: i32) -> TurnaroundRow {
    let ns = (sent - read) * MS;
    TurnaroundRow {
        connection: ConnectionId(c),
        pid,
        sender_pid: pid,
        sender: Name::new(b"postgres"),
        ready_ns: Some(read * MS),
        read_ns: read * MS,
        send_ns: sent * MS,
        woken_by_pid: woken_by,
        woken_by_ns: if woken_by == 0 { 0 } else { ns - 10_000 },
        ..turnaround(0, ns.max(20_000), "epoll_wait")
    }
}

/// Connection 9 is the holder's: it asks at 10 and 1000 ms. Four others wait from 100 ms on; the first is woken by its thread, each of the others
/// by the one before it, which reads its next request at once.
fn facts(holder: i64) -> (Facts, Vec<TurnaroundRow>) {
    let mut f = Facts::empty();
    for n in 0..10u32 {
        let mut c = crate::testing::tcp::connection(n);
        (c.sport, c.dport) = (5432, 40_000 + n as u16);
        f.connections.push(c);
    }
    let mut late = vec![];
    for n in 0..4u32 {
        let at = i64::from(n);
        let pid = 20 + n as i32;
        let by = if n == 0 { 9 } else { pid - 1 };
        late.push(row(n, pid, (100 + at, 1003 + 2 * at), by));
        f.turnarounds.push(row(n, pid, (1003 + 2 * at, 1005 + 2 * at), 0));
    }
    f.turnarounds.extend(late.clone());
    f.turnarounds.push(row(9, 9, (10, 11), 0));
    f.turnarounds.push(row(9, 9, (holder, holder + 1), 0));
    f.turnarounds.sort_by_key(|t| (t.connection, t.send_ns));
    (f, late)
}

fn found((f, late): &(Facts, Vec<TurnaroundRow>)) -> Option<Released> {
    released(f, &late.iter().collect::<Vec<_>>(), &|_, _| None)
}

#[test]
fn the_chain_of_waiters_leads_to_the_holders_request() {
    let expect = Released {
        connection: ConnectionId(9),
        n: 4,
        handed: 3,
        requests: 1,
        by: "postgres/9".into(),
        client: "10.0.0.2:40009".into(),
        idle_ns: Some(989 * MS),
        meanwhile: None,
    };
    assert_eq!(found(&facts(1000)), Some(expect));
}

/// All are woken by the request itself: subscribers that wait for a message, or a lock of many.
#[test]
fn what_woke_all_at_once_need_not_be_a_lock() {
    let (mut f, mut late) = facts(1000);
    for r in late
        .iter_mut()
        .chain(f.turnarounds.iter_mut().filter(|t| t.woken_by_pid != 0))
    {
        r.woken_by_pid = 9;
    }
    let r = found(&(f, late)).unwrap();
    assert_eq!((r.n, r.handed, r.requests), (4, 0, 1));
}

#[test]
fn what_no_request_ended_is_not_told() {
    // The holder's request came before they waited, and was answered long before they were woken.
    assert_eq!(found(&facts(50)), None);
    // They were woken by nobody that answers.
    let (f, mut late) = facts(1000);
    for r in &mut late {
        r.woken_by_pid = 77;
    }
    assert_eq!(found(&(f, late)), None);
    // Most of them waited for nothing of the kind.
    let (f, mut late) = facts(1000);
    late.extend((0..5).map(|n| row(n, 20, (2000, 2500), 0)));
    assert_eq!(found(&(f, late)), None);
}

/// A timer broke the sleep off before (PostgreSQL looks for deadlocks after a second): only the rest was ended by the other thread. Not where it slept
/// elsewhere most of the time.
#[test]
fn a_wait_that_a_timer_broke_off_goes_on() {
    let (f, mut late) = facts(1000);
    late.iter_mut().for_each(|r| r.woken_by_ns = r.total_ns() / 10);
    assert_eq!(found(&(f, late.clone())).unwrap().n, 4);
    let (f, _) = facts(1000);
    late.iter_mut().for_each(|r| r.asleep_in_ns = r.total_ns() / 2);
    assert_eq!(found(&(f, late)), None);
}

/// What the client that holds it waited for meanwhile.
#[test]
fn what_the_holders_client_waited_for_is_told() {
    let (mut f, late) = facts(1000);
    let mut client = crate::testing::tcp::connection(10);
    (client.sport, client.dport, client.pid) = (40_009, 5432, 33);
    f.connections[9].peer = Some(client.connection);
    f.connections.push(client);
    let asked = |pid: i32, idle: &[(i64, i64)]| {
        assert_eq!((pid, idle), (33, &[(11 * MS, 1000 * MS)][..]));
        Some(("10.0.0.9:8000".to_owned(), 1.0))
    };
    let r = released(&f, &late.iter().collect::<Vec<_>>(), &asked).unwrap();
    assert_eq!(r.meanwhile, Some(("10.0.0.9:8000".to_owned(), 1.0)));
    let said = crate::analyses::verdict::always::released_by(&r, "these answers");
    assert!(
        said.contains("989.00 ms after its previous answer, 100 % of which it waited for the answer from 10.0.0.9:8000: a lock it held"),
        "{said}"
    );
}
