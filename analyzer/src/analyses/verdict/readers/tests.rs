//! Words of what readers did.

use super::*;
use crate::analyses::datagrams::Datagrams;
use crate::analyses::verdict::datagrams::{Known, datagrams, headline};

/// What a reader did at sockets that are not TCP's is not said of a connection.
#[test]
fn where_a_reader_was_busy_is_said_of_most_of_it() {
    let of = |connections, first_ns| {
        busy_with(&BusyWith {
            task: "proxy/7".into(),
            connections,
            first: "10.0.0.3:40000 > 10.0.0.1:443".into(),
            ns: 10_000_000,
            first_ns,
            connections_ns: first_ns,
            share: 0.9,
        })
    };
    let begin = "readable, but the reader was busy elsewhere: proxy/7, on a CPU, for 90 % of it at";
    assert_eq!(
        of(1, 9_500_000),
        format!("{begin} another connection (10.0.0.3:40000 > 10.0.0.1:443)")
    );
    for n in [1, 2] {
        assert_eq!(
            of(n, 100_000),
            format!("{begin} other sockets, 100.0 µs of it at 10.0.0.3:40000 > 10.0.0.1:443")
        );
    }
}

#[test]
fn what_a_reader_waited_for_is_named() {
    let of = AskedMeanwhile {
        task: "board/7".into(),
        to: "10.0.0.3:7070".into(),
        answers: 580,
        took_ns: 18_900_000,
        share: 0.97,
    };
    assert_eq!(
        asked_meanwhile(&of),
        "readable, but board/7 waited for answers from 10.0.0.3:7070 meanwhile, in 97 % of the time (580 of p50 18.90 ms), and read in between: it reads no faster than it is answered there (inferred)"
    );
    let of = |ended, name: &str, asked| {
        children(&Children {
            task: "openvpn/7".into(),
            ended,
            name: name.into(),
            longest_ns: 1_271_000_000,
            share: 1.0,
            asked,
        })
    };
    assert_eq!(
        of(3, "login.py", Some(("10.0.0.3:389".into(), 0.95))),
        "readable, but openvpn/7 slept until another process (login.py) ended, 3 times and for up to 1.271 s: a script or program that it runs and waits for, most likely (inferred); these waited for answers from 10.0.0.3:389 in 95 % of that time"
    );
    assert_eq!(
        of(1, "", None),
        "readable, but openvpn/7 slept until another process ended, once and for up to 1.271 s: a script or program that it runs and waits for, most likely (inferred)"
    );
}

/// Questions that lay unread while their reader waited for a process of its own: which one is said with them; not where another thread reads there, or nothing was read.
#[test]
fn questions_read_late_have_why_their_reader_slept() {
    let f = crate::tests::facts("datagrams/datagrams.nmb.zst");
    let answers = crate::analyses::answer(&f);
    let mut udp = answers.datagrams.findings().unwrap().clone();
    let children = Children {
        task: "openvpn/7".into(),
        ended: 2,
        name: "login.py".into(),
        longest_ns: 1_271_000_000,
        share: 1.0,
        asked: None,
    };
    let first = udp.in_vain.first_mut().unwrap();
    (first.holder, first.landed, first.unread) = ("openvpn/7".into(), 3, 0);
    let says = "; openvpn/7 slept for up to 1.271 s before it read, until another process (login.py) ended (see the receive path; that these waited for it is inferred)";
    let told = |udp: &Datagrams| {
        let known = Known {
            children: Some(&children),
            ..Known::default()
        };
        let (_, sentence) = datagrams(udp, (0, 0), &known);
        [headline(udp, &known), sentence].map(|said| said.contains(says))
    };
    assert_eq!(told(&udp), [true, true]);
    udp.in_vain[0].unread = 3;
    assert_eq!(told(&udp), [false, false]);
    udp.in_vain[0].unread = 0;
    udp.in_vain[0].holder = "openvpn/8".into();
    assert_eq!(told(&udp), [false, false]);
}
