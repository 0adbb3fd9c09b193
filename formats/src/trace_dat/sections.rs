//! Version 7: everything is a section, found from a chain of OPTIONS sections.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::buffers::{Claimed, Shared, clock, streams};
use super::cursor::Cursor;
use super::draft::{Draft, locus};
use super::layout::*;
use super::metadata;
use super::options::{BufferOption, Options};
use super::prologue::{Compression, Prologue};
use crate::bytes_decode::decode;
use crate::capture::{Coding, MemberId};
use crate::error::FormatErrorKind::{BadValue, Loop, Missing, TooLarge, Truncated, Unsupported};
use crate::error::{FormatError, Limit};

/// Decoded bytes of all OPTIONS sections together; real files have a few kB.
const MAX_OPTIONS_BYTES: u64 = 16 << 20;

/// A section header, and where its data are in the file.
#[derive(Debug, Clone, Copy)]
struct Header {
    id: u16,
    compressed: bool,
    size: u64,
    /// Offset of the first byte after the header.
    data: u64,
}

/// A section's bytes, decoded.
struct Body<'a> {
    bytes: Cow<'a, [u8]>,
    member: MemberId,
    /// Offset of the first byte: in the file when stored, 0 when it was compressed.
    offset: u64,
    limit: Limit,
}

/// Reads the file behind the prologue.
pub(super) fn read(file: &[u8], p: &Prologue, draft: &mut Draft) {
    if p.compression == Compression::Unknown {
        let message = format!(
            "compression `{}` is not one this reader knows: compressed parts are lost",
            p.compression_name
        );
        draft.damage(None, "", message);
    }
    let options = options_chain(file, p, draft);
    for (id, name, parse) in BODIES {
        // The last one named counts: a converted file names some twice.
        match options.sections.iter().rev().find(|(i, _)| *i == id) {
            Some((_, offset)) => match body(file, p, *offset, id, draft) {
                Ok(b) => {
                    let mut c = Cursor::new(&b.bytes, p.endian, locus(b.member, b.offset), b.limit);
                    if let Err(e) = parse(&mut c, draft) {
                        draft.damage(Some(e), name, format!("the section {name} cannot be read to its end"));
                    }
                }
                Err(e) => draft.damage(Some(e), name, format!("the section {name} cannot be read")),
            },
            None => {
                let e = FormatError::new(Missing, name, locus(MemberId(0), 0));
                let message =
                    format!("no option names the section {name}: the recording stopped before it, or lost it");
                draft.damage(Some(e), name, message);
            }
        }
    }
    buffers(file, p, &options, draft);
    super::finish_options(options, draft);
}

