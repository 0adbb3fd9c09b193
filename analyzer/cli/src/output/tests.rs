//! The three text formats, byte for byte, with hostile names.

use netmortem_analyzer::table::{Cell, CellKind, ColumnInfo, FactTable};

use super::*;

struct Demo;

const HOSTILE: &str = "a\u{1b}[2J\u{202e}b\n\u{9b}";

impl FactTable for Demo {
    fn name(&self) -> &'static str {
        "demo"
    }
    fn meaning(&self) -> &'static str {
        ""
    }
    fn columns(&self) -> Vec<ColumnInfo> {
        let column = |name, kind| ColumnInfo {
            name,
            unit: "",
            kind,
            meaning: "",
        };
        vec![
            column("time_ns", CellKind::I64),
            column("dev", CellKind::Str),
            column("share", CellKind::F64),
            column("expected", CellKind::Bool),
        ]
    }
    fn len(&self) -> usize {
        3
    }
    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        match (row, column) {
            (0, 0) => Cell::I64(7),
            (0, 1) => Cell::str("lo"),
            (0, 2) => Cell::F64(0.5),
            (0, 3) => Cell::Bool(true),
            (1, 0) => Cell::I64(-1_234_567),
            (1, 1) => Cell::str(HOSTILE),
            (1, 2) => Cell::F64(f64::NAN),
            (2, 1) => Cell::str("x,\"y\""),
            _ => Cell::Null,
        }
    }
}

fn printed(format: Format, look: Look) -> String {
    let mut out = vec![];
    print(&Sheet::of_table(&Demo), format, look, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn csv_keeps_unknown_empty_and_quotes() {
    let expected =
        "time_ns,dev,share,expected\n7,lo,0.5,true\n-1234567,a\\x1b[2J\\u{202e}b\\x0a\\x9b,NaN,\n,\"x,\"\"y\"\"\",,\n";
    assert_eq!(printed(Format::Csv, Look::default()), expected);
}

#[test]
fn json_is_exact_and_holds_no_control_character() {
    let text = printed(Format::Json, Look::default());
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'));
    let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
    let expected = serde_json::json!([
        {"time_ns": 7, "dev": "lo", "share": 0.5, "expected": true},
        {"time_ns": -1_234_567, "dev": HOSTILE, "share": null, "expected": null},
        {"time_ns": null, "dev": "x,\"y\"", "share": null, "expected": null},
    ]);
    assert_eq!(rows, expected);
}

#[test]
fn no_rows_are_still_valid() {
    let mut sheet = Sheet::of_table(&Demo);
    sheet.rows.clear();
    let mut out = vec![];
    print(&sheet, Format::Json, Look::default(), &mut out).unwrap();
    assert_eq!(out, b"[]\n");
}

#[test]
fn text_aligns_and_escapes() {
    let text = printed(Format::Table, Look::default());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], " time_ns  dev                        share  expected");
    assert_eq!(lines[1], "       7  lo                         0.500  yes");
    assert_eq!(lines[2], "-1234567  a\\x1b[2J\\u{202e}b\\x0a\\x9b    NaN");
    assert_eq!(lines[3], "          x,\"y\"");
}

fn text_at(width: usize) -> (String, Vec<String>) {
    let look = Look {
        width: Some(width),
        color: false,
    };
    let mut out = vec![];
    let left_out = text::write(&Sheet::of_table(&Demo), look, &mut out).unwrap();
    (String::from_utf8(out).unwrap(), left_out)
}

#[test]
fn text_fits_the_terminal_by_cutting_names_never_numbers() {
    let (text, left_out) = text_at(40);
    let longest = text.lines().map(|l| l.chars().count()).max();
    assert!(longest <= Some(40) && left_out.is_empty(), "{text}");
    assert!(text.contains("-1234567  a\\x1b[2J"), "{text}");
}

#[test]
fn columns_that_do_not_fit_are_named() {
    let (text, left_out) = text_at(20);
    assert_eq!(left_out, ["share", "expected"]);
    assert!(text.contains("-1234567  a\\x1b[2…"), "{text}");
    let (text, left_out) = text_at(5);
    assert_eq!(left_out, ["dev", "share", "expected"]);
    assert!(text.contains("-1234567"), "a number is never cut: {text}");
}

#[test]
fn digits_are_grouped() {
    let grouped: Vec<String> = [0, 999, 1_000, 12_345_678].into_iter().map(group_digits).collect();
    assert_eq!(grouped, ["0", "999", "1,000", "12,345,678"]);
}

/// What is made of a recording is its owner's alone, also where a file of that name was there before.
#[test]
fn private_files() {
    let folder = std::env::temp_dir().join(format!("netmortem-private-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (new, old) = (folder.join("new"), folder.join("old"));
    std::fs::write(&old, "what was there").unwrap();
    std::fs::set_permissions(&old, Permissions::from_mode(0o666)).unwrap();
    for path in [&new, &old] {
        let done = whole(path, |out| {
            out.write_all(b"made")?;
            Ok(7)
        });
        assert_eq!(done.unwrap(), 7);
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read(path).unwrap(), b"made");
    }
    // What fails changes nothing and leaves nothing.
    let failed = whole(&old, |out| {
        out.write_all(b"half")?;
        anyhow::bail!("no more")
    });
    let failed: anyhow::Result<()> = failed;
    assert_eq!(failed.unwrap_err().to_string(), "no more");
    assert_eq!(std::fs::read(&old).unwrap(), b"made");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
    // A link stays one.
    let link = folder.join("link");
    std::os::unix::fs::symlink(&old, &link).unwrap();
    whole(&link, |out| Ok(out.write_all(b"by link")?)).unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(std::fs::read(&old).unwrap(), b"by link");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn paths_are_quoted_for_a_shell() {
    let quoted = |p: &str| super::quoted(p.as_ref());
    assert_eq!(quoted("/tmp/a-1.nmb"), "/tmp/a-1.nmb");
    assert_eq!(quoted("my file.nmb"), "'my file.nmb'");
    assert_eq!(quoted("it's"), "'it'\\''s'");
    assert_eq!(quoted("a;b$(c)"), "'a;b$(c)'");
}
