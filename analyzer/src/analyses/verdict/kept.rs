//! What a program keeps to itself while it asks somebody else, in words.

use super::sentences::of_all;
use crate::analyses::application::Holds;

/// `, and all 253 requests to 10.0.0.4:9000 kept one of its 6 connections to 10.0.0.3:5432 meanwhile, ...`
pub(super) fn kept(h: &Holds) -> String {
    format!(
        ", and {} to {} kept one of its {} connections to {}, which its threads share, idle meanwhile, as in a transaction left open during the call: whoever waits for them waits for one of those (inferred)",
        of_all(h.requests, h.of, "request", "requests"),
        h.asked,
        h.connections,
        h.server
    )
}
