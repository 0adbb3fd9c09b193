//! A program that is refused at many ports.

use std::net::Ipv4Addr;

use crate::analyses::opens::{Opens, answer};
use crate::analyses::verdict::{Line, Tone};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};

/// Refused at `ports` ports of two addresses each, so often.
pub(super) fn facts(ports: u16, times: u32) -> Facts {
    let mut f = Facts::empty();
    f.capture.events.insert("sock:inet_sock_set_state".into(), 1);
    for n in 0..times * u32::from(ports) * 2 {
        let (host, port) = (n % 2, (n / 2) % u32::from(ports));
        f.opens.push(OpenRow {
            connection: Some(ConnectionId(n)),
            from: Some((Ipv4Addr::new(10, 0, 0, 1).into(), 40_000)),
            to: Some((Ipv4Addr::new(10, 0, 0, 2 + host as u8).into(), 1000 + port as u16)),
            pid: 42,
            task: Name::new(b"nessusd"),
            start_ns: i64::from(n) * 1_000_000,
            end_ns: i64::from(n) * 1_000_000 + 50_000,
            end: OpenEnd::Refused,
            error: None,
            message: false,
            syns_again: Some(0),
            confidence: crate::Confidence::Certain,
        });
    }
    f
}

pub(super) fn told(f: &Facts) -> (Opens, Line) {
    let lines = crate::analyses::answer(f).verdict;
    let line = lines.into_iter().find(|l| l.subject == "opens").unwrap();
    (answer(f).findings().unwrap().clone(), line)
}

#[test]
fn many_ports_a_few_times_each_are_one_line() {
    let (o, line) = told(&facts(30, 2));
    let s = &o.scans[0];
    assert_eq!((o.scans.len(), o.failed.len()), (1, 0));
    assert_eq!(
        (s.task.as_str(), s.attempts, s.ports, s.addresses, s.each),
        ("nessusd/42", 120, 60, 2, 2)
    );
    let says =
        "120 attempts by nessusd/42 to 60 ports of 2 addresses were refused, 2 at most at each: a port scan (inferred)";
    assert_eq!((line.tone, line.headline.as_str()), (Tone::Notice, says));
    assert!(!line.sentence.contains("more"), "{}", line.sentence);
}

/// Servers that are down, each at its one port.
#[test]
fn many_servers_at_one_port_are_none() {
    let mut f = facts(30, 2);
    for (n, o) in f.opens.iter_mut().enumerate() {
        o.to = Some((Ipv4Addr::new(10, 0, 1, (n / 4) as u8).into(), 9100));
    }
    assert_eq!(told(&f).0.scans, []);
}

#[test]
fn few_ports_or_many_tries_are_none() {
    for (ports, times) in [(9, 2), (30, 4)] {
        let (o, line) = told(&facts(ports, times));
        assert_eq!(o.scans, [], "{ports} {times}");
        assert!(line.headline.contains("were refused"), "{}", line.headline);
    }
}

/// Given up after 4 ms each, so often, in turns; of the host one connection is known.
fn swept(ports: u16, times: u32) -> Facts {
    let mut f = facts(ports, times);
    for o in &mut f.opens {
        (o.end, o.end_ns) = (OpenEnd::GivenUp, o.start_ns + 4_000_000);
    }
    f.opens
        .retain(|o| o.to.is_some_and(|to| to.0 == Ipv4Addr::new(10, 0, 0, 2)));
    let mut stood = f.opens[0].clone();
    (stood.end, stood.to) = (OpenEnd::Established, Some((Ipv4Addr::new(10, 0, 0, 2).into(), 22)));
    f.opens.push(stood);
    f
}

#[test]
fn many_ports_in_turns_are_a_scan_however_often() {
    let (o, line) = told(&swept(40, 13));
    assert_eq!((o.scans.len(), o.failed.len()), (1, 0));
    let says = "520 attempts by nessusd/42 to 40 ports of 10.0.0.2 had no answer and were given up at once, 13 at most at each: a port scan (inferred)";
    assert_eq!((line.tone, line.headline.as_str()), (Tone::Notice, says));
    // A host that answers nobody.
    let mut f = swept(40, 13);
    f.opens.pop();
    assert_eq!(told(&f).0.scans, []);
    // Few ports, and who waits for an answer.
    assert_eq!(told(&swept(20, 13)).0.scans, []);
    let mut f = swept(40, 13);
    f.opens.iter_mut().for_each(|o| o.end_ns = o.start_ns + 500_000_000);
    assert_eq!(told(&f).0.scans, []);
}

