//! An array with one object per line and row. Text is exact, a list is an array; unknown and not-a-number are null.

use std::io::{self, Write};

use netmortem_analyzer::table::Cell;
use serde_json::to_string;

use super::Sheet;

/// Writes the sheet.
pub fn write(sheet: &Sheet<'_>, out: &mut dyn Write) -> io::Result<()> {
    let keys = sheet
        .heads
        .iter()
        .map(|h| to_string(&h.name))
        .collect::<Result<Vec<_>, _>>()?;
    let mut before = "[";
    for row in sheet.iter() {
        write!(out, "{before}\n{{")?;
        for (i, ((cell, key), head)) in row.zip(&keys).zip(&sheet.heads).enumerate() {
            let value = match &cell {
                Cell::Str(array) if head.list => escape_high_controls(array.to_string()),
                cell => value(cell)?,
            };
            write!(out, "{}{key}:{value}", if i > 0 { "," } else { "" })?;
        }
        out.write_all(b"}")?;
        before = ",";
    }
    out.write_all(if before == "[" { b"[]\n" } else { b"\n]\n" })
}

fn value(cell: &Cell<'_>) -> io::Result<String> {
    Ok(match cell {
        Cell::Null => "null".to_owned(),
        Cell::I64(v) => v.to_string(),
        Cell::U64(v) => v.to_string(),
        Cell::F64(v) => to_string(v)?,
        Cell::Bool(v) => v.to_string(),
        // serde_json leaves DEL and the C1 controls as they are; a terminal obeys them.
        Cell::Str(s) => escape_high_controls(to_string(s)?),
    })
}

fn escape_high_controls(s: String) -> String {
    if !s.contains(|c: char| c.is_control()) {
        return s;
    }
    s.chars()
        .map(|c| {
            if c.is_control() {
                format!("\\u{:04x}", u32::from(c))
            } else {
                c.to_string()
            }
        })
        .collect()
}
