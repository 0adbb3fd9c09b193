//! Resets that are nobody's trouble: behind complete exchanges, and of answers for which nobody waited any more.

use std::collections::BTreeSet;

use super::sentences::counted;
use super::spells::listed;
use super::{Tone, opens};
use crate::analyses::application::Application;
use crate::analyses::opens::{Opens, Reset};

/// Programs that are named.
const NAMED: usize = 2;

/// Resets behind complete exchanges, and how many.
pub(super) fn complete(o: &Opens) -> Option<(String, u64)> {
    let all = || o.resets.iter().filter(|r| r.complete);
    let first: &Reset = all().next()?;
    let n = all().map(|r| r.resets).fold(0u64, u64::saturating_add);
    let mut by: BTreeSet<&str> = all().map(|r| r.by.as_str()).collect();
    // A task of several threads stands for each of them.
    let tasks = by.clone();
    by.retain(|who| (who.rsplit_once('/')).is_none_or(|(task, _)| !tasks.contains(task)));
    let mut by: Vec<String> = by.into_iter().filter(|b| !b.is_empty()).map(str::to_owned).collect();
    let more = by.len().saturating_sub(NAMED);
    if more > 0 {
        by.truncate(NAMED);
        by.push(format!("{more} more"));
    }
    let by = match by.is_empty() {
        true => String::new(),
        false => format!(" by {}, which had opened them", listed(&by)),
    };
    let (which, were) = match n {
        1 => (first.label.clone(), "was"),
        _ => (format!("first {}", first.label), "were"),
    };
    let said = format!(
        "{} ({which}) {were} reset after complete exchanges{by}, as health checks and proxies do: all that was sent was acknowledged and read, the server sent last, or nobody sent",
        counted(n, "connection", "connections")
    );
    Some((said, n))
}

/// The line; where all that is worth a look in it are RSTs for answers that came too late, each to a request given up, that is said of requests.
pub(super) fn opens(o: &Opens, a: Option<&Application>) -> (Tone, String) {
    let (tone, sentence) = opens::opens(o);
    // Only where the line on requests says it.
    let a = a.filter(|a| super::given_up::given_up(a).is_some());
    let given = a.map_or(&[][..], |a| a.given_up.as_slice());
    let rsts = given.iter().map(|g| g.rsts).fold(0u64, u64::saturating_add);
    // As many, of which each is one of these: they are the same.
    let closed = super::resets::closed_before(o).map_or(0, |c| c.1);
    if tone != Tone::Notice || rsts == 0 || closed != rsts {
        return (tone, sentence);
    }
    let without = Opens {
        resets: o.resets.iter().filter(|r| r.received).cloned().collect(),
        ..o.clone()
    };
    match opens::opens(&without).0 {
        Tone::Ok => (
            Tone::Ok,
            format!("{sentence} They answered requests that their clients had given up, see application."),
        ),
        _ => (tone, sentence),
    }
}