type Parse = fn(&mut Cursor<'_>, &mut Draft) -> Result<(), FormatError>;

/// The sections that describe the events, in the order in which they are read.
const BODIES: [(u16, &str, Parse); 6] = [
    (OPTION_HEADER_INFO, "HEADER_INFO", metadata::header_info),
    (OPTION_FTRACE_EVENTS, "FTRACE_EVENTS", metadata::ftrace_events),
    (OPTION_EVENT_FORMATS, "EVENT_FORMATS", metadata::event_formats),
    (OPTION_KALLSYMS, "KALLSYMS", metadata::kallsyms),
    (OPTION_PRINTK, "PRINTK", metadata::printk_formats),
    (OPTION_CMDLINES, "CMDLINES", metadata::cmdlines),
];

/// Follows the chain; it ends at offset 0, at a damaged section, or where it comes back to itself.
fn options_chain(file: &[u8], p: &Prologue, draft: &mut Draft) -> Options {
    let mut options = Options::default();
    let (mut visited, mut total) = (BTreeSet::new(), 0_u64);
    let mut next = Some(p.options_offset).filter(|o| *o != 0);
    if next.is_none() {
        draft.damage(
            None,
            "OPTIONS",
            "the file names no OPTIONS section: the recording did not finish, its data are not described",
        );
    }
    while let Some(offset) = next.take() {
        let lost = "the rest of the options is lost: parts of the recording that only they name cannot be found";
        if !visited.insert(offset) {
            let e = FormatError::new(Loop, "OPTIONS", locus(MemberId(0), offset));
            draft.damage(
                Some(e),
                "OPTIONS",
                format!("the chain of OPTIONS sections comes back to offset {offset}; {lost}"),
            );
            break;
        }
        let b = match body(file, p, offset, OPTION_DONE, draft) {
            Ok(b) => b,
            Err(e) => {
                draft.damage(
                    Some(e),
                    "OPTIONS",
                    format!("the OPTIONS section at offset {offset} cannot be read; {lost}"),
                );
                break;
            }
        };
        total = total.saturating_add(b.bytes.len() as u64);
        if total > MAX_OPTIONS_BYTES {
            let e = FormatError::new(TooLarge, "OPTIONS", locus(b.member, b.offset));
            draft.damage(
                Some(e.sizes(total, MAX_OPTIONS_BYTES, Limit::Configured)),
                "OPTIONS",
                lost,
            );
            break;
        }
        let mut c = Cursor::new(&b.bytes, p.endian, locus(b.member, b.offset), b.limit);
        match records(&mut c, p, &mut options, draft) {
            Ok(offset) => next = Some(offset).filter(|o| *o != 0),
            Err(e) => draft.damage(
                Some(e),
                "OPTIONS",
                format!("the OPTIONS section at offset {offset} is cut; {lost}"),
            ),
        }
    }
    options
}

/// The records of one OPTIONS section; returns the offset of the next one.
fn records(c: &mut Cursor<'_>, p: &Prologue, options: &mut Options, draft: &mut Draft) -> Result<u64, FormatError> {
    loop {
        let id = c.u16("option id")?;
        let size = c.u32("option size")?;
        let at = c.locus;
        let mut data = Cursor::new(c.take(u64::from(size), "option")?, p.endian, at, Limit::Section);
        if id == OPTION_DONE {
            return data.u64("offset of the next OPTIONS section");
        }
        options.take(id, data, p.version, draft);
    }
}

fn header(file: &[u8], p: &Prologue, offset: u64) -> Result<Header, FormatError> {
    let place = locus(MemberId(0), offset);
    let mut c = Cursor::in_file(file, offset, p.endian).ok_or_else(|| {
        let need = offset.saturating_add(SECTION_HEADER_BYTES);
        FormatError::new(Truncated, "section header", place).sizes(need, file.len() as u64, Limit::File)
    })?;
    let (id, flags) = (c.u16("section id")?, c.u16("section flags")?);
    c.u32("section description")?;
    let size = c.u64("section size")?;
    Ok(Header {
        id,
        compressed: flags & SECTION_COMPRESSED != 0,
        size,
        data: c.offset(),
    })
}

/// The decoded body of the section at `offset`, named as a member; `want` is the id it must have.
fn body<'a>(file: &'a [u8], p: &Prologue, offset: u64, want: u16, draft: &mut Draft) -> Result<Body<'a>, FormatError> {
    let h = header(file, p, offset)?;
    if want != h.id {
        let (need, have) = (u64::from(want), u64::from(h.id));
        return Err(
            FormatError::new(BadValue, "section id", locus(MemberId(0), offset)).sizes(need, have, Limit::File),
        );
    }
    let name = option_name(h.id).unwrap_or("unknown section");
    let member = draft.member(name, h.data..h.data.saturating_add(h.size));
    let place = locus(member, h.data);
    let mut c = Cursor::in_file(file, h.data, p.endian)
        .ok_or_else(|| FormatError::new(Truncated, "section", place).sizes(h.size, 0, Limit::File))?
        .at(place);
    if !h.compressed {
        // A cut section is still read as far as it goes.
        let n = h.size.min(c.left());
        let limit = if n < h.size { Limit::File } else { Limit::Section };
        return Ok(Body {
            bytes: Cow::Borrowed(c.take(n, "section")?),
            member,
            offset: h.data,
            limit,
        });
    }
    let (csize, usize) = (c.u32("compressed size")?, c.u32("uncompressed size")?);
    let coded = c.take(u64::from(csize), "compressed section")?;
    let size = Some(u64::from(usize));
    let coding = match p.compression {
        Compression::Zlib => Coding::Zlib { size },
        Compression::Zstd => Coding::Zstd { size },
        Compression::None | Compression::Unknown => return Err(c.error(Unsupported, "compression")),
    };
    Ok(Body {
        bytes: decode(coded, coding, place)?,
        member,
        offset: 0,
        limit: Limit::Section,
    })
}

/// BUFFER options to streams. The section header of a buffer only says whether its chunks are compressed.
fn buffers(file: &[u8], p: &Prologue, options: &Options, draft: &mut Draft) {
    let mut claimed = Claimed::default();
    let other_clock = options.cpu_stats.not_on_top_clock();
    for b in &options.buffers {
        let Some(page) = draft.page else {
            let message = format!("without header_page the events of buffer `{}` cannot be read", b.name);
            draft.damage(None, "BUFFER", message);
            continue;
        };
        // A buffer without events may have no section.
        if b.cpus.iter().all(|r| r.size == 0) {
            continue;
        }
        let h = match header(file, p, b.offset) {
            Ok(h) if h.id == OPTION_BUFFER => h,
            Ok(h) => {
                let e = FormatError::new(BadValue, "section id", locus(MemberId(0), b.offset));
                let e = e.sizes(u64::from(OPTION_BUFFER), u64::from(h.id), Limit::File);
                draft.damage(
                    Some(e),
                    "BUFFER",
                    format!("buffer `{}` points to something else: its events are lost", b.name),
                );
                continue;
            }
            Err(e) => {
                draft.damage(
                    Some(e),
                    "BUFFER",
                    format!("buffer `{}` is past the end of the file", b.name),
                );
                continue;
            }
        };
        let page = if plausible(b.page_size) {
            page.with_size(b.page_size)
        } else {
            let said = b.page_size;
            let message = format!(
                "buffer `{}` says {said} bytes for a sub-buffer: header_page is taken instead",
                b.name
            );
            draft.remark(None, "BUFFER", message);
            page
        };
        let clock = clock(b, options.clock.as_deref().unwrap_or(""), &other_clock, draft);
        let b = BufferOption { clock, ..b.clone() };
        let compression = h.compressed.then_some(p.compression);
        streams(
            &b,
            &Shared {
                file,
                page,
                compression,
            },
            &mut claimed,
            draft,
        );
    }
}

/// A sub-buffer is a power of two of bytes, from a page to 64 MiB; else header_page has the size.
fn plausible(page_size: u32) -> bool {
    page_size.is_power_of_two() && (1 << 10..=1 << 26).contains(&page_size)
}
