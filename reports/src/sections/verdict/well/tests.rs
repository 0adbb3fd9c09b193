//! What is said where nothing failed, and where it is not.

use super::*;
use crate::sections::fixture;
use netmortem_analyzer::analyses::application::Application;
use netmortem_analyzer::analyses::datagrams::Datagrams;
use netmortem_analyzer::analyses::opens::Opens;

/// A recording on which nothing is wrong.
fn fine() -> Answers {
    let mut answers = fixture::answers(&fixture::facts());
    answers.verdict.clear();
    answers.quality.of_capture = Level::Good;
    answers.application = Outcome::Findings(Application::default());
    let mut opens = Opens::default();
    opens.setup.n = 1;
    answers.opens = Outcome::Findings(opens);
    answers.datagrams = Outcome::Findings(Datagrams::default());
    answers
}

#[test]
fn what_went_well_is_said_where_nothing_failed() {
    let says = well(&fine()).unwrap();
    assert!(
        says.starts_with("Nothing that anyone waited for is known to have failed ("),
        "{says}"
    );
    assert!(says.ends_with("1 connection was opened)"), "{says}");
    // Events are missing; attempts failed; UDP is not known.
    let mut lossy = fine();
    lossy.quality.of_capture = Level::Degraded;
    assert_eq!(well(&lossy), None);
    let mut failed = fine();
    failed.verdict = fixture::answers(&fixture::facts()).verdict;
    failed.verdict.truncate(1);
    for line in &mut failed.verdict {
        (line.subject, line.tone, line.minor) = ("opens", Tone::Notice, false);
    }
    assert_eq!((failed.verdict.len(), well(&failed)), (1, None));
    let mut unknown = fine();
    unknown.datagrams = Outcome::Unknown(vec![]);
    assert_eq!(well(&unknown), None);
}
