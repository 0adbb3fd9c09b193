//! What the report of one side alone calls wrong, and what it says of slow answers. A comparison sees how far figures moved; the report of each side knows causes (a rule that drops, a path MTU black hole, a name server
//! that does not answer some, a log that nobody reads), and says them of one recording. Where the other side's report has nothing wrong of that subject, the words are these.
//!
//! In: facts of one whole recording a side. Out: sentences. It is no verdict, as one side's report knows nothing of the other. Nothing of groups, parts or some devices.

use std::net::SocketAddr;

use super::verdict::Outcome;
use crate::analyses::{
    self,
    verdict::{Line, Tone, up_to_pause},
};
use crate::diff::judged::compare::Metric;
use crate::diff::servers::clients::server_of;
use crate::facts::Facts;

/// Sentences at most.
const MOST: usize = 2;
/// Subjects: of what is said of answers, and of the recording itself.
const ANSWERS: &str = "application";
const QUALITY: &str = "quality";

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
    // What a recording lacks the checks of the sides say.
    let of = |l: &Line| match l.tone {
        Tone::Bad => l.subject != QUALITY,
        tone => l.subject == ANSWERS && tone == Tone::Notice,
    };
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
        let mut out = alone(&wrong_a, &wrong_b, "New in AFTER");
        out.extend(alone(&wrong_b, &wrong_a, "No more in AFTER"));
        out.truncate(MOST);
        let slow = a.iter().find(|l| l.subject == ANSWERS && l.tone == Tone::Notice);
        Reports {
            wrong: out,
            slow: slow.map(|l| l.headline.clone()),
        }
    }
    /// What is said of slow answers of a server whose answers take longer after.
    pub fn of_slow(&self, metrics: &[Metric]) -> Option<String> {
        let first = self.slow.as_deref().map(|headline| up_to_pause(headline, 1))?;
        let longer = |m: &&Metric| m.which.is_answer() && m.outcome == Outcome::Worse;
        let mut servers = metrics.iter().filter(longer).filter_map(|m| m.which.service.as_deref());
        // The one that it is said of is named first.
        let whose = first.split(' ').find(|word| word.parse::<SocketAddr>().is_ok())?;
        servers
            .any(|s| server_of(s) == whose)
            .then(|| format!("Of slow answers a report of after says: {first}."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_recording_lacks_is_no_cause() {
        let rpc = crate::tests::sample("rpc/rpc.nmb");
        let whole = crate::analyze(&rpc, &Default::default());
        let mut cut = crate::analyze(&rpc, &Default::default());
        cut.capture.complete = false;
        let bad = |f: &Facts| -> Vec<&'static str> {
            let lines = analyses::answer(f).verdict.into_iter();
            lines.filter(|l| l.tone == Tone::Bad).map(|l| l.subject).collect()
        };
        assert_eq!((bad(&whole), bad(&cut)), (vec![], vec![QUALITY]));
        assert_eq!(Reports::of(&[&whole], &[&cut]).wrong, [""; 0]);
    }

    #[test]
    fn slow_answers_are_told_of_the_server_that_is_slower() {
        let f = crate::tests::facts("rpc/rpc.nmb");
        let d = crate::diff::compare(&[&f], &[&f], &Default::default());
        let mut m = d.metrics.into_iter().find(|m| m.which.stage == "response").unwrap();
        (m.which.service, m.outcome) = (Some("10.0.0.1:80".into()), Outcome::Worse);
        let said = |slow: &str, m: &Metric| {
            let reports = Reports {
                slow: Some(slow.into()),
                ..Reports::default()
            };
            reports.of_slow(std::slice::from_ref(m))
        };
        let slow = "3 of 9 answers from 10.0.0.1:80 took 2 s (a limit; a pool), waiting for 10.0.0.2:81; and more";
        let words = "Of slow answers a report of after says: 3 of 9 answers from 10.0.0.1:80 took 2 s (a limit; a pool), waiting for 10.0.0.2:81.";
        assert_eq!(said(slow, &m).as_deref(), Some(words));
        // A cause beside it stands behind a full stop.
        let beside = slow.replace("; and more", ". Connections hung for 2.5 s");
        assert_eq!(said(&beside, &m).as_deref(), Some(words));
        // Of another one; of one that only waits unread; of none that is slower.
        assert_eq!(
            said("3 of 9 answers from 10.0.0.2:81 took 2 s, waiting for 10.0.0.1:80", &m),
            None
        );
        m.which.stage = "unread";
        assert_eq!(said(slow, &m), None);
        (m.which.stage, m.outcome) = ("response", Outcome::Same);
        assert_eq!(said(slow, &m), None);
    }
}
