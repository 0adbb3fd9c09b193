//! Allocations and frees of sk_buffs, by the allocator itself. It sees no re-use that bypasses it (the per-CPU cache of
//! NAPI), so its silence proves nothing; what it saw is certain.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

const INSTANCES: &str = "/sys/kernel/tracing/instances";
const FILTER: &str = r#"name == "skbuff_head_cache" || name == "skbuff_fclone_cache""#;

/// A tracing instance of our own; removed when dropped.
#[derive(Debug)]
pub struct Kmem(PathBuf);

impl Kmem {
    /// Starts.
    pub fn start() -> anyhow::Result<Kmem> {
        let this = Kmem(Path::new(INSTANCES).join(format!("{}{}", crate::net::PREFIX, std::process::id())));
        std::fs::create_dir(&this.0).with_context(|| this.0.display().to_string())?;
        let write = |file: &str, text: &str| {
            let path = this.0.join(file);
            std::fs::write(&path, text).with_context(|| format!("{text} to {}", path.display()))
        };
        write("tracing_on", "0")?;
        write("buffer_size_kb", "16384")?;
        write("trace_clock", "mono")?;
        // Addresses as they are; kernels before 5.12 print them so.
        let _ = write("trace_options", "nohash-ptr");
        let mut enabled = 0;
        for event in ["kmem_cache_alloc", "kmem_cache_free"] {
            // A kernel whose event does not name the cache cannot tell skbs: that half of the truth is missing.
            if write(&format!("events/kmem/{event}/filter"), FILTER).is_ok() {
                write(&format!("events/kmem/{event}/enable"), "1")?;
                enabled += 1;
            }
        }
        if enabled == 0 {
            bail!("no kmem event names its cache");
        }
        write("tracing_on", "1")?;
        Ok(this)
    }
    /// Stops and writes what was seen.
    pub fn finish(self, path: &Path) -> anyhow::Result<()> {
        std::fs::write(self.0.join("tracing_on"), "0")?;
        let mut out = String::new();
        // read_to_string trusts the size of a file, and that of this one is 0.
        let mut text = String::new();
        std::io::Read::read_to_string(&mut std::fs::File::open(self.0.join("trace"))?, &mut text)?;
        for e in text.lines().filter_map(printed) {
            let what = if e.alloc { "alloc" } else { "free" };
            let _ = writeln!(out, "{} {what} {:x}", e.us, e.address);
        }
        std::fs::write(path, out)?;
        Ok(())
    }
}

impl Drop for Kmem {
    fn drop(&mut self) {
        let _ = std::fs::write(self.0.join("events/enable"), "0");
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// Removes the instance of a rig that is gone.
pub fn clean(pid: u32) {
    let _ = std::fs::remove_dir(Path::new(INSTANCES).join(format!("{}{pid}", crate::net::PREFIX)));
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slab {
    /// µs on the recording's clock, rounded, as the kernel prints it (`ns2usecs`): it happened within half a µs of that.
    pub us: i64,
    /// Allocation, else free.
    pub alloc: bool,
    /// The object.
    pub address: u64,
}

/// A line as the kernel prints it: `… 123.456789: kmem_cache_free: call_site=… ptr=0xffff… name=skbuff_head_cache`.
pub fn printed(line: &str) -> Option<Slab> {
    let (head, tail) = line.split_once(": kmem_cache_")?;
    let (seconds, us) = head.rsplit(' ').next()?.split_once('.')?;
    let address = tail.split_once("ptr=")?.1.split(' ').next()?.trim_start_matches("0x");
    Some(Slab {
        us: seconds.parse::<i64>().ok()? * 1_000_000 + us.parse::<i64>().ok()?,
        alloc: tail.starts_with("alloc"),
        address: u64::from_str_radix(address, 16).ok()?,
    })
}

/// Reads `kmem.txt`.
pub fn load(path: &Path) -> anyhow::Result<Vec<Slab>> {
    let text = std::fs::read_to_string(path)?;
    let line = |l: &str| {
        let mut w = l.split(' ');
        Some(Slab {
            us: w.next()?.parse().ok()?,
            alloc: w.next()? == "alloc",
            address: u64::from_str_radix(w.next()?, 16).ok()?,
        })
    };
    Ok(text.lines().filter_map(line).collect())
}