/// Logins of a host that is up, none of which answers however long it is waited for; not where one does, or where another port is among them.
#[test]
fn who_tries_several_logins_is_a_stranger() {
    let knocks = |ports: &[u16], served: Option<u16>| {
        let one = facts(1, 1).opens[0].clone();
        let mut f = facts(1, 0);
        let row = |n: usize, port: u16, end: OpenEnd| OpenRow {
            connection: Some(ConnectionId(n as u32)),
            to: Some((Ipv4Addr::new(10, 0, 0, 2).into(), port)),
            start_ns: n as i64 * 2_000_000_000,
            end_ns: n as i64 * 2_000_000_000 + 1_600_000_000,
            syns_again: Some(1),
            end,
            ..one.clone()
        };
        let stood = |n: usize, port: u16| OpenRow {
            end_ns: n as i64 * 2_000_000_000 + 1_000,
            syns_again: Some(0),
            ..row(n, port, OpenEnd::Established)
        };
        f.opens.push(stood(100, 443));
        f.opens.extend(served.map(|port| stood(101, port)));
        for (n, port) in ports.iter().enumerate() {
            f.opens.push(row(n, *port, OpenEnd::GivenUp));
        }
        (told(&f), crate::analyses::opens::scanning(&f).len())
    };
    let ((o, line), lost) = knocks(&[22, 23, 3389, 22], None);
    assert_eq!(
        (o.scans.len(), o.scans[0].ports, o.scans[0].attempts, lost),
        (1, 3, 4, 4)
    );
    let says =
        "4 attempts by nessusd/42 to 3 ports of 10.0.0.2 had no answer, 2 at most at each: a port scan (inferred)";
    assert_eq!((line.tone, line.headline.as_str()), (Tone::Notice, says));
    for (ports, served) in [
        (&[22, 23, 22][..], None),
        (&[22, 23, 3389, 8080], None),
        (&[22, 23, 3389], Some(22)),
    ] {
        let ((o, line), lost) = knocks(ports, served);
        // They are told as what they are, a few attempts; at a port that others are answered at as what is wrong.
        let tone = if served.is_some() { Tone::Bad } else { Tone::Notice };
        assert_eq!((o.scans.len(), lost, line.tone), (0, 0, tone), "{ports:?}");
    }
}

/// Ten ports of a host in rounds, of which four refuse and six do not answer within 300 ms: more than three times each, and patient, but a scan. Where one is
/// tried more than the others, or all are silent, somebody may want what was there.
#[test]
fn a_few_ports_in_rounds_some_of_which_refuse_are_a_scan() {
    const PORTS: [u16; 10] = [22, 23, 25, 111, 445, 2375, 3306, 6379, 9200, 10250];
    let with = |refused: usize, more: u32| {
        let mut f = facts(1, 0);
        let one = facts(1, 1).opens[0].clone();
        let rounds = (0..40).map(|n| PORTS[n % 10]).chain((0..more).map(|_| PORTS[9]));
        for (n, port) in rounds.enumerate() {
            let at = n as i64 * 300_000_000;
            let refuses = PORTS.iter().position(|p| *p == port).unwrap() < refused;
            let took = if refuses { 50_000 } else { 300_000_000 };
            f.opens.push(OpenRow {
                connection: Some(ConnectionId(n as u32)),
                to: Some((Ipv4Addr::new(10, 0, 0, 2).into(), port)),
                start_ns: at,
                end_ns: at + took,
                end: if refuses { OpenEnd::Refused } else { OpenEnd::GivenUp },
                ..one.clone()
            });
        }
        // Its host answers others.
        f.opens.push(OpenRow {
            connection: Some(ConnectionId(99)),
            to: Some((Ipv4Addr::new(10, 0, 0, 2).into(), 8080)),
            task: Name::new(b"browser"),
            end: OpenEnd::Established,
            ..one
        });
        f
    };
    let f = with(4, 0);
    let (o, _) = told(&f);
    let scans: Vec<(u64, u64, bool)> = o.scans.iter().map(|s| (s.attempts, s.ports, s.refused)).collect();
    assert_eq!((scans, o.failed.len()), (vec![(24, 6, false), (16, 4, true)], 0));
    assert_eq!(crate::analyses::opens::scanning(&f).len(), 40);
    // One round; no login among them.
    let (mut once, mut services) = (with(4, 0), with(4, 0));
    once.opens
        .retain(|o| o.connection.unwrap().0 < 10 || o.end == OpenEnd::Established);
    for o in &mut services.opens {
        let to = o.to.unwrap();
        o.to = Some((to.0, if to.1 < 30 { to.1 + 2000 } else { to.1 }));
    }
    for other in [with(4, 2), with(0, 0), with(10, 0), once, services] {
        assert_eq!(told(&other).0.scans, []);
        assert_eq!(crate::analyses::opens::scanning(&other).len(), 0);
    }
}

