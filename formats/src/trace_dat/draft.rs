//! What has been read so far. Whatever stops the reading, the draft becomes a capture with what it has.

use std::ops::Range;

use super::prologue::Prologue;
use crate::bytes::Bytes;
use crate::capture::{Capture, ClockConversion, CpuStats, Host, Member, MemberId, Problem, Stream};
use crate::error::FormatError;
use crate::event_format::EventFormat;
use crate::item::Locus;
use crate::kallsyms::Kallsyms;
use crate::sub_buffer::PageLayout;

/// Problems kept one by one; a damaged file may have more, which are counted.
const MAX_PROBLEMS: usize = 1000;

/// The capture while it is read.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub page: Option<PageLayout>,
    pub event_formats: Vec<EventFormat>,
    pub kallsyms: Vec<u8>,
    pub printk_formats: Vec<u8>,
    pub comms: Vec<(i32, String)>,
    pub members: Vec<Member>,
    pub streams: Vec<Stream>,
    pub cpu_stats: Vec<CpuStats>,
    pub clock_conversions: Vec<ClockConversion>,
    pub host: Host,
    pub problems: Vec<Problem>,
    /// Problems above [`MAX_PROBLEMS`].
    pub more_problems: u64,
    /// Something that the recording had, or should have had, is not readable.
    pub cut: bool,
}

impl Draft {
    /// Names a part of the file.
    pub fn member(&mut self, name: impl Into<String>, range: Range<u64>) -> MemberId {
        let id = MemberId(u32::try_from(self.members.len()).unwrap_or(u32::MAX));
        self.members.push(Member {
            name: name.into(),
            range,
        });
        id
    }

    /// Data are missing: the capture is not complete.
    pub fn damage(&mut self, error: Option<FormatError>, member: &str, message: impl Into<String>) {
        self.cut = true;
        self.remark(error, member, message);
    }

    /// Something a person should know; no recorded data are missing by it.
    pub fn remark(&mut self, error: Option<FormatError>, member: &str, message: impl Into<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem {
                error,
                message: message.into(),
                member: member.to_owned(),
            });
        } else {
            self.more_problems = self.more_problems.saturating_add(1);
        }
    }

    /// The capture.
    pub fn finish(mut self, source: &str, bytes: Bytes, prologue: &Prologue) -> Capture {
        if self.more_problems > 0 {
            let message = format!("{} more problems of this kind, not listed", self.more_problems);
            self.problems.push(Problem {
                error: None,
                message,
                member: String::new(),
            });
        }
        Capture {
            source: source.to_owned(),
            format: super::NAME,
            format_version: prologue.version.to_string(),
            bytes,
            endian: prologue.endian,
            host: self.host,
            members: self.members,
            event_formats: self.event_formats,
            streams: self.streams,
            comms: self.comms,
            kallsyms: Kallsyms::new(self.kallsyms),
            printk_formats: self.printk_formats,
            cpu_stats: self.cpu_stats,
            clock_pairs: Vec::new(),
            clock_conversions: self.clock_conversions,
            snapshots: Vec::new(),
            manifest: None,
            end: None,
            complete: !self.cut,
            problems: self.problems,
        }
    }
}

/// A locus inside `member`.
pub(super) fn locus(member: MemberId, offset: u64) -> Locus {
    Locus {
        member,
        stream: 0,
        offset,
    }
}
