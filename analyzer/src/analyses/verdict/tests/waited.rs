//! Whose silence kept threads, in words.

use super::receive;
use crate::analyses::application::{Silent, Waited};
use crate::analyses::receive::ReadOf;
use crate::analyses::verdict::received;
use crate::analyses::verdict::waited::waited_for;

fn said(change: impl Fn(&mut Silent)) -> String {
    let mut s = Silent {
        sleeps: 5,
        connections: 5,
        first: "10.0.0.5:46200 > 10.0.0.1:443".into(),
        client: "lb-check at 10.0.0.5".into(),
        silent_ns: 700_000_000,
        since_opened: true,
        end: "closed",
        unread: true,
    };
    change(&mut s);
    waited_for(&Waited {
        kind: "read",
        of: s.first.clone(),
        ns: 1,
        share: 1.0,
        there: None,
        window: false,
        handed: false,
        next: None,
        released: None,
        silent: Some(s),
    })
}

#[test]
fn the_silent_connection_is_named() {
    assert_eq!(
        said(|_| {}),
        ", reading from 5 connections of lb-check at 10.0.0.5 (the first 10.0.0.5:46200 > 10.0.0.1:443), on each of which nothing came for p50 700.00 ms after it was opened, until its peer closed it, while these lay unread"
    );
    assert_eq!(
        said(|s| {
            (s.sleeps, s.connections, s.since_opened, s.end) = (1, 1, false, "data");
            s.unread = false;
        }),
        ", reading from 10.0.0.5:46200 > 10.0.0.1:443 (lb-check), on which nothing came for 700.00 ms, until something came"
    );
    // Several clients; one that is outside the recording; an end that is not known.
    let many = said(|s| {
        (s.client, s.sleeps, s.end) = (String::new(), 9, "");
    });
    assert!(many.starts_with(", reading from 5 connections (the first "), "{many}");
    assert!(
        many.ends_with(" for p50 700.00 ms (9 times) after it was opened, while these lay unread"),
        "{many}"
    );
    assert!(said(|s| s.end = "ended").contains(", until it was closed, while these"));
    let one = said(|s| (s.client, s.sleeps, s.connections) = ("10.0.0.5".into(), 1, 1));
    assert!(
        one.starts_with(", reading from 10.0.0.5:46200 > 10.0.0.1:443, on which"),
        "{one}"
    );
}

/// In place of "on something else, or not yet woken".
#[test]
fn the_received_line_names_what_its_reader_read() {
    let of = |connections, share| {
        let mut r = receive(0);
        r.stages = vec![super::stage("reader_asleep", &[27_000], 0.9)];
        r.read_of = Some(ReadOf {
            connections,
            first: "10.0.0.5:46200 > 10.0.0.1:443".into(),
            share,
        });
        received::receive(&r).1
    };
    let one = "90 % of that time: readable, but the reader slept in a read of another connection (10.0.0.5:46200 > 10.0.0.1:443).";
    assert!(of(1, 0.95).ends_with(one), "{}", of(1, 0.95));
    let many = "readable, but the reader slept in 62 % of it in a read of 5 other connections (the first 10.0.0.5:46200 > 10.0.0.1:443).";
    assert!(of(5, 0.62).ends_with(many), "{}", of(5, 0.62));
}
