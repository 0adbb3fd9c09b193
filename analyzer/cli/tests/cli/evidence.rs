//! From a number to its bytes, and the recording in other forms.

use serde_json::Value;

use crate::{failed, json, rpc, run, stdout, tempdir};

/// Every event that an exemplar is explained by is the record that `inspect` prints at that place.
#[test]
fn explained_events_are_inspected_records() {
    let told = json(&["explain", "--json", &rpc(), "rx:45", "skb:45"]);
    let inspected: Vec<Value> = stdout(&["inspect", "--json", &rpc()])
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let mut compared = 0;
    for e in told
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|x| x["events"].as_array().unwrap())
    {
        let there = inspected.iter().find(|r| {
            r["cpu"] == e["cpu"] && r["chunk_at"] == e["place"]["chunk_at"] && r["offset"] == e["place"]["offset"]
        });
        let there = there.unwrap_or_else(|| panic!("{e}"));
        assert_eq!((&there["time_ns"], &there["event"]), (&e["time_ns"], &e["event"]));
        assert_eq!(there["member"], e["place"]["member"]);
        compared += 1;
    }
    assert!(compared >= 20, "{compared}");
    let text = stdout(&["explain", &rpc(), "rx:45"]);
    assert!(
        text.starts_with("rx:45: ") && text.contains("\nwaits of rx:45: ") && text.contains("net:netif_receive_skb")
    );
}

#[test]
fn wrong_ids_and_forms_are_told() {
    assert!(
        failed(&["explain", &rpc(), "packet:1"])
            .1
            .contains("for example skb:123")
    );
    assert!(failed(&["explain", &rpc(), "conn:99"]).1.contains("conn:0 to conn:1"));
    assert!(
        failed(&["convert", &rpc(), "-o", "x.txt"])
            .1
            .contains("does not say what to write")
    );
    let dir = tempdir("convert-wrong");
    let out = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    assert!(
        failed(&["convert", &rpc(), "-o", &out("p.pcapng")])
            .1
            .contains("--pcap")
    );
    let cut = failed(&["convert", &rpc(), "--time", "900s..", "-o", &out("c.nmb")]);
    assert!(cut.1.contains("no event"), "{}", cut.1);
    let both = failed(&["convert", &rpc(), "--redact", "-o", &out("t.pftrace")]);
    assert!(both.1.contains("another bundle"), "{}", both.1);
    std::fs::remove_dir_all(dir).unwrap();
}

/// A slice is a bundle like any other, of the time that was asked for.
#[test]
fn a_slice_can_be_checked_and_reported() {
    let dir = tempdir("convert-slice");
    let slice = dir.join("slice.nmb").to_str().unwrap().to_owned();
    assert!(
        run(&["convert", &rpc(), "--time", "100ms..600ms", "--redact", "-o", &slice])
            .status
            .success()
    );
    let check = json(&["check", "--json", &slice]);
    let ns = check["duration_ns"].as_i64().unwrap();
    assert!((400_000_000..=500_000_000).contains(&ns), "{ns}");
    assert_eq!(check["complete"], true);
    assert_eq!(check["hostname"], "host");
    let connections = json(&["show", "connections", &slice, "--format", "json"]);
    assert!(
        connections
            .as_array()
            .unwrap()
            .iter()
            .all(|c| c["saddr"].as_str().unwrap().starts_with("240."))
    );
    std::fs::remove_dir_all(dir).unwrap();
}
