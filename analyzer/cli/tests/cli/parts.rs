//! Parts of a recording: a time that was asked for, or what memory holds. The oracle is the slice that `convert --time` writes.

use std::path::Path;

use serde_json::Value;

use crate::{failed, rpc, run, sample, stdout, tempdir};

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Writes the slice.
fn slice(of: &str, time: &str, to: &Path) -> String {
    let to = to.to_str().unwrap().to_owned();
    assert!(run(&["convert", of, "--time", time, "-o", &to]).status.success());
    to
}

#[test]
fn a_time_is_analyzed_as_its_slice_is() {
    let dir = tempdir("parts-time");
    let time = "100ms..600ms";
    let cut = slice(&rpc(), time, &dir.join("cut.nmb"));
    for view in ["rx", "tx", "responses", "drops", "connections", "gaps"] {
        let part = stdout(&["show", view, &rpc(), "--time", time, "--format", "csv"]);
        assert_eq!(part, stdout(&["show", view, &cut, "--format", "csv"]), "{view}");
    }
    assert!(
        stdout(&["show", "rx", &rpc(), "--time", time, "--format", "csv"])
            .lines()
            .count()
            > 100
    );
    let sql = "SELECT COUNT(*) AS n, SUM(total_ns) AS ns FROM rx";
    let asked = ["query", &rpc(), sql, "--time", time, "--format", "json"];
    assert_eq!(stdout(&asked), stdout(&["query", &cut, sql, "--format", "json"]));
    // What it is made of is where the slice has it, and that is said.
    let told = stdout(&["explain", &rpc(), "--time", time, "rx:8"]);
    let same = stdout(&["explain", &cut, "rx:8"]);
    let events = |s: &str| {
        s.lines()
            .filter(|l| l.contains("trace/cpu"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(events(&told), events(&same));
    assert!(!events(&told).is_empty(), "{told}");
    assert!(told.contains("--time 0.100s..0.600s -o slice.nmb writes it"), "{told}");
    // The page names the part in every command.
    let page = dir.join("page.html");
    let made = run(&["report", &rpc(), "--time", time, "-o", page.to_str().unwrap()]);
    assert!(made.status.success());
    let html = std::fs::read_to_string(&page).unwrap();
    let named = html.matches("netmortem show ").count();
    assert!(
        named > 5 && html.contains("rpc.nmb --time 0.100s..0.600s --format csv"),
        "{named}"
    );
    let (code, told) = failed(&["show", "rx", &rpc(), "--time", "900s.."]);
    assert!(
        code == 1 && told.contains("no event of the recording lies in that time"),
        "{told}"
    );
    let (code, told) = failed(&["show", "rx", &rpc(), "--time", "2s..1s"]);
    assert!(code == 2 && told.contains("later than the second"), "{told}");
    std::fs::remove_dir_all(dir).unwrap();
}

/// Nobody asked for a part: it is said on standard error, on the page and in its JSON, with the option that gives the same again.
#[test]
fn what_memory_does_not_hold_is_said() {
    let dir = tempdir("parts-memory");
    let sawtooth = sample("sawtooth/sawtooth.nmb");
    let (page, facts) = (dir.join("page.html"), dir.join("facts.json"));
    let (page, facts) = (page.to_str().unwrap(), facts.to_str().unwrap());
    let made = run(&["report", &sawtooth, "--memory", "70M", "-o", page, "--json", facts]);
    assert!(made.status.success());
    let told = text(&made.stdout);
    assert!(told.contains("of memory, and 70 MiB may be used:"), "{told}");
    assert!(told.contains("A slice of a recording, not all of it"), "{told}");
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains("of memory, and 70 MiB may be used:"));
    let facts: Value = serde_json::from_slice(&std::fs::read(facts).unwrap()).unwrap();
    let because = facts["quality"]["told"]["slice"][0].as_str().unwrap();
    assert!(because.contains("of memory, and 70 MiB may be used:"), "{because}");
    let from = because.split("from ").nth(1).unwrap().split(" s on").next().unwrap();
    let time = format!("{from}s..");
    assert!(html.contains(&format!("sawtooth.nmb --time {time} ")), "{time}");
    let cut = slice(&sawtooth, &time, &dir.join("cut.nmb"));
    let rows = stdout(&["show", "tx", &cut, "--format", "csv"]);
    assert_eq!(
        rows,
        stdout(&["show", "tx", &sawtooth, "--time", &time, "--format", "csv"])
    );
    // Of two recordings each has its part.
    let diff = dir.join("diff.html");
    let compared = |before: &str, after: &str, memory: &str| {
        let out = run(&["diff", before, after, "--memory", memory, "-o", diff.to_str().unwrap()]);
        (out.status.code(), text(&[out.stderr, out.stdout].concat()))
    };
    let (code, told) = compared(&sawtooth, &sawtooth, "140M");
    assert_eq!(told.matches("of memory, and 94 MiB may be used:").count(), 2, "{told}");
    assert!(code == Some(0) && told.contains("o difference found"), "{told}");
    // What any analysis takes is counted once: a small one beside it is not refused.
    let (code, told) = compared(&rpc(), &sawtooth, "110M");
    assert_eq!(told.matches(" may be used:").count(), 2, "{told}");
    assert!([Some(0), Some(3)].contains(&code), "{told}");
    std::fs::remove_dir_all(dir).unwrap();
}
