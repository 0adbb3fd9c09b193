//! Allocations and frees of sk_buffs, by the allocator itself. Of objects with one sk_buff it sees no re-use that bypasses it
//! (the per-CPU cache of NAPI), so its silence proves nothing there; of pairs (what TCP writes into) it sees every one.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::caches::{Caches, SLAB};

const INSTANCES: &str = "/sys/kernel/tracing/instances";

/// A tracing instance of our own; removed when dropped.
#[derive(Debug)]
pub struct Kmem {
    instance: PathBuf,
    caches: Caches,
}

impl Kmem {
    /// Starts.
    pub fn start() -> anyhow::Result<Kmem> {
        let caches = Caches::read(Path::new(SLAB))?;
        let instance = Path::new(INSTANCES).join(format!("{}{}", crate::net::PREFIX, std::process::id()));
        std::fs::create_dir(&instance).with_context(|| instance.display().to_string())?;
        let this = Kmem { instance, caches };
        let write = |file: &str, text: &str| {
            let path = this.instance.join(file);
            std::fs::write(&path, text).with_context(|| format!("{text} to {}", path.display()))
        };
        write("tracing_on", "0")?;
        write("buffer_size_kb", "16384")?;
        write("trace_clock", "mono")?;
        // Addresses as they are; kernels before 5.12 print them so.
        let _ = write("trace_options", "nohash-ptr");
        let mut enabled = 0;
        for event in ["kmem_cache_alloc", "kmem_cache_free"] {
            // A kernel whose event names neither the cache nor a size cannot tell skbs: that half of the truth is missing.
            let filters = [this.caches.by_name(), this.caches.by_size()];
            if filters
                .iter()
                .any(|f| write(&format!("events/kmem/{event}/filter"), f).is_ok())
            {
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
        std::fs::write(self.instance.join("tracing_on"), "0")?;
        // read_to_string trusts the size of a file, and that of this one is 0.
        let mut text = String::new();
        std::io::Read::read_to_string(&mut std::fs::File::open(self.instance.join("trace"))?, &mut text)?;
        if let Some(lost) = lost(&text).filter(|n| *n > 0) {
            bail!("{lost} events of the slab allocator were lost");
        }
        let slabs = Slabs {
            sk_buff: self.caches.single.bytes,
            events: sieve(&self.caches, text.lines().filter_map(printed)),
        };
        std::fs::write(path, slabs.text())?;
        Ok(())
    }
}

impl Drop for Kmem {
    fn drop(&mut self) {
        let _ = std::fs::write(self.instance.join("events/enable"), "0");
        let _ = std::fs::remove_dir(&self.instance);
    }
}

/// Removes the instance of a rig that is gone.
pub fn clean(pid: u32) {
    let _ = std::fs::remove_dir(Path::new(INSTANCES).join(format!("{}{pid}", crate::net::PREFIX)));
}

/// How many events the ring no longer holds, by the head of the file: `# entries-in-buffer/entries-written: 7/9   #P:2`.
pub fn lost(text: &str) -> Option<u64> {
    let counts = text
        .lines()
        .find_map(|l| l.strip_prefix("# entries-in-buffer/entries-written: "))?;
    let (held, written) = counts.split(' ').next()?.split_once('/')?;
    written.parse::<u64>().ok()?.checked_sub(held.parse().ok()?)
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
    /// Whether it holds two sk_buffs: an original of TCP's write queue, and behind it room for its clone.
    pub pair: bool,
}

/// What `kmem.txt` holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Slabs {
    /// Bytes of an sk_buff: so far behind the first of a pair lies the second. 0 when not known.
    pub sk_buff: u64,
    /// In order of time.
    pub events: Vec<Slab>,
}

/// An event as the kernel prints it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Printed<'l> {
    /// As in [`Slab`].
    pub us: i64,
    /// Allocation, else free.
    pub alloc: bool,
    /// The object.
    pub address: u64,
    /// Kernel function that called.
    pub site: &'l str,
    /// Name of the cache; an allocation has none on some kernels.
    pub name: Option<&'l str>,
    /// Bytes asked for, of an allocation; 0 else.
    pub bytes: u64,
}

/// A line as the kernel prints it: `… 123.456789: kmem_cache_free: call_site=f+0x1/0x2 ptr=0xffff… name=skbuff_head_cache`.
pub fn printed(line: &str) -> Option<Printed<'_>> {
    let (head, tail) = line.split_once(": kmem_cache_")?;
    let (seconds, us) = head.rsplit(' ').next()?.split_once('.')?;
    let field = |name: &str| Some(tail.split_once(name)?.1.split(' ').next().unwrap_or(""));
    Some(Printed {
        us: seconds.parse::<i64>().ok()? * 1_000_000 + us.parse::<i64>().ok()?,
        alloc: tail.starts_with("alloc"),
        address: u64::from_str_radix(field("ptr=")?.trim_start_matches("0x"), 16).ok()?,
        site: field("call_site=")?.split('+').next().unwrap_or(""),
        name: field(" name="),
        bytes: field("bytes_req=").and_then(|b| b.parse().ok()).unwrap_or(0),
    })
}

/// Those events that are about sk_buffs. Of a cache that others use, too, an object is one from its allocation by a function
/// that makes sk_buffs to the free that follows.
pub fn sieve<'l>(caches: &Caches, events: impl Iterator<Item = Printed<'l>>) -> Vec<Slab> {
    let mut live: HashMap<u64, bool> = HashMap::new();
    let mut out = vec![];
    for e in events {
        let pair = if e.alloc {
            let pair = caches.allocated(e.name, e.site, e.bytes);
            match pair {
                Some(pair) => live.insert(e.address, pair),
                None => live.remove(&e.address),
            };
            pair
        } else {
            live.remove(&e.address).or_else(|| caches.freed(e.name?))
        };
        out.extend(pair.map(|pair| Slab {
            us: e.us,
            alloc: e.alloc,
            address: e.address,
            pair,
        }));
    }
    out
}

impl Slabs {
    /// As `kmem.txt`.
    pub fn text(&self) -> String {
        let mut out = format!("sk_buff {}\n", self.sk_buff);
        for e in &self.events {
            let what = if e.alloc { "alloc" } else { "free" };
            let of = if e.pair { " pair" } else { "" };
            let _ = writeln!(out, "{} {what} {:x}{of}", e.us, e.address);
        }
        out
    }
    /// From `kmem.txt`.
    pub fn of(text: &str) -> Slabs {
        let line = |l: &str| {
            let mut w = l.split(' ');
            Some(Slab {
                us: w.next()?.parse().ok()?,
                alloc: w.next()? == "alloc",
                address: u64::from_str_radix(w.next()?, 16).ok()?,
                pair: w.next() == Some("pair"),
            })
        };
        let size = text.lines().find_map(|l| l.strip_prefix("sk_buff ")?.parse().ok());
        Slabs {
            sk_buff: size.unwrap_or(0),
            events: text.lines().filter_map(line).collect(),
        }
    }
    /// Reads `kmem.txt`.
    pub fn load(path: &Path) -> anyhow::Result<Slabs> {
        Ok(Slabs::of(&std::fs::read_to_string(path)?))
    }
}
