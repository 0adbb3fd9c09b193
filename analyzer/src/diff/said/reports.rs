//! What the report of one side alone calls wrong. A comparison sees how far figures moved; the report of each side knows causes (a rule that drops, a path MTU black hole, a name server that does not answer some), and
//! says them of one recording. Where the other side's report has nothing wrong of that subject, the words are these.
//!
//! In: facts of one whole recording a side. Out: sentences. It is no verdict, as one side's report knows nothing of the other. Nothing of groups, parts or some devices.

use crate::analyses::{
    self,
    verdict::{Line, Tone},
};
use crate::facts::Facts;

/// Sentences at most.
const MOST: usize = 2;

fn wrong(facts: &Facts) -> Vec<Line> {
    let lines = analyses::answer(facts).verdict.into_iter();
    lines
        .filter(|l| l.tone == Tone::Bad && !l.headline.is_empty())
        .collect()
}

/// Of a side alone.
pub(in crate::diff) fn of(before: &[&Facts], after: &[&Facts]) -> Vec<String> {
    let ([before], [after]) = (before, after) else {
        return vec![];
    };
    let (b, a) = rayon::join(|| wrong(before), || wrong(after));
    let alone = |own: &[Line], other: &[Line], words: &str| -> Vec<String> {
        let new = own.iter().filter(|l| other.iter().all(|o| o.subject != l.subject));
        new.map(|l| format!("{words}: {}.", l.headline.trim_end_matches('.')))
            .collect()
    };
    let mut out = alone(&a, &b, "A report of after, and not of before, calls wrong");
    out.extend(alone(&b, &a, "A report of before, and not of after, calls wrong"));
    out.truncate(MOST);
    out
}
