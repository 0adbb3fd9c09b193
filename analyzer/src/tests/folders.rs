use std::path::{Path, PathBuf};

fn folders(of: &str) -> Vec<PathBuf> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src").join(of);
    let mut found: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.is_dir())
        .collect();
    found.sort();
    found
}
fn text(p: &Path) -> String {
    std::fs::read_to_string(p).unwrap_or_else(|e| panic!("{}: {e}", p.display()))
}
/// `#[test]` in tests.rs or in the modules it names.
fn tests_of(folder: &Path) -> usize {
    let main = text(&folder.join("tests.rs"));
    let mut n = main.matches("#[test]").count();
    for m in main.lines().filter_map(|l| l.strip_prefix("mod ")?.strip_suffix(';')) {
        n += text(&folder.join("tests").join(format!("{m}.rs")))
            .matches("#[test]")
            .count();
    }
    n
}

/// A tracker or an analysis is one folder with its doc and its tests, one `mod` line, and one line where it is asked.
#[test]
fn every_tracker_and_analysis_is_documented_tested_and_registered() {
    let mut wrong = vec![];
    for (of, asked_in) in [("reconstruct", "run.rs"), ("analyses", "mod.rs")] {
        let folders = folders(of);
        assert!(folders.len() >= 7, "{of}: {folders:?}");
        for f in folders {
            let name = f.file_name().unwrap().to_str().unwrap().to_string();
            let parent = f.parent().unwrap();
            if !text(&f.join("mod.rs")).starts_with("//! ") {
                wrong.push(format!("{of}/{name}/mod.rs has no header"));
            }
            if !f.join("tests.rs").is_file() || tests_of(&f) == 0 {
                wrong.push(format!("{of}/{name} has no tests"));
            }
            if !text(&parent.join("mod.rs")).contains(&format!("pub mod {name};")) {
                wrong.push(format!("{of}/{name} has no mod line"));
            }
            // What trackers share is asked by them, not by `run.rs`.
            let shared = ["context", "dispatch", "whose"].contains(&name.as_str());
            if !shared && !text(&parent.join(asked_in)).contains(&name) {
                wrong.push(format!("{of}/{name} is asked nowhere"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// 400 lines are the limit of a file.
#[test]
fn files_stay_readable() {
    fn walk(dir: &Path, long: &mut Vec<String>) {
        for e in std::fs::read_dir(dir).unwrap() {
            let p = e.unwrap().path();
            if p.is_dir() {
                walk(&p, long);
            } else if text(&p).lines().count() > 400 {
                long.push(p.display().to_string());
            }
        }
    }
    let mut long = vec![];
    walk(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src"), &mut long);
    assert!(long.is_empty(), "{long:?}");
}

/// Tables as users see them: no name twice, every cell of its column's kind, nothing outside.
#[test]
fn tables_keep_their_word() {
    use crate::table::{Cell, CellKind};
    for path in super::SAMPLES {
        let facts = super::facts(path);
        for t in facts.tables() {
            let columns = t.columns();
            let mut names: Vec<_> = columns.iter().map(|c| c.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), columns.len(), "{}", t.name());
            for (k, c) in columns.iter().enumerate() {
                assert!(
                    !c.meaning.is_empty() && (c.unit != "ns" || c.name.ends_with("_ns")),
                    "{}",
                    c.name
                );
                for row in 0..t.len() {
                    let fits = match t.cell(row, k) {
                        Cell::Null => true,
                        Cell::I64(_) => c.kind == CellKind::I64,
                        Cell::U64(_) => c.kind == CellKind::U64,
                        Cell::F64(_) => c.kind == CellKind::F64,
                        Cell::Bool(_) => c.kind == CellKind::Bool,
                        Cell::Str(_) => c.kind == CellKind::Str,
                    };
                    assert!(fits, "{} {} row {row}", t.name(), c.name);
                }
            }
            assert_eq!(t.cell(t.len(), 0), Cell::Null);
            assert_eq!(t.cell(0, columns.len()), Cell::Null);
        }
    }
}
