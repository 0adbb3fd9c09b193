//! Truth about links that owes nothing to the recorder or the analyzer: what the slab allocator and a packet tap saw at the
//! same time.
//!
//! In: a running kernel. Out: `kmem.txt`, `pcap.csv` beside the bundle, and their readers. Must not share code with the
//! reconstruction, and must not disturb rigs whose cause is time: only rigs that ask for them have them.
//!
//! ```text
//! tracing instance of our own: kmem_cache_alloc/free of the skb caches, as the kernel prints them -> kmem.txt
//! AF_PACKET socket (its packets are after GRO, in order of arrival): sequence numbers            -> pcap.csv
//! ```

pub mod caches;
pub mod kmem;
pub mod tap;
#[cfg(test)]
mod tests;
