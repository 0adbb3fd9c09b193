//! Statements that a reviewer asked of DuckDB, too: the answers are its own. What ours does not know it refuses.

use super::elsewhere::{all, refusals, said};

#[test]
fn aggregates_make_one_row() {
    all(&[
        ("SELECT COUNT(*) OVER (), COUNT(*) FROM names", "1 3"),
        (
            "SELECT MAX(ns) - MIN(ns), COUNT(*) FROM names WHERE ns IN (SELECT MAX(ns) FROM names)",
            "0 1",
        ),
        ("SELECT SUM(COUNT(*)) OVER () FROM names", "3"),
        ("SELECT 'x', COUNT(*), 1 FROM names WHERE ns > 99", "x 0 1"),
        ("SELECT DISTINCT MAX(ns) FROM names", "70"),
        ("SELECT MAX(ns) AS m FROM names ORDER BY m", "70"),
        ("SELECT * FROM (SELECT MIN(ns), MAX(ns) FROM names) AS q", "5 70"),
        ("SELECT q.\"max(ns)\" FROM (SELECT max(ns) FROM names) AS q", "70"),
        (
            "SELECT CASE WHEN COUNT(*) > 2 THEN 'many' ELSE 'few' END AS x FROM names",
            "many",
        ),
        (
            "SELECT task, BOOL_OR(ns > 60), BOOL_AND(ns > 10), COUNT_IF(ns > 50) FROM names GROUP BY task ORDER BY task",
            "a false false 0, b true true 1",
        ),
        (
            "SELECT BOOL_OR(ns > 60), BOOL_AND(ns > 10), COUNT_IF(ns > 50) FROM names",
            "true false 1",
        ),
    ]);
    refusals(&[
        ("SELECT task, MAX(ns) FROM names", "add it to GROUP BY"),
        ("SELECT COUNT(*) + ns FROM names", "add it to GROUP BY"),
        ("SELECT task FROM names ORDER BY MAX(ns)", "add it to GROUP BY"),
        ("SELECT SUM(ns) OVER (), COUNT(*) FROM names", "add it to GROUP BY"),
        ("SELECT ns FROM names WHERE ns = MAX(ns)", "HAVING"),
        ("SELECT MAX(MIN(ns)) FROM names", "in a subquery"),
        (
            "SELECT task, MAX(ROW_NUMBER() OVER ()) FROM names GROUP BY task",
            "in a subquery",
        ),
        (
            "SELECT task, ARG_MAX(connection, ns) FROM names GROUP BY task",
            "arg_max is not known",
        ),
        ("SELECT task, LIST(ns) FROM names GROUP BY task", "list is not known"),
    ]);
}

#[test]
fn a_table_is_known_by_its_alias() {
    all(&[
        (
            "SELECT COUNT(*) FROM names n WHERE EXISTS (SELECT 1 FROM samples s WHERE s.connection = n.connection)",
            "1",
        ),
        ("SELECT NAMES.NS FROM Names ORDER BY Names.ns DESC", "70, 50, 5"),
        (
            "WITH q AS (SELECT ns AS Foo FROM names) SELECT q.foo, Q.Foo FROM q ORDER BY 1",
            "5 5, 50 50, 70 70",
        ),
        ("SELECT q.a, q.ns FROM names AS q(a, b) ORDER BY 1", "0 5, 7 50, 8 70"),
        (
            "SELECT * FROM (SELECT ns, task FROM names) AS q(a, b) ORDER BY a",
            "5 a, 50 b, 70 b",
        ),
        (
            "WITH q(a) AS (SELECT ns, task FROM names) SELECT a, task, q.a FROM q ORDER BY 1",
            "5 a 5, 50 b 50, 70 b 70",
        ),
    ]);
    refusals(&[
        (
            "SELECT connection, (SELECT COUNT(*) FROM names b WHERE b.task = names.task) FROM names",
            "of the query around",
        ),
        (
            "SELECT COUNT(*) FROM names WHERE ns IN (SELECT b.ns FROM names b WHERE b.task = names.task)",
            "of the query around",
        ),
        (
            "SELECT n.ns FROM names n JOIN samples s ON n.connection = s.connection WHERE names.ns > 2",
            "there is no names in FROM, but n, s",
        ),
        (
            "SELECT samples.connection FROM names",
            "there is no samples in FROM, but names",
        ),
        ("SELECT samples.* FROM names", "there is no samples in FROM, but names"),
        (
            "SELECT ns FROM names UNION SELECT cwnd FROM samples ORDER BY names.ns",
            "there is no names in FROM",
        ),
    ]);
    let no_column = "SELECT n.cwnd FROM names n JOIN samples s ON n.connection = s.connection";
    assert!(said(no_column).contains("unable to find column cwnd in n"));
}

