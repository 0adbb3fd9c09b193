//! What is said of a proxy that for some time answered by itself.

use super::sentences::or_dash;
use crate::analyses::application::Application;

/// Spells said one by one.
const SAID: usize = 3;

/// `haproxy answered 314 of 1224 requests to 10.80.0.31:80 itself ..., all from 4.9 to 6.3 s and from 11.4 to 12.8 s: ...`
pub(super) fn itself(a: &Application) -> Option<String> {
    let i = a.by_itself.as_ref()?;
    let at = |ns: i64| format!("{:.1}", ns as f64 / 1e9);
    let said = i.spells.iter().take(SAID);
    let said: Vec<String> = said
        .map(|(from, to)| format!("{} to {} s", at(*from), at(*to)))
        .collect();
    let more = match i.all.saturating_sub(said.len() as u64) {
        0 => String::new(),
        n => format!(" and {n} times more"),
    };
    Some(format!(
        "{} answered by itself {} of {} requests to {} (p50 {}), without asking a server or trying to, all from {}{more}, and asks one for nearly all others: so does a proxy that holds its servers for dead (failed health checks) or sheds load (inferred)",
        i.task,
        i.n,
        i.of,
        i.server,
        or_dash(i.p50_ns),
        said.join(", "),
    ))
}
