//! `net:napi_gro_frags_exit`: GRO decided about the packet of the innermost open frags entry of this CPU:
//! `napi_gro_frags` (net/core/gro.c). Since 5.0. `ret` is `enum gro_result`: MERGED 0, MERGED_FREE 1 (the skb is
//! re-used), HELD 2, NORMAL 3, CONSUMED 4 (older: DROP 4, CONSUMED 5).

use crate::tracepoints::tracepoint;

tracepoint! {
    /// GRO's verdict on fragments.
    pub struct NapiGroFragsExit: "net" "napi_gro_frags_exit" {
        /// `enum gro_result`.
        ret: i32,
    }
}

#[cfg(test)]
mod tests;
