//! Under which names the slab events tell of sk_buffs here. SLUB merges caches of one size, and an event then prints the name
//! of the first of them: on 6.18 what TCP writes into is told as `pool_workqueue`.
//!
//! ```text
//! /sys/kernel/slab/skbuff_fclone_cache -> :0000512 <- pool_workqueue, sgpool-16, ...   shared: the caller must be ours
//! /sys/kernel/slab/skbuff_head_cache/                                                  a cache of its own: all is ours
//! ```

use std::path::Path;

use anyhow::Context;

/// Where SLUB lists its caches.
pub const SLAB: &str = "/sys/kernel/slab";
/// One sk_buff per object.
const SINGLE: &str = "skbuff_head_cache";
/// Two per object: what TCP queues for writing, and behind it the clone that it sends down.
const PAIR: &str = "skbuff_fclone_cache";
/// Kernel functions that allocate sk_buffs, as `call_site` names them (net/core/skbuff.c).
const SITES: [&str; 9] = [
    "__alloc_skb",
    "skb_clone",
    "__build_skb",
    "build_skb",
    "napi_build_skb",
    "napi_skb_cache_get",
    "napi_skb_cache_get_bulk",
    "slab_build_skb",
    "alloc_skb_for_msg",
];

/// A cache of sk_buffs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cache {
    /// Names that an event may print for it.
    pub names: Vec<String>,
    /// Whether others allocate from it, too.
    pub shared: bool,
    /// Size of an object, bytes; 0 when not told.
    pub bytes: u64,
}

/// Both caches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caches {
    /// One sk_buff per object.
    pub single: Cache,
    /// Two per object.
    pub pair: Cache,
}

impl Cache {
    fn read(slab: &Path, name: &str) -> anyhow::Result<Cache> {
        let place = slab.join(name);
        let size = std::fs::read_to_string(place.join("object_size")).unwrap_or_default();
        let mut this = Cache {
            names: vec![name.to_owned()],
            shared: false,
            bytes: size.trim().parse().unwrap_or(0),
        };
        let Ok(merged) = std::fs::read_link(&place) else {
            return Ok(this);
        };
        for other in std::fs::read_dir(slab).with_context(|| slab.display().to_string())? {
            let other = other?;
            let same = std::fs::read_link(other.path()).is_ok_and(|to| to == merged);
            if let (true, Ok(other)) = (same && other.file_name() != name, other.file_name().into_string()) {
                this.names.push(other);
                this.shared = true;
            }
        }
        this.names.sort();
        Ok(this)
    }
    /// Whether an event that prints this name and this caller is about an sk_buff of it.
    fn holds(&self, name: &str, site: &str) -> bool {
        self.names.iter().any(|n| n == name) && (!self.shared || SITES.contains(&site))
    }
    fn owns(&self, name: &str) -> bool {
        !self.shared && self.names.iter().any(|n| n == name)
    }
}

impl Caches {
    /// As `slab` ([`SLAB`]) lists them; where it does not exist, each is told under its own name.
    pub fn read(slab: &Path) -> anyhow::Result<Caches> {
        Ok(Caches {
            single: Cache::read(slab, SINGLE)?,
            pair: Cache::read(slab, PAIR)?,
        })
    }
    /// Every name, as a filter of an event.
    pub fn by_name(&self) -> String {
        let names = self.single.names.iter().chain(&self.pair.names);
        let terms: Vec<String> = names.map(|n| format!(r#"name == "{n}""#)).collect();
        terms.join(" || ")
    }
    /// The sizes, as a filter of the allocation on a kernel that does not print the name.
    pub fn by_size(&self) -> String {
        format!("bytes_req == {} || bytes_req == {}", self.single.bytes, self.pair.bytes)
    }
    /// Whether an allocation is an sk_buff's: `Some(true)` of a pair, `Some(false)` of one, `None` another's. Without a
    /// name the caller and the size tell.
    pub fn allocated(&self, name: Option<&str>, site: &str, bytes: u64) -> Option<bool> {
        match name {
            Some(name) if self.pair.holds(name, site) => Some(true),
            Some(name) => self.single.holds(name, site).then_some(false),
            None if !SITES.contains(&site) => None,
            None if bytes == self.pair.bytes => Some(true),
            None => (bytes == self.single.bytes).then_some(false),
        }
    }
    /// The same of a free whose allocation was not seen: only a cache of its own tells.
    pub fn freed(&self, name: &str) -> Option<bool> {
        if self.pair.owns(name) {
            Some(true)
        } else {
            self.single.owns(name).then_some(false)
        }
    }
}
