//! Commands that a page shows name the recording that it was made of: they can be pasted as they stand, in the folder where
//! the report was asked for. Sections write `INPUT`; here it becomes the file's name, quoted for a shell. It stays `INPUT` where
//! the recording was read from a pipe, and where its name has what a page must not show as it is (control characters).
//!
//! ```text
//! Document whose blocks say `netmortem show rx INPUT`, path --name()--> `netmortem show rx 'a b.nmb'`; Document::input for ids
//! ```

use crate::clean::Text;
use crate::document::{Block, Document, INPUT};

/// Longest path that is written into commands, in characters.
const LONGEST: usize = 200;

/// Puts the file's name into every command, and the option that chooses the part of it that was analyzed.
pub fn name(document: &mut Document, source: &str, part: Option<&str>) {
    let Some(input) = quoted(source) else { return };
    let input = match part {
        None => input,
        Some(part) => Text::from(format!("{} {part}", input.as_str())),
    };
    for section in &mut document.sections {
        put(&mut section.lead, input.as_str());
        blocks(&mut section.blocks, input.as_str());
    }
    document.input = Some(input);
}

fn blocks(of: &mut [Block], input: &str) {
    for block in of {
        match block {
            Block::Paragraph(text) => put(text, input),
            Block::Code(lines) | Block::List(lines) => lines.iter_mut().for_each(|line| put(line, input)),
            Block::Strip(strip) => {
                put(&mut strip.sentence, input);
                strip.detail.iter_mut().for_each(|detail| put(detail, input));
            }
            Block::Findings(all) => {
                for finding in all.iter_mut().flat_map(|of| &mut of.said) {
                    put(&mut finding.text, input);
                    finding.so.iter_mut().for_each(|(so, _)| put(so, input));
                }
            }
            Block::Table(table) => table.note.iter_mut().for_each(|note| put(note, input)),
            Block::Figure(figure) => put(&mut figure.caption, input),
            Block::Figures(figures) => figures.iter_mut().for_each(|figure| put(&mut figure.caption, input)),
            Block::Details { blocks: inside, .. } => blocks(inside, input),
            _ => {}
        }
    }
}

/// It ends in a command and its options: a chain of iptables has that name, too, and a process may have ours.
fn is_command(text: &str) -> bool {
    let of = text.rsplit_once("netmortem ").map(|(_, of)| of);
    of.is_some_and(|of| {
        of.starts_with(|c: char| c.is_ascii_lowercase())
            && of.chars().all(|c| c.is_ascii_alphanumeric() || " -_".contains(c))
    })
}

/// What stands for the input is its own word, behind a command; a comparison of two parts of one recording names it twice.
fn put(text: &mut Text, input: &str) {
    let mut parts = text.as_str().split(INPUT);
    let mut out = parts.next().unwrap_or("").to_owned();
    let (mut named, mut behind) = (false, false);
    for after in parts {
        let word = out.ends_with(' ') && (after.is_empty() || after.starts_with([' ', '.', ';', ',', ')', '`']));
        let ours = word && (behind || is_command(&out));
        behind = ours && after == " ";
        out.push_str(if ours { input } else { INPUT });
        out.push_str(after);
        named |= ours;
    }
    if named {
        *text = Text::from(out);
    }
}

/// As a word of a POSIX shell; `None` when that cannot be done in plain sight.
#[must_use]
pub fn quoted(source: &str) -> Option<Text> {
    let shown = Text::from(source);
    let plain = shown.as_str() == source && !source.contains(char::REPLACEMENT_CHARACTER);
    if source.is_empty() || source == "-" || !plain || source.chars().count() > LONGEST {
        return None;
    }
    // A name that begins with a hyphen would be an option.
    let path = match source.starts_with('-') {
        true => format!("./{source}"),
        false => source.to_owned(),
    };
    let bare = |c: char| c.is_ascii_alphanumeric() || "._/+:,@%-".contains(c);
    Some(match path.chars().all(bare) {
        true => path.into(),
        false => format!("'{}'", path.replace('\'', "'\\''")).into(),
    })
}

#[cfg(test)]
mod tests;
