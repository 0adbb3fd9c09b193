//! What people write, in the words of the engine: it knows no column `end` without quotes, no `1e6`, no two results of one name, no
//! subquery in a comparison.
//!
//! ```text
//! SELECT min(total_ns), max(total_ns) FROM tx WHERE end = 'acked' AND start_ns - :start < 2e9
//! SELECT min(total_ns) AS "min(total_ns)", max(total_ns) AS "max(total_ns)" FROM tx WHERE "end" = 'acked' AND start_ns - 7021 < 2000000000
//! ```
//! Words between quotes stay as they are, comments go. A statement that names for its results would break is run without them.

use polars::prelude::{AnyValue, DataFrame, PolarsResult};
use polars::sql::SQLContext;

use crate::FramesError;

/// Deepest subqueries in a comparison.
const DEEPEST: usize = 8;

/// A piece of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Number,
    Quoted,
    Space,
    Other,
}

type Token<'s> = (Kind, &'s str);

fn is(t: Option<&Token<'_>>, word: &str) -> bool {
    t.is_some_and(|t| t.0 == Kind::Word && t.1.eq_ignore_ascii_case(word))
}

/// Begins with a number of how many bytes; with an exponent, if it has one.
fn number(s: &str) -> usize {
    let digits = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(s);
    let rest = s.get(whole..).unwrap_or_default();
    let point = match rest.strip_prefix('.') {
        Some(after) => 1 + digits(after),
        None => 0,
    };
    let rest = rest.get(point..).unwrap_or_default();
    let Some(after) = rest.strip_prefix(['e', 'E']) else {
        return whole + point;
    };
    let sign = usize::from(after.starts_with(['+', '-']));
    match digits(after.get(sign..).unwrap_or_default()) {
        0 => whole + point,
        n => whole + point + 1 + sign + n,
    }
}

/// Bytes of a comment that this begins with; 0: none.
fn comment(s: &str) -> usize {
    let (end, closed) = match (s.get(..2), s.get(2..)) {
        (Some("--"), Some(after)) => (after.find('\n'), 3),
        (Some("/*"), Some(after)) => (after.find("*/"), 4),
        _ => return 0,
    };
    end.map_or(s.len(), |n| n + closed)
}

/// Whether a point behind this token begins a number: it is none of a name, of a call or of another number.
fn begins(before: Option<&Token<'_>>) -> bool {
    before.is_none_or(|t| !matches!(t.0, Kind::Word | Kind::Quoted | Kind::Number) && t.1 != ")")
}

fn tokens(sql: &str) -> Vec<Token<'_>> {
    let mut all = vec![];
    let mut rest = sql;
    while let Some(c) = rest.chars().next() {
        let while_ = |f: fn(char) -> bool| rest.find(|c| !f(c)).unwrap_or(rest.len());
        let (kind, n) = match c {
            // Nothing behind a comment is in it.
            '-' | '/' if comment(rest) > 0 => {
                all.push((Kind::Space, " "));
                rest = rest.get(comment(rest)..).unwrap_or_default();
                continue;
            }
            '\'' | '"' | '`' => {
                // A doubled quote ends one and begins the next: together they are the same text.
                let end = rest.get(1..).and_then(|r| r.find(c)).map_or(rest.len(), |n| n + 2);
                (Kind::Quoted, end)
            }
            c if c.is_whitespace() => (Kind::Space, while_(char::is_whitespace)),
            c if c.is_ascii_digit() => (Kind::Number, number(rest)),
            '.' if number(rest) > 1 && begins(all.last()) => (Kind::Number, number(rest)),
            c if c.is_alphabetic() || c == '_' => (Kind::Word, while_(|c| c.is_alphanumeric() || c == '_')),
            c => (Kind::Other, c.len_utf8()),
        };
        let (token, after) = rest.split_at(n.max(1));
        all.push((kind, token));
        rest = after;
    }
    all
}

