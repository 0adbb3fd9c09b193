//! `kmem:kmem_cache_free`: An object goes back to its slab cache: `kmem_cache_free` (mm/slub.c). Since 2.6.x; `name`
//! since about 5.12 (6.1 has it).

use crate::tracepoints::{Text, tracepoint};

tracepoint! {
    /// An object given back to a cache.
    pub struct KmemCacheFree: "kmem" "kmem_cache_free" {
        /// Address of the caller, a kernel text address.
        call_site: u64,
        /// Address of the object.
        ptr: u64,
        /// Cache name; since about 5.12.
        name: Option<Text>,
    }
}

#[cfg(test)]
mod tests;
