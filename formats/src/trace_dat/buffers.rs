//! Ring buffers: from the table of CPUs to streams of independently decodable chunks.
//!
//! Nothing is decoded here. Every chunk that the file claims to have is listed, also one that lies past the end of the
//! file: reading it fails with `Truncated` at its place in the stream, so that the loss is seen where it is.

use std::collections::{BTreeMap, BTreeSet};

use super::cursor::Cursor;
use super::draft::{Draft, locus};
use super::options::{BufferOption, CpuRange};
use super::prologue::Compression;
use crate::capture::{Chunk, Coding, MAX_CHUNK_BYTES, MemberId, Stream};
use crate::error::FormatErrorKind::{BadLength, BadValue, TooLarge, Truncated};
use crate::error::{FormatError, Limit};
use crate::item::Locus;
use crate::sub_buffer::PageLayout;

/// Stored sub-buffers are cut in chunks of about this size, so that they decode in parallel.
const STORED_CHUNK_BYTES: u64 = 1 << 20;
/// The largest CPU number taken; Linux supports 8,192 CPUs.
pub(super) const MAX_CPU: u32 = 0x3fff;
/// The smallest compressed chunk that can hold anything: an empty zstd frame or zlib stream.
const MIN_COMPRESSED_BYTES: u32 = 8;

/// What CPUs already have. Two CPUs never share bytes, and none is in a buffer twice; a file that says so would make a
/// reader decode the same bytes again and again.
#[derive(Debug, Default)]
pub(super) struct Claimed {
    /// Ranges of the file: start -> end.
    ranges: BTreeMap<u64, u64>,
    /// CPUs of each buffer.
    cpus: BTreeMap<String, BTreeSet<u32>>,
}

/// What all CPUs of one buffer share.
pub(super) struct Shared<'a> {
    pub file: &'a [u8],
    pub page: PageLayout,
    /// How chunks are coded; `None` when the pages are stored as they are.
    pub compression: Option<Compression>,
}

/// The clock of a buffer: what its option says (version 6 says nothing and means the top buffer's), unless the statistics
/// show that the instance did not run on it.
pub(super) fn clock(b: &BufferOption, top: &str, other_clock: &BTreeSet<String>, draft: &mut Draft) -> String {
    let said = if b.clock.is_empty() { top } else { &b.clock };
    if b.name.is_empty() || said != top || !other_clock.contains(&b.name) {
        return said.to_owned();
    }
    let message = format!(
        "by the file instance `{}` ran on the clock `{said}` of the top buffer, but the `now ts` lines of its statistics \
         are of another clock: its clock is unknown, its times do not compare with those of other streams",
        b.name
    );
    draft.remark(None, &format!("BUFFER {}", b.name), message);
    String::new()
}

/// Adds the streams of a buffer.
pub(super) fn streams(b: &BufferOption, shared: &Shared<'_>, claimed: &mut Claimed, draft: &mut Draft) {
    for range in &b.cpus {
        if range.size > 0 {
            one(b, *range, shared, claimed, draft);
        }
    }
}

fn one(b: &BufferOption, r: CpuRange, shared: &Shared<'_>, claimed: &mut Claimed, draft: &mut Draft) {
    let owner = if b.name.is_empty() {
        "BUFFER".to_owned()
    } else {
        format!("BUFFER {}", b.name)
    };
    let name = format!("{owner} cpu {}", r.cpu);
    let end = r.offset.saturating_add(r.size);
    // Only a range that is taken becomes a member: a refused one is told by its name and file offset.
    let place = Locus {
        stream: r.cpu,
        ..locus(MemberId(0), r.offset)
    };
    if r.cpu > MAX_CPU {
        let e = FormatError::new(BadValue, "cpu", place).sizes(u64::from(r.cpu), u64::from(MAX_CPU), Limit::Configured);
        return draft.damage(
            Some(e),
            &name,
            format!("CPU number {} is not one: its {} bytes are not read", r.cpu, r.size),
        );
    }
    if claimed.cpus.get(&b.name).is_some_and(|cpus| cpus.contains(&r.cpu)) {
        let e = FormatError::new(BadValue, "cpu", place);
        let message = format!("{name} is there twice: the second one ({} bytes) is not read", r.size);
        return draft.damage(Some(e), &name, message);
    }
    let before = claimed.ranges.range(..end).next_back();
    if before.is_some_and(|(_, other_end)| *other_end > r.offset) {
        let e = FormatError::new(BadLength, "range of a CPU", place);
        let message = format!(
            "{name} claims bytes that belong to another CPU: its {} bytes are not read",
            r.size
        );
        return draft.damage(Some(e), &name, message);
    }
    claimed.ranges.insert(r.offset, end);
    claimed.cpus.entry(b.name.clone()).or_default().insert(r.cpu);
    let member = draft.member(name.as_str(), r.offset..end);
    let chunks = match shared.compression {
        None => stored(member, &name, r, shared, draft),
        Some(c) => compressed(member, &name, r, c, shared, draft),
    };
    let (instance, cpu, page, clock) = (b.name.clone(), r.cpu, shared.page, b.clock.clone());
    draft.streams.push(Stream {
        instance,
        cpu,
        page,
        perf: None,
        clock,
        chunks,
    });
}

