//! Every kind of cell, nulls and hostile text go into a frame, through SQL and through a Parquet file unchanged.

use netmortem_analyzer::table::{Cell, CellKind, ColumnInfo, FactTable};
use polars_io::SerReader;
use polars_io::parquet::read::ParquetReader;

use super::*;

mod answers;
mod beside;
mod booleans;
mod elsewhere;

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
    let rows = query(&[&demo], "SELECT * FROM demo", None).unwrap();
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
    let rows = query(&[&a, &b], "SELECT COUNT(*) AS n, COUNT(bytes) AS known FROM a", None).unwrap();
    assert_eq!(cells(&rows), [[Cell::I64(3), Cell::I64(2)]]);
    let joined = "SELECT a.dev FROM a JOIN b ON a.time_ns = b.time_ns WHERE b.expected ORDER BY a.dev";
    assert_eq!(cells(&query(&[&a, &b], joined, None).unwrap()), [[Cell::str("lo")]]);
    let grouped = "SELECT dev, MAX(share) AS top FROM a GROUP BY dev HAVING MAX(share) > 0 ORDER BY top DESC LIMIT 1";
    assert_eq!(
        cells(&query(&[&a], grouped, None).unwrap()),
        [[Cell::str("lo"), Cell::F64(0.25)]]
    );
}

#[test]
fn what_runs_over_a_query_result_goes_to_parquet() {
    let rows = query(&[&Demo("a")], "SELECT dev FROM a WHERE expected = FALSE", None).unwrap();
    let mut file = vec![];
    rows_to_parquet(&rows, &mut file).unwrap();
    let back = ParquetReader::new(std::io::Cursor::new(file)).finish().unwrap();
    assert_eq!(cells(&Rows::new(back)), [[Cell::str(HOSTILE)]]);
}

#[test]
fn mistakes_are_told_with_what_there_is() {
    let told = |sql: &str| query(&[&Demo("a"), &Demo("b")], sql, None).unwrap_err().to_string();
    assert_eq!(told("SELECT 1"), "the query names no view; views: a, b");
    assert!(told("SELECT nothing FROM a").contains("columns of a: time_ns, bytes, share, expected, dev"));
    assert!(told("SELEC * FROM a").contains("columns of a:"));
    for (call, near) in [
        ("time_bucket(1000, time_ns)", "time_ns // 1000000000 * 1000000000"),
        ("DATE_TRUNC('second', time_ns)", "time_ns // 1000000000 * 1000000000"),
        ("p99(time_ns)", "QUANTILE_CONT(x, 0.99)"),
        ("percentile(time_ns, 99)", "QUANTILE_CONT(x, 0.99)"),
        ("frobnicate(time_ns)", "there is no function frobnicate here"),
    ] {
        let said = told(&format!("SELECT {call} FROM a"));
        assert!(said.contains(near) && !said.contains("columns of"), "{call}: {said}");
    }
    // As it says.
    let begins = "SELECT DISTINCT ns // 1000000000 * 1000000000 AS s FROM ends";
    let rows = query(&[&Ends], begins, None).unwrap();
    assert_eq!(cells(&rows), [[Cell::I64(1_000_000_000)]]);
}

/// The engine answers 1 to `SUM(1)` over three rows: no wrong number is handed on.
#[test]
fn a_sum_of_a_number_is_refused() {
    let refused = |sql: &str| matches!(query(&[&Demo("a")], sql, None), Err(FramesError::SumOfANumber));
    for sql in [
        "SELECT sum(1) AS n FROM a",
        "select dev, SUM ( 1.5 ) from a group by dev",
        "select sum(-2) from a",
        "select 'x', sum(1) from a",
    ] {
        assert!(refused(sql), "{sql}");
    }
    for sql in [
        "SELECT sum(share) AS n FROM a",
        "SELECT dev FROM a WHERE dev = 'sum(1)'",
        "SELECT count(*) AS n FROM a",
        "SELECT sum(share * 1) AS checksum FROM a",
    ] {
        assert!(query(&[&Demo("a")], sql, None).is_ok(), "{sql}");
    }
}

#[test]
fn files_are_not_reachable_from_a_query() {
    for call in ["read_csv", "read_parquet", "read_ipc", "read_json"] {
        let sql = format!("SELECT * FROM {call}('/etc/passwd') JOIN a ON 1 = 1");
        assert!(query(&[&Demo("a")], &sql, None).is_err(), "{call} reached a file");
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
        None,
    );
    let told = rows.map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        told,
        "there is no view drop: did you mean drops? the query names no view; views: drops"
    );
    let changes = query(&[&Demo("drops") as &dyn FactTable], "DROP TABLE nothing", None);
    assert!(matches!(changes, Err(FramesError::NoSelect)));
}

/// One row per name and value of a table with a column `end`.
struct Ends;

impl FactTable for Ends {
    fn name(&self) -> &'static str {
        "ends"
    }
    fn meaning(&self) -> &'static str {
        "a row"
    }
    fn columns(&self) -> Vec<ColumnInfo> {
        vec![col("end", CellKind::Str), col("ns", CellKind::I64)]
    }
    fn len(&self) -> usize {
        4
    }
    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        match column {
            0 => Cell::str(["read", "read", "it's", "queued"][row]),
            _ => Cell::I64([1_000_000_500, 1_000_002_000, 1_000_000_100, 1_000_000_900][row]),
        }
    }
}

