//! `kmem:kmem_cache_alloc`: An object is taken from a slab cache: `kmem_cache_alloc` and its kin (mm/slub.c). Since
//! 2.6.x; `node` and `accounted` by 6.1; `name` in 6.18, neither in 6.1.192 nor in 6.12.117.
//!
//! Traps: NAPI's own cache of sk_buffs recycles without coming here. Costly: filter by `name` (`skbuff_head_cache`,
//! `skbuff_fclone_cache`) where there is one, else by `bytes_alloc`.

use crate::tracepoints::{Text, tracepoint};

tracepoint! {
    /// An object taken from a cache.
    pub struct KmemCacheAlloc: "kmem" "kmem_cache_alloc" {
        /// Address of the caller, a kernel text address.
        call_site: u64,
        /// Address of the object.
        ptr: u64,
        /// Cache name; absent in 6.1 and 6.12.
        name: Option<Text>,
        /// Bytes asked for.
        bytes_req: u64,
        /// Bytes given.
        bytes_alloc: u64,
        /// `gfp_t` bits.
        gfp_flags: u64,
        /// NUMA node asked for, -1 for any.
        node: Option<i32>,
        /// Charged to a memory cgroup.
        accounted: Option<bool>,
    }
}

#[cfg(test)]
mod tests;
