//! RFC 4180 with LF line ends. Unknown is empty, an empty text is `""`, control characters are escaped like `\x1b`.

use std::borrow::Cow;
use std::io::{self, Write};

use netmortem_analyzer::table::Cell;

use super::{Sheet, clean};

/// Writes the sheet.
pub fn write(sheet: &Sheet<'_>, out: &mut dyn Write) -> io::Result<()> {
    let heads: Vec<Cow<'_, str>> = sheet.heads.iter().map(|h| quoted(clean(&h.name))).collect();
    writeln!(out, "{}", heads.join(","))?;
    for row in sheet.iter() {
        for (i, cell) in row.enumerate() {
            if i > 0 {
                out.write_all(b",")?;
            }
            match cell {
                Cell::Null => {}
                Cell::I64(v) => write!(out, "{v}")?,
                Cell::U64(v) => write!(out, "{v}")?,
                Cell::F64(v) => write!(out, "{v}")?,
                Cell::Bool(v) => write!(out, "{v}")?,
                Cell::Str(s) => out.write_all(quoted(clean(&s)).as_bytes())?,
            }
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn quoted(s: Cow<'_, str>) -> Cow<'_, str> {
    if s.is_empty() || s.contains([',', '"']) {
        format!("\"{}\"", s.replace('"', "\"\"")).into()
    } else {
        s
    }
}