#[test]
fn what_people_write_is_understood() {
    let start = Some(1_000_000_000);
    let of = |sql: &str| {
        let rows = query(&[&Ends], sql, start).unwrap_or_else(|e| panic!("{sql}: {e}"));
        let names: Vec<String> = rows.columns().iter().map(|c| c.name.clone()).collect();
        let cells: Vec<Vec<String>> = cells(&rows)
            .iter()
            .map(|r| r.iter().map(|c| format!("{c:?}")).collect())
            .collect();
        (names, cells)
    };
    let n = |sql: &str| of(sql).1.len();
    // A column that is a word of SQL.
    assert_eq!(n("SELECT end FROM ends WHERE end = 'read'"), 2);
    assert_eq!(n("select e.end, count(*) from ends e group by e.end order by end"), 3);
    assert_eq!(
        n("select end as \"end\" from ends where end in ('read', 'end') and end is not null"),
        2
    );
    let (names, rows) = of("SELECT CASE WHEN end = 'read' THEN 1 ELSE 0 END AS was_read, end FROM ends ORDER BY ns");
    assert_eq!((names, rows.len()), (vec!["was_read".into(), "end".into()], 4));
    assert_eq!(rows[0][0], format!("{:?}", Cell::I64(0)));
    // What is between quotes stays.
    assert_eq!(n("SELECT ns FROM ends WHERE end = ' end :start 1e3 '"), 0);
    // Numbers with an exponent, and times from the start.
    assert_eq!(n("SELECT ns FROM ends WHERE ns - :start < 1e3"), 3);
    assert_eq!(n("SELECT ns FROM ends WHERE ns - :start < 0.5e3"), 1);
    let (_, rows) = of("SELECT (ns - :start) / 1e3 AS us FROM ends WHERE end = 'it''s'");
    assert_eq!(rows, [[format!("{:?}", Cell::F64(0.1))]]);
    assert!(matches!(
        query(&[&Ends], "SELECT ns - :start AS t FROM ends", None),
        Err(FramesError::NoStart)
    ));
    assert_eq!(n("SELECT ns FROM ends WHERE ns - :start < .5e3"), 1);
    // Comments go, whatever is in them; what is behind them counts.
    let (_, rows) =
        of("SELECT count(*) -- all (of them), it's so: end, 1e3\nFROM ends /* (SELECT 1e9) */ WHERE `end` = 'read'");
    assert_eq!(rows, [[format!("{:?}", Cell::I64(2))]]);
    // An END that is compared.
    let cases = "SELECT ns FROM ends WHERE CASE WHEN end = 'read' THEN 1 ELSE 0 END = 1 AND CASE end WHEN 'read' THEN end ELSE end END IN ('read')";
    assert_eq!(n(cases), 2);
    // One number, as any other.
    assert!(matches!(
        query(&[&Ends], "SELECT sum(:start) FROM ends", start),
        Err(FramesError::SumOfANumber)
    ));
    // Results without a name are called what they are.
    let (names, rows) = of("SELECT min(ns), max(ns), count(*) FROM ends");
    assert_eq!(names, ["min(ns)", "max(ns)", "count(*)"]);
    assert_eq!(rows[0][1], format!("{:?}", Cell::I64(1_000_002_000)));
    let (names, _) = of("SELECT a.ns, b.ns, b.end FROM ends a JOIN ends b ON a.ns = b.ns");
    assert_eq!(names, ["a.ns", "b.ns", "end"]);
    assert_eq!(
        of("SELECT DISTINCT upper(end), count(*) AS n FROM ends GROUP BY upper(end)")
            .0
            .len(),
        2
    );
    // A value of its own in a comparison; text with a quote, and nothing.
    assert_eq!(n("SELECT ns FROM ends WHERE ns > (SELECT min(ns) FROM ends)"), 3);
    assert_eq!(
        n("SELECT ns FROM ends WHERE ns - (SELECT min(ns) FROM ends WHERE end = 'read') > 400"),
        1
    );
    assert_eq!(n("SELECT ns FROM ends WHERE ns > 0 -(SELECT min(-ns) FROM ends)"), 0);
    assert_eq!(n("SELECT ns FROM ends WHERE ns >= 0 -(SELECT min(-ns) FROM ends)"), 1);
    assert_eq!(
        n("SELECT ns FROM ends WHERE end = (SELECT end FROM ends ORDER BY ns LIMIT 1)"),
        1
    );
    assert_eq!(
        n("SELECT ns FROM ends WHERE ns > (SELECT ns FROM ends WHERE end = 'none')"),
        0
    );
    assert_eq!(n("SELECT ns FROM ends WHERE ns IN (SELECT max(ns) FROM ends)"), 1);
    let several = query(&[&Ends], "SELECT ns FROM ends WHERE ns > (SELECT ns FROM ends)", None);
    assert!(several.is_err());
}

/// What nobody means to write ends, too.
#[test]
fn statements_without_sense_are_mistakes() {
    let deep = format!(
        "SELECT ns FROM ends WHERE ns > {}1{}",
        "(select ns + ".repeat(300),
        ")".repeat(300)
    );
    for sql in [
        "SELECT 'end FROM ends",
        "SELECT end end end FROM ends ((",
        "select case case from ends",
        "select 1e999, 1e from ends",
        "select , , from ends",
        ") select ns from ends",
        deep.as_str(),
    ] {
        assert!(query(&[&Ends], sql, Some(0)).is_err(), "{sql}");
    }
}
