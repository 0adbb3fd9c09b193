//! What `show` and `query` say and leave out: values that are not there, ids of rows, forms by the name of the output, words left out.

use std::path::Path;

use crate::{failed, json, rpc, run, sample, stdout, tempdir};

/// What a column never has is a mistake; what it could have, and has not, an empty table.
#[test]
fn a_value_that_a_column_never_has_is_an_error() {
    let show = |view: &str, filter: &str| failed(&["show", view, &rpc(), "--filter", filter]);
    let (code, told) = show("opens", "end!=closed");
    assert_eq!(code, 2, "{told}");
    assert!(
        told.contains("one of: established, refused, timed_out, unreachable, no_port, given_up, failed, waiting; "),
        "{told}"
    );
    let (code, told) = show("opens", "ends=refused");
    assert!(code == 2 && told.contains("names a column that is not there"), "{told}");
    for larger in ["end<x", "saddr>=10.0.0.1", "message>no"] {
        let (code, told) = show("opens", larger);
        assert!(code == 2 && told.contains("asks which is larger"), "{told}");
    }
    let rows = |view: &str, filter: &str| stdout(&["show", view, &rpc(), "--filter", filter]).lines().count();
    assert_eq!(
        (rows("opens", "end!=refused"), rows("opens", "end==established")),
        (2, 2)
    );
    assert_eq!((rows("opens", "end~estab"), rows("snapshots", "what=loadavg")), (2, 3));
}

#[test]
fn a_value_that_this_recording_has_not_is_an_empty_table_and_said() {
    let show = |view: &str, filter: &str, format: &str| {
        let out = run(&["show", view, &rpc(), "--filter", filter, "--format", format]);
        let (shown, told) = (
            String::from_utf8(out.stdout).unwrap(),
            String::from_utf8(out.stderr).unwrap(),
        );
        assert!(out.status.success(), "{told}");
        (shown, told)
    };
    let (shown, told) = show("snapshots", "what=routes", "table");
    assert_eq!(shown, "what  netns  at  line\n0 rows\n");
    let begin = "no row of snapshots has what=routes in this recording; it has: tasks, ";
    assert!(told.starts_with(begin), "{told}");
    assert!(
        told.trim_end().split(", ").count() == 12 && told.ends_with(" more\n"),
        "{told}"
    );
    let (shown, told) = show("snapshots", "what=meminfos", "csv");
    assert_eq!(shown, "what,netns,at,line\n");
    assert!(
        told.contains("in this recording; did you mean meminfo?; it has: "),
        "{told}"
    );
    let (shown, told) = show("opens", "end=refused", "json");
    assert_eq!(shown.trim(), "[]");
    assert!(
        told.ends_with("end=refused in this recording; it has: established\n"),
        "{told}"
    );
    let (_, told) = show("rx", "cpu=9", "csv");
    assert_eq!(told, "no row of rx has cpu=9 in this recording; it has: 0, 1\n");
    let (_, told) = show("drops", "reason=x", "csv");
    assert!(
        told.starts_with("no row of drops has reason=x") || told == "drops has no row in this recording\n",
        "{told}"
    );
}

/// Ids are what `explain` takes, whatever is filtered; SQL and Parquet have the table's own columns alone.
#[test]
fn rows_begin_with_their_id() {
    let sawtooth = sample("sawtooth/sawtooth.nmb");
    let of = |args: &[&str]| json(&[&["show", "retransmits", &sawtooth, "--format", "json"][..], args].concat());
    let all = of(&[]);
    let all = all.as_array().unwrap();
    for (at, row) in all.iter().enumerate() {
        assert_eq!(row["id"], format!("retransmit:{at}"));
    }
    let last = all.last().unwrap();
    let time = format!("time_ns={}", last["time_ns"]);
    assert_eq!(of(&["--filter", &time])[0], *last);
    assert_eq!(
        of(&["--filter", &format!("id={}", last["id"].as_str().unwrap())])[0],
        *last
    );
    let told = stdout(&["explain", &sawtooth, last["id"].as_str().unwrap()]);
    assert!(told.contains(&last["time_ns"].to_string()), "{told}");
    // Of some views the number is a column's.
    let rx = json(&["show", "rx", &rpc(), "--format", "json", "--limit", "3"]);
    for row in rx.as_array().unwrap() {
        assert_eq!(row["id"], format!("rx:{}", row["skb_id"]));
    }
    // For reading there are the seconds of the report, too.
    let table = stdout(&["show", "retransmits", &sawtooth, "--limit", "1"]);
    assert!(
        table.starts_with("id ") && table.lines().next().unwrap().contains(" at_s "),
        "{table}"
    );
    let csv = stdout(&[
        "show",
        "rx",
        &rpc(),
        "--format",
        "csv",
        "--columns",
        "id,at_s,dev",
        "--limit",
        "1",
    ]);
    assert!(csv.starts_with("id,at_s,dev\nrx:7,0.09"), "{csv}");
    assert!(stdout(&["show", "gaps", &rpc(), "--format", "csv"]).starts_with("cpu,"));
}

