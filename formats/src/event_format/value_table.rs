//! `__print_symbolic` and `__print_flags` tables of a print fmt, read as data.

use super::EventFormat;
use super::expression::evaluate;

/// Longest first argument of a helper that is looked at, bytes; bounds the work on a hostile print fmt.
const MAX_ARGUMENT: usize = 1024;

/// Which helper printed the field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueTableKind {
    /// One name per value.
    Symbolic,
    /// Names of bits, joined by the delimiter.
    Flags {
        /// The delimiter.
        delimiter: String,
    },
}

/// Values and their names, as this recording's kernel prints them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueTable {
    /// Which helper.
    pub kind: ValueTableKind,
    /// (value, name) in the order of the text. Negative values are sign-extended to 64 bits.
    pub entries: Vec<(u64, String)>,
}

/// How a helper's first argument uses the field.
#[derive(PartialEq, Eq)]
enum Use {
    /// It is the field.
    Whole,
    /// It is the field under a mask.
    Masked,
}

impl ValueTable {
    /// The table that prints `field`; `None` when the print fmt has none, or none with a value that is a number.
    ///
    /// A helper that prints the field itself (whatever the parentheses and casts) is taken before one that prints it
    /// under a mask; one that shifts it or computes with it is not its table. An entry whose value is not a number
    /// (an enum name that this kernel did not resolve) is left out.
    pub fn of(f: &EventFormat, field: &str) -> Option<ValueTable> {
        let mut masked = None;
        let mut rest = f.print_fmt.as_str();
        while let Some(at) = rest.find("__print_") {
            rest = rest.get(at..)?.strip_prefix("__print_")?;
            let Some((flags, arguments)) = helper(rest) else {
                continue;
            };
            let Some((expression, after)) = first_argument(arguments) else {
                continue;
            };
            match use_of(expression, field, 0) {
                Some(Use::Whole) => return read(flags, after),
                Some(Use::Masked) if masked.is_none() => masked = Some((flags, after)),
                _ => {}
            }
        }
        masked.and_then(|(flags, after)| read(flags, after))
    }

    /// The name of `value`: exact for symbolic, joined bits (rest in hex) for flags; `None` when unknown.
    ///
    /// Flags go as the kernel's `trace_print_flags_seq` does: in the order of the text, each taking its bits away. No
    /// bits at all is the name of an entry 0, or the empty text the kernel prints.
    pub fn name(&self, value: u64) -> Option<String> {
        let exact = self.entries.iter().find(|(v, _)| *v == value).map(|(_, n)| n.clone());
        let ValueTableKind::Flags { delimiter } = &self.kind else {
            return exact;
        };
        if value == 0 {
            return Some(exact.unwrap_or_default());
        }
        let mut left = value;
        let mut names: Vec<&str> = Vec::new();
        for (mask, name) in &self.entries {
            if *mask != 0 && left & mask == *mask {
                left &= !mask;
                names.push(name);
            }
        }
        if names.is_empty() {
            return None;
        }
        let mut text = names.join(delimiter);
        if left != 0 {
            text.push_str(delimiter);
            text.push_str(&format!("{left:#x}"));
        }
        Some(text)
    }
}

/// What follows the `(` of `symbolic`, `flags` and their `_u64` variants, and whether it is flags.
fn helper(rest: &str) -> Option<(bool, &str)> {
    let (flags, rest) = match rest.strip_prefix("symbolic") {
        Some(r) => (false, r),
        None => (true, rest.strip_prefix("flags")?),
    };
    rest.strip_prefix("_u64")
        .unwrap_or(rest)
        .trim_start()
        .strip_prefix('(')
        .map(|r| (flags, r))
}

