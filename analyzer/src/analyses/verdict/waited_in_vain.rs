//! Which answers waited for those by UDP that did not come.

use super::sentences::{counted, duration, of_all};
use crate::analyses::application::{Application, Slow, Waited};
use crate::analyses::datagrams::InVain;

/// Servers named.
const SERVERS: usize = 3;

/// Whether a chain of waits ends at these questions.
fn for_these(w: &Waited, v: &InVain) -> bool {
    let last = std::iter::successors(Some(w), |w| w.next.as_deref()).last();
    last.is_some_and(|w| w.kind == "no_datagrams" && !w.of.is_empty() && w.of == v.to)
}

/// `28 of 366 answers from 10.0.0.3:5432 (p50 6.011 s) waited for these`
pub(super) fn so(v: &InVain, a: &Application) -> Option<String> {
    let of = a
        .servers
        .iter()
        .flat_map(|s| s.slow.iter().chain(&s.whole).map(move |w| (s, w)));
    let waited = |w: &Slow| w.at == "server" && w.waited.as_ref().is_some_and(|w| for_these(w, v));
    let mut of: Vec<_> = of.filter(|(_, w)| waited(w)).collect();
    of.sort_by_key(|(s, w)| (std::cmp::Reverse(w.sum_ns), s.server.as_str()));
    of.dedup_by_key(|(s, _)| s.server.as_str());
    let more = of.len().saturating_sub(SERVERS) as u64;
    of.truncate(SERVERS);
    let mut each: Vec<String> = (of.iter())
        .map(|(s, w)| {
            let n = of_all(w.n, s.response.n, "answer", "answers");
            format!("{n} from {} (p50 {})", s.server, duration(w.p50_ns))
        })
        .collect();
    if more > 0 {
        each.push(format!("those of {}", counted(more, "more server", "more servers")));
    }
    (!each.is_empty()).then(|| format!("{} waited for these", each.join(", ")))
}
