//! Every kind of cell, nulls and hostile text go into a frame, through SQL and through a Parquet file unchanged.

use netmortem_analyzer::table::{Cell, CellKind, ColumnInfo, FactTable};
use polars_io::SerReader;
use polars_io::parquet::read::ParquetReader;

use super::*;

/// Three rows; row 1 is all null.
struct Demo(&'static str);

const fn col(name: &'static str, kind: CellKind) -> ColumnInfo {
    ColumnInfo {
        name,
        unit: "",
        kind,
        meaning: "",
    }
}

const HOSTILE: &str = "eth0\u{1b}[2J\n\"',é";

impl FactTable for Demo {
    fn name(&self) -> &'static str {
        self.0
    }
    fn meaning(&self) -> &'static str {
        "a row"
    }
    fn columns(&self) -> Vec<ColumnInfo> {
        vec![
            col("time_ns", CellKind::I64),
            col("bytes", CellKind::U64),
            col("share", CellKind::F64),
            col("expected", CellKind::Bool),
            col("dev", CellKind::Str),
        ]
    }
    fn len(&self) -> usize {
        3
    }
    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        match (row, column) {
            (1, _) => Cell::Null,
            (0, 0) => Cell::I64(-1),
            (2, 0) => Cell::I64(i64::MAX),
            (0, 1) => Cell::U64(0),
            (2, 1) => Cell::U64(u64::MAX),
            (0, 2) => Cell::F64(0.25),
            (2, 2) => Cell::F64(-1e300),
            (0, 3) => Cell::Bool(true),
            (2, 3) => Cell::Bool(false),
            (0, 4) => Cell::str("lo"),
            (2, 4) => Cell::str(HOSTILE),
            _ => Cell::Null,
        }
    }
}

fn cells(rows: &Rows) -> Vec<Vec<Cell<'_>>> {
    (0..rows.len())
        .map(|r| (0..rows.columns().len()).map(|c| rows.cell(r, c)).collect())
        .collect()
}

fn all(t: &Demo) -> Vec<Vec<Cell<'_>>> {
    (0..t.len())
        .map(|r| (0..t.columns().len()).map(|c| t.cell(r, c)).collect())
        .collect()
}

#[test]
fn a_query_returns_the_cells_of_the_table() {
    let demo = Demo("demo");
    let rows = query(&[&demo], "SELECT * FROM demo").unwrap();
    assert_eq!(cells(&rows), all(&demo));
    let kinds: Vec<CellKind> = rows.columns().iter().map(|c| c.kind).collect();
    assert_eq!(kinds, demo.columns().iter().map(|c| c.kind).collect::<Vec<_>>());
}

#[test]
fn parquet_holds_the_cells_of_the_table() {
    let demo = Demo("demo");
    let mut file = vec![];
    let written = to_parquet(&demo, &mut file).unwrap();
    assert_eq!((&file[..4], written), (&b"PAR1"[..], file.len() as u64));
    let back = ParquetReader::new(std::io::Cursor::new(file)).finish().unwrap();
    assert_eq!(cells(&Rows::new(back)), all(&demo));
}

#[test]
fn aggregates_ignore_nulls_and_joins_work() {
    let (a, b) = (Demo("a"), Demo("b"));
    let rows = query(&[&a, &b], "SELECT COUNT(*) AS n, COUNT(bytes) AS known FROM a").unwrap();
    assert_eq!(cells(&rows), [[Cell::U64(3), Cell::U64(2)]]);
    let joined = "SELECT a.dev FROM a JOIN b ON a.time_ns = b.time_ns WHERE b.expected ORDER BY a.dev";
    assert_eq!(cells(&query(&[&a, &b], joined).unwrap()), [[Cell::str("lo")]]);
    let grouped = "SELECT dev, MAX(share) AS top FROM a GROUP BY dev HAVING MAX(share) > 0 ORDER BY top DESC LIMIT 1";
    assert_eq!(
        cells(&query(&[&a], grouped).unwrap()),
        [[Cell::str("lo"), Cell::F64(0.25)]]
    );
}

#[test]
fn what_runs_over_a_query_result_goes_to_parquet() {
    let rows = query(&[&Demo("a")], "SELECT dev FROM a WHERE expected = FALSE").unwrap();
    let mut file = vec![];
    rows_to_parquet(&rows, &mut file).unwrap();
    let back = ParquetReader::new(std::io::Cursor::new(file)).finish().unwrap();
    assert_eq!(cells(&Rows::new(back)), [[Cell::str(HOSTILE)]]);
}

#[test]
fn mistakes_are_told_with_what_there_is() {
    let told = |sql: &str| query(&[&Demo("a"), &Demo("b")], sql).unwrap_err().to_string();
    assert_eq!(told("SELECT 1"), "the query names no view; views: a, b");
    assert!(told("SELECT nothing FROM a").contains("columns of a: time_ns, bytes, share, expected, dev"));
    assert!(told("SELEC * FROM a").contains("columns of a:"));
}

/// The engine answers 1 to `SUM(1)` over three rows: no wrong number is handed on.
#[test]
fn a_sum_of_a_number_is_refused() {
    let refused = |sql: &str| matches!(query(&[&Demo("a")], sql), Err(FramesError::SumOfANumber));
    for sql in [
        "SELECT sum(1) AS n FROM a",
        "select dev, SUM ( 1.5 ) from a group by dev",
        "select sum(-2) from a",
        "select 'x', sum(1) from a",
    ] {
        assert!(refused(sql), "{sql}");
    }
    for sql in [
        "SELECT sum(bytes) AS n FROM a",
        "SELECT dev FROM a WHERE dev = 'sum(1)'",
        "SELECT count(*) AS n FROM a",
        "SELECT sum(bytes * 1) AS checksum FROM a",
    ] {
        assert!(query(&[&Demo("a")], sql).is_ok(), "{sql}");
    }
}

#[test]
fn files_are_not_reachable_from_a_query() {
    for call in ["read_csv", "read_parquet", "read_ipc", "read_json"] {
        let sql = format!("SELECT * FROM {call}('/etc/passwd') JOIN a ON 1 = 1");
        assert!(query(&[&Demo("a")], &sql).is_err(), "{call} reached a file");
    }
}

#[test]
fn a_view_that_is_not_there_is_told_with_those_like_it() {
    let views = [
        "skbs",
        "rx",
        "drops",
        "tcp_samples",
        "tcp_states",
        "connections",
        "retransmits",
    ];
    for (name, meant) in [
        ("drop", &["drops"][..]),
        ("Drops", &["drops"]),
        ("skb", &["skbs"]),
        ("tcp", &["tcp_samples", "tcp_states"]),
        ("connection", &["connections"]),
        ("retransmit", &["retransmits"]),
        ("sbks", &["skbs"]),
        ("foo", &[]),
    ] {
        assert_eq!(near(name, &views), meant, "{name}");
    }
    let rows = query(
        &[&Demo("drops") as &dyn FactTable],
        "select * from drop where bytes > 1",
    );
    let told = rows.map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        told,
        "there is no view drop: did you mean drops? the query names no view; views: drops"
    );
    let changes = query(&[&Demo("drops") as &dyn FactTable], "DROP TABLE nothing");
    assert!(matches!(changes, Err(FramesError::NoSelect)));
}
