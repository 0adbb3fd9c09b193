//! Exit codes, errors, pipes, files, help, colours, and the same bytes whatever the threads.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::Value;

use crate::{failed, json, netmortem, rpc, run, sample, stdout, tempdir};

#[test]
fn threads_change_no_byte() {
    let dir = tempdir("threads");
    let sawtooth = sample("sawtooth/sawtooth.nmb");
    let report = |threads: &str| {
        let (html, json) = (dir.join(format!("{threads}.html")), dir.join(format!("{threads}.json")));
        let files = ["-o", html.to_str().unwrap(), "--json", json.to_str().unwrap()];
        let args = [&["report", "--threads", threads, &sawtooth], &files[..]].concat();
        assert!(run(&args).status.success());
        (std::fs::read(html).unwrap(), std::fs::read(json).unwrap())
    };
    let (one, four) = (report("1"), report("4"));
    assert!(one.0.len() > 10_000 && one.1.len() > 1_000);
    assert!(one == four, "one thread and four threads differ");
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn report_writes_one_page_pictures_and_the_verdict() {
    let dir = tempdir("report");
    let (page, pngs) = (dir.join("r.html"), dir.join("png"));
    let out = run(&[
        "report",
        &rpc(),
        "-o",
        page.to_str().unwrap(),
        "--png",
        pngs.to_str().unwrap(),
    ]);
    let (told, verdict) = (
        String::from_utf8(out.stderr).unwrap(),
        String::from_utf8(out.stdout).unwrap(),
    );
    assert!(out.status.success());
    // What was found is a result, what was written is talk.
    assert!(
        verdict.starts_with("Postmortem of rpc.nmb\n") && verdict.contains("good     Complete: "),
        "{verdict}"
    );
    assert!(told.starts_with(&format!("wrote    {}\n", page.display())), "{told}");
    assert_eq!(told.lines().count(), 2, "{told}");
    assert!(!verdict.contains('\x1b') && !told.contains('\x1b'), "colours in a pipe");
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.starts_with("<!DOCTYPE html>") && html.trim_end().ends_with("</html>"));
    let pictures: Vec<_> = std::fs::read_dir(&pngs).unwrap().map(|e| e.unwrap().path()).collect();
    assert!(pictures.len() >= 3, "{pictures:?}");
    assert!(
        pictures
            .iter()
            .all(|p| std::fs::read(p).unwrap().starts_with(b"\x89PNG"))
    );
    // The page on standard output is the same page, and alone there.
    let out = run(&["report", &rpc(), "-o", "-"]);
    assert_eq!(out.stdout, html.as_bytes());
    assert_eq!(String::from_utf8(out.stderr).unwrap(), verdict);
    let facts = run(&["report", &rpc(), "-o", page.to_str().unwrap(), "--json", "-"]);
    assert!(serde_json::from_slice::<Value>(&facts.stdout).is_ok());
    assert!(String::from_utf8(facts.stderr).unwrap().starts_with(&verdict));
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn standard_input_is_an_input() {
    let bytes = std::fs::read(rpc()).unwrap();
    let mut child = netmortem(&["check", "--json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let feed = std::thread::spawn(move || pipe.write_all(&bytes).unwrap());
    let out = child.wait_with_output().unwrap();
    feed.join().unwrap();
    let mut piped: Value = serde_json::from_slice(&out.stdout).unwrap();
    let mut read = json(&["check", "--json", &rpc()]);
    piped["source"].take();
    read["source"].take();
    assert_eq!(piped, read);
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let mut child = netmortem(&["inspect", &rpc()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut first)
        .unwrap();
    assert!(first.contains("CPU "), "{first}");
    // The pipe is closed now, as by `head -1`.
    let out = child.wait_with_output().unwrap();
    assert_eq!(
        (out.status.code(), String::from_utf8(out.stderr).unwrap()),
        (Some(0), String::new())
    );
}

#[test]
fn failures_say_what_where_and_what_next() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for (expected, args, what) in [
        (1, vec!["check", "/nonexistent.nmb"], "/nonexistent.nmb"),
        (1, vec!["check", manifest], "Cargo.toml is not a recording"),
        (1, vec!["report", "/", "-o", "/dev/null"], "cannot read /"),
        (
            1,
            vec!["report", &rpc(), "-o", "/nonexistent/x.html"],
            "mkdir -p /nonexistent",
        ),
        (2, vec!["diff", &rpc()], "one recording is no comparison"),
        (1, vec!["inspect", &rpc(), "--cpu", "9"], "no CPU 9"),
        (1, vec!["explain", &rpc(), "conn:99"], "conn:0 to conn:1"),
        // What no recording could answer.
        (2, vec!["show", "drop", &rpc()], "no table drop; did you mean drops?"),
        (2, vec!["show", "drops", &rpc(), "--filter", "speed>1"], "speed"),
        (
            2,
            vec!["query", &rpc(), "SELECT nothing FROM drops"],
            "columns of drops",
        ),
        (
            2,
            vec!["query", &rpc(), "SELECT * FROM drop"],
            "no view drop: did you mean drops?",
        ),
        (2, vec!["query", &rpc(), "SELECT 1"], "names no view"),
        (2, vec!["query", &rpc(), "DROP TABLE drops"], "only SELECT"),
        (2, vec!["explain", &rpc(), "foo:1"], "`foo` is no kind of id"),
        (
            2,
            vec!["convert", &rpc(), "-o", "foo.xyz"],
            "does not say what to write",
        ),
    ] {
        let (code, told) = failed(&args);
        assert_eq!(code, expected, "{args:?}: {told}");
        assert!(
            told.starts_with("netmortem: ") && told.contains(what),
            "{args:?}: {told}"
        );
        assert!(told.contains("\n  next: "), "{args:?} gives no advice: {told}");
    }
    let typed = |args: &[&str]| String::from_utf8(run(args).stderr).unwrap();
    assert!(typed(&["chekc"]).contains("'check'") && typed(&["report", "--out", "x"]).contains("'--output'"));
    for args in [
        &["chekc"][..],
        &[],
        &["show"],
        &["check"],
        &["check", "x", "--threads", "0"],
        &["record", "-d", "0s"],
        &["record", "-d", "0"],
    ] {
        assert_eq!(run(args).status.code(), Some(2), "{args:?}");
    }
}

/// Words in the wrong order are told so, with the command as it is right; what is only missing is not taken for that.
#[test]
fn words_in_the_wrong_order_are_told() {
    let (sql, file) = ("SELECT COUNT(*) AS n FROM drops", rpc());
    for (args, next) in [
        (
            ["query", sql, &file],
            format!("the file comes first: netmortem query {file} '{sql}'"),
        ),
        (
            ["explain", "rx:45", &file],
            format!("the file comes first: netmortem explain {file} ID"),
        ),
        (
            ["show", &file, "drops"],
            format!("the table comes first: netmortem show VIEW {file}"),
        ),
    ] {
        let (code, told) = failed(&args);
        let [_, first, second] = args;
        let (word, other) = if first == file {
            (second, first)
        } else {
            (first, second)
        };
        let what = format!("netmortem: {word} is no file, and {other} is one: the words are in the wrong order\n");
        assert_eq!(code, 2, "{told}");
        assert!(
            told.starts_with(&what) && told.contains(&format!("  next: {next}")),
            "{told}"
        );
    }
    // As it says.
    assert!(stdout(&["query", &file, sql]).contains('n'));
    for args in [
        ["query", "/no/such.nmb", sql],
        ["explain", "/no/such.nmb", "rx:45"],
        ["show", "drops", "/no/such.nmb"],
    ] {
        let (code, told) = failed(&args);
        assert!(code == 1 && told.contains("check the path"), "{told}");
    }
}

/// A recording is often the only copy of an incident: no command overwrites it, under any of its names. What cannot be read
/// empties no older report.
#[test]
fn no_output_destroys_the_recording_or_another_output() {
    let dir = tempdir("targets");
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let bytes = std::fs::read(rpc()).unwrap();
    let (input, soft, hard, new) = (path("a.nmb"), path("soft"), path("hard"), path("new"));
    std::fs::write(&input, &bytes).unwrap();
    std::os::unix::fs::symlink(&input, &soft).unwrap();
    std::fs::hard_link(&input, &hard).unwrap();
    for to in [&input, &soft, &hard] {
        for args in [
            vec!["report", &input, "-o", to],
            vec!["report", &input, "-o", &new, "--json", to],
            vec!["show", "drops", &input, "--format", "csv", "-o", to],
            vec!["query", &input, "SELECT * FROM drops", "-o", to],
        ] {
            let (code, told) = failed(&args);
            assert_eq!(code, 1, "{args:?}");
            assert!(
                told.contains("is the recording") && told.contains("\n  next: "),
                "{told}"
            );
            assert!(
                std::fs::read(&input).unwrap() == bytes,
                "{args:?} changed the recording"
            );
        }
    }
    let other_name = path("./new");
    for args in [["-o", &new, "--json", &other_name], ["-o", "-", "--json", "-"]] {
        let (code, told) = failed(&[&["report", &input][..], &args].concat());
        assert!(code == 1 && told.contains("two outputs"), "{told}");
    }
    assert!(!std::fs::exists(&new).unwrap());
    let empty = path("empty");
    for (name, what) in [("", "empty is empty"), ("text", "empty is not a recording")] {
        std::fs::write(&empty, name).unwrap();
        std::fs::write(&new, "yesterday's").unwrap();
        let (_, told) = failed(&["report", &empty, "-o", &new]);
        assert!(told.contains(what), "{told}");
        assert_eq!(std::fs::read_to_string(&new).unwrap(), "yesterday's");
    }
    // Cut before its first event: no page of nothing.
    std::fs::write(&empty, std::fs::read(rpc()).unwrap().get(..200_000).unwrap()).unwrap();
    let (code, told) = failed(&["report", &empty, "-o", &new]);
    assert!(code == 1 && told.contains("there is no event in it"), "{told}");
    assert_eq!(std::fs::read_to_string(&new).unwrap(), "yesterday's");
    let dat = std::fs::read(sample("tracedat-loopback/trace.dat")).unwrap();
    std::fs::write(&empty, dat.get(..100_000).unwrap()).unwrap();
    let (code, told) = failed(&["report", &empty, "-o", &new]);
    assert!(code == 1 && told.contains("there is no event in it"), "{told}");
    std::fs::write(&empty, std::fs::read(rpc()).unwrap().get(..200_000).unwrap()).unwrap();
    let checked = stdout(&["check", &empty]);
    assert!(checked.contains("\nfit       no: the file is cut"), "{checked}");
    // A ticket system may have packed it; what zstd and gzip made is read (packed.rs), xz is not.
    std::fs::write(&empty, b"\xfd7zXZ\0").unwrap();
    let (_, told) = failed(&["check", &empty]);
    assert!(told.contains("compressed: xz -dc "), "{told}");
    std::fs::write(&empty, b"\x28\xb5\x2f\xfd\x04\x00").unwrap();
    let (_, told) = failed(&["check", &empty]);
    assert!(
        told.contains("cut or damaged before the first bytes") && told.contains("copy it again"),
        "{told}"
    );
    std::fs::remove_dir_all(dir).unwrap();
}

/// `check --json A B` reads A; `report --json A B` would write it.
#[test]
fn a_page_or_a_table_never_takes_the_place_of_another_recording() {
    let dir = tempdir("spared");
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    for (name, sample_of) in [("a.nmb", rpc()), ("a.dat", sample("tracedat-loopback/trace.dat"))] {
        let (other, page) = (path(name), path("page"));
        std::fs::copy(sample_of, &other).unwrap();
        let bytes = std::fs::read(&other).unwrap();
        for (args, next) in [
            (vec!["report", "--json", &other, &rpc()], "--json - prints it"),
            (
                vec!["report", "--json", &other, &rpc(), "-o", &page],
                "--json - prints it",
            ),
            (vec!["report", &rpc(), "-o", &other], "name another file with -o"),
            (
                vec!["diff", &rpc(), &rpc(), "-o", &page, "--json", &other],
                "--json - prints it",
            ),
            (vec!["diff", &rpc(), &rpc(), "-o", &other], "name another file with -o"),
            (vec!["show", "drops", &rpc(), "-o", &other], "name another file with -o"),
            (vec!["show", "--list", "-o", &other], "name another file with -o"),
            (
                vec!["query", &rpc(), "SELECT * FROM drops", "-o", &other],
                "name another file with -o",
            ),
        ] {
            let out = netmortem(&args).current_dir(&dir).output().unwrap();
            let told = String::from_utf8(out.stderr).unwrap();
            let what = format!("{other} is a recording: it would be overwritten\n  next: ");
            assert!(
                out.status.code() == Some(1) && told.contains(&what) && told.contains(next),
                "{args:?}: {told}"
            );
            assert!(std::fs::read(&other).unwrap() == bytes, "{args:?} changed it");
            assert!(
                !dir.join("page").exists() && !dir.join("report.html").exists(),
                "{args:?}"
            );
        }
        // What makes a recording may replace one, where it is told to.
        let convert = ["convert", &rpc(), "--time", "..500ms", "-o", &other, "--to", "bundle"];
        let (code, told) = failed(&convert);
        assert_eq!(code, 1);
        assert!(
            told.contains(&format!(
                "{other} exists; a recording does not write over a file\n  next: "
            )) && told.contains("--force"),
            "{told}"
        );
        assert!(std::fs::read(&other).unwrap() == bytes);
        assert!(run(&[&convert[..], &["--force"]].concat()).status.success());
        assert!(std::fs::read(&other).unwrap() != bytes);
    }
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn strict_exits_with_3_when_something_is_missing() {
    let code = |args: &[&str]| run(args).status.code();
    assert_eq!(code(&["check", "--strict", &rpc()]), Some(0));
    let lossy = sample("tracedat-loopback/trace.dat");
    assert_eq!(code(&["check", "--strict", &lossy]), Some(3));
    assert_eq!(code(&["check", &lossy]), Some(0));
    let fit = |file: &str| {
        let told = stdout(&["check", file]);
        assert!(
            told.trim_end().ends_with(&format!("next      netmortem report {file}")),
            "{told}"
        );
        told.lines().nth(1).unwrap().to_owned()
    };
    assert_eq!(fit(&rpc()), "fit       yes: nothing was lost, and all of it was read");
    let told = stdout(&["check", &rpc()]);
    for line in [
        "began     2026-11-21 12:46:25 UTC\n",
        "length    954\u{202f}ms on 2 CPUs\n",
        "skew      the CPUs' clocks are at most 184\u{202f}µs apart; no effect came before its cause in 54 pairs on two CPUs\n",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    assert!(stdout(&["check", &lossy]).contains("began     not known: the file has no time of day\n"));
    assert!(fit(&lossy).starts_with("fit       in part: ") && fit(&lossy).contains(" LOST"));
    let dir = tempdir("strict");
    let bytes = std::fs::read(rpc()).unwrap();
    let cut = dir.join("cut.nmb");
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(code(&["check", "--strict", cut.to_str().unwrap()]), Some(3));
    let told = stdout(&["check", cut.to_str().unwrap()]);
    assert_eq!(told.matches("cut or damaged").count(), 1, "{told}");
    assert!(!told.contains("see below"), "{told}");
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn colours_obey_the_option_and_no_color() {
    let colored = |args: &[&str], no_color: Option<&str>| {
        let mut c = netmortem(args);
        if let Some(v) = no_color {
            c.env("NO_COLOR", v);
        }
        c.output().unwrap().stdout.contains(&0x1b)
    };
    assert!(!colored(&["check", &rpc()], None), "a pipe gets none");
    assert!(colored(&["check", &rpc(), "--color", "always"], None));
    assert!(
        colored(&["check", &rpc(), "--color", "always"], Some("1")),
        "an option outranks the environment"
    );
    assert!(!colored(&["check", &rpc(), "--color", "never"], None));
    // Of a verdict those of the stream that it is written to; a document has none.
    assert!(colored(
        &["report", &rpc(), "-o", "/dev/null", "--color", "always"],
        None
    ));
    assert!(!colored(&["report", &rpc(), "-o", "-", "--color", "always"], None));
}
