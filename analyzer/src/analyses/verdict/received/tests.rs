//! Words of the line on what was received.

use super::*;

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