#[test]
fn over_is_of_its_partition() {
    all(&[
        (
            "SELECT ns, MEDIAN(ns) OVER (PARTITION BY task) FROM names ORDER BY ns",
            "5 5, 50 60, 70 60",
        ),
        (
            "SELECT ns, APPROX_COUNT_DISTINCT(ns) OVER (PARTITION BY task) FROM names ORDER BY ns",
            "5 1, 50 2, 70 2",
        ),
        ("SELECT APPROX_COUNT_DISTINCT(ns) FILTER (WHERE ns > 5) FROM names", "2"),
        (
            "SELECT ns, LAST_VALUE(ns) OVER (PARTITION BY task ORDER BY ns) FROM names ORDER BY ns",
            "5 5, 50 50, 70 70",
        ),
        (
            "SELECT ns, LAST(ns) OVER (PARTITION BY task) FROM names ORDER BY ns",
            "5 5, 50 70, 70 70",
        ),
        (
            "SELECT ROW_NUMBER() OVER (ORDER BY 1) AS n, ROW_NUMBER() OVER () FROM names ORDER BY n",
            "1 1, 2 2, 3 3",
        ),
    ]);
    refusals(&[
        (
            "SELECT QUANTILE_CONT(ns, 0.5) OVER (PARTITION BY task) FROM names",
            "join with a subquery",
        ),
        (
            "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY ns) OVER (PARTITION BY task) FROM names",
            "join with a subquery",
        ),
        (
            "SELECT CORR(ns, connection) OVER (PARTITION BY task) FROM names",
            "join with a subquery",
        ),
        (
            "SELECT STRING_AGG(task, ',') OVER (PARTITION BY task) FROM names",
            "join with a subquery",
        ),
        (
            "SELECT ARRAY_AGG(ns) OVER (PARTITION BY task) FROM names",
            "join with a subquery",
        ),
        (
            "SELECT LAST_VALUE(ns) OVER (PARTITION BY task) FROM names",
            "FIRST_VALUE",
        ),
        (
            "SELECT LAST(ns) OVER (PARTITION BY task ORDER BY ns) FROM names",
            "rows up to this one",
        ),
    ]);
}

/// One `cwnd` is unknown.
#[test]
fn unknown_values_in_over() {
    all(&[
        (
            "SELECT cwnd, ROW_NUMBER() OVER (ORDER BY cwnd) AS n FROM samples ORDER BY n",
            "4 1, 8 2, 10 3, 15 4, 16 5, 20 6, - 7",
        ),
        (
            "SELECT cwnd, ROW_NUMBER() OVER (ORDER BY cwnd NULLS FIRST) AS n FROM samples ORDER BY n",
            "- 1, 4 2, 8 3, 10 4, 15 5, 16 6, 20 7",
        ),
        (
            "SELECT cwnd, ROW_NUMBER() OVER (ORDER BY cwnd DESC) AS n FROM samples ORDER BY n",
            "20 1, 16 2, 15 3, 10 4, 8 5, 4 6, - 7",
        ),
        (
            "SELECT cwnd, ROW_NUMBER() OVER (ORDER BY cwnd DESC NULLS LAST) AS n FROM samples ORDER BY n",
            "20 1, 16 2, 15 3, 10 4, 8 5, 4 6, - 7",
        ),
        (
            "SELECT cwnd, ROW_NUMBER() OVER (ORDER BY cwnd DESC NULLS FIRST) AS n FROM samples ORDER BY n",
            "- 1, 20 2, 16 3, 15 4, 10 5, 8 6, 4 7",
        ),
        (
            "SELECT cwnd, RANK() OVER (ORDER BY cwnd) AS n FROM samples ORDER BY n",
            "4 1, 8 2, 10 3, 15 4, 16 5, 20 6, - 7",
        ),
        (
            "SELECT connection, DENSE_RANK() OVER (PARTITION BY connection ORDER BY cwnd DESC) AS n FROM samples ORDER BY 1, 2",
            "0 1, 0 2, 0 3, 0 4, 1 1, 1 2, 1 3",
        ),
        (
            "SELECT cwnd, LAG(cwnd) OVER (PARTITION BY connection ORDER BY cwnd) FROM samples ORDER BY cwnd",
            "4 -, 8 4, 10 -, 15 10, 16 15, 20 16, - 8",
        ),
        (
            "SELECT time_ns, connection, FIRST_VALUE(time_ns) OVER (PARTITION BY connection ORDER BY cwnd) FROM samples ORDER BY 2, 1",
            "1 0 1, 2 0 1, 3 0 1, 4 0 1, 1 1 2, 2 1 2, 3 1 2",
        ),
        (
            "SELECT connection, SUM(time_ns) OVER (PARTITION BY connection ORDER BY cwnd DESC) AS s FROM samples ORDER BY 1, 2",
            "0 2, 0 6, 0 9, 0 10, 1 1, 1 3, 1 6",
        ),
        (
            "SELECT connection, RANK() OVER (ORDER BY MAX(cwnd) DESC) AS r FROM samples GROUP BY connection ORDER BY r",
            "0 1, 1 2",
        ),
    ]);
}

