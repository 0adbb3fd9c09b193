//! trace-cmd's `trace.dat`, versions 6 and 7: a container of ring-buffer sub-buffers and of what is needed to read them.
//!
//! In: the bytes of the file. Out: a [`Capture`] whose streams list chunks; no event is decoded here. It must not sort,
//! convert clocks or guess: what a damaged file no longer says becomes a problem sentence, the rest is read.
//!
//! Spec: trace-cmd.dat.v6(5), trace-cmd.dat.v7(5). Integers have the file's byte order and no alignment.
//!
//! ```text
//! common      17 08 44 "tracing" version\0 | u8 endian | u8 long size | u32 page size
//! version 6   header_page\0 u64 len text, header_event\0 u64 len text      HEADER_INFO
//!             u32 n, n x (u64 len, format)                                 FTRACE_EVENTS
//!             u32 systems x (name\0, u32 n, n x (u64 len, format))         EVENT_FORMATS
//!             u32 len kallsyms | u32 len printk_formats | u64 len cmdlines KALLSYMS PRINTK CMDLINES
//!             u32 CPUs
//!             "options  \0" (u16 id, u32 size, data)* u16 0                only if there are options
//!             "flyrecord\0" CPUs x (u64 offset, u64 size)                  pages, as the kernel wrote them
//!             u64 len trace_clock                                          only after an option TRACECLOCK
//!             at the offset of an option BUFFER: "flyrecord\0" + table     one per instance
//! version 7   compression name\0 version\0 | u64 offset of the first OPTIONS section
//!             section: u16 id | u16 flags | u32 description | u64 size | data
//!             compressed data: u32 csize | u32 usize | csize bytes         8 + csize = size
//!             OPTIONS: (u16 id, u32 size, data)*, the last is DONE: u16 0, u32 8, u64 offset of the next OPTIONS or 0
//!             option BUFFER: u64 section | name\0 | clock\0 | u32 page size | u32 n | n x (u32 cpu, u64 offset, u64 size)
//!             a CPU of a compressed BUFFER: u32 count | count x (u32 csize, u32 usize, csize bytes)
//!                                 the size of the CPU does not count the u32 count
//! ```
//! Where the manual and files differ the files are right: DONE has a size in version 7, a chain of three OPTIONS sections
//! is common, zstd frames do not say their size, and an instance's clock may be wrong (`cpu_stats.rs`).

mod buffers;
mod cpu_stats;
mod cursor;
mod draft;
mod layout;
mod metadata;
mod options;
mod prologue;
mod sections;
mod sequential;
#[cfg(test)]
mod tests;
mod tracing_data;

use crate::bytes::Bytes;
use crate::capture::Capture;
use crate::error::FormatError;
use crate::open::Descriptor;

pub(crate) use tracing_data::{TracingData, tracing_data};

const NAME: &str = "trace.dat";

/// How to open a trace.dat.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: NAME,
    sniff,
    open,
};

fn sniff(b: &[u8]) -> bool {
    b.starts_with(layout::MAGIC)
}

fn open(source: &str, bytes: Bytes) -> Result<Capture, FormatError> {
    let p = prologue::read(&bytes)?;
    let mut draft = draft::Draft::default();
    draft.member("prologue", 0..p.end);
    match p.version {
        7.. => sections::read(&bytes, &p, &mut draft),
        _ => sequential::read(&bytes, &p, &mut draft),
    }
    Ok(draft.finish(source, bytes, &p))
}

/// What both versions do with the collected options at the end.
fn finish_options(options: options::Options, draft: &mut draft::Draft) {
    let odd = options.cpu_stats.odd_values;
    if odd > 0 {
        draft.remark(
            None,
            "OPTIONS",
            format!("{odd} values of the CPUSTAT texts are not numbers: they are unknown"),
        );
    }
    draft.cpu_stats = options.cpu_stats.stats;
}
