//! What is said of slow answers of a server that is not in the recording: when its host had their requests.

use super::always::standstills;
use super::sentences::duration;
use super::spells::spells;
use super::turns::worst;
use crate::analyses::application::{Application, Server, Slow};

/// Share of the slow ones.
const MOSTLY: f64 = 0.5;

/// `72 of 1021 answers from 10.77.0.20:6379 took p50 264.64 ms, in 9 bursts: ..., and each of these requests was acknowledged within 95.41 ms: ...`
pub(super) fn acknowledged(a: &Application) -> Option<String> {
    of(a, worst(a)?)
}

/// `, 42 of these among the first two on connections that this host opened meanwhile (of 84 such), ...`
fn fresh(slow: &Slow) -> String {
    slow.fresh.map_or_else(String::new, |(n, of)| {
        format!(
            ", {n} of these among the first two on connections that this host opened meanwhile (of {of} such), as for a log-in, or what else that server does for a new connection (inferred)"
        )
    })
}

/// Of one server.
pub(super) fn of(a: &Application, s: &Server) -> Option<String> {
    let slow = s.slow.first().filter(|slow| slow.at == "unknown" && s.paired == 0)?;
    let within = slow
        .acked_max_ns
        .filter(|_| slow.acked as f64 >= MOSTLY * slow.n as f64)?;
    let which = match slow.acked == slow.n {
        true => "each of these requests was".to_owned(),
        false => format!("{} of these requests were", slow.acked),
    };
    Some(format!(
        "{} of {} answers from {} took p50 {}{}{}, and {which} acknowledged within {}: the peer's host, or what ends TCP before it, had it then, and the rest passed between its ACK and its answer, in the peer's program or on the answer's way before it came to this host (inferred){}",
        slow.n,
        s.response.n,
        s.server,
        duration(slow.p50_ns),
        spells(&slow.times, a.duration_ns),
        fresh(slow),
        duration(within),
        standstills(s)
    ))
}