#[test]
fn keys_of_over_and_orders() {
    all(&[
        (
            "SELECT cwnd, connection, RANK() OVER (ORDER BY connection DESC, cwnd DESC NULLS FIRST) AS r FROM samples ORDER BY r",
            "- 1 1, 8 1 2, 4 1 3, 20 0 4, 16 0 5, 15 0 6, 10 0 7",
        ),
        (
            "SELECT cwnd, ROW_NUMBER() OVER (ORDER BY -cwnd) AS r FROM samples ORDER BY r",
            "20 1, 16 2, 15 3, 10 4, 8 5, 4 6, - 7",
        ),
        (
            "SELECT cwnd, ROW_NUMBER() OVER (ORDER BY connection DESC, cwnd DESC) AS r FROM (SELECT cwnd, connection FROM samples) AS q ORDER BY r",
            "8 1, 4 2, - 3, 20 4, 16 5, 15 6, 10 7",
        ),
        (
            "SELECT s.cwnd, ROW_NUMBER() OVER (ORDER BY n.ns, s.cwnd) AS r FROM samples s LEFT JOIN names n ON s.connection = n.connection ORDER BY r",
            "10 1, 15 2, 16 3, 20 4, 4 5, 8 6, - 7",
        ),
        (
            "SELECT cwnd FROM samples ORDER BY ROW_NUMBER() OVER (ORDER BY connection, cwnd)",
            "10, 15, 16, 20, 4, 8, -",
        ),
        (
            "SELECT cwnd FROM samples QUALIFY ROW_NUMBER() OVER (ORDER BY cwnd DESC) = 1",
            "20",
        ),
        // A constant of each row; an order of results.
        ("SELECT 'a' NOT IN ('b', 'a') AS v FROM names", "false, false, false"),
        (
            "SELECT DISTINCT task, ns FROM names ORDER BY LENGTH(task), ns",
            "a 5, b 50, b 70",
        ),
        ("SELECT ns AS x FROM names ORDER BY -x", "70, 50, 5"),
    ]);
    refusals(&[
        ("SELECT -ns AS ns FROM names ORDER BY ns + 1", "another name"),
        ("SELECT DISTINCT task FROM names ORDER BY ns", "results only"),
    ]);
}

#[test]
fn sets_in_sets() {
    all(&[
        (
            "SELECT ns FROM names EXCEPT SELECT ns FROM names WHERE ns > 60 UNION SELECT ns FROM names WHERE ns = 5 ORDER BY ns",
            "5, 50",
        ),
        (
            "SELECT ns FROM names UNION SELECT cwnd FROM samples EXCEPT SELECT ns FROM names WHERE ns > 5 ORDER BY ns",
            "4, 5, 8, 10, 15, 16, 20, -",
        ),
        (
            "SELECT ns FROM names UNION ALL SELECT ns FROM names INTERSECT SELECT ns FROM names WHERE ns > 5 ORDER BY ns",
            "5, 50, 50, 70, 70",
        ),
        (
            "SELECT ns FROM names INTERSECT SELECT ns FROM names EXCEPT SELECT ns FROM names WHERE ns > 5",
            "5",
        ),
        (
            "SELECT ns FROM names UNION ALL (SELECT ns FROM names EXCEPT SELECT ns FROM names WHERE ns > 5) ORDER BY ns",
            "5, 5, 50, 70",
        ),
    ]);
}

