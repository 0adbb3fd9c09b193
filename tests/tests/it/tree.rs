//! The rules of the tree: sizes, headers, no network client, no stray files.

use std::path::{Path, PathBuf};
use std::process::Command;

use netmortem_tests::root;

fn tracked() -> Vec<PathBuf> {
    let out = Command::new("git")
        .args(["ls-files"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(out.status.success(), "git ls-files");
    String::from_utf8(out.stdout)
        .unwrap()
        .lines()
        .map(PathBuf::from)
        .collect()
}

#[test]
fn the_top_level_is_fixed() {
    let allowed = [
        "Cargo.toml",
        "Cargo.lock",
        "README.md",
        "recorder",
        "analyzer",
        "formats",
        "reports",
        "sample-data",
        "tests",
        "docs",
    ];
    for f in tracked() {
        let top = f.components().next().unwrap().as_os_str().to_str().unwrap().to_string();
        let fine = allowed.contains(&top.as_str())
            || top.starts_with('.')
            || top.starts_with("LICENSE")
            || top.ends_with(".toml");
        assert!(fine, "{}", f.display());
    }
}

#[test]
fn no_rust_file_is_too_long_without_saying_why() {
    for f in tracked().iter().filter(|f| f.extension().is_some_and(|e| e == "rs")) {
        let Ok(text) = std::fs::read_to_string(root().join(f)) else {
            continue;
        };
        let lines = text.lines().count();
        assert!(
            lines <= 400 || text.contains("Long because"),
            "{} has {lines} lines",
            f.display()
        );
    }
}

#[test]
fn every_module_folder_says_what_it_is() {
    for f in tracked()
        .iter()
        .filter(|f| f.file_name().is_some_and(|n| n == "mod.rs" || n == "lib.rs"))
    {
        let Ok(text) = std::fs::read_to_string(root().join(f)) else {
            continue;
        };
        assert!(text.starts_with("//!"), "{} has no header", f.display());
    }
}

#[test]
fn samples_are_small_and_have_provenance() {
    for f in tracked().iter().filter(|f| f.starts_with("sample-data")) {
        let size = std::fs::metadata(root().join(f)).map_or(0, |m| m.len());
        assert!(size <= 3 << 20, "{} has {size} bytes", f.display());
        let dir: &Path = f.parent().unwrap();
        assert!(
            root().join(dir).join("PROVENANCE.md").exists(),
            "{} has no PROVENANCE.md",
            dir.display()
        );
    }
}
