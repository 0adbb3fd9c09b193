//! The planted sleeps of the rpc sample: the server says when it slept with a request in its receive queue.

use netmortem_analyzer::Confidence;
use netmortem_analyzer::reconstruct::receive::tables::{RxEnd, RxRow};
use netmortem_tests::{csv, facts, sample};

/// Payload of request n, as tests/lab/rpc.py sends it.
fn request_bytes(n: u64) -> u64 {
    200 + (n * 37) % 1000
}
const REQUESTS: u64 = 400;

fn requests(rows: &[RxRow], port_is_server: impl Fn(&RxRow) -> bool) -> Vec<&RxRow> {
    rows.iter()
        .filter(|r| r.end == RxEnd::Read && port_is_server(r))
        .collect()
}

#[test]
fn planted_sleeps_are_receive_queue_residence() {
    let f = facts("rpc/rpc.nmb").unwrap();
    let server = f
        .connections
        .iter()
        .find(|c| c.sport == 7000)
        .expect("the server's socket");
    let units = requests(&f.rx, |r| r.connection == Some(server.connection));
    let truth = csv(&std::fs::read_to_string(sample("rpc/truth.csv")).unwrap());
    assert!(truth.len() >= 40, "{} planted sleeps", truth.len());
    // Every request is one unit, in order, with its own length.
    let lengths: Vec<u64> = units.iter().map(|u| u.bytes.unwrap().into()).collect();
    assert_eq!(lengths, (0..REQUESTS).map(request_bytes).collect::<Vec<_>>());
    let mut planted = vec![];
    for row in &truth {
        let of = |k: &str| row[k].parse::<i64>().unwrap();
        let n = of("request") as usize;
        planted.push(n);
        let u = units[n];
        let residence = u.rcvq_ns.unwrap();
        // The request was there before the sleep began, and was read between the sleep's end and the read's return.
        let (least, most) = (
            of("sleep_end_ns") - of("sleep_start_ns"),
            of("read_end_ns") - of("sleep_start_ns") + 1_000_000,
        );
        assert!(residence >= least, "request {n}: {residence} < {least}");
        assert!(residence <= most, "request {n}: {residence} > {most}");
        assert!(u.confidence >= Confidence::Strong, "request {n}: {u:?}");
        assert_eq!(u.task.text(), "python3", "request {n}");
    }
    // And nothing else waited as long as the shortest sleep.
    let shortest = 5_000_000;
    let others = units
        .iter()
        .enumerate()
        .filter(|(n, u)| !planted.contains(n) && u.rcvq_ns.unwrap() >= shortest);
    assert_eq!(others.map(|(n, _)| n).collect::<Vec<_>>(), Vec::<usize>::new());
}

/// Both directions: what the applications read and wrote is what arrived, byte for byte.
#[test]
fn bytes_are_conserved() {
    let f = facts("rpc/rpc.nmb").unwrap();
    let answers: u64 = (0..REQUESTS).map(|n| 300 + (n * 53) % 4000).sum();
    let asked: u64 = (0..REQUESTS).map(request_bytes).sum();
    let of = |sport: bool| {
        f.connections
            .iter()
            .find(|c| if sport { c.sport == 7000 } else { c.dport == 7000 })
            .unwrap()
    };
    let (server, client) = (of(true), of(false));
    assert_eq!(
        (server.bytes_in, server.bytes_read, server.bytes_written),
        (asked, Some(asked), Some(answers))
    );
    assert_eq!(
        (client.bytes_in, client.bytes_read, client.bytes_written),
        (answers, Some(answers), Some(asked))
    );
    let read: u64 =
        f.rx.iter()
            .filter(|r| r.end == RxEnd::Read)
            .filter_map(|r| r.bytes)
            .map(u64::from)
            .sum();
    assert_eq!(read, asked + answers);
}

/// Of the time until the ACK, which rides on the answer, the peer's application had the request for the planted sleeps and for what it
/// takes to read and answer: 50 us of each turn at most.
#[test]
fn the_time_to_the_ack_is_the_peers_where_it_slept() {
    let f = facts("rpc/rpc.nmb").unwrap();
    let truth = csv(&std::fs::read_to_string(sample("rpc/truth.csv")).unwrap());
    let slept = truth.iter().map(|row| {
        let of = |k: &str| row[k].parse::<i64>().unwrap();
        of("sleep_end_ns") - of("sleep_start_ns")
    });
    let slept: i64 = slept.sum();
    let answers = netmortem_analyzer::analyses::answer(&f);
    let part = answers.transmit.findings().unwrap().peer.as_ref().unwrap();
    assert_eq!(part.segments, 2 * REQUESTS);
    let most = slept + 50_000 * part.segments as i64;
    assert!((slept..=most).contains(&part.application_ns), "{slept}: {part:?}");
    assert!(part.application_ns <= part.network_ns);
}