#[test]
fn columns_that_are_left_out() {
    all(&[
        (
            "SELECT * EXCLUDE (addr) FROM samples JOIN names USING (connection) ORDER BY time_ns",
            "1 0 10 a 5, 2 0 20 a 5, 3 0 15 a 5, 4 0 16 a 5",
        ),
        (
            "SELECT * EXCLUDE (connection, addr) FROM samples JOIN names USING (connection) ORDER BY time_ns",
            "1 10 a 5, 2 20 a 5, 3 15 a 5, 4 16 a 5",
        ),
        (
            "SELECT * EXCLUDE (addr) FROM samples s JOIN names n ON s.connection = n.connection ORDER BY time_ns",
            "1 0 10 0 a 5, 2 0 20 0 a 5, 3 0 15 0 a 5, 4 0 16 0 a 5",
        ),
        // A table that WITH calls as another one, beside an alias of that name.
        (
            "WITH names AS (SELECT * FROM samples) SELECT names.cwnd FROM names WHERE names.cwnd IN (SELECT names.ns FROM (SELECT 20 AS ns FROM samples) AS names)",
            "20",
        ),
        (
            "WITH names AS (SELECT time_ns AS ns FROM samples) SELECT names.* FROM names WHERE names.ns = 4",
            "4",
        ),
        (
            "WITH names AS (SELECT time_ns AS ns FROM samples) SELECT names.ns FROM names ORDER BY names.ns DESC LIMIT 1",
            "4",
        ),
        // The key is the column, also where SELECT has it by `n.*`.
        (
            "SELECT upper(task) AS task, COUNT(*) FROM (SELECT n.* FROM names n) AS q GROUP BY task ORDER BY 1",
            "A 1, B 2",
        ),
        (
            "SELECT upper(task) AS task, COUNT(*) FROM (SELECT * REPLACE (ns + 1 AS ns) FROM names) AS q GROUP BY task ORDER BY 1",
            "A 1, B 2",
        ),
    ]);
    refusals(&[(
        "SELECT upper(task) AS task, COUNT(*) FROM (SELECT a.*, b.* FROM names a JOIN names b ON a.ns = b.ns) AS q GROUP BY task",
        "another name",
    )]);
}

#[test]
fn numbers_and_texts() {
    all(&[
        ("SELECT SUM(ns) * 8 * 1e9 / 3 FROM names", "333333333333.3333"),
        ("SELECT ns FROM names WHERE ns IN (5e0, 70) ORDER BY ns", "5, 70"),
        ("SELECT ns * 1e19 > 6e20 FROM names ORDER BY ns", "false, false, true"),
        ("SELECT SUM(ns * 1e18) = 125e18 FROM names", "true"),
        (
            "SELECT POWER(ns, 20) > 9e33, POW(3, 2), POWER(ns, -1), POWER(ns, 0.5) FROM names WHERE ns = 50",
            "true 9 0.02 7.0710678118654755",
        ),
        (
            "SELECT ns FROM names WHERE ns < (SELECT MAX(ns) / 0.0 FROM names) ORDER BY ns",
            "5, 50, 70",
        ),
        (
            "SELECT QUANTILE(ns, 0.5), QUANTILE(ns, 0.4), QUANTILE(ns, 0.7) FROM names",
            "50 50 70",
        ),
        (
            "SELECT RIGHT(task, 3), RIGHT('abc', 2), RIGHT('lo', 3), RIGHT('abc', -1) FROM names WHERE ns = 5",
            "a bc lo bc",
        ),
        (
            "SELECT SUBSTR('abc', CASE WHEN ns > 5 THEN 2 END), SUBSTR('abc', 2, CASE WHEN ns > 5 THEN 1 END) FROM names ORDER BY ns",
            "- -, bc b, bc b",
        ),
    ]);
    refusals(&[(
        "SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY ns DESC) FROM names",
        "PERCENTILE_CONT",
    )]);
    assert!(said("SELECT SUM(LENGTH('abc')) FROM names").contains("COUNT(*)"));
}

/// Terms of one chain, tables of one union, queries of which each asks for the one before: none ends the process.
#[test]
fn long_statements_end() {
    let chain = |one: &str, by: &str, n: usize| vec![one; n].join(by);
    let of = |what: &str| format!("SELECT COUNT(*) FROM names WHERE {what}");
    for (sql, answer) in [
        (of(&chain("ns = 5", " OR ", 400)), "1"),
        (of(&format!("{} = 2000", chain("ns", " + ", 400))), "1"),
        (of(&format!("(task, ns) IN ({})", chain("('b', 50)", ", ", 300))), "1"),
        (
            format!(
                "SELECT COUNT(*) FROM ({}) AS q",
                chain("SELECT ns FROM names", " UNION ALL ", 50)
            ),
            "150",
        ),
    ] {
        all(&[(&sql, answer)]);
    }
    let mut with = vec!["q0 AS (SELECT ns FROM names)".to_owned()];
    with.extend((1..20).map(|n| {
        format!(
            "q{n} AS (SELECT ns FROM q{0} WHERE ns >= (SELECT MIN(ns) FROM q{0}))",
            n - 1
        )
    }));
    all(&[(&format!("WITH {} SELECT COUNT(*) FROM q19", with.join(", ")), "3")]);
    let nested = |n: usize| (0..n).fold("task".to_owned(), |t, _| format!("STRPOS(CAST({t} AS VARCHAR), 'a')"));
    refusals(&[
        (&of(&format!("{} > 0", nested(8))), "too long"),
        (&of(&chain("ns = 5", " OR ", 9000)), "too long"),
        (&chain("SELECT ns FROM names", " UNION ALL ", 1000), "too long"),
    ]);
}
