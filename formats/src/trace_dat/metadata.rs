//! Bodies of the descriptive parts, the same in both versions: header_page, formats, kallsyms, printk_formats, cmdlines.
//!
//! Each function reads one body from a cursor that stands at its first byte and leaves it after the last, because in v6
//! they follow one another without headers.

use super::cursor::{Cursor, text};
use super::draft::Draft;
use crate::error::FormatErrorKind::{BadMagic, TooLarge};
use crate::error::{FormatError, Limit};
use crate::event_format::EventFormat;
use crate::sub_buffer::{PageLayout, check_header_event};

/// Event ids are u16: a file with more formats than that is not one the kernel wrote.
const MAX_FORMATS: usize = 1 << 16;
/// The kernel's PID_MAX_LIMIT.
const MAX_COMMS: usize = 1 << 22;

/// HEADER_INFO: `header_page\0` u64 len text, `header_event\0` u64 len text.
pub(super) fn header_info(c: &mut Cursor<'_>, draft: &mut Draft) -> Result<(), FormatError> {
    let at = *c;
    if c.take(12, "header_page")? != b"header_page\0" {
        return Err(at.error(BadMagic, "header_page"));
    }
    let header_page = c.sized64("header_page")?;
    match PageLayout::parse(header_page, c.endian) {
        Ok(layout) => draft.page = Some(layout),
        Err(e) => draft.damage(
            Some(e),
            "HEADER_INFO",
            "the header_page text cannot be understood, so no record of this file can be located",
        ),
    }
    let at = *c;
    if c.take(13, "header_event")? != b"header_event\0" {
        return Err(at.error(BadMagic, "header_event"));
    }
    if let Err(e) = check_header_event(c.sized64("header_event")?) {
        draft.page = None;
        draft.damage(
            Some(e),
            "HEADER_INFO",
            "the records are laid out as kernels until 2.6.30 did, which this program does not read",
        );
    }
    Ok(())
}

/// FTRACE_EVENTS: u32 n, n times (u64 len, format).
pub(super) fn ftrace_events(c: &mut Cursor<'_>, draft: &mut Draft) -> Result<(), FormatError> {
    formats(c, draft, "ftrace", "FTRACE_EVENTS")
}

/// EVENT_FORMATS: u32 systems, each: name\0, u32 n, n times (u64 len, format).
pub(super) fn event_formats(c: &mut Cursor<'_>, draft: &mut Draft) -> Result<(), FormatError> {
    let systems = c.u32("number of systems")?;
    for _ in 0..systems {
        let system = text(c.cstr("name of a system")?);
        formats(c, draft, &system, "EVENT_FORMATS")?;
    }
    Ok(())
}

fn formats(c: &mut Cursor<'_>, draft: &mut Draft, system: &str, member: &str) -> Result<(), FormatError> {
    let n = c.u32("number of formats")?;
    for _ in 0..n {
        let at = *c;
        if draft.event_formats.len() >= MAX_FORMATS {
            let have = MAX_FORMATS as u64;
            return Err(at
                .error(TooLarge, "number of formats")
                .sizes(have.saturating_add(1), have, Limit::Configured));
        }
        let body = c.sized64("format")?;
        match EventFormat::parse(system, body) {
            Ok(f) => draft.event_formats.push(f),
            Err(e) => draft.remark(
                Some(FormatError { locus: at.locus, ..e }),
                member,
                format!("a format text of the system {system} cannot be understood; its events stay unknown"),
            ),
        }
    }
    Ok(())
}

/// KALLSYMS: u32 len, text of /proc/kallsyms.
pub(super) fn kallsyms(c: &mut Cursor<'_>, draft: &mut Draft) -> Result<(), FormatError> {
    draft.kallsyms = c.sized32("kallsyms")?.to_vec();
    Ok(())
}

/// PRINTK: u32 len, text of printk_formats.
pub(super) fn printk_formats(c: &mut Cursor<'_>, draft: &mut Draft) -> Result<(), FormatError> {
    draft.printk_formats = c.sized32("printk_formats")?.to_vec();
    Ok(())
}

/// CMDLINES: u64 len, text of saved_cmdlines: one `pid comm` per line; a comm may hold spaces.
pub(super) fn cmdlines(c: &mut Cursor<'_>, draft: &mut Draft) -> Result<(), FormatError> {
    let body = c.sized64("saved_cmdlines")?;
    let mut odd = 0_u64;
    for line in body.split(|b| matches!(b, b'\n' | 0)).filter(|l| !l.is_empty()) {
        let parts = String::from_utf8_lossy(line);
        match parts.split_once(' ').map(|(pid, comm)| (pid.parse::<i32>(), comm)) {
            Some((Ok(pid), comm)) if draft.comms.len() < MAX_COMMS => draft.comms.push((pid, comm.to_owned())),
            _ => odd = odd.saturating_add(1),
        }
    }
    if odd > 0 {
        draft.remark(
            None,
            "CMDLINES",
            format!("{odd} lines of saved_cmdlines are not `pid comm`; those names are unknown"),
        );
    }
    Ok(())
}
