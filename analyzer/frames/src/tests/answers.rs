//! Answers that the engine alone gets wrong, or does not give: each number is worked out here, by hand or by a loop.

use netmortem_analyzer::table::{Cell, CellKind, ColumnInfo, FactTable};

use super::{cells, col};
use crate::{FramesError, query};

/// A window that grows and shrinks, of two connections; bytes of either way.
pub(super) struct Samples;

pub(super) const CWND: [(i64, u64, Option<u64>); 7] = [
    (1, 0, Some(10)),
    (2, 0, Some(20)),
    (3, 0, Some(15)),
    (4, 0, Some(16)),
    (1, 1, Some(8)),
    (2, 1, Some(4)),
    (3, 1, None),
];

impl FactTable for Samples {
    fn name(&self) -> &'static str {
        "samples"
    }
    fn meaning(&self) -> &'static str {
        "a row"
    }
    fn columns(&self) -> Vec<ColumnInfo> {
        vec![
            col("time_ns", CellKind::I64),
            col("connection", CellKind::U64),
            col("cwnd", CellKind::U64),
            col("addr", CellKind::U64),
        ]
    }
    fn len(&self) -> usize {
        CWND.len()
    }
    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        let (time, connection, cwnd) = CWND[row];
        match column {
            0 => Cell::I64(time),
            1 => Cell::U64(connection),
            2 => cwnd.map_or(Cell::Null, Cell::U64),
            _ => Cell::U64(u64::MAX - row as u64),
        }
    }
}

/// What some rows of `samples` have beside them: connection 0 once, connection 1 never; addresses are small here.
pub(super) struct Names;

impl FactTable for Names {
    fn name(&self) -> &'static str {
        "names"
    }
    fn meaning(&self) -> &'static str {
        "a row"
    }
    fn columns(&self) -> Vec<ColumnInfo> {
        vec![
            col("connection", CellKind::U64),
            col("task", CellKind::Str),
            col("ns", CellKind::I64),
            col("addr", CellKind::U64),
        ]
    }
    fn len(&self) -> usize {
        3
    }
    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        match column {
            0 => Cell::U64([0, 7, 8][row]),
            1 => Cell::str(["a", "b", "b"][row]),
            2 => Cell::I64([5, 50, 70][row]),
            _ => Cell::U64(3),
        }
    }
}

pub(super) fn text(c: &Cell<'_>) -> String {
    match c {
        Cell::Null => "-".to_owned(),
        Cell::I64(v) => v.to_string(),
        Cell::U64(v) => format!("{v}u"),
        Cell::F64(v) => v.to_string(),
        Cell::Bool(v) => v.to_string(),
        Cell::Str(s) => s.to_string(),
    }
}

/// The cells of an answer, as short texts.
pub(super) fn of(sql: &str) -> Vec<Vec<String>> {
    let rows = query(&[&Samples, &Names], sql, None).unwrap_or_else(|e| panic!("{sql}: {e}"));
    cells(&rows).iter().map(|r| r.iter().map(text).collect()).collect()
}

/// One answer as one text: cells by a space, rows by a comma.
pub(super) fn line(sql: &str) -> String {
    of(sql).iter().map(|r| r.join(" ")).collect::<Vec<_>>().join(", ")
}

pub(super) fn refusal(sql: &str) -> String {
    match query(&[&Samples, &Names], sql, None) {
        Err(FramesError::Refused(why)) => why,
        other => panic!("{sql}: {other:?}"),
    }
}

