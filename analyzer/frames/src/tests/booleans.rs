//! Columns that are true or false beside texts.

use super::{Demo, cells};
use crate::query;

fn said(sql: &str) -> String {
    let answer = query(&[&Demo("a"), &Demo("b")], sql, None);
    answer.map_or_else(|e| e.to_string(), |rows| format!("{:?}", cells(&rows)))
}

/// The engine would answer that there is no such row.
#[test]
fn what_is_true_or_false_is_not_compared_with_a_text() {
    for sql in [
        "SELECT COUNT(*) FROM a WHERE expected = 'no'",
        "SELECT COUNT(*) FROM a WHERE 'no' = Expected",
        "SELECT COUNT(*) FROM a WHERE expected <> 'no' AND dev = 'lo'",
        "SELECT COUNT(*) FROM a WHERE (expected) IN ('yes', 'no')",
        "SELECT COUNT(*) FROM a WHERE expected NOT IN ('no')",
        "SELECT COUNT(*) FROM a WHERE a.expected IS DISTINCT FROM 'no'",
        "SELECT CASE expected WHEN 'no' THEN 1 ELSE 2 END AS x FROM a",
        "SELECT SUM(CASE WHEN x.expected = 'no' THEN 1 ELSE 0 END) AS n FROM a AS x",
        "SELECT COUNT(*) FROM a JOIN b ON a.time_ns = b.time_ns WHERE b.expected = 'no'",
        "SELECT COUNT(*) FROM (SELECT *, dev AS d FROM a) AS q WHERE expected = 'no'",
        "WITH q AS (SELECT expected AS e FROM a) SELECT COUNT(*) FROM q WHERE e = 'no'",
        "SELECT COUNT(*) FROM a WHERE time_ns IN (SELECT time_ns FROM b WHERE expected = 'no')",
        "SELECT COUNT(*) FROM a WHERE (dev = 'lo') = 'no'",
        "SELECT CASE WHEN expected THEN 'yes' ELSE 'no' END AS expected FROM a WHERE expected = 'no'",
        "SELECT dev FROM a ORDER BY CASE WHEN expected = 'no' THEN 1 ELSE 2 END",
    ] {
        let why = said(sql);
        assert!(why.contains("is true or false, not a text"), "{sql}: {why}");
        assert!(why.contains("= FALSE") || why.contains("'yes'"), "{sql}: {why}");
    }
    let why = said("SELECT COUNT(*) FROM a WHERE expected = 'maybe'");
    assert!(
        why.contains("expected = TRUE or expected = FALSE, or expected IS NULL"),
        "{why}"
    );
}

#[test]
fn other_comparisons_stay() {
    for (sql, n) in [
        ("SELECT COUNT(*) FROM a WHERE expected = FALSE", 1),
        ("SELECT COUNT(*) FROM a WHERE expected IN (TRUE, FALSE)", 2),
        ("SELECT COUNT(*) FROM a WHERE NOT expected AND dev <> 'lo'", 1),
        ("SELECT COUNT(*) FROM a WHERE expected IS NULL", 1),
        // Texts under its name.
        (
            "SELECT COUNT(*) FROM (SELECT CASE WHEN expected THEN 'yes' ELSE 'no' END AS expected FROM a WHERE expected IS NOT NULL) AS q WHERE expected = 'no'",
            1,
        ),
        (
            "WITH q AS (SELECT dev AS expected FROM a) SELECT COUNT(*) FROM q WHERE expected = 'lo'",
            1,
        ),
        (
            "SELECT COUNT(*) FROM (SELECT dev FROM a) AS q(expected) WHERE expected = 'lo'",
            1,
        ),
    ] {
        assert_eq!(said(sql), format!("[[I64({n})]]"), "{sql}");
    }
    let having = "SELECT CASE WHEN expected THEN 'yes' ELSE 'no' END AS expected, COUNT(*) AS n FROM a GROUP BY 1 ORDER BY expected = 'no', n";
    assert!(said(having).starts_with("[["), "{}", said(having));
}