/// Pages as they are, cut at sub-buffers. What lies past the end of the file is one last chunk.
fn stored(member: MemberId, name: &str, r: CpuRange, shared: &Shared<'_>, draft: &mut Draft) -> Vec<Chunk> {
    let sub_buffer = u64::from(shared.page.size.max(1));
    let torn = r.size.checked_rem(sub_buffer).unwrap_or(0);
    if torn > 0 {
        let e = FormatError::new(BadLength, "pages of a CPU", locus(member, r.offset)).sizes(
            sub_buffer,
            torn,
            Limit::Section,
        );
        draft.damage(
            Some(e),
            name,
            format!("{name} ends with {torn} bytes of a sub-buffer of {sub_buffer}"),
        );
    }
    let step = STORED_CHUNK_BYTES
        .checked_div(sub_buffer)
        .unwrap_or(1)
        .max(1)
        .saturating_mul(sub_buffer);
    let end = r.offset.saturating_add(r.size);
    let there = end.min(shared.file.len() as u64);
    if there < end {
        let missing = end.saturating_sub(there.max(r.offset));
        let e = FormatError::new(Truncated, "pages of a CPU", locus(member, r.offset)).sizes(end, there, Limit::File);
        let of = r.size;
        draft.damage(
            Some(e),
            name,
            format!("the file is cut: {missing} of the {of} bytes of {name} are missing, with its last events"),
        );
    }
    let chunk = |a, b| Chunk {
        member,
        range: a..b,
        coding: Coding::Stored,
    };
    let (mut chunks, mut at) = (Vec::new(), r.offset);
    while at < there {
        let next = at.saturating_add(step).min(there);
        chunks.push(chunk(at, next));
        at = next;
    }
    if at < end {
        chunks.push(chunk(at, end));
    }
    chunks
}

/// u32 count, then count times (u32 csize, u32 usize, data). trace-cmd 3.1.6 does not count the first u32 in the size of
/// the CPU; one that does is not a reason to doubt the file.
fn compressed(
    member: MemberId,
    name: &str,
    r: CpuRange,
    compression: Compression,
    shared: &Shared<'_>,
    draft: &mut Draft,
) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let file_len = shared.file.len() as u64;
    let cut = |e: FormatError, i: u32, count: u32| {
        let message = format!("the file is cut at chunk {i} of {count} of {name}: its last events are lost");
        (Some(e), message)
    };
    let place = Locus {
        member,
        stream: r.cpu,
        offset: r.offset,
    };
    let start = Cursor::in_file(shared.file, r.offset, shared.page.endian).map(|c| c.at(place));
    let Some((mut c, count)) = start.and_then(|mut c| c.u32("number of chunks").ok().map(|n| (c, n))) else {
        let e = FormatError::new(Truncated, "number of chunks", place).sizes(
            r.offset.saturating_add(4),
            file_len,
            Limit::File,
        );
        draft.damage(
            Some(e),
            name,
            format!("the file is cut: all {} bytes of {name} are missing", r.size),
        );
        return chunks;
    };
    let end = c.offset().saturating_add(r.size);
    for i in 0..count {
        let at = c;
        let (Ok(csize), Ok(usize)) = (c.u32("compressed size"), c.u32("uncompressed size")) else {
            let (e, message) = cut(at.error(Truncated, "chunk").sizes(8, at.left(), Limit::File), i, count);
            draft.damage(e, name, message);
            return chunks;
        };
        let range = c.offset()..c.offset().saturating_add(u64::from(csize));
        if range.end > end || csize < MIN_COMPRESSED_BYTES {
            let have = end.saturating_sub(range.start);
            let e = at
                .error(BadLength, "chunk")
                .sizes(u64::from(csize), have, Limit::Section);
            let message =
                format!("chunk {i} of {count} of {name} says it has {csize} bytes: it and what follows are lost");
            draft.damage(Some(e), name, message);
            return chunks;
        }
        check_decoded_size(
            usize,
            shared.page.size,
            &at,
            &format!("chunk {i} of {count} of {name}"),
            name,
            draft,
        );
        let size = Some(u64::from(usize));
        let coding = match compression {
            Compression::Zlib => Coding::Zlib { size },
            Compression::Zstd => Coding::Zstd { size },
            Compression::None | Compression::Unknown => return chunks,
        };
        chunks.push(Chunk { member, range, coding });
        if let Err(e) = c.take(u64::from(csize), "chunk") {
            let (e, message) = cut(e, i, count);
            draft.damage(e, name, message);
            return chunks;
        }
    }
    let left = end.saturating_sub(c.offset());
    if left != 0 && left != 4 {
        draft.remark(
            None,
            name,
            format!("{left} bytes after the last chunk of {name} belong to nothing"),
        );
    }
    chunks
}

fn check_decoded_size(usize: u32, page: u32, at: &Cursor<'_>, chunk: &str, member: &str, draft: &mut Draft) {
    let n = u64::from(usize);
    if n > MAX_CHUNK_BYTES {
        let e = at.error(TooLarge, "chunk").sizes(n, MAX_CHUNK_BYTES, Limit::Configured);
        draft.damage(Some(e), member, format!("{chunk} says it holds {n} bytes: not read"));
    } else if n == 0 || usize.checked_rem(page) != Some(0) {
        let e = at.error(BadLength, "chunk").sizes(n, u64::from(page), Limit::SubBuffer);
        draft.damage(
            Some(e),
            member,
            format!("{chunk} says it holds {n} bytes, not whole sub-buffers of {page}"),
        );
    }
}