#[test]
fn a_difference_can_be_negative() {
    assert_eq!(
        line("SELECT connection - cwnd AS d FROM samples WHERE time_ns = 1 ORDER BY d"),
        "-10, -7"
    );
    // Down from 20 to 15 and from 8 to 4.
    let falls = |connection| {
        let of: Vec<u64> = CWND.iter().filter(|c| c.1 == connection).filter_map(|c| c.2).collect();
        of.windows(2).filter(|w| w[1] < w[0]).count()
    };
    let lag = "SELECT COUNT(*) FROM (SELECT cwnd - LAG(cwnd) OVER (PARTITION BY connection ORDER BY time_ns) AS d FROM samples) AS t WHERE d < 0";
    assert_eq!(line(lag), (falls(0) + falls(1)).to_string());
    assert_eq!(line("SELECT MAX(ABS(connection - cwnd)) FROM samples"), "20");
    // Counts, ranks and lengths, too.
    let counts =
        "SELECT a.n - b.n FROM (SELECT COUNT(*) AS n FROM names) AS a, (SELECT COUNT(*) AS n FROM samples) AS b";
    assert_eq!(line(counts), "-4");
    assert_eq!(
        line("SELECT ROW_NUMBER() OVER (ORDER BY ns) - 3 AS n FROM names ORDER BY n"),
        "-2, -1, 0"
    );
    assert_eq!(line("SELECT length(task) - 2 FROM names"), "-1, -1, -1");
    // Two results in digits are more than 32 bits together.
    let sum = "SELECT SUM(CASE WHEN cwnd > 0 THEN 2000000000 ELSE 0 END) FROM samples";
    assert_eq!(line(sum), "12000000000");
    // What does not fit stays as it is, and is the same in a table where it would.
    assert_eq!(line("SELECT MAX(addr) FROM samples"), format!("{}u", u64::MAX));
    assert_eq!(
        line("SELECT COUNT(*) FROM samples s JOIN names n ON s.addr = n.addr"),
        "0"
    );
}

#[test]
fn conditions_in_on() {
    // Seven rows stay, whatever has a partner.
    let left = |on: &str| {
        line(&format!(
            "SELECT COUNT(*), COUNT(n.ns) FROM samples s LEFT JOIN names n ON s.connection = n.connection{on}"
        ))
    };
    assert_eq!(left(""), "7 4");
    assert_eq!(left(" AND n.ns > 5"), "7 0");
    assert_eq!(left(" AND n.ns >= 5"), "7 4");
    assert_eq!(left(" AND s.cwnd > 15"), "7 2");
    assert_eq!(
        left(" AND cwnd > 15 AND (n.ns < 9 OR n.task = 'z') AND n.ns BETWEEN 5 AND 6"),
        "7 2"
    );
    assert_eq!(left(" AND n.task = 'a' AND 1 = 1"), "7 4");
    assert_eq!(left(" AND 1 = 2"), "7 0");
    let right = "SELECT COUNT(*), COUNT(s.cwnd) FROM samples s RIGHT JOIN names n ON s.connection = n.connection AND s.time_ns > 2 AND n.ns < 60";
    assert_eq!(line(right), "4 2");
    let full = "SELECT COUNT(*) FROM samples s FULL JOIN names n ON s.connection = n.connection AND s.time_ns > 2";
    assert_eq!(line(full), "9");
    // Three tables, of which two have the same names.
    let three = "SELECT COUNT(*), COUNT(b.ns), COUNT(c.ns) FROM samples s LEFT JOIN names b ON s.connection = b.connection \
        LEFT JOIN names c ON b.connection = c.connection AND b.ns = 5 AND s.time_ns < 3 AND c.ns > 1";
    assert_eq!(line(three), "7 4 2");
    let inner = |on: &str| line(&format!("SELECT COUNT(*) FROM samples s JOIN names n ON {on}"));
    assert_eq!(
        inner("s.connection = n.connection AND (s.time_ns = 1 OR n.ns = 6)"),
        "1"
    );
    assert_eq!(
        inner("s.connection = n.connection AND n.task = 'a' AND s.time_ns IN (2, 3)"),
        "2"
    );
    assert_eq!(inner("s.time_ns BETWEEN n.connection AND n.ns"), "7");
    assert_eq!(inner("s.time_ns = 1 OR n.ns = 50"), "11");
    assert_eq!(inner("s.connection < n.connection AND s.time_ns = 3"), "4");
    let why = refusal("SELECT * FROM samples s LEFT JOIN names n ON s.connection = n.connection AND s.time_ns < n.ns");
    assert!(why.contains("not s.time_ns < n.ns: write JOIN"), "{why}");
    let why = refusal("SELECT * FROM samples s LEFT JOIN names n ON s.time_ns < n.ns");
    assert!(why.contains("needs an equality"), "{why}");
    let why = refusal("SELECT * FROM samples s LEFT JOIN names n ON s.connection = n.connection AND addr > 1");
    assert!(why.contains("whose column addr is"), "{why}");
}