/// One address tries two logins of two hosts, by a process each, and does nothing else. Not where it has a connection, waits long, or one answers.
#[test]
fn an_address_that_knocks_at_logins_of_several_hosts_is_a_stranger() {
    let with = |change: &dyn Fn(&mut Facts)| {
        let (mut f, one) = (facts(1, 0), facts(1, 1).opens[0].clone());
        for n in 0..8u32 {
            let at = i64::from(n) * 300_000_000;
            f.opens.push(OpenRow {
                connection: Some(ConnectionId(n)),
                from: Some((Ipv4Addr::new(10, 0, 0, 66).into(), 40_000)),
                to: Some((Ipv4Addr::new(10, 0, 0, 2 + (n % 2) as u8).into(), 22 + (n % 2) as u16)),
                pid: 100 + n as i32,
                task: Name::new(if n == 3 { b"bash" } else { b"timeout" }),
                start_ns: at,
                end_ns: at + 299_000_000,
                end: if n == 7 { OpenEnd::Waiting } else { OpenEnd::GivenUp },
                ..one.clone()
            });
        }
        for host in [2, 3] {
            f.opens.push(OpenRow {
                connection: Some(ConnectionId(90 + u32::from(host))),
                to: Some((Ipv4Addr::new(10, 0, 0, host).into(), 8080)),
                end: OpenEnd::Established,
                ..one.clone()
            });
        }
        change(&mut f);
        f
    };
    let f = with(&|_| {});
    let (o, line) = told(&f);
    let says = "8 attempts by 8 processes of 10.0.0.66 to 2 ports of 2 addresses had no answer, 4 at most at each: a port scan (inferred)";
    assert_eq!((line.tone, line.headline.as_str()), (Tone::Notice, says));
    assert_eq!((o.failed.len(), crate::analyses::opens::scanning(&f).len()), (0, 8));
    let others: [&dyn Fn(&mut Facts); 4] = [
        &|f| f.opens[0].to = Some((Ipv4Addr::new(10, 0, 0, 2).into(), 5432)),
        &|f| f.opens[0].end_ns += 1_000_000_000,
        &|f| f.opens[0].syns_again = Some(1),
        &|f| {
            let mut c = crate::testing::tcp::connection(50);
            (c.saddr, c.bytes_in) = (Some(Ipv4Addr::new(10, 0, 0, 66).into()), 1);
            f.connections.push(c);
        },
    ];
    for other in others {
        let f = with(other);
        assert_eq!(
            (told(&f).0.scans, crate::analyses::opens::scanning(&f).len()),
            (vec![], 0)
        );
    }
}

/// SSH, RDP and another port of one host, in rounds. Not where one port is tried more often, one answers, or both logins are not among them.
#[test]
fn who_tries_ssh_and_rdp_of_one_host_in_rounds_is_a_stranger_or_a_monitor() {
    let with = |ports: [u16; 3], change: &dyn Fn(&mut Facts)| {
        let (mut f, one) = (facts(1, 0), facts(1, 1).opens[0].clone());
        for n in 0..11u32 {
            let at = i64::from(n) * 300_000_000;
            f.opens.push(OpenRow {
                connection: Some(ConnectionId(n)),
                to: Some((Ipv4Addr::new(10, 0, 0, 2).into(), ports[n as usize % 3])),
                pid: 100 + n as i32,
                task: Name::new(if n == 3 { b"bash" } else { b"timeout" }),
                start_ns: at,
                end_ns: at + 199_000_000,
                end: OpenEnd::GivenUp,
                ..one.clone()
            });
        }
        // The same address uses that host, too.
        f.opens.push(OpenRow {
            connection: Some(ConnectionId(90)),
            to: Some((Ipv4Addr::new(10, 0, 0, 2).into(), 8080)),
            end: OpenEnd::Established,
            ..one.clone()
        });
        change(&mut f);
        f
    };
    let f = with([22, 3389, 8443], &|_| {});
    let (o, line) = told(&f);
    let says = "11 attempts by 11 processes of 10.0.0.1 to 3 ports of 10.0.0.2 had no answer, 4 at most at each: a port scan, or a monitor that checks logins (inferred)";
    assert_eq!((line.tone, line.headline.as_str()), (Tone::Notice, says));
    assert_eq!((o.failed.len(), crate::analyses::opens::scanning(&f).len()), (0, 11));
    let none = |f: Facts| {
        let found = (told(&f).0.scans.len(), crate::analyses::opens::scanning(&f).len());
        assert_eq!(found, (0, 0));
    };
    none(with([22, 443, 8443], &|_| {}));
    none(with([22, 3389, 22], &|_| {}));
    none(with([22, 3389, 8443], &|f| f.opens[0].end = OpenEnd::Established));
    none(with([22, 3389, 8443], &|f| f.opens[0].end = OpenEnd::Refused));
    none(with([22, 3389, 8443], &|f| f.opens[0].syns_again = Some(1)));
}
