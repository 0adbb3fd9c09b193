//! The machine-readable contract: views, columns and keys that other programs rely on.

use netmortem_analyzer::{Facts, ingest};
use netmortem_tests::{open, sample};

const VIEWS: &[(&str, &str)] = &[
    (
        "skbs",
        "skb_id skbaddr class birth_ns birth_kind death_ns death_kind life_ns dev bytes confidence",
    ),
    (
        "rx",
        "skb_id dev connection task bytes start_ns total_ns unattributed_ns confidence",
    ),
    (
        "tcp_samples",
        "time_ns connection snd_cwnd ssthresh srtt_us snd_una snd_nxt snd_wnd",
    ),
    (
        "connections",
        "connection saddr sport daddr dport netns task first_ns last_ns bytes_in bytes_out retransmits",
    ),
    (
        "turnarounds",
        "connection task pid ready_ns read_ns send_ns turnaround_ns asleep_in asleep_in_ns overlap confidence",
    ),
    (
        "responses",
        "connection send_ns ready_ns response_ns there_ns peer_ns back_ns peer_connection overlap confidence",
    ),
    ("retransmits", "time_ns connection class confidence"),
    ("drops", "time_ns reason location dev expected confidence"),
    ("polls", "cpu start_ns end_ns"),
    ("softirqs", "cpu start_ns end_ns"),
];

#[test]
fn views_have_their_columns() {
    let f = Facts::empty();
    let tables = f.tables();
    for (view, columns) in VIEWS {
        let t = tables
            .iter()
            .find(|t| t.name() == *view)
            .unwrap_or_else(|| panic!("no view {view}"));
        let names: Vec<&str> = t.columns().iter().map(|c| c.name).collect();
        for c in columns.split(' ') {
            assert!(names.contains(&c), "{view} lacks {c}");
        }
    }
    let rx = tables.iter().find(|t| t.name() == "rx").unwrap();
    let stages = rx
        .columns()
        .iter()
        .filter(|c| c.name.starts_with("stage_") && c.name.ends_with("_ns"))
        .count();
    assert_eq!(stages, netmortem_analyzer::reconstruct::receive::tables::STAGES);
}

#[test]
fn every_column_is_documented_and_carries_its_unit() {
    for t in Facts::empty().tables() {
        assert!(!t.meaning().is_empty(), "{}", t.name());
        for c in t.columns() {
            assert!(c.meaning.len() > 2, "{}.{} has no meaning", t.name(), c.name);
            for (suffix, unit) in [("_ns", "ns"), ("_us", "us")] {
                assert_eq!(c.name.ends_with(suffix), c.unit == unit, "{}.{}", t.name(), c.name);
            }
        }
    }
}

#[test]
fn check_has_its_keys() {
    let info = ingest::check(&open(&sample("rpc/rpc.nmb")).unwrap(), &ingest::Options::default());
    let json = serde_json::to_value(&info).unwrap();
    assert!(json["events"]["net:net_dev_queue"].is_u64());
    assert!(json["lost_events"].is_u64() && json["streams"].is_array() && json["gaps"].is_array());
    assert_eq!(json["clock"], "mono");
    assert!(json["duration_ns"].as_i64().unwrap() > 0);
}