#[test]
fn groups_in_the_order_of_an_aggregate() {
    for (sql, answer) in [
        (
            "SELECT connection, COUNT(*) FROM samples GROUP BY connection ORDER BY COUNT(*) DESC",
            "0 4, 1 3",
        ),
        (
            "SELECT connection, count(*) AS n FROM samples GROUP BY connection ORDER BY COUNT(*)",
            "1 3, 0 4",
        ),
        (
            "SELECT connection FROM samples GROUP BY connection ORDER BY MIN(cwnd)",
            "1, 0",
        ),
        (
            "SELECT connection FROM samples GROUP BY connection HAVING SUM(cwnd) > 0 ORDER BY AVG(cwnd) DESC LIMIT 1",
            "0",
        ),
        (
            "SELECT COUNT(*), connection FROM samples GROUP BY connection ORDER BY 1",
            "3 1, 4 0",
        ),
        (
            "SELECT connection AS c, SUM(cwnd) AS s FROM samples GROUP BY connection ORDER BY -s / 2",
            "0 61, 1 12",
        ),
        (
            "SELECT SUM(cwnd) FROM samples GROUP BY connection ORDER BY connection DESC",
            "12, 61",
        ),
        (
            "SELECT MAX(cwnd) - MIN(cwnd) FROM samples GROUP BY connection ORDER BY MAX(cwnd) - MIN(cwnd)",
            "4, 10",
        ),
        (
            "WITH w AS (SELECT * FROM samples) SELECT connection FROM w GROUP BY connection ORDER BY MAX(cwnd)",
            "1, 0",
        ),
        (
            "SELECT t.c FROM (SELECT connection AS c FROM samples GROUP BY connection ORDER BY COUNT(*) LIMIT 1) AS t",
            "1",
        ),
        ("SELECT task, COUNT(*) FROM names GROUP BY ALL ORDER BY ALL", "a 1, b 2"),
        ("SELECT COUNT(*) FROM samples ORDER BY COUNT(*)", "7"),
        (
            "SELECT n.task, COUNT(*) FROM names n JOIN names m ON n.task = m.task GROUP BY n.task ORDER BY MAX(m.ns)",
            "a 1, b 4",
        ),
    ] {
        assert_eq!(line(sql), answer, "{sql}");
    }
    let why = refusal("SELECT DISTINCT connection FROM samples GROUP BY connection ORDER BY MAX(cwnd)");
    assert!(why.contains("DISTINCT"), "{why}");
}

#[test]
fn unknown_comes_last_and_lists_are_whole() {
    assert_eq!(line("SELECT cwnd FROM samples ORDER BY cwnd DESC LIMIT 2"), "20, 16");
    assert_eq!(line("SELECT cwnd FROM samples ORDER BY cwnd LIMIT 2"), "4, 8");
    assert_eq!(
        line("SELECT cwnd FROM samples ORDER BY cwnd DESC NULLS FIRST LIMIT 2"),
        "-, 20"
    );
    assert_eq!(
        line("SELECT ARRAY_AGG(cwnd ORDER BY cwnd DESC) FROM samples"),
        "[20,16,15,10,8,4,null]"
    );
    assert_eq!(
        line("SELECT ARRAY_AGG(task ORDER BY ns) FROM names"),
        r#"["a","b","b"]"#
    );
}

