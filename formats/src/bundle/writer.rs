//! Writes a bundle to any `Write`, forward only (a pipe will do). One member at a time is in memory, because a tar
//! header states the size of what follows.

use std::io::{self, Write};

use sha2::{Digest, Sha256};
use zstd::zstd_safe::CParameter;

use super::layout::BLOCK;
use super::manifest::{End, Manifest, MemberDigest};
use super::names::{self, PagesName};

/// Texts up to this are stored as they are, to be read with any tar.
const PLAIN_BYTES: usize = 64 << 10;

/// Writes members in order; [`BundleWriter::finish`] writes `end.json` and the end of the archive.
pub struct BundleWriter<W: Write> {
    tar: tar::Builder<W>,
    mtime_s: u64,
    digests: Vec<MemberDigest>,
    clock_pairs: u64,
    seconds: u64,
    bytes: u64,
}

impl<W: Write> BundleWriter<W> {
    /// Writes the manifest. The modification time of all members is the manifest's start.
    pub fn new(w: W, manifest: &Manifest) -> io::Result<Self> {
        let start_ns = manifest.clocks.start.realtime_ns.unwrap_or(0);
        let mtime_s = u64::try_from(start_ns.div_euclid(1_000_000_000)).unwrap_or(0);
        let tar = tar::Builder::new(w);
        let mut this = BundleWriter {
            tar,
            mtime_s,
            digests: Vec::new(),
            clock_pairs: 0,
            seconds: 0,
            bytes: 0,
        };
        this.append(names::MANIFEST, &json(manifest)?)?;
        Ok(this)
    }

    /// Appends a member as it is.
    pub fn append(&mut self, name: &str, data: &[u8]) -> io::Result<()> {
        self.append_raw(name, data)?;
        let sha256 = hex(&Sha256::digest(data));
        self.digests.push(MemberDigest {
            name: name.to_owned(),
            size: data.len() as u64,
            sha256,
        });
        Ok(())
    }

    /// Appends a frame made by [`PagesEncoder::encode`].
    pub fn append_pages(&mut self, name: PagesName, frame: &[u8]) -> io::Result<()> {
        self.append(&names::pages_name(name), frame)
    }

    /// Appends a snapshot's text, compressed when it is large.
    pub fn append_snapshot(&mut self, what: &str, when: crate::SnapshotWhen, text: &[u8]) -> io::Result<()> {
        let name = names::snapshot_name(what, when);
        match text.len() > PLAIN_BYTES {
            false => self.append(&name, text),
            true => self.append(&format!("{name}.zst"), &PagesEncoder::new(3)?.encode(text)?),
        }
    }

    /// Appends texts that were read together while recording.
    pub fn append_second(&mut self, second: &super::Second) -> io::Result<()> {
        self.seconds = self.seconds.saturating_add(1);
        let frame = PagesEncoder::new(1)?.encode(&second.encode()?)?;
        self.append(&names::seconds_name(self.seconds), &frame)
    }

    /// Appends a reading of the clocks.
    pub fn append_clock_pair(&mut self, pair: &crate::ClockPair) -> io::Result<()> {
        self.clock_pairs = self.clock_pairs.saturating_add(1);
        self.append(&names::clocks_name(self.clock_pairs), &json(pair)?)
    }

    /// Bytes written so far, headers included.
    pub fn bytes_written(&self) -> u64 {
        self.bytes
    }

    /// Hands buffered bytes to the operating system.
    pub fn flush(&mut self) -> io::Result<()> {
        self.tar.get_mut().flush()
    }

    /// Writes `end.json` (its `members` are filled here) and the end of the archive, and flushes. Returns the writer
    /// and the size of the bundle.
    pub fn finish(mut self, mut end: End) -> io::Result<(W, u64)> {
        end.members = std::mem::take(&mut self.digests);
        self.append_raw(names::END, &json(&end)?)?;
        let mut w = self.tar.into_inner()?;
        w.flush()?;
        Ok((w, self.bytes.saturating_add(2 * BLOCK)))
    }

    fn append_raw(&mut self, name: &str, data: &[u8]) -> io::Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Regular);
        header.set_mode(0o600);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(self.mtime_s);
        header.set_size(data.len() as u64);
        self.tar.append_data(&mut header, name, data)?;
        let padded = (data.len() as u64).checked_next_multiple_of(BLOCK).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(BLOCK).saturating_add(padded);
        Ok(())
    }
}

impl<W: Write> std::fmt::Debug for BundleWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BundleWriter")
            .field("members", &self.digests.len())
            .field("bytes", &self.bytes)
            .finish()
    }
}

/// Level 1 for ring buffers: events repeat after tens of bytes, so matches shorter than 7 bytes need not be looked for, nor at every byte. A fifth to a third
/// faster for 6 % more bytes (docs/recorder-cost.md).
const QUICK: [CParameter; 2] = [CParameter::MinMatch(7), CParameter::TargetLength(2)];

/// Makes independent zstd frames, content size and checksum included; keeps its context between them.
pub struct PagesEncoder(zstd::bulk::Compressor<'static>);

impl PagesEncoder {
    /// `level` as zstd counts them: 1 keeps up with the ring buffer, 9 is for texts written once.
    pub fn new(level: i32) -> io::Result<Self> {
        let mut c = zstd::bulk::Compressor::new(level)?;
        c.include_checksum(true)?;
        c.include_contentsize(true)?;
        if level == 1 {
            for p in QUICK {
                c.set_parameter(p)?;
            }
        }
        Ok(PagesEncoder(c))
    }

    /// One frame of `data` (whole sub-buffers, or a text).
    pub fn encode(&mut self, data: &[u8]) -> io::Result<Vec<u8>> {
        self.0.compress(data)
    }
}

impl std::fmt::Debug for PagesEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PagesEncoder")
    }
}

fn json<T: serde::Serialize>(v: &T) -> io::Result<Vec<u8>> {
    let mut out = serde_json::to_vec_pretty(v).map_err(io::Error::other)?;
    out.push(b'\n');
    Ok(out)
}

/// Lower-case hex.
pub(super) fn hex(b: &[u8]) -> String {
    b.iter().fold(String::new(), |s, x| s + &format!("{x:02x}"))
}
