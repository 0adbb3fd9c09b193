//! Whole readings of what lies beside the counters, packed for as long as they may be needed; made in a thread of their own, so that a kernel that holds
//! rtnl for seconds keeps nobody from seeing a trigger.

use std::io;

use netmortem_formats::bundle::Second;
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

/// Texts in one frame.
pub fn pack(packer: &mut Compressor<'_>, texts: Texts) -> io::Result<Vec<u8>> {
    let second = Second {
        texts: texts.into_iter().map(|(what, t)| (what, t.into_bytes())).collect(),
        ..Second::default()
    };
    let mut packed = packer.compress(&second.encode()?)?;
    // It was made as large as it might have become.
    packed.shrink_to_fit();
    Ok(packed)
}

/// The texts of a frame; none where it is none of ours.
pub fn unpack(frame: &[u8]) -> Option<Texts> {
    let bytes = Decompressor::new().ok()?.decompress(frame, MOST_BYTES).ok()?;
    let text = |(what, t): (String, Vec<u8>)| Some((what, String::from_utf8(t).ok()?));
    Second::parse(&bytes).ok()?.texts.into_iter().map(text).collect()
}
