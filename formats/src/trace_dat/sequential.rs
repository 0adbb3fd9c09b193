//! Version 6: one part after another; only ring buffers are found by offsets.

use super::buffers::{Claimed, MAX_CPU, Shared, clock, streams};
use super::cursor::{Cursor, text};
use super::draft::{Draft, locus};
use super::layout::*;
use super::metadata;
use super::options::{BufferOption, CpuRange, Options, bracketed};
use super::prologue::Prologue;
use crate::capture::MemberId;
use crate::error::FormatErrorKind::{BadMagic, Missing, TooLarge, Truncated};
use crate::error::{FormatError, Limit};

/// Reads the file behind the prologue.
pub(super) fn read(file: &[u8], p: &Prologue, draft: &mut Draft) {
    let mut options = Options::default();
    if let Err(e) = walk(file, p, &mut options, draft) {
        let message = format!("the file is cut or damaged at {}: what follows it is lost", e.what);
        draft.damage(Some(e), "", message);
    }
    super::finish_options(options, draft);
}

fn walk(file: &[u8], p: &Prologue, options: &mut Options, draft: &mut Draft) -> Result<(), FormatError> {
    let mut c = Cursor::in_file(file, p.end, p.endian)
        .ok_or_else(|| FormatError::new(Truncated, "header_page", locus(MemberId(0), p.end)))?;
    headers(&mut c, draft)?;
    let mut cpus = c.u32("number of CPUs")?;
    draft.host.cpus = cpus;
    let start = c.offset();
    let mut tag = c.take(TAG_BYTES as u64, "tag")?;
    if tag.starts_with(TAG_OPTIONS) {
        option_records(&mut c, p, options, draft)?;
        draft.member("OPTIONS", start..c.offset());
        tag = c.take(TAG_BYTES as u64, "tag")?;
    }
    if let Some(n) = options.cpu_count {
        cpus = n;
    }
    let mut top = None;
    if tag.starts_with(TAG_FLYRECORD) {
        let ranges = cpu_table(&mut c, cpus)?;
        if options.clock.is_some() {
            // The option's text may be cut; the whole text is after the table.
            match c.sized64("trace_clock") {
                Ok(whole) => options.clock = bracketed(&text(whole)).or(options.clock.take()),
                Err(e) => draft.damage(
                    Some(e),
                    "",
                    "the text of trace_clock behind the table of CPUs cannot be read",
                ),
            }
        }
        top = Some(BufferOption {
            name: String::new(),
            offset: 0,
            clock: String::new(),
            page_size: 0,
            cpus: ranges,
        });
    } else if tag.starts_with(TAG_LATENCY) {
        draft.damage(
            None,
            "BUFFER",
            "the file holds an ASCII latency trace instead of ring buffers: not read",
        );
    } else {
        return Err(c.error(BadMagic, "tag before the table of CPUs"));
    }
    buffers(file, p, top, options, cpus, draft)
}

/// The top buffer, and the instances that options name.
fn buffers(
    file: &[u8],
    p: &Prologue,
    top: Option<BufferOption>,
    options: &Options,
    cpus: u32,
    draft: &mut Draft,
) -> Result<(), FormatError> {
    let Some(page) = draft.page else {
        return Err(FormatError::new(Missing, "header_page", locus(MemberId(0), p.end)));
    };
    if p.page_size != page.size {
        let message = format!(
            "the file says {} bytes for a page, header_page {}: header_page is of the kernel and is taken",
            p.page_size, page.size
        );
        draft.remark(None, "HEADER_INFO", message);
    }
    let shared = Shared {
        file,
        page,
        compression: None,
    };
    let mut claimed = Claimed::default();
    let top_clock = options.clock.as_deref().unwrap_or("");
    if let Some(top) = top {
        streams(
            &BufferOption {
                clock: top_clock.to_owned(),
                ..top
            },
            &shared,
            &mut claimed,
            draft,
        );
    }
    let other_clock = options.cpu_stats.not_on_top_clock();
    for b in &options.buffers {
        match instance_table(file, p, b, cpus) {
            Ok(cpus) => {
                let clock = clock(b, top_clock, &other_clock, draft);
                streams(
                    &BufferOption {
                        clock,
                        cpus,
                        ..b.clone()
                    },
                    &shared,
                    &mut claimed,
                    draft,
                );
            }
            Err(e) => {
                let message = format!("the table of instance `{}` cannot be read: its events are lost", b.name);
                draft.damage(Some(e), "BUFFER", message);
            }
        }
    }
    Ok(())
}

/// The six descriptive parts, each named as a member.
pub(super) fn headers(c: &mut Cursor<'_>, draft: &mut Draft) -> Result<(), FormatError> {
    type Parse = fn(&mut Cursor<'_>, &mut Draft) -> Result<(), FormatError>;
    let parts: [(&str, Parse); 6] = [
        ("HEADER_INFO", metadata::header_info),
        ("FTRACE_EVENTS", metadata::ftrace_events),
        ("EVENT_FORMATS", metadata::event_formats),
        ("KALLSYMS", metadata::kallsyms),
        ("PRINTK", metadata::printk_formats),
        ("CMDLINES", metadata::cmdlines),
    ];
    for (name, parse) in parts {
        let start = c.offset();
        let result = parse(c, draft);
        draft.member(name, start..c.offset());
        result?;
    }
    Ok(())
}

/// (u16 id, u32 size, data)*, closed by id 0 without a size.
fn option_records(
    c: &mut Cursor<'_>,
    p: &Prologue,
    options: &mut Options,
    draft: &mut Draft,
) -> Result<(), FormatError> {
    loop {
        let id = c.u16("option id")?;
        if id == OPTION_DONE {
            return Ok(());
        }
        let size = c.u32("option size")?;
        let at = c.locus;
        let data = Cursor::new(c.take(u64::from(size), "option")?, p.endian, at, Limit::Section);
        options.take(id, data, p.version, draft);
    }
}

/// `cpus` times (u64 offset, u64 size); the index is the CPU number. Those without data are left out, as in version 7.
fn cpu_table(c: &mut Cursor<'_>, cpus: u32) -> Result<Vec<CpuRange>, FormatError> {
    if cpus > MAX_CPU {
        let (need, have) = (u64::from(cpus), u64::from(MAX_CPU));
        return Err(c.error(TooLarge, "number of CPUs").sizes(need, have, Limit::Configured));
    }
    let mut table = Vec::new();
    for cpu in 0..cpus {
        let (offset, size) = (c.u64("offset of a CPU")?, c.u64("size of a CPU")?);
        if size > 0 {
            table.push(CpuRange { cpu, offset, size });
        }
    }
    Ok(table)
}

/// The table of an instance: its option gives only the place of a `flyrecord` tag.
fn instance_table(file: &[u8], p: &Prologue, b: &BufferOption, cpus: u32) -> Result<Vec<CpuRange>, FormatError> {
    let mut c = Cursor::in_file(file, b.offset, p.endian)
        .ok_or_else(|| FormatError::new(Truncated, "table of an instance", locus(MemberId(0), b.offset)))?;
    if !c.take(TAG_BYTES as u64, "tag")?.starts_with(TAG_FLYRECORD) {
        return Err(c.error(BadMagic, "tag of an instance"));
    }
    cpu_table(&mut c, cpus)
}
