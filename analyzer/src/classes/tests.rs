//! Lists of classes as the recorder wrote them on Linux 6.18 (x86_64), of which `tc -s class show` printed afterwards:
//!
//! ```text
//! class htb 1:1 root rate 3Mbit ceil 3Mbit burst 1599b cburst 1599b
//! class htb 1:10 parent 1:1 prio 1 rate 2900Kbit ceil 3Mbit burst 1599b cburst 1599b
//!  Sent 125040 bytes 120 pkt (dropped 0, overlimits 72 requeues 0)
//! class htb 1:20 parent 1:1 prio 5 rate 24Kbit ceil 3Mbit burst 1599b cburst 1599b
//! class htb 1:30 parent 1:1 prio 2 rate 40Gbit ceil 50Gbit burst 0b cburst 0b
//!  Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
//! ```

use netmortem_formats::Endian;
use netmortem_formats::capture::{Snapshot, SnapshotWhen};

use super::options::shape;
use super::tables::{CLASSES, number};
use super::{Shape, of};
use crate::table::Cell;

/// handle, parent, options.
const LISTED: [[&str; 3]; 4] = [
    [
        "0x00010001",
        "0xffffffff",
        "300001000001000000000000d8b805000001000000000000d8b8050060040100600401007c9200000700000000000000",
    ],
    [
        "0x00010010",
        "0x00010001",
        "300001000001000000000000048805000001000000000000d8b80500590d0100600401009a8d00000000000001000000",
    ],
    [
        "0x00010020",
        "0x00010001",
        "300001000001000000000000b80b00000001000000000000d8b8050010287f0060040100e80300000000000005000000",
    ],
    [
        "0x00010030",
        "0x00010001",
        "300001000001000000000000ffffffff0001000000000000ffffffff0000000000000000dc05000000000000020000000c00060000f2052a010000000c000700806e877401000000",
    ],
];

/// With so many bytes and packets sent, and overlimits.
fn list(sent: [[u64; 3]; 4]) -> String {
    let mut out = String::new();
    for ([class, parent, options], [bytes, packets, over]) in LISTED.into_iter().zip(sent) {
        out += &format!(
            "netns=4026532177 ifindex=2 kind=htb handle={class} parent={parent} leaf=0x00000000 options={options} bytes={bytes} packets={packets} qlen=0 backlog_bytes=0 drops=0 requeues=0 overlimits={over} xstats=00000000\n"
        );
    }
    out
}

fn capture(lists: &[(SnapshotWhen, String)]) -> netmortem_formats::Capture {
    let mut capture = crate::testing::Script::new("6.18.44", &[]).capture();
    let links = "netns=4026532177 ifindex=2 name=v0 mtu=1500\n".to_owned();
    let all = lists.iter().map(|(when, text)| ("classes", *when, text));
    for (what, when, text) in all.chain([("links", SnapshotWhen::Start, &links)]) {
        capture.snapshots.push(Snapshot {
            what: what.into(),
            when,
            text: text.clone().into_bytes(),
        });
    }
    capture
}

#[test]
fn rates_and_what_was_sent_are_those_of_tc() {
    let start = list([[86, 1, 0], [0; 3], [86, 1, 0], [0; 3]]);
    let end = list([[127_678, 133, 3], [125_040, 120, 72], [2_638, 13, 0], [0; 3]]);
    let rows = of(&capture(&[(SnapshotWhen::Start, start), (SnapshotWhen::End, end)]));
    let said: Vec<_> = rows
        .iter()
        .map(|r| {
            let rises = [r.rise(|c| c.bytes), r.rise(|c| c.packets), r.rise(|c| c.overlimits)];
            (number(r.class), number(r.parent), r.leaf, rises.map(Option::unwrap))
        })
        .collect();
    let expect = [
        ("1:1", "root", false, [127_592, 132, 3]),
        ("1:10", "1:1", true, [125_040, 120, 72]),
        ("1:20", "1:1", true, [2_552, 12, 0]),
        ("1:30", "1:1", true, [0, 0, 0]),
    ];
    assert_eq!(said, expect.map(|(c, p, l, n)| (c.to_owned(), p.to_owned(), l, n)));
    let bits = |bytes: Option<u64>| bytes.unwrap() * 8;
    let rates: Vec<_> = rows
        .iter()
        .map(|r| (bits(r.shape.rate), bits(r.shape.ceil), r.shape.prio.unwrap()))
        .collect();
    // The last does not fit 32 bits of bytes a second.
    let expect = [
        (3_000_000, 3_000_000, 0),
        (2_900_000, 3_000_000, 1),
        (24_000, 3_000_000, 5),
        (40_000_000_000, 50_000_000_000, 2),
    ];
    assert_eq!(rates, expect);
    assert!(rows.iter().all(|r| r.dev == "v0" && r.kind == "htb"));
    let column = CLASSES.columns.iter().find(|c| c.info.name == "rate_bit_s").unwrap();
    assert_eq!((column.get)(&rows[2], &Default::default()), Cell::U64(24_000));
}

#[test]
fn one_reading_has_no_rise() {
    let end = (SnapshotWhen::End, list([[9; 3]; 4]));
    let rows = of(&capture(std::slice::from_ref(&end)));
    assert!(rows.len() == 4 && rows.iter().all(|r| r.rise(|c| c.bytes).is_none()));
    let rows = of(&capture(&[(SnapshotWhen::Start, list([[10; 3]; 4])), end]));
    assert!(rows.iter().all(|r| r.rise(|c| c.bytes).is_none()));
}

#[test]
fn curves_are_read_and_damage_is_not() {
    // TCA_HFSC_FSC (2) with m2 125000, TCA_HFSC_USC (3) with m2 1000000.
    let curves = "10000200000000000000000048e8010010000300000000000000000040420f00";
    let expect = Shape {
        rate: Some(125_000),
        ceil: Some(1_000_000),
        prio: None,
    };
    assert_eq!(shape("hfsc", curves, Endian::Little), expect);
    for cut in 0..LISTED[3][2].len() {
        shape("htb", &LISTED[3][2][..cut], Endian::Little);
    }
    for bad in ["", "zz", "0000000000", "ffff0100"] {
        assert_eq!(shape("htb", bad, Endian::Big), Shape::default());
    }
    assert_eq!(shape("drr", LISTED[3][2], Endian::Little), Shape::default());
}