#[test]
fn words_of_other_engines() {
    for (sql, answer) in [
        (
            "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY ns) FROM names",
            "50",
        ),
        (
            "SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY ns DESC) FROM names",
            "60",
        ),
        (
            "SELECT approx_quantile(ns, 0.5), quantile(ns, 1), percentile_cont(ns, 0.0), MEDIAN(ns) FROM names",
            "50 70 5 50",
        ),
        (
            "SELECT task, quantile_cont(ns, 0.5) FROM names GROUP BY task ORDER BY task",
            "a 5, b 60",
        ),
        // AVG by another name: with all that stands behind it, and refused where AVG is.
        (
            "SELECT MEAN(cwnd), MEAN(cwnd) FILTER (WHERE cwnd > 15) FROM samples WHERE connection = 0",
            "15.25 18",
        ),
        (
            "SELECT MEAN(ns) OVER (PARTITION BY task) AS m FROM names ORDER BY m",
            "5, 60, 60",
        ),
        ("SELECT COUNT(*) FROM NAMES", "3"),
        ("SELECT Names.Task FROM Names ORDER BY NAMES.NS LIMIT 1", "a"),
        ("SELECT COUNT(*) AS N FROM names GROUP BY TASK ORDER BY n", "1, 2"),
        (
            "SELECT n.ns FROM names n WHERE n.ns BETWEEN (SELECT MIN(ns) + 1 FROM names) AND (SELECT AVG(ns) + 10 FROM names)",
            "50",
        ),
        (
            "SELECT ns FROM names WHERE (task, connection) IN (('b', 8), ('a', 8))",
            "70",
        ),
        ("SELECT ns FROM names WHERE ns = ANY (SELECT MAX(ns) FROM names)", "70"),
        (
            "WITH w AS (SELECT ns FROM names) SELECT COUNT(*) FROM w WHERE ns < (SELECT MAX(ns) FROM w)",
            "2",
        ),
        (
            "SELECT 'names', COUNT(*) FROM names UNION ALL SELECT 'samples', COUNT(*) FROM samples",
            "names 3, samples 7",
        ),
    ] {
        assert_eq!(line(sql), answer, "{sql}");
    }
}

#[test]
fn what_is_not_known_says_what_to_write() {
    for (sql, said) in [
        (
            "SELECT n.ns FROM names n WHERE n.ns > (SELECT AVG(m.ns) FROM names m WHERE m.task = n.task)",
            "GROUP BY k",
        ),
        (
            "SELECT SUM(cwnd) OVER (ORDER BY time_ns ROWS BETWEEN 5 PRECEDING AND CURRENT ROW) FROM samples",
            "LAG(x, n)",
        ),
        ("SELECT AVG(cwnd) OVER (ORDER BY time_ns) FROM samples", "divide SUM(x)"),
        (
            "SELECT MEAN(cwnd) OVER (ORDER BY time_ns) FROM samples",
            "divide SUM(x)",
        ),
        (
            "SELECT ROW_NUMBER() OVER (ORDER BY cwnd DESC, time_ns) FROM samples",
            "ORDER BY -x, y",
        ),
        (
            "SELECT ns FROM names WHERE (task, ns) IN (SELECT task, ns FROM names)",
            "join with the subquery",
        ),
        (
            "SELECT ns FROM names WHERE ns >= ALL (SELECT ns FROM names)",
            "SELECT MAX(y)",
        ),
        (
            "SELECT NTILE(4) OVER (ORDER BY ns) FROM names",
            "QUANTILE_CONT(x, 0.25)",
        ),
        (
            "SELECT ns FROM names WHERE ns > (SELECT ns FROM names)",
            "gives 3 values",
        ),
        ("SELECT percentile_cont(0.5) FROM names", "WITHIN GROUP"),
    ] {
        let why = refusal(sql);
        assert!(why.contains(said), "{sql}: {why}");
    }
    // The engine's own words on EXISTS are its parse tree.
    let exists = "SELECT n.ns FROM names n WHERE EXISTS (SELECT 1 FROM samples s WHERE s.connection = n.connection AND s.addr > 5)";
    let why = query(&[&Samples, &Names], exists, None)
        .map(|_| ())
        .unwrap_err()
        .to_string();
    assert!(
        why.starts_with("EXISTS with a condition on a column that both tables have"),
        "{why}"
    );
    let within = "SELECT n.ns FROM names n WHERE n.connection IN (SELECT connection FROM samples WHERE addr > 5)";
    assert_eq!(line(within), "5");
    // What is said there is known.
    let share = "SELECT task, ROUND(100.0 * n / SUM(n) OVER (), 1) AS share FROM (SELECT task, COUNT(*) AS n FROM names GROUP BY task) AS g ORDER BY share";
    assert_eq!(line(share), "a 33.3, b 66.7");
    for sql in [
        "SELECT SUM(2*3) FROM names",
        "SELECT AVG(-1) FROM names",
        "SELECT MEAN(3) FROM names",
        "SELECT SUM(CAST(1 AS BIGINT)) FROM names",
    ] {
        assert!(
            matches!(query(&[&Names], sql, None), Err(FramesError::SumOfANumber)),
            "{sql}"
        );
    }
}
