//! What other programs rely on: keys, columns, counts, sums, and that all formats hold the same rows.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{failed, json, rpc, run, sample, stdout, tempdir};

/// The oracle's counts of a sample by event name; trace-cmd prints no system.
fn counts(values: impl Iterator<Item = (String, u64)>) -> BTreeMap<String, u64> {
    let mut out = BTreeMap::new();
    for (name, n) in values {
        let name = name.rsplit(':').next().unwrap_or_default().to_owned();
        *out.entry(name).or_insert(0) += n;
    }
    out
}

fn events(check: &Value) -> BTreeMap<String, u64> {
    counts(
        check["events"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(k, v)| (k.clone(), v.as_u64().unwrap())),
    )
}

#[test]
fn check_prints_the_keys_that_programs_rely_on() {
    let check = json(&["check", "--json", &rpc()]);
    assert!(check["events"]["net:net_dev_queue"].is_u64());
    assert_eq!(check["lost_events"], 0);
    assert_eq!(check["gaps"], Value::Array(vec![]));
    assert_eq!(check["clock"], "mono");
    assert!(check["duration_ns"].as_i64() > Some(900_000_000) && check["duration_ns"].as_i64() < Some(1_500_000_000));
    let of_streams: u64 = check["streams"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["events"].as_u64().unwrap())
        .sum();
    assert_eq!(of_streams, events(&check).values().sum::<u64>());
}

#[test]
fn counts_are_those_of_trace_cmd() {
    for (dir, file) in [("rpc", "rpc.nmb"), ("sawtooth", "sawtooth.nmb")] {
        let oracle = std::fs::read_to_string(sample(&format!("{dir}/counts.txt"))).unwrap();
        let lines = oracle
            .lines()
            .filter_map(|l| l.rsplit_once(' '))
            .filter(|(name, _)| *name != "total");
        let oracle = counts(lines.map(|(name, n)| (name.to_owned(), n.parse().unwrap())));
        assert_eq!(
            events(&json(&["check", "--json", &sample(&format!("{dir}/{file}"))])),
            oracle,
            "{dir}"
        );
    }
}

#[test]
fn inspect_prints_every_record_that_check_counts() {
    let lines = stdout(&["inspect", "--json", &rpc()]);
    let names = lines.lines().map(|l| {
        serde_json::from_str::<Value>(l).unwrap()["event"]
            .as_str()
            .unwrap()
            .to_owned()
    });
    assert_eq!(
        counts(names.map(|n| (n, 1))),
        events(&json(&["check", "--json", &rpc()]))
    );
}

#[test]
fn inspect_filters_and_stops() {
    let check = json(&["check", "--json", &rpc()]);
    let queued = check["events"]["net:net_dev_queue"].as_u64().unwrap();
    let lines = |args: &[&str]| stdout(&[&["inspect", &rpc()], args].concat()).lines().count() as u64;
    assert_eq!(lines(&["--event", "net:net_dev_queue"]), queued);
    assert_eq!(lines(&["--event", "net_dev_queue"]), queued);
    assert_eq!(lines(&["--limit", "7"]), 7);
    let by_cpu = |n: &str| lines(&["--event", "net_dev_queue", "--cpu", n]);
    assert_eq!(by_cpu("0") + by_cpu("1"), queued);
    assert!(
        failed(&["inspect", &rpc(), "--event", "no_such"])
            .1
            .contains("no event no_such")
    );
}

#[test]
fn views_have_the_columns_that_programs_rely_on() {
    let contract = [
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
        ("retransmits", "time_ns connection class confidence"),
        (
            "drops",
            "time_ns reason location dev expected confidence repaired_by repaired_after_ns",
        ),
        ("changes", "time_ns netns host what of says by program"),
        ("counters_over_time", "from_ns to_ns source netns of name rise whole"),
        (
            "sockets_over_time",
            "at_ns netns proto state src dst cookie gone rqueue wqueue rtt_us snd_cwnd",
        ),
        ("polls", "cpu start_ns end_ns"),
        ("softirqs", "cpu start_ns end_ns"),
    ];
    let list = json(&["show", "--list", "--format", "json"]);
    assert_eq!(json(&["tables", "--format", "json"]), list);
    assert_eq!(stdout(&["tables", "drops"]), stdout(&["show", "--list", "drops"]));
    for (view, columns) in contract {
        let csv = stdout(&["show", view, &rpc(), "--format", "csv", "--limit", "0"]);
        let heads: Vec<&str> = csv.trim_end().split(',').collect();
        for c in columns.split(' ') {
            assert!(heads.contains(&c), "{view} has no column {c}");
            let listed = list
                .as_array()
                .unwrap()
                .iter()
                .any(|r| r["view"] == view && r["column"] == c && r["meaning"] != "");
            assert!(listed, "--list does not explain {view}.{c}");
        }
    }
}

#[test]
fn the_parts_of_every_received_unit_sum_to_its_total() {
    let rows = json(&["show", "rx", &rpc(), "--format", "json"]);
    let rows = rows.as_array().unwrap();
    assert!(
        rows.len() >= 400,
        "400 requests were answered, {} units delivered",
        rows.len()
    );
    for row in rows {
        let row = row.as_object().unwrap();
        let stages = row
            .iter()
            .filter(|(k, _)| k.starts_with("stage_") && k.ends_with("_ns"));
        let parts: i64 = stages.filter_map(|(_, v)| v.as_i64()).sum();
        let total = row["total_ns"].as_i64().unwrap();
        assert_eq!(parts + row["unattributed_ns"].as_i64().unwrap(), total, "{row:?}");
    }
}

