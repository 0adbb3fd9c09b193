//! Whole readings of what lies beside the counters, packed for as long as they may be needed; made in a thread of their own, so that a kernel that holds
//! rtnl for seconds keeps nobody from seeing a trigger.

use std::fmt::Write;
use std::io;

use zstd::bulk::{Compressor, Decompressor};

use crate::aside::Aside;
use crate::snapshot::beside::{Beside, Fared, Texts};

/// Fast: lines of one kind are much alike, which any level finds.
const LEVEL: i32 = 1;
/// Unpacked, no text is longer than `beside` lets it be, and no kind has more than some hundred of them.
const MOST_BYTES: usize = 64 << 20;

/// What was read beside the counters of one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The clock of these counters, CLOCK_MONOTONIC.
    pub at_ns: i64,
    /// Each kind once.
    pub kinds: Vec<Fared>,
}

/// Reads beside the counters of the moment that it is asked for.
pub type Reader = Aside<i64, Reading>;

/// Nothing read yet; and why there is no thread for it, if so.
pub fn start() -> (Reader, Option<io::Error>) {
    let (mut beside, mut packer) = (Beside::new(), Compressor::new(LEVEL));
    Aside::start("beside", move |at_ns| Reading {
        at_ns,
        kinds: beside.whole(&mut |texts| match &mut packer {
            Ok(packer) => pack(packer, texts),
            Err(e) => Err(e.kind().into()),
        }),
    })
}

/// Texts in one frame: of each a line `what bytes`, then so many bytes.
pub fn pack(packer: &mut Compressor<'_>, texts: Texts) -> io::Result<Vec<u8>> {
    let length = texts.iter().map(|(what, text)| what.len() + text.len() + 24).sum();
    let mut all = String::with_capacity(length);
    for (what, text) in &texts {
        _ = write!(all, "{what} {}\n{text}", text.len());
    }
    // Of two copies of a long text one is enough while it is packed.
    drop(texts);
    let mut packed = packer.compress(all.as_bytes())?;
    // It was made as large as it might have become.
    packed.shrink_to_fit();
    Ok(packed)
}

/// The texts of a frame; none where it is none of ours.
pub fn unpack(frame: &[u8]) -> Option<Texts> {
    let stated = zstd::zstd_safe::get_frame_content_size(frame).ok().flatten()?;
    let length = usize::try_from(stated).ok().filter(|n| *n <= MOST_BYTES)?;
    let bytes = Decompressor::new().ok()?.decompress(frame, length).ok()?;
    let all = String::from_utf8(bytes).ok()?;
    let (mut rest, mut texts) = (all.as_str(), vec![]);
    while !rest.is_empty() {
        let (line, behind) = rest.split_once('\n')?;
        let (what, length) = line.rsplit_once(' ')?;
        let (text, behind) = behind.split_at_checked(length.parse().ok()?)?;
        texts.push((what.to_owned(), text.to_owned()));
        rest = behind;
    }
    Some(texts)
}
