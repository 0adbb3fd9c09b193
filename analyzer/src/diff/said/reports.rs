//! What the report of one side alone calls wrong, and what it says of slow answers. A comparison sees how far figures moved; the report of each side knows causes (a rule that drops, a path MTU black hole, a name server
//! that does not answer some, a log that nobody reads), and says them of one recording. Where the other side's report has nothing wrong of that subject, the words are these.
//!
//! In: facts of one whole recording a side. Out: sentences. It is no verdict, as one side's report knows nothing of the other. Nothing of groups, parts or some devices.

use super::verdict::Outcome;
use crate::analyses::{
    self,
    verdict::{Line, Tone},
};
use crate::diff::judged::compare::Metric;
use crate::diff::servers::{answers::LEDGER, clients::server_of};
use crate::facts::Facts;

/// Sentences at most.
const MOST: usize = 2;
/// Subject of what is said of answers.
const ANSWERS: &str = "application";

/// Of both sides.
#[derive(Debug, Default)]
pub(in crate::diff) struct Reports {
    /// What one of them alone calls wrong.
    pub wrong: Vec<String>,
    /// What that of after says of slow answers, where that is not among these.
    slow: Option<String>,
}

fn told(facts: &Facts) -> Vec<Line> {
    let lines = analyses::answer(facts).verdict.into_iter();
    let of = |l: &Line| l.tone == Tone::Bad || l.subject == ANSWERS && l.tone == Tone::Notice;
    lines.filter(|l| of(l) && !l.headline.is_empty()).collect()
}

impl Reports {
    pub fn of(before: &[&Facts], after: &[&Facts]) -> Reports {
        let ([before], [after]) = (before, after) else {
            return Reports::default();
        };
        let (b, a) = rayon::join(|| told(before), || told(after));
        let wrong = |of: &[Line]| -> Vec<Line> { of.iter().filter(|l| l.tone == Tone::Bad).cloned().collect() };
        let alone = |own: &[Line], other: &[Line], words: &str| -> Vec<String> {
            let new = own.iter().filter(|l| other.iter().all(|o| o.subject != l.subject));
            let said = |l: &Line| format!("{words}: {}.", l.headline.trim_end_matches('.'));
            new.map(said).collect()
        };
        let (wrong_b, wrong_a) = (wrong(&b), wrong(&a));
        let mut out = alone(&wrong_a, &wrong_b, "A report of after, and not of before, calls wrong");
        out.extend(alone(
            &wrong_b,
            &wrong_a,
            "A report of before, and not of after, calls wrong",
        ));
        out.truncate(MOST);
        let slow = a.iter().find(|l| l.subject == ANSWERS && l.tone == Tone::Notice);
        Reports {
            wrong: out,
            slow: slow.map(|l| l.headline.clone()),
        }
    }
    /// What is said of slow answers of a server whose answers take longer after.
    pub fn of_slow(&self, metrics: &[Metric]) -> Option<String> {
        let first = self.slow.as_deref()?.split("; ").next()?;
        let longer = |m: &&Metric| m.which.ledger == LEDGER && m.outcome == Outcome::Worse;
        let mut servers = metrics.iter().filter(longer).filter_map(|m| m.which.service.as_deref());
        let named = |server: &str| first.split(' ').any(|word| word == server);
        servers
            .any(|s| named(server_of(s)))
            .then(|| format!("Of slow answers a report of after says: {first}."))
    }
}
