//! What the threads of answers did, and for what they waited, in words.

use super::turns::runnable;
use super::waited::waited_for;
use super::waker::woken;
use crate::analyses::application::{FOR_A_THREAD, HELD_OFF_NS, Part, Waited};
use crate::reconstruct::thread::IDLE;

/// Share of the time that makes it this one's.
const MOSTLY: f64 = 0.5;
/// Share of a wait for a CPU that was held off though it idled.
const HELD_OFF_PART: f64 = 0.25;
/// Share of the time from which what others did is said too.
const OTHERS: f64 = 0.1;

/// What threads did in so many turnarounds: the parts of these, who had most of it, behind whom, and for what they waited.
pub(super) fn doing(
    (parts, task): (&[Part], &(String, f64)),
    behind: Option<&(String, f64)>,
    waited: Option<&Waited>,
    n: u64,
) -> String {
    let Some(most) = parts.first() else {
        return String::new();
    };
    let who = match task.1 >= MOSTLY {
        true => task.0.as_str(),
        false => "several threads",
    };
    // Nobody leaves who is runnable off an idle CPU for long: a part of it tells, whoever ran in the rest.
    let mean_ns = most.ns / n.max(1) as i64;
    let held_off = |b: &&(String, f64)| b.0 == IDLE && b.1 >= HELD_OFF_PART && mean_ns >= HELD_OFF_NS;
    let behind = behind.filter(|b| most.state == "run_queue" && (b.1 >= MOSTLY || held_off(b)));
    let (did, behind) = match behind {
        Some((who, part)) => {
            let (did, behind) = runnable(who, mean_ns, *part);
            (did.to_owned(), behind)
        }
        // Not for a lock, where it is known what that one waited for.
        None if most.lock() && waited.is_some_and(|w| w.handed) => (FOR_A_THREAD.to_owned(), String::new()),
        None => (most.words(), String::new()),
    };
    let waited = waited.filter(|w| most.state == "asleep_in" || w.kind == "others");
    let (waited, at_work) = match waited.map(|w| (waited_for(w), w.kind == "others")) {
        Some((said, true)) => (String::new(), said),
        Some((said, false)) => (said, String::new()),
        None => Default::default(),
    };
    // Those that waited for the one that is named first.
    let others = parts.get(1).filter(|p| p.share >= OTHERS);
    let others = others.map_or_else(String::new, |p| {
        let share = p.share * 100.0;
        match p.woken_by.as_deref() == Some(who) {
            true => format!("; others {} {share:.0} %, woken by that one", p.words()),
            false => format!(", {} {share:.0} %{}", p.words(), woken(p)),
        }
    });
    format!(
        "{who} {did} {:.0} % of it{waited}{}{behind}{others}{at_work}",
        most.share * 100.0,
        woken(most)
    )
}
