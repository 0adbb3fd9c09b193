//! Readings that tell only what changed, and sockets.

use super::*;

/// A reading that tells only what changed: what it does not name was the same until then, unless the one before is not there.
#[test]
fn what_is_not_named_is_as_it_was_where_nothing_is_missing() {
    let others = |again: u64| format!("Tcp: RetransSegs\nTcp: {again}\n");
    let of = |number: u64, ns: i64, says: &str, again: Option<u64>| -> Reading {
        let mut texts = vec![("readings", says.to_owned())];
        texts.extend(again.map(|n| ("netns/9/net/snmp", others(n))));
        (number, ns, texts)
    };
    let rows = |readings: &[Reading]| {
        let over_time = with_clock(bundle("", readings, ""), "mono");
        assert_eq!(over_time.unknown, []);
        assert!(over_time.rows.iter().all(|r| r.counter.netns == Some(9)));
        told(&over_time)
    };
    let whole = [
        of(1, 10, "counters 1\n", Some(5)),
        of(2, 20, "counters 2 after 1\nnics 7\n", None),
        of(3, 30, "nics 8 after 7\n", None),
        of(4, 40, "counters 3 after 2\n", None),
        of(5, 50, "counters 4 after 3\n", Some(9)),
        of(6, 60, "counters 5 after 4\n", None),
    ];
    assert_eq!(rows(&whole), [(Some(40), Some(50), Some(4), true)]);
    // Of a kind that was not read nothing holds; and behind a gap only what was read before it.
    let mut gap = whole.clone();
    gap[3] = of(4, 40, "counters 9 after 8\n", None);
    gap[4] = of(5, 50, "counters 10 after 9\n", Some(9));
    assert_eq!(rows(&gap), [(Some(20), Some(50), Some(4), true)]);
    // All that is told again begins anew.
    gap[3] = of(4, 40, "counters 9\n", Some(5));
    gap[4] = of(5, 50, "counters 10 after 9\n", None);
    gap[5] = of(6, 60, "counters 11 after 10\n", Some(9));
    assert_eq!(rows(&gap), [(Some(50), Some(60), Some(4), true)]);
    for nonsense in [
        "counters",
        "counters x",
        "counters 2 before 1",
        "counters 2 after",
        "what 2 after 1",
        "counters 2 after 1 1",
    ] {
        let mut damaged = whole.clone();
        damaged[1] = of(2, 20, nonsense, None);
        assert_eq!(rows(&damaged).len(), 1, "{nonsense}");
    }
}

/// Sockets whose readings tell what changed.
#[test]
fn sockets_have_a_row_for_each_reading_that_tells_of_them() {
    let line = "netns=7 proto=tcp family=inet state=established src=10.0.0.1:80 dst=10.0.0.2:4242 cookie=0x2a rqueue=0 wqueue=7 tcp.rtt=31 mem.drops=0\n";
    let of = |number: u64, ns: i64, text: &str| -> Reading { (number, ns, vec![("sockets", text.to_owned())]) };
    let readings = [
        of(
            1,
            10,
            &format!("{line}netns=7 proto=udp cookie=0x2b src=<b>:1 state=close\nno socket\nnetns=7 cookie=2\n"),
        ),
        of(2, 20, ""),
        of(3, 30, "netns=7 proto=tcp cookie=0x2a rqueue=1234 tcp.rtt=x\n"),
        of(4, 40, "netns=7 proto=tcp cookie=0x2a gone=yes\n"),
    ];
    let over_time = with_clock(bundle("", &readings, ""), "mono");
    let rows: Vec<_> = over_time
        .sockets
        .iter()
        .map(|r| {
            (
                r.at_ns,
                r.ends.src.as_str(),
                r.state.as_str(),
                r.gone,
                r.numbers[0],
                r.numbers[9],
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            (10, "10.0.0.1:80", "established", false, Some(0), Some(31)),
            (10, "<b>:1", "close", false, None, None),
            (30, "10.0.0.1:80", "established", false, Some(1234), None),
            (40, "10.0.0.1:80", "established", true, Some(1234), None),
        ]
    );
    // The columns are named after what they hold.
    let columns: Vec<&str> = sockets::SOCKETS_OVER_TIME.columns.iter().map(|c| c.info.name).collect();
    assert_eq!(
        (columns.len(), columns[8], columns[17]),
        (8 + sockets::NUMBERS.len(), "rqueue", "rtt_us")
    );
}