/// The text up to the comma that ends the first argument, and what follows it.
fn first_argument(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0u32;
    for (i, b) in text.bytes().enumerate().take(MAX_ARGUMENT) {
        match b {
            b'(' | b'[' => depth = depth.saturating_add(1),
            b')' | b']' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => return Some((text.get(..i)?, text.get(i.checked_add(1)?..)?)),
            b'"' => return None,
            _ => {}
        }
    }
    None
}

/// How `expression` uses `REC->field`, if it does.
fn use_of(expression: &str, field: &str, depth: u32) -> Option<Use> {
    let text = expression.trim();
    if depth > 32 {
        return None;
    }
    if let Some(after) = text.strip_prefix("REC->") {
        let after = after.strip_prefix(field).filter(|a| !a.starts_with(is_word))?.trim();
        return mask(after, Use::Whole);
    }
    let close = matching_parenthesis(text)?;
    let inside = text.get(1..close)?;
    let after = text.get(close.checked_add(1)?..)?.trim();
    if inside.contains("REC->") {
        return mask(after, use_of(inside, field, depth.saturating_add(1))?);
    }
    // A cast before the rest.
    let words = |c: char| is_word(c) || c == ' ' || c == '*';
    if !after.is_empty() && inside.chars().all(words) {
        return use_of(after, field, depth.saturating_add(1));
    }
    None
}

/// `inner`, or masked when `after` is `& constant`; `None` when `after` is anything else.
fn mask(after: &str, inner: Use) -> Option<Use> {
    match after.strip_prefix('&') {
        None if after.is_empty() => Some(inner),
        Some(constant) if !constant.starts_with('&') && !constant.contains("REC->") => Some(Use::Masked),
        _ => None,
    }
}

/// Place of the `)` that closes the `(` which begins `text`.
fn matching_parenthesis(text: &str) -> Option<usize> {
    if !text.starts_with('(') {
        return None;
    }
    let mut depth = 0u32;
    text.bytes().position(|b| {
        match b {
            b'(' => depth = depth.saturating_add(1),
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}

/// Reads the delimiter (flags) and the `{ value, "name" }` entries up to the helper's end; `None` without an entry.
fn read(flags: bool, after_first_argument: &str) -> Option<ValueTable> {
    let mut rest = after_first_argument;
    let kind = if flags {
        let delimiter = string(rest.trim_start()).map(|(s, r)| {
            rest = r;
            s
        });
        ValueTableKind::Flags {
            delimiter: delimiter.unwrap_or_default(),
        }
    } else {
        ValueTableKind::Symbolic
    };
    let mut entries = Vec::new();
    loop {
        rest = rest.trim_start_matches([',', ' ', '\t', '\n']);
        let Some(entry) = rest.strip_prefix('{') else { break };
        let Some((value, name)) = first_argument(entry) else {
            break;
        };
        match string(name.trim_start()) {
            Some((name, after)) => {
                if let Some(value) = evaluate(value) {
                    entries.push((value, name));
                }
                rest = after;
            }
            // Not a text (`{ -1, NULL }` ends old tables): no entry.
            None => rest = name,
        }
        match rest.find('}').and_then(|i| rest.get(i.checked_add(1)?..)) {
            Some(after) => rest = after,
            None => break,
        }
    }
    (!entries.is_empty()).then_some(ValueTable { kind, entries })
}

/// The C string literal that begins `text` (adjacent ones joined), and what follows it.
fn string(text: &str) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut rest = text.strip_prefix('"')?;
    loop {
        let stop = rest.find(['"', '\\'])?;
        out.push_str(rest.get(..stop)?);
        let mut tail = rest.get(stop..)?.chars();
        match (tail.next(), tail.as_str()) {
            (Some('\\'), after) => {
                let mut after = after.chars();
                match after.next()? {
                    'n' => out.push('\n'),
                    't' => out.push('\t'),
                    c => out.push(c),
                }
                rest = after.as_str();
            }
            (_, after) => match after.trim_start().strip_prefix('"') {
                Some(next) => rest = next,
                None => return Some((out, after)),
            },
        }
    }
}
