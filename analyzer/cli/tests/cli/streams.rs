//! Standard output and standard error as a shell joins them: a document on standard output by other names, readers that went away.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::{netmortem, rpc, run, sample, tempdir};

/// Whatever standard output is called, a document there is not mixed with the verdict.
#[test]
fn a_document_on_standard_output_by_any_name_stands_alone() {
    let dir = tempdir("streams");
    let (file, page) = (dir.join("out"), dir.join("page.html"));
    let (file, page) = (file.to_str().unwrap(), page.to_str().unwrap());
    let (rpc, verdict) = (rpc(), "tx.total");
    let alone = |document: &str, is_json: bool| match is_json {
        true => serde_json::from_str::<Value>(document).is_ok(),
        false => document.starts_with("<!") && document.trim_end().ends_with("</html>"),
    };
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", file] {
        for (args, is_json) in [
            (vec!["diff", "-o", name], false),
            (vec!["diff", "-o", page, "--json", name], true),
        ] {
            let args = [&args[..], &[&rpc, &rpc]].concat();
            let out = netmortem(&args).stdout(File::create(file).unwrap()).output().unwrap();
            let told = String::from_utf8(out.stderr).unwrap();
            let document = std::fs::read_to_string(file).unwrap();
            assert!(alone(&document, is_json) && told.contains(verdict), "{args:?}: {told}");
            assert!(!told.contains(&format!("wrote    {name}")), "{args:?}: {told}");
            if name != file {
                let out = run(&args);
                let document = String::from_utf8(out.stdout).unwrap();
                assert!(alone(&document, is_json), "{args:?} into a pipe");
            }
        }
    }
    let out = netmortem(&["report", &rpc, "-o", "/dev/stdout"])
        .stdout(File::create(file).unwrap())
        .output()
        .unwrap();
    assert!(alone(&std::fs::read_to_string(file).unwrap(), false) && !out.stderr.is_empty());
    // What is thrown away is not moved to standard error.
    let out = netmortem(&["diff", &rpc, &rpc, "-o", "/dev/null"])
        .stdout(File::create(Path::new("/dev/null")).unwrap())
        .output()
        .unwrap();
    let told = String::from_utf8(out.stderr).unwrap();
    assert!(!told.contains(verdict), "{told}");
    std::fs::remove_dir_all(dir).unwrap();
}

/// `... 2>&1 | head -1`: the exit code is that of the answer.
#[test]
fn a_reader_that_leaves_changes_no_exit_code() {
    let dir = tempdir("gone");
    let at = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let (none, one, page) = (at("none"), at("one"), at("page.html"));
    for folder in [&none, &one] {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(format!("{folder}/a.nmb"), "no recording").unwrap();
    }
    std::fs::copy(rpc(), format!("{one}/rpc.nmb")).unwrap();
    let (same, worse) = (rpc(), sample("neighbour/neighbour.nmb"));
    for (args, code) in [
        (vec!["diff", &same, &worse, "-o", &page], 3),
        (vec!["diff", &same, &worse, "-o", "/dev/null"], 3),
        (vec!["diff", &same, &same, "-o", &page], 0),
        (vec!["report", &same, "-o", &page], 0),
        (vec!["batch", &none, "-o", &at("out")], 1),
        (vec!["batch", &one, "-o", &at("strict"), "--strict"], 3),
    ] {
        let gone = || {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            writer
        };
        let status = netmortem(&args).stdout(gone()).stderr(gone()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{args:?}");
        let status = netmortem(&args).stdout(Stdio::null()).stderr(gone()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{args:?}, standard error alone");
    }
    std::fs::remove_dir_all(dir).unwrap();
}