/// What `show` prints before a table's own columns is listed where it stands, as of `show` alone.
#[test]
fn the_list_has_the_columns_of_show_in_their_order() {
    let list = json(&["tables", "--format", "json"]);
    let heads = |csv: &str| -> Vec<String> { csv.trim_end().split(',').map(str::to_owned).collect() };
    for (view, before) in [
        ("drops", &["id", "at_s"][..]),
        ("rx", &["id", "at_s"]),
        ("gaps", &["at_s"]),
        ("snapshots", &[]),
        ("bundles", &[]),
    ] {
        let rows: Vec<_> = list.as_array().unwrap().iter().filter(|r| r["view"] == view).collect();
        let names = |chosen: &dyn Fn(&str, &str) -> bool| -> Vec<String> {
            let text = |v: &serde_json::Value| v.as_str().unwrap().to_owned();
            let both = rows.iter().map(|r| (text(&r["column"]), text(&r["only_in"])));
            both.filter(|(name, only)| chosen(name, only))
                .map(|(name, _)| name)
                .collect()
        };
        assert_eq!(names(&|_, only| only == "show"), before, "{view}");
        assert_eq!(names(&|_, _| true)[..before.len()], *before, "{view}");
        if view == "bundles" {
            continue;
        }
        let shown = |format: &str| stdout(&["show", view, &rpc(), "--format", format, "--limit", "0"]);
        let table = shown("table");
        let first: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
        assert_eq!(names(&|_, _| true), first);
        assert_eq!(names(&|name, _| name != "at_s"), heads(&shown("csv")));
        let sql = format!("SELECT * FROM {view} LIMIT 0");
        let sql = stdout(&["query", &rpc(), &sql, "--format", "csv"]);
        assert_eq!(names(&|_, only| only.is_empty()), heads(&sql));
    }
    let csv = stdout(&["show", "--list", "drops", "--format", "csv"]);
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows[0], "view,column,unit,type,meaning,only_in");
    assert!(rows[1].starts_with("drops,id,") && rows[1].ends_with(",show"), "{csv}");
    assert!(
        rows[2].starts_with("drops,at_s,s,f64,") && rows[2].ends_with(",show"),
        "{csv}"
    );
    assert!(
        rows[3].starts_with("drops,time_ns,") && rows[3].ends_with(",\"\""),
        "{csv}"
    );
}

/// What was left out is asked for, and not what clap calls it.
#[test]
fn a_view_or_a_question_that_is_left_out_is_asked_for() {
    let (code, told) = failed(&["show", &rpc()]);
    assert!(
        code == 2 && told.contains("which view of ") && told.contains("netmortem show --list"),
        "{told}"
    );
    let (code, told) = failed(&["show", "drops"]);
    assert!(code == 2 && told.contains("drops of which recording?"), "{told}");
    let (code, told) = failed(&["show", "dorps"]);
    assert!(
        code == 2 && told.contains("dorps is neither a view nor a file"),
        "{told}"
    );
    let (code, told) = failed(&["query", &rpc()]);
    assert!(code == 2 && told.contains("what is asked of "), "{told}");
    let (code, told) = failed(&["query", "SELECT 1"]);
    assert!(code == 2 && told.contains("SELECT 1 is no file"), "{told}");
    let (code, told) = failed(&["query", &rpc(), "selct 1"]);
    assert!(
        code == 2 && told.contains("begins with `selct`: a question begins with SELECT"),
        "{told}"
    );
}

/// The form is that of the name, and a name of another form is no slip to pass over.
#[test]
fn the_name_of_an_output_says_its_form() {
    let dir = tempdir("suffix");
    let at = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let (parquet, md, table) = (at("d.parquet"), at("r.md"), at("d.txt"));
    stdout(&["show", "connections", &rpc(), "-o", &parquet]);
    assert!(std::fs::read(&parquet).unwrap().starts_with(b"PAR1"));
    stdout(&["query", &rpc(), "SELECT * FROM connections", "-o", &parquet]);
    assert!(std::fs::read(&parquet).unwrap().starts_with(b"PAR1"));
    stdout(&["show", "connections", &rpc(), "-o", &table]);
    assert!(std::fs::read_to_string(&table).unwrap().starts_with("id "));
    assert!(run(&["report", &rpc(), "-o", &md]).status.success());
    assert!(std::fs::read_to_string(&md).unwrap().starts_with("## Postmortem"));
    let new = ["x.csv", "x.html", "x.json", "x.nmb"].map(at);
    for (args, says) in [
        (
            vec!["show", "drops", &rpc(), "--format", "json", "-o", &new[0]],
            "--format json",
        ),
        (vec!["report", &rpc(), "--format", "md", "-o", &new[1]], "--format md"),
        (vec!["report", &rpc(), "-o", &new[2]], "--json FILE"),
        (vec!["diff", &rpc(), &rpc(), "-o", &new[2]], "--json FILE"),
        (
            vec!["convert", &rpc(), "--to", "perfetto", "-o", &new[3]],
            "--to perfetto",
        ),
    ] {
        let (code, told) = failed(&args);
        assert!(
            code == 2 && told.contains(says) && told.contains(args.last().unwrap()),
            "{args:?}: {told}"
        );
    }
    assert!(new.iter().all(|p| !Path::new(p).exists()));
    std::fs::remove_dir_all(dir).unwrap();
}
