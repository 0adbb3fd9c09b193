//! What is mended before a statement can be parsed: a column `end` without quotes, `1e6`, `:start`.
//!
//! Words between quotes stay as they are, comments go.

use crate::FramesError;

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
                // A whole one is of floating point all the same.
                Ok(n) if n.is_finite() => {
                    let digits = n.to_string();
                    out += &digits;
                    // A whole one is of floating point all the same.
                    out += if digits.contains('.') { "" } else { ".0" };
                }
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
