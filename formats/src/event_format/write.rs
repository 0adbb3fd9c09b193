//! A parsed format as a text again: what a bundle made of another recording says of its events.

use std::fmt::Write;

use super::{EventFormat, FieldFormat};

impl EventFormat {
    /// The text of `events/<system>/<name>/format`, as [`EventFormat::parse`] reads it.
    pub fn text(&self) -> String {
        let mut out = format!("name: {}\nID: {}\nformat:\n", self.name, self.id);
        self.common.iter().for_each(|f| line(f, &mut out));
        out.push('\n');
        self.fields.iter().for_each(|f| line(f, &mut out));
        // Writing to a String does not fail.
        let _ = write!(out, "\nprint fmt: {}\n", self.print_fmt);
        out
    }
}

fn line(f: &FieldFormat, out: &mut String) {
    let pointed = f.declaration.starts_with("__data_loc") || f.declaration.starts_with("__rel_loc");
    let at = f.declaration.find('[').filter(|_| !pointed);
    let (base, brackets) = f.declaration.split_at(at.unwrap_or(f.declaration.len()));
    let _ = writeln!(
        out,
        "\tfield:{base} {}{brackets};\toffset:{};\tsize:{};\tsigned:{};",
        f.name,
        f.offset,
        f.size,
        u8::from(f.signed)
    );
}
