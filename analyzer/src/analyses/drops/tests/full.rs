//! What was full, by the kernel's own counters.

use super::meanwhile::facts;
use crate::analyses::drops::answer;
use crate::counters::tables::CounterRow;
use crate::facts::ConnectionId;
use crate::reconstruct::receive::tables::{RxEnd, RxRow};

/// Five packets that a queue refused, and what fq counted at its limit for one flow.
#[test]
fn a_queue_with_room_for_other_flows_is_told() {
    let of = |dev: &str, rose: u64, at: &str| {
        let mut f = facts("QDISC_DROP", dev, ["", "", "", ""]);
        f.counters = vec![CounterRow {
            source: "qdisc",
            netns: Some(7),
            of: at.into(),
            name: "flows_plimit".into(),
            start: Some(500),
            end: Some(500 + rose),
        }];
        answer(&f).findings().unwrap().groups[0].full.clone()
    };
    let full = of("uplink0", 6, "uplink0 fq 0x00100000").unwrap();
    assert!(
        full.counted && full.says.ends_with(": it counted 6 more flows_plimit"),
        "{full:?}"
    );
    // Of another device; far fewer, or far more, than were dropped here.
    assert_eq!(of("uplink", 6, "uplink0 fq 0x00100000"), None);
    assert_eq!(of("uplink0", 2, "uplink0 fq 0x00100000"), None);
    assert_eq!(of("uplink0", 60, "uplink0 fq 0x00100000"), None);
}

/// Segments for which there was no memory, while one process of two had most unread: where the kernel counted that TCP's memory was short, that is why.
#[test]
fn who_held_the_memory_that_all_sockets_share_is_named() {
    let of_at = |pressed: u64, mine: u32, place: &str, own: u64| {
        let mut f = facts("PROTO_MEM", "eth0", ["", "", "", ""]);
        for d in &mut f.drops {
            d.location = 0x10;
        }
        f.names.locations.insert(0x10, place.into());
        f.capture.duration_ns = 10_000_000_000;
        let at = f.drops[f.drops.len() / 2].time_ns;
        let settings = [("net.ipv4.tcp_mem", "3072\t4096\t6144")];
        f.settings = crate::settings::Settings(settings.map(|(k, v)| (k.into(), v.into())).into());
        let counter = |name: &str, netns, rose| CounterRow {
            source: "netstat",
            netns: Some(netns),
            of: String::new(),
            name: name.into(),
            start: Some(1),
            end: Some(1 + rose),
        };
        f.counters = vec![
            counter("TcpExtTCPMemoryPressures", 7, pressed),
            counter("TcpExtRcvPruned", 7, own),
            counter("TcpExtTCPMemoryPressuresChrono", 7, 4000),
            counter("TcpExtTCPMemoryPressuresChrono", 8, 500),
        ];
        for c in 0..3 {
            let mut row = crate::testing::tcp::connection(c);
            (row.sport, row.pid) = (24224, 195);
            row.task = crate::name::Name::new(b"log-shipper");
            if c == 2 {
                (row.sport, row.pid) = (80, 7);
                row.task = crate::name::Name::new(b"nginx");
            }
            f.connections.push(row);
        }
        let unit = |c, bytes, start_ns, total_ns, end| RxRow {
            connection: Some(ConnectionId(c)),
            bytes: Some(bytes),
            start_ns,
            total_ns,
            end,
            ..RxRow::default()
        };
        f.rx = vec![
            unit(0, mine, at - 100, 200, RxEnd::Read),
            unit(1, mine, at - 50, 10, RxEnd::Queued),
            unit(2, 3000, at - 100, 200, RxEnd::Read),
            // Read before, and come later.
            unit(2, 900_000, at - 100, 90, RxEnd::Read),
            unit(2, 900_000, at + 1, 90, RxEnd::Read),
        ];
        answer(&f).findings().unwrap().groups[0].full.clone()
    };
    let of = |pressed, mine| of_at(pressed, mine, "tcp_data_queue", 1);
    let holder = |s: &str| {
        format!(
            "in the middle of these drops log-shipper/195 at {s}:24224 had 1.0 MB unread on 2 sockets, of 1.0 MB on all"
        )
    };
    let full = of(2, 500_000).unwrap();
    assert!(full.counted);
    let local = full
        .says
        .split(" at ")
        .nth(1)
        .unwrap()
        .split(":24224")
        .next()
        .unwrap()
        .to_owned();
    assert_eq!(
        full.says,
        format!(
            "the memory that all TCP sockets of this host share was short (inferred: the kernel counted pressure for 4.500 s, net.ipv4.tcp_mem allows 6144 pages, 25.2 MB where a page is 4 KiB): {}",
            holder(&local)
        )
    );
    let full = of(0, 500_000).unwrap();
    assert_eq!(
        (full.counted, full.says),
        (
            false,
            format!("shared by all sockets of the host or the cgroup: {}", holder(&local))
        )
    );
    // A socket's own buffer, counted for most of the five; a datagram.
    let own = of_at(2, 500_000, "tcp_data_queue", 3).unwrap();
    assert!(
        own.counted && own.says.starts_with("the socket's own receive buffer was full"),
        "{own:?}"
    );
    assert_eq!(of_at(2, 500_000, "__udp_enqueue_schedule_skb", 0), None);
    // Of 2.0 and 3.0 kB the larger part is another's; of nothing but what was read nobody has any.
    let other = of(2, 1000).unwrap().says;
    assert!(
        other.contains("nginx/7") && other.ends_with("had 3.0 kB unread on 1 socket, of 5.0 kB on all"),
        "{other}"
    );
}

/// A slice has no counters of its own, but the readings of every second: `conntrack -S` counted 15 insert_failed between the two that lie inside, and 15 drops are there.
#[test]
fn of_a_slice_the_readings_inside_of_it_tell() {
    let f = crate::tests::facts("gateway/gateway.nmb.zst");
    let found = crate::analyses::drops::answer(&f);
    let groups = &found.findings().unwrap().groups;
    let hook = groups.iter().find(|g| g.location == "nf_hook_slow").unwrap();
    let full = hook.full.as_ref().unwrap();
    let says = "nf_conntrack counted 15 more insert_failed in 1.003 s of it, as many as of these then";
    assert!(full.counted && full.says.contains(says), "{full:?}");
}
