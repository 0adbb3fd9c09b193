//! What the line on requests and answers says of the one server that all known answers are of.

use super::always::{all_at_once, standstills};
use super::sentences::counted;
use super::spells::spells;
use crate::analyses::application::Application;

/// Share of the answers from which the server that gave most is named.
const MOST: f64 = 0.5;

/// ` of 10.9.2.2:7342`, where all that is known is of that server; `, 31 of 32 of them of 10.9.2.2:7342,`, where most is.
pub(super) fn of_whom(a: &Application) -> String {
    let most = a.servers.iter().max_by_key(|s| s.response.n);
    let Some((s, c)) = most.filter(|s| !s.server.is_empty()).zip(a.awaited.as_ref()) else {
        return String::new();
    };
    match (s.response.n, c.response.n) {
        (n, all) if n == all => format!(" from {}", s.server),
        (n, all) if n as f64 >= MOST * all as f64 => format!(", {n} of {all} of them from {},", s.server),
        _ => String::new(),
    }
}

/// When the one server answered nobody.
pub(super) fn stood_still(a: &Application) -> String {
    let [s] = a.servers.as_slice() else {
        return String::new();
    };
    // Answers that were on their way, or late by it, came to nobody either.
    match s.slow.first().filter(|slow| slow.at == "server") {
        Some(slow) => format!("{}{}", standstills(s), all_at_once(s, slow)),
        None => String::new(),
    }
}

/// ` (3 slow ones, all from 1.900 s to 2.400 s)`, where there is one server.
pub(super) fn when_slow(a: &Application) -> String {
    let [s] = a.servers.as_slice() else {
        return String::new();
    };
    let mut times: Vec<i64> = s.slow.iter().flat_map(|s| s.times.iter().copied()).collect();
    times.sort_unstable();
    let when = spells(&times, a.duration_ns);
    match when.is_empty() {
        true => when,
        false => format!(" ({}{when})", counted(times.len() as u64, "slow one", "slow ones")),
    }
}
