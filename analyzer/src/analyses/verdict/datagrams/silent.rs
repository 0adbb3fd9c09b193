//! What is said of streams that stop for some of their receivers.

use super::address;
use crate::analyses::datagrams::Silent;
use crate::analyses::verdict::sentences::duration;

/// A stream that some of its receivers did not get for a while.
pub(super) fn silent(s: &Silent) -> String {
    let readers = match s.readers.as_slice() {
        [one] => one.clone(),
        [one, other] => format!("{one} and {other}"),
        [one, rest @ ..] => format!("{one} and {} more", rest.len()),
        [] => String::new(),
    };
    let at = match s.local.as_str() {
        "" => String::new(),
        at => format!(" at {}", address(at)),
    };
    let from = format!("{:.1} s", s.first_ns as f64 / 1e9);
    let times = match s.times {
        1 => format!(" (from {from} on)"),
        n => format!(" (the longest of {n} times, the first from {from} on)"),
    };
    let went_on = match (s.sent, s.is_of_a_group()) {
        (true, _) => format!("{}, which had sent them, sent {} meanwhile", s.went_on, s.meanwhile),
        (false, true) => format!(
            "{} got about {} of the same stream meanwhile (inferred)",
            s.went_on, s.meanwhile
        ),
        (false, false) => format!(
            "{} got about {} at the same port meanwhile, as often as before (inferred)",
            s.went_on, s.meanwhile
        ),
    };
    let long = duration(s.longest_ns);
    format!("no datagram came to {readers}{at} for {long}{times}, though they had come steadily and {went_on}")
}
