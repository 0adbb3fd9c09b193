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

/// Links of documents and the files of the source that they name are there.
#[test]
fn documents_lead_somewhere() {
    let documents: Vec<PathBuf> = tracked()
        .into_iter()
        .filter(|f| f.extension().is_some_and(|e| e == "md"))
        .filter(|f| f.starts_with("docs") || f.starts_with("README.md"))
        .collect();
    let (mut links, mut files) = (0, 0);
    for f in &documents {
        let text = std::fs::read_to_string(root().join(f)).unwrap();
        let here = root().join(f).parent().unwrap().to_owned();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split('#').next().unwrap_or_default();
            if link.contains("://") || path.is_empty() {
                continue;
            }
            links += 1;
            assert!(here.join(path).exists(), "{}: {link}", f.display());
        }
        // `docs/report.md`, `analyzer/src/stat`; a name with a wildcard or in braces is several.
        let named = text.split('`').skip(1).step_by(2);
        for name in named.filter(|n| {
            ["analyzer/src/", "reports/src/", "recorder/src/", "docs/"]
                .iter()
                .any(|p| n.starts_with(p))
        }) {
            if name.contains(['{', '*', ' ', '<']) {
                continue;
            }
            files += 1;
            assert!(root().join(name).exists(), "{}: {name}", f.display());
        }
    }
    assert!(
        links > 20 && files > 50,
        "{links} links, {files} files in {} documents",
        documents.len()
    );
}
