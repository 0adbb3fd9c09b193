//! `net:napi_gro_receive_exit`: GRO decided about the packet of the innermost open entry of this CPU:
//! `napi_gro_receive` / `gro_receive_skb` (net/core/gro.c). Since 5.0. `ret` is `enum gro_result`: MERGED 0 (data now
//! in another skb), MERGED_FREE 1 (and this skb is gone, silently), HELD 2, NORMAL 3, CONSUMED 4 (older kernels had
//! DROP 4 and CONSUMED 5).
//!
//! Traps: no address and no names in the format's text.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// GRO's verdict.
    pub struct NapiGroReceiveExit: "net" "napi_gro_receive_exit" {
        /// `enum gro_result`.
        ret: i32,
    }
}

#[cfg(test)]
mod tests;
