use super::tables::{BalanceKind, BalanceRow};
use super::{Inputs, compute};
use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::reconstruct::lineage::tables::Conserved;
use crate::reconstruct::lineage::{Unit, UnitKind, Why};

fn unit(connection: Option<u32>, expected: u64, found: u64) -> Unit {
    Unit {
        kind: UnitKind::GroHead,
        skb: SkbId(0),
        connection: connection.map(ConnectionId),
        edges: 1,
        expected,
        found,
        conserved: if expected == found {
            Conserved::Yes
        } else {
            Conserved::No
        },
        why: Why::default(),
    }
}

fn of(units: &[Unit]) -> Vec<BalanceRow> {
    compute(&Inputs {
        units,
        connections: &[],
        streams: &Default::default(),
        samples: &[],
        tx: &[],
        lost: false,
        named: true,
        frames: true,
    })
}

/// A surplus of one head does not pay for the lack of another.
#[test]
fn differences_never_cancel() {
    let units = [
        unit(Some(1), 100, 90),
        unit(Some(1), 100, 110),
        unit(Some(1), 50, 50),
        unit(None, 7, 7),
    ];
    let rows = of(&units);
    let got: Vec<_> = rows
        .iter()
        .map(|r| {
            (
                r.connection.map(|c| c.0),
                r.bytes_expected,
                r.bytes_found,
                r.unexplained_bytes,
                r.units,
                r.matched,
            )
        })
        .collect();
    assert_eq!(got, [(None, 7, 7, 0, 1, 1), (Some(1), 250, 250, 20, 3, 1)]);
    assert!(rows[0].because.is_empty() && !rows[1].because.is_empty());
}

/// A part whose length is unknown is counted, and makes the balance less sure instead of wrong.
#[test]
fn an_unknown_length_is_no_difference() {
    let open = Unit {
        conserved: Conserved::Unknown,
        ..unit(None, 0, 0)
    };
    let rows = of(&[unit(None, 10, 10), open]);
    assert_eq!(
        (rows[0].kind, rows[0].units, rows[0].matched),
        (BalanceKind::GroHead, 2, 1)
    );
    assert_eq!((rows[0].unexplained_bytes, rows[0].confidence), (0, Confidence::Strong));
}

/// What tcp_probe cannot show, for its length has 16 bits, is told from what is missing for another reason.
#[test]
fn a_lack_of_whole_64_kib_is_the_probes() {
    use crate::name::Name;
    use crate::reconstruct::receive::StreamBytes;
    use crate::reconstruct::tcp::tables::ConnectionRow;
    let told = |born: Option<i32>, arrived: u64, read: u64| {
        let row = ConnectionRow {
            born,
            listens: None,
            connection: ConnectionId(0),
            saddr: None,
            sport: 1,
            daddr: None,
            dport: 2,
            skaddr: 0,
            cookie: None,
            task: Name::default(),
            pid: 0,
            first_ns: 0,
            last_ns: 1,
            bytes_in: arrived,
            bytes_out: 0,
            bytes_read: Some(read),
            bytes_written: None,
            retransmits: None,
            retransmit_segments: None,
            retransmits_refused: None,
            samples: 1,
            peer: None,
            confidence: Confidence::Certain,
        };
        let stream = StreamBytes {
            arrived,
            ..StreamBytes::default()
        };
        let rows = compute(&Inputs {
            units: &[],
            connections: &[row],
            streams: &[(ConnectionId(0), stream)].into_iter().collect(),
            samples: &[],
            tx: &[],
            lost: false,
            named: true,
            frames: true,
        });
        (rows[0].unexplained_bytes, rows[0].because, rows[0].confidence)
    };
    let because = |arrived, read| {
        let (bytes, why, link) = told(Some(1), arrived, read);
        assert_eq!(link, Confidence::Strong);
        (bytes, why)
    };
    assert_eq!(because(1_000, 1_000), (0, ""));
    let (bytes, why) = because(1_000, 1_000 + 3 * 65_536);
    assert!(bytes == 196_608 && why.contains("16 bits"), "{why}");
    let (bytes, why) = because(1_000, 1_000 + 65_535);
    assert!(bytes == 65_535 && why.starts_with("more was read"), "{why}");
    // Of a socket that is older than the recording nobody knows what lay in it; what arrived and was not read is missing all the same.
    let (bytes, why, link) = told(None, 1_000, 101_000);
    assert_eq!((bytes, link), (100_000, Confidence::Unknown));
    assert!(why.starts_with("older than the recording"), "{why}");
    assert_eq!(told(None, 2_000, 1_000).2, Confidence::Strong);
}

/// With `--dev` frames of other devices were left out: what TCP sent cannot be compared with them. A filter of the profile's own leaves out none of these.
#[test]
fn where_frames_were_left_out_as_asked_nothing_is_compared() {
    let with = |filters: &[&str], filter: &str| {
        let mut capture = crate::tests::sample("rpc/rpc.nmb");
        let plan = &mut capture.manifest.as_mut().unwrap()["plan"];
        plan["filters"] = filters.to_vec().into();
        let events = plan["events"].as_array_mut().unwrap();
        let queue = events.iter_mut().find(|e| e["name"] == "net:net_dev_queue").unwrap();
        queue["filter"] = filter.into();
        let f = crate::analyze(&capture, &crate::ingest::Options::default());
        f.balances.iter().filter(|b| b.kind == BalanceKind::TxPayload).count()
    };
    assert!(with(&[], "") > 0);
    assert_eq!(with(&["dev eth0"], "name == \"eth0\""), 0);
    assert_eq!(with(&["cpu 0"], ""), with(&[], ""));
}