#[test]
fn the_formats_of_show_and_query_hold_the_same_rows() {
    let mut rows = json(&["show", "connections", &rpc(), "--format", "json"]);
    without_ids(&mut rows);
    let n = rows.as_array().unwrap().len();
    let csv = stdout(&["show", "connections", &rpc(), "--format", "csv"]);
    let table = stdout(&["show", "connections", &rpc()]);
    assert_eq!((csv.lines().count(), table.lines().count()), (n + 1, n + 1));
    assert_eq!(
        json(&["query", &rpc(), "SELECT * FROM connections", "--format", "json"]),
        rows
    );
    let counted = stdout(&[
        "query",
        &rpc(),
        "SELECT COUNT(*) AS n FROM connections",
        "--format",
        "csv",
    ]);
    assert_eq!(counted, format!("n\n{n}\n"));
    let parquet = run(&["show", "connections", &rpc(), "--format", "parquet"]).stdout;
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
}

/// Rows as SQL has them: only `show` has ids.
fn without_ids(rows: &mut Value) {
    for row in rows.as_array_mut().unwrap() {
        assert!(row.as_object_mut().unwrap().remove("id").is_some(), "{row}");
    }
}

#[test]
fn filters_choose_rows_as_sql_does() {
    let mut shown = json(&[
        "show",
        "skbs",
        &rpc(),
        "--filter",
        "life_ns>20000",
        "--filter",
        "class=tx_original",
        "--format",
        "json",
    ]);
    let sql = "SELECT * FROM skbs WHERE life_ns > 20000 AND class = 'tx_original'";
    let queried = json(&["query", &rpc(), sql, "--format", "json"]);
    without_ids(&mut shown);
    assert!(!shown.as_array().unwrap().is_empty());
    assert_eq!(shown, queried);
    let two = stdout(&[
        "show",
        "skbs",
        &rpc(),
        "--columns",
        "dev,skb_id",
        "--limit",
        "1",
        "--format",
        "csv",
    ]);
    assert!(two.starts_with("dev,skb_id\n"), "{two}");
    let unknown = json(&["show", "skbs", &rpc(), "--filter", "life_ns=", "--format", "json"]);
    assert!(unknown.as_array().unwrap().iter().all(|r| r["life_ns"].is_null()));
}

/// The trace.dat has no `tcp_retransmit_skb` and no `irq_handler_entry`, and does not say whether they were enabled.
#[test]
fn what_may_not_have_been_recorded_is_unknown_and_not_0() {
    let dat = sample("tracedat-loopback/trace.dat");
    for (view, column) in [("connections", "retransmits"), ("softirqs", "irq_ns")] {
        let rows = json(&["show", view, &dat, "--format", "json"]);
        let rows = rows.as_array().unwrap();
        assert!(
            !rows.is_empty() && rows.iter().all(|r| r[column].is_null()),
            "{view}.{column}"
        );
    }
}

/// 400 requests over one connection of which both ends are recorded, in every form.
#[test]
fn clients_are_asked_like_any_view() {
    let file = rpc();
    let rows = json(&["show", "clients", &file, "--format", "json"]);
    assert_eq!(rows.as_array().unwrap().len(), 1, "{rows}");
    let r = &rows[0];
    assert_eq!(
        (r["client"].as_str(), r["server"].as_str()),
        (Some("10.78.1.1"), Some("10.78.1.2:7000"))
    );
    let of = |name: &str| r[name].as_u64();
    assert_eq!(
        (of("requests"), of("answered"), of("unanswered")),
        (Some(400), Some(400), Some(0))
    );
    assert_eq!(
        (of("bytes_asked"), of("bytes_answered")),
        (Some(281_600), Some(885_400))
    );
    let sql = "SELECT SUM(requests) AS n, MAX(max_ns) AS ns FROM clients_by_second WHERE server = '10.78.1.2:7000'";
    let sums = json(&["query", &file, sql, "--format", "json"]);
    assert_eq!(
        (sums[0]["n"].as_u64(), sums[0]["ns"].as_u64()),
        (Some(400), of("max_ns"))
    );
    let sql = "SELECT client, server, COUNT(*) AS n, MAX(response_ns) AS ns FROM responses WHERE client = '10.78.1.1:41276' GROUP BY client, server";
    let direct = json(&["query", &file, sql, "--format", "json"]);
    let both = direct.as_array().unwrap();
    let asked = both.iter().map(|r| r["n"].as_u64().unwrap()).sum::<u64>();
    // The client's 400, and 399 of the server, which reads after each answer.
    assert_eq!((both.len(), asked), (1, 799), "{direct}");
    let dir = tempdir("clients-parquet");
    let to = dir.to_str().unwrap();
    assert!(run(&["convert", &file, "--to", "parquet", "-o", to]).status.success());
    assert!(dir.join("clients.parquet").is_file() && dir.join("clients_by_second.parquet").is_file());
    std::fs::remove_dir_all(dir).unwrap();
}

/// `end` needs no quotes where it can be told from that of CASE; where it cannot the message says what to write.
#[test]
fn a_column_end_is_asked_for() {
    let query = |sql: &str| json(&["query", &rpc(), sql, "--format", "json"]);
    assert_eq!(query("SELECT end FROM opens")[0]["end"], "established");
    let sql = |end: &str| format!("SELECT CASE WHEN 'x' IS DISTINCT FROM {end} THEN 1 ELSE 0 END AS n FROM opens");
    let (code, told) = failed(&["query", &rpc(), &sql("end")]);
    assert!(
        code == 2 && told.contains("`end` is a word of SQL: write the column as \"end\""),
        "{told}"
    );
    assert!(
        !failed(&["query", &rpc(), "SELECT start_ns FROM opens WHERE ("])
            .1
            .contains("is a word of SQL")
    );
}