/// The next token that is no space, from one on.
fn next(all: &[Token<'_>], from: usize) -> Option<usize> {
    (from..all.len()).find(|i| all.get(*i).is_some_and(|t| t.0 != Kind::Space))
}

/// Whether an `end` is a column: one that ends no CASE, or stands where a value is expected.
fn is_column(all: &[Token<'_>], at: usize, cases: usize) -> bool {
    const EXPECT: [&str; 9] = ["case", "when", "then", "else", "and", "or", "not", "between", "like"];
    let before = (0..at).rev().find_map(|i| all.get(i).filter(|t| t.0 != Kind::Space));
    let operand = before.is_some_and(|t| t.0 == Kind::Other && t.1 != ")");
    cases == 0 || operand || EXPECT.iter().any(|w| is(before, w))
}

/// Columns that are words of SQL in quotes, numbers without exponents, `:start`.
pub(crate) fn prepared(sql: &str, start_ns: Option<i64>) -> Result<String, FramesError> {
    let all = tokens(sql);
    let (mut out, mut cases) = (String::new(), 0usize);
    let mut at = 0;
    while let Some((kind, token)) = all.get(at) {
        at += 1;
        match kind {
            Kind::Word if token.eq_ignore_ascii_case("case") => {
                cases += 1;
                out += token;
            }
            Kind::Word if token.eq_ignore_ascii_case("end") => match is_column(&all, at - 1, cases) {
                true => out += "\"end\"",
                false => {
                    cases -= 1;
                    out += token;
                }
            },
            Kind::Number if token.contains(['e', 'E']) => match token.parse::<f64>() {
                Ok(n) if n.is_finite() => out += &n.to_string(),
                _ => out += token,
            },
            Kind::Other if *token == ":" && is(all.get(at), "start") => {
                out += &format!("({})", start_ns.ok_or(FramesError::NoStart)?);
                at += 1;
            }
            _ => out += token,
        }
    }
    Ok(out)
}

/// With a name for each result that has none, as it is written.
fn named(sql: &str) -> Option<String> {
    let all = tokens(sql);
    let mut depth = 0i32;
    let mut outside = vec![];
    for (i, t) in all.iter().enumerate() {
        depth -= i32::from(t.1 == ")");
        if depth == 0 && t.1 != ")" {
            outside.push(i);
        }
        depth += i32::from(t.1 == "(");
    }
    let word = |w: &str, from: usize| outside.iter().copied().find(|i| *i >= from && is(all.get(*i), w));
    let select = word("select", 0)?;
    let from = word("from", select)?;
    let mut begin = next(&all, select + 1)?;
    if is(all.get(begin), "distinct") || is(all.get(begin), "all") {
        begin = next(&all, begin + 1)?;
    }
    let commas = outside
        .iter()
        .copied()
        .filter(|i| (begin..from).contains(i) && all.get(*i).is_some_and(|t| t.1 == ","));
    let mut items: Vec<(usize, usize)> = vec![];
    let mut first = begin;
    for end in commas.chain([from]) {
        items.push((first, end));
        first = end + 1;
    }
    let text = |(a, b): (usize, usize)| -> String { all.get(a..b).unwrap_or_default().iter().map(|t| t.1).collect() };
    let last = |(a, b): (usize, usize)| all.get(a..b)?.iter().rev().find(|t| t.0 != Kind::Space);
    let columns: Vec<&str> = items.iter().filter_map(|i| Some(last(*i)?.1)).collect();
    let mut out = text((0, begin));
    for (nth, item) in items.iter().enumerate() {
        let said = text(*item);
        let word = said.trim();
        // A call that nothing follows; a column of a table, where another has one of that name.
        let call = word.ends_with(')') && word.contains('(');
        let plain = word.split_once('.').is_some_and(|(a, b)| {
            let name = |s: &str| !s.is_empty() && s.chars().all(|c| c.is_alphanumeric() || c == '_');
            name(a) && name(b) && columns.iter().filter(|c| **c == b).count() > 1
        });
        let after = if nth + 1 < items.len() { "," } else { " " };
        match (call || plain) && !word.contains('"') {
            true => out += &format!("{} AS \"{word}\"{after}", said.trim_end()),
            false => out += &format!("{said}{after}"),
        }
    }
    Some(out + &text((from, all.len())))
}

/// A value as the engine reads it.
fn literal(v: &AnyValue<'_>) -> String {
    match v {
        AnyValue::Null => "NULL".to_owned(),
        AnyValue::Float32(_) | AnyValue::Float64(_) => v
            .extract::<f64>()
            .map_or_else(|| "NULL".to_owned(), |f| format!("({f})")),
        AnyValue::String(s) => format!("'{}'", s.replace('\'', "''")),
        AnyValue::StringOwned(s) => format!("'{}'", s.replace('\'', "''")),
        // Behind a minus a negative one would begin a comment.
        v => format!("({v})"),
    }
}

/// With the values of subqueries in comparisons and sums in their places.
fn evaluated(context: &mut SQLContext, sql: &str, deep: usize) -> PolarsResult<String> {
    const BEFORE: [&str; 7] = ["=", "<", ">", "+", "-", "*", "/"];
    let all = tokens(sql);
    let (mut out, mut at) = (String::new(), 0);
    let mut before = "";
    while let Some((kind, token)) = all.get(at) {
        let asks =
            *token == "(" && BEFORE.contains(&before) && is(next(&all, at + 1).and_then(|i| all.get(i)), "select");
        let end = asks.then(|| closing(&all, at)).flatten().filter(|_| deep < DEEPEST);
        match end {
            Some(end) => {
                let inner: String = all.get(at + 1..end).unwrap_or_default().iter().map(|t| t.1).collect();
                let inner = evaluated(context, &inner, deep + 1)?;
                let frame = context.execute(&inner)?.collect()?;
                match (frame.width(), frame.height(), frame.columns().first().map(|c| c.get(0))) {
                    (1, 1, Some(value)) => out += &literal(&value?),
                    (1, 0, _) => out += "NULL",
                    // Several values are no one to compare with: the engine says so.
                    _ => {
                        out += &all
                            .get(at..=end)
                            .unwrap_or_default()
                            .iter()
                            .map(|t| t.1)
                            .collect::<String>()
                    }
                }
                (at, before) = (end + 1, ")");
            }
            None => {
                out += token;
                if *kind != Kind::Space {
                    before = token;
                }
                at += 1;
            }
        }
    }
    Ok(out)
}

/// Where a bracket closes.
fn closing(all: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    (open..all.len()).find(|i| {
        match all.get(*i).map(|t| t.1) {
            Some("(") => depth += 1,
            Some(")") => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })
}

/// Runs a prepared statement.
pub(crate) fn run(context: &mut SQLContext, sql: &str) -> PolarsResult<DataFrame> {
    let sql = evaluated(context, sql, 0)?;
    let mut of = |sql: &str| context.execute(sql).and_then(|lazy| lazy.collect());
    if let Some(named) = named(&sql).filter(|n| *n != sql)
        && let Ok(frame) = of(&named)
    {
        return Ok(frame);
    }
    of(&sql)
}
