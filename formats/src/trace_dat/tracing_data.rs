//! The tracing data of a perf.data: the start of a version 6 file, which says "0.6" there and ends with the names of tasks.

use super::cursor::{Cursor, text};
use super::draft::Draft;
use super::layout::MAGIC;
use super::metadata;
use crate::capture::Problem;
use crate::endian::Endian;
use crate::error::{FormatError, FormatErrorKind, Limit};
use crate::event_format::EventFormat;
use crate::item::Locus;

/// What such a section says.
#[derive(Debug, Default)]
pub(crate) struct TracingData {
    /// Descriptions of the events.
    pub event_formats: Vec<EventFormat>,
    /// Text of /proc/kallsyms; empty in what perf writes today.
    pub kallsyms: Vec<u8>,
    /// Text of printk_formats.
    pub printk_formats: Vec<u8>,
    /// Names of tasks.
    pub comms: Vec<(i32, String)>,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// Something is missing.
    pub cut: bool,
}

/// Reads the section as far as it goes.
pub(crate) fn tracing_data(section: &[u8]) -> TracingData {
    let mut draft = Draft::default();
    if let Err(e) = walk(section, &mut draft) {
        let message = format!(
            "the tracing data are cut or damaged at {}: what follows it is lost",
            e.what
        );
        draft.damage(Some(e), "", message);
    }
    TracingData {
        event_formats: draft.event_formats,
        kallsyms: draft.kallsyms,
        printk_formats: draft.printk_formats,
        comms: draft.comms,
        problems: draft.problems,
        cut: draft.cut,
    }
}

fn walk(section: &[u8], draft: &mut Draft) -> Result<(), FormatError> {
    let mut c = Cursor::new(section, Endian::Little, Locus::default(), Limit::Section);
    if c.take(MAGIC.len() as u64, "magic of the tracing data")? != MAGIC {
        return Err(c.error(FormatErrorKind::BadMagic, "magic of the tracing data"));
    }
    let version = text(c.cstr("version of the tracing data")?);
    c.endian = match c.u8("endian")? {
        0 => Endian::Little,
        _ => Endian::Big,
    };
    c.u8("long size")?;
    c.u32("page size")?;
    metadata::header_info(&mut c, draft)?;
    metadata::ftrace_events(&mut c, draft)?;
    metadata::event_formats(&mut c, draft)?;
    metadata::kallsyms(&mut c, draft)?;
    metadata::printk_formats(&mut c, draft)?;
    // 0.5 ends here.
    if version != "0.5" {
        metadata::cmdlines(&mut c, draft)?;
    }
    Ok(())
}
