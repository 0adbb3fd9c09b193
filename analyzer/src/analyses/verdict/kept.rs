//! What a program keeps to itself while it asks somebody else, in words.

use crate::analyses::application::Holds;

/// `, and it keeps one of its 6 connections to 10.0.0.4:5432 meanwhile ...`
pub(super) fn kept(h: &Holds) -> String {
    format!(
        ", and each of these requests to {} keeps one of its {} connections to {}, on which nothing is asked meanwhile ({} of {}: the thread asked on it before and behind, as in a transaction left open during the call), so that who waits for them waits for one of those (inferred)",
        h.asked, h.connections, h.server, h.requests, h.of
    )
}
