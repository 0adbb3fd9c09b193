//! What a program keeps to itself while it asks somebody else, in words.

use crate::analyses::application::Holds;

/// `, and 253 of 253 requests to 10.0.0.4:9000 kept one of its 6 connections to 10.0.0.3:5432 meanwhile, ...`
pub(super) fn kept(h: &Holds) -> String {
    format!(
        ", and {} of {} requests to {} kept one of its {} connections to {}, which its threads share, with nothing asked on it meanwhile, as in a transaction left open during the call: who waits for them waits for one of those (inferred)",
        h.requests, h.of, h.asked, h.connections, h.server
    )
}
