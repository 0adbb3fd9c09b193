//! What users feel most is a few questions among hundreds, and has more of the level than the others: Holm's adjustment takes weights that were chosen before the values are known, and keeps the chance of any
//! false alarm. Answers that wait in a queue of another program come in spells of seconds, so that no test of twelve seconds of them is as certain as hundreds of questions ask for.

use crate::diff::servers::answers::LEDGER;
use crate::diff::values::metrics::Which;

/// Weight of the times of each server's answers, beside 1 of everything else. With six servers it takes less than a third of the level from the others.
const ANSWERS: f64 = 8.0;

/// Of each percentile of a metric.
pub(in crate::diff) fn weight(which: &Which) -> f64 {
    match (which.ledger, which.stage) {
        (LEDGER, "response") => ANSWERS,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_more_of_the_level() {
        let of = |ledger, stage| weight(&Which::new(ledger, stage).of_service("10.0.0.1:80"));
        assert_eq!((of("app", "response"), of("app", "call")), (8.0, 1.0));
        assert_eq!((of("rx", "total"), of("tx", "response")), (1.0, 1.0));
    }
}
