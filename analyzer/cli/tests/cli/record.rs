//! `netmortem record` as its users run it: through a pipe, to a file that is there, with what was typed wrong.

use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use super::{failed, json, netmortem, run, stdout, tempdir};

fn may_record() -> bool {
    let may = std::fs::read_dir("/sys/kernel/tracing/instances").is_ok();
    if !may {
        println!("skipped: recording needs root and tracefs");
    }
    may
}

/// The reader has not got a bundle: that is no success, as it is for a table.
#[test]
fn a_reader_that_goes_away_makes_it_fail() {
    if !may_record() {
        return;
    }
    let mut c = netmortem(&["record", "-d", "3s", "-o", "-"]);
    let mut child = c.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut head = [0; 1000];
    child.stdout.take().unwrap().read_exact(&mut head).unwrap();
    let done = child.wait_with_output().unwrap();
    let told = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(1), "{told}");
    assert!(
        told.starts_with("netmortem: cannot write standard output: ") && told.contains("\n  next: "),
        "{told}"
    );
}

#[test]
fn a_bundle_through_a_pipe_is_whole() {
    if !may_record() {
        return;
    }
    let dir = tempdir("pipe");
    let file = dir.join("x.nmb");
    let out = run(&["record", "-d", "500ms", "-o", "-"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    std::fs::write(&file, &out.stdout).unwrap();
    let told = stdout(&["check", file.to_str().unwrap()]);
    assert!(!told.contains("incomplete") && !told.contains("cut"), "{told}");
    let end: Value = json(&["check", file.to_str().unwrap(), "--json"]);
    assert!(end.is_object());
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn what_is_there_is_not_written_over_and_what_to_do_is_told() {
    if !may_record() {
        return;
    }
    let dir = tempdir("exists");
    let file = dir.join("x.nmb");
    std::fs::write(&file, "yesterday").unwrap();
    let path = |p: &Path| p.to_str().unwrap().to_owned();
    let missing = path(&dir.join("new/x.nmb"));
    let folder = path(&dir.join("new")) + "/";
    for (args, what, next) in [
        (&["-o", &path(&file)][..], "exists", "--force"),
        (&["-o", &missing], "No such file", "mkdir -p"),
        (&["-o", &folder], "No such file", "mkdir -p"),
        (&["-o", &folder, "--flight"], "No such file", "mkdir -p"),
        (&["-o", &folder, "--flight", "--dry-run"], "No such file", "mkdir -p"),
        (&["--", "no-such-command"], "cannot run no-such-command", "PATH"),
    ] {
        let (code, told) = failed(&[&["record", "-d", "100ms"], args].concat());
        assert_eq!(code, 1, "{args:?}: {told}");
        let advice = told.split_once("\n  next: ").unwrap_or_else(|| panic!("{told}")).1;
        assert!(told.contains(what) && advice.contains(next), "{args:?}: {told}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"yesterday");
    let done = run(&["record", "-d", "100ms", "--force", "-o", &path(&file)]);
    assert!(done.status.success() && std::fs::metadata(&file).unwrap().len() > 100_000);
    // A folder takes a name of its own, and a second one another.
    for n in 2..4 {
        let done = run(&["record", "-d", "100ms", "--profile", "drops", "-o", &path(&dir)]);
        assert!(done.status.success());
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), n);
    }
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn what_was_typed_wrong_is_told() {
    for (args, what) in [
        (&["record", "-d", "1s", "curl", "-s", "http://x"][..], "-- curl"),
        (&["record", "--port", "https"], "getent services"),
        (&["record", "-d", "1fortnight"], "h or d"),
    ] {
        let (code, told) = failed(args);
        assert!(code == 2 && told.contains(what), "{args:?}: {told}");
    }
}
