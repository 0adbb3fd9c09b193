//! Aligned columns for reading: numbers to the right, as wide as the terminal, rows written as they come.

use std::borrow::Cow;
use std::io::{self, Write};

use netmortem_analyzer::table::{Cell, CellKind};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Sheet;
use crate::terminal::bold;

/// Rows that decide the widths of the columns; a wider cell after them shifts its own line.
const SAMPLE: usize = 2_000;
/// A text column is not made narrower than this to fit the terminal.
const NARROWEST: usize = 8;

/// What the reader's terminal can do.
#[derive(Debug, Clone, Copy, Default)]
pub struct Look {
    /// Columns; `None` when nothing is to be cut.
    pub width: Option<usize>,
    /// ANSI sequences.
    pub color: bool,
}

/// Writes the sheet; returns the names of columns at its right that the terminal is too narrow for.
pub fn write(sheet: &Sheet<'_>, look: Look, out: &mut dyn Write) -> io::Result<Vec<String>> {
    let names: Vec<Cow<'_, str>> = sheet.heads.iter().map(|h| clean(&h.name)).collect();
    let right: Vec<bool> = sheet
        .heads
        .iter()
        .map(|h| !matches!(h.kind, CellKind::Str | CellKind::Bool))
        .collect();
    // Moments as the report prints them.
    let decimals: Vec<usize> = names.iter().map(|n| if n == "at_s" { 6 } else { 3 }).collect();
    let mut widths: Vec<usize> = names.iter().map(|n| n.width()).collect();
    for row in sheet.iter().take(SAMPLE) {
        for ((w, cell), decimals) in widths.iter_mut().zip(row).zip(&decimals) {
            *w = (*w).max(shown(&cell, *decimals).width());
        }
    }
    if let Some(terminal) = look.width {
        fit(&mut widths, &right, terminal);
        widths.truncate(columns_that_fit(&widths, terminal));
    }
    let head = line(names.iter().map(|n| Cow::Borrowed(n.as_ref())), &widths, &right, look);
    writeln!(out, "{}", bold(&head, look.color))?;
    for row in sheet.iter() {
        let cells: Vec<Cell<'_>> = row.collect();
        writeln!(
            out,
            "{}",
            line(
                cells.iter().zip(&decimals).map(|(c, d)| shown(c, *d)),
                &widths,
                &right,
                look
            )
        )?;
    }
    if sheet.rows.is_empty() {
        writeln!(out, "0 rows")?;
    }
    Ok(names.iter().skip(widths.len()).map(|n| n.to_string()).collect())
}

/// How many columns from the left fit; at least one.
fn columns_that_fit(widths: &[usize], terminal: usize) -> usize {
    let ends = widths.iter().scan(0usize, |end, w| {
        *end += w + 2;
        Some(*end - 2)
    });
    ends.take_while(|end| *end <= terminal).count().max(1)
}

/// Narrows text columns, the widest first, until the line fits or none can give.
fn fit(widths: &mut [usize], right: &[bool], terminal: usize) {
    loop {
        let total = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        let widest = widths
            .iter_mut()
            .zip(right)
            .filter(|(w, right)| !**right && **w > NARROWEST)
            .max_by_key(|(w, _)| **w);
        match widest {
            Some((w, _)) if total > terminal => *w -= 1,
            _ => return,
        }
    }
}

fn line<'c>(cells: impl Iterator<Item = Cow<'c, str>>, widths: &[usize], right: &[bool], look: Look) -> String {
    let mut out = String::new();
    for (i, ((cell, width), right)) in cells.zip(widths).zip(right).enumerate() {
        if i > 0 {
            out.push_str("  ");
        }
        let cell = if look.width.is_some() && !right {
            cut(&cell, *width)
        } else {
            cell
        };
        let pad = " ".repeat(width.saturating_sub(cell.width()));
        if *right {
            out.push_str(&pad);
            out.push_str(&cell);
        } else {
            out.push_str(&cell);
            out.push_str(&pad);
        }
    }
    out.truncate(out.trim_end().len());
    out
}

fn cut(s: &str, width: usize) -> Cow<'static, str> {
    if s.width() <= width {
        return Cow::Owned(s.to_owned());
    }
    let mut out = String::new();
    let mut used = 1; // the ellipsis
    for c in s.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        out.push(c);
    }
    out.push('…');
    Cow::Owned(out)
}

fn shown<'c>(cell: &'c Cell<'_>, decimals: usize) -> Cow<'c, str> {
    match cell {
        Cell::Null => Cow::Borrowed(""),
        Cell::I64(v) => v.to_string().into(),
        Cell::U64(v) => v.to_string().into(),
        Cell::F64(v) => format!("{v:.decimals$}").into(),
        Cell::Bool(v) => Cow::Borrowed(if *v { "yes" } else { "no" }),
        Cell::Str(s) => clean(s),
    }
}

/// Whether a terminal may act on the character, or a reader not see it: controls, bidirectional overrides, line separators.
fn hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The text with such characters escaped (`\x1b`, `\u{202e}`).
pub fn clean(s: &str) -> Cow<'_, str> {
    if !s.contains(hostile) {
        return Cow::Borrowed(s);
    }
    let escape = |c: char| match u32::from(c) {
        n if !hostile(c) => char::from_u32(n).map(String::from).unwrap_or_default(),
        n @ ..0x100 => format!("\\x{n:02x}"),
        n => format!("\\u{{{n:x}}}"),
    };
    s.chars().map(escape).collect::<String>().into()
}

/// The same for a text of several lines.
pub fn clean_lines(s: &str) -> String {
    s.lines().map(clean).collect::<Vec<_>>().join("\n")
}

/// `1234567` as `1,234,567`.
pub fn group_digits(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, d) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(d);
    }
    out
}
