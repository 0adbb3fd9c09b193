//! Recordings of one host whose peers are in another kernel, and of a host with NAT, against what was planted there (sample-data/one-side,
//! sample-data/containers).

use crate::analyses;
use crate::counters::tables::risen;
use crate::facts::Facts;

const MS: i64 = 1_000_000;

fn facts(path: &str) -> Facts {
    let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../sample-data")
        .join(path);
    let bytes = zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap();
    let capture = netmortem_formats::open_bytes("outside", netmortem_formats::Bytes::Owned(bytes)).unwrap();
    crate::analyze(&capture, &Default::default())
}

/// netem of a router beyond the host went from 1 to 41 ms between 2.25 and 2.45 s, towards 10.20.2.2 alone.
#[test]
fn a_way_that_got_longer_is_told_with_its_time_and_size() {
    let a = analyses::answer(&facts("one-side/delay.nmb.zst"));
    let host = |name: &str| a.paths.hosts.iter().find(|h| h.host == name).unwrap();
    assert!(host("10.20.3.2").change.is_none());
    let change = host("10.20.2.2").change.as_ref().unwrap();
    let from = change.from_ns - a.paths.start_ns;
    assert!((2_250 * MS..=2_450 * MS).contains(&from), "{from}");
    assert_eq!(change.to_ns, None);
    let rose = change.high_ns - change.low_ns;
    assert!((38 * MS..=42 * MS).contains(&rose), "{rose}");
    let line = a.verdict.iter().find(|l| l.subject == "application").unwrap();
    assert!(
        line.headline.starts_with("round trips to 10.20.2.2 rose from 2."),
        "{}",
        line.headline
    );
}

/// A rule of that router dropped 35 of 1,461 packets of a download at random; nothing was dropped here, and what lies within a round trip is one hole.
#[test]
fn what_was_lost_on_the_way_here_is_told_by_its_holes() {
    let f = facts("one-side/loss.nmb.zst");
    let a = analyses::answer(&f);
    let r = a.receive.findings().unwrap();
    assert_eq!(r.holes.len(), 1);
    let h = &r.holes[0];
    assert_eq!(h.label, "10.20.2.2:7603 > 10.20.1.2:49416");
    assert!((25..=35).contains(&h.lost), "{h:?}");
    assert_eq!(h.dropped, 0);
    // A round trip is 20 ms there.
    assert!(
        h.lost_p50_ns.is_some_and(|ns| (20 * MS..30 * MS).contains(&ns)),
        "{h:?}"
    );
    // Segments behind a hole, as the kernel counted them; the last few lie behind one that was not filled.
    let held =
        f.rx.iter()
            .filter(|r| r.stage(crate::reconstruct::receive::tables::Stage::OutOfOrder) > Some(0));
    let (held, counted) = (held.count() as u64, risen(&f.counters, "TcpExtTCPOFOQueue").unwrap());
    assert!(held <= counted && held * 20 >= counted * 19, "{held} of {counted}");
}

/// DNAT publishes 172.20.0.10:80 as 198.18.5.1:80 and leaves the client's address and port: by these alone each pair can be told.
#[test]
fn sockets_behind_nat_find_each_other() {
    let f = facts("containers/same-mac.nmb.zst");
    let end = |a: Option<std::net::IpAddr>, port: u16| format!("{}:{port}", a.unwrap());
    let mut pairs = 0;
    for c in f
        .connections
        .iter()
        .filter(|c| end(c.daddr, c.dport) == "198.18.5.1:80")
    {
        let client = end(c.saddr, c.sport);
        let server = |s: &&crate::reconstruct::tcp::tables::ConnectionRow| {
            end(s.saddr, s.sport) == "172.20.0.10:80" && end(s.daddr, s.dport) == client
        };
        let expect = f.connections.iter().find(server).unwrap();
        assert_eq!((c.peer, expect.peer), (Some(expect.connection), Some(c.connection)));
        pairs += 1;
    }
    assert_eq!(pairs, 2);
    // Six requests went to a host with the MAC address of the one they were for, and were sent again after 0.2 s.
    let a = analyses::answer(&f);
    let drops = a.drops.findings().unwrap();
    let group = drops.groups.iter().find(|g| g.reason == "IP_INADDRERRORS").unwrap();
    assert_eq!(group.count, 6);
    let same = "172.20.0.12 and 172.20.0.13 have the same MAC address, 02:42:ac:14:00:0c";
    assert_eq!(group.same_mac.as_deref(), Some(same));
    let asked = a.application.findings().unwrap();
    let published = asked.servers.iter().find(|s| s.server == "198.18.5.1:80").unwrap();
    assert_eq!((published.slow[0].at, published.slow[0].n), ("server", 6));
    let waited = published.slow[0].waited.as_ref().unwrap();
    assert_eq!(
        (waited.kind, waited.of.as_str(), &waited.there),
        ("answer", "172.20.0.12:8080", &None)
    );
}
