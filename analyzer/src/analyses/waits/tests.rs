use super::{Top, UNATTRIBUTED, Waits, top};
use crate::Confidence::{self, Certain, Strong, Unknown, Weak};

const PATH: [&str; 4] = ["irq", "gro", "run_queue", "copy"];

struct Row(Vec<(&'static str, i64)>, i64, Confidence);

impl Waits for Row {
    const STAGES: usize = PATH.len();
    fn stage_name(nth: usize) -> &'static str {
        PATH[nth]
    }
    fn stage_ns(&self, nth: usize) -> Option<i64> {
        self.0.iter().find(|s| s.0 == PATH[nth]).map(|s| s.1)
    }
    fn unattributed_ns(&self) -> i64 {
        self.1
    }
    fn total_ns(&self) -> i64 {
        self.0.iter().map(|s| s.1).sum::<i64>() + self.1
    }
    fn confidence(&self) -> Confidence {
        self.2
    }
}

#[test]
fn the_largest_sum_is_named_with_its_share_and_rows() {
    let rows = [
        Row(vec![("gro", 30), ("copy", 60)], 0, Certain),
        Row(vec![("gro", 50)], 10, Certain),
        Row(vec![("run_queue", 50)], 0, Certain),
    ];
    let expected = Top {
        stage: "gro",
        ns: 80,
        share: 0.4,
        n: 2,
        confidence: Certain,
    };
    assert_eq!(top(&rows), Some(expected));
}

#[test]
fn time_in_no_stage_competes() {
    let rows = [Row(vec![("gro", 30)], 31, Weak)];
    let found = top(&rows).unwrap();
    assert_eq!(
        (found.stage, found.ns, found.n, found.confidence),
        (UNATTRIBUTED, 31, 1, Weak)
    );
}

/// Half of the time decides the label: one weak row among solid ones does not, a weak row with most of the time does.
#[test]
fn the_label_is_that_of_half_of_the_time() {
    let of = |a: i64, b: i64, c: i64| {
        let rows = [
            Row(vec![("gro", a)], 0, Certain),
            Row(vec![("gro", b)], 0, Weak),
            Row(vec![("gro", c)], 0, Unknown),
        ];
        top(&rows).unwrap().confidence
    };
    assert_eq!(
        [of(50, 50, 0), of(49, 51, 0), of(49, 0, 51), of(10, 50, 40)],
        [Certain, Weak, Unknown, Weak]
    );
    assert_eq!(top(&[Row(vec![("gro", 1)], 0, Strong)]).unwrap().confidence, Strong);
}

/// Ties go to what comes first on the path; nothing, zero and negative time have no top wait.
#[test]
fn ties_and_nothing() {
    let tie = [Row(vec![("irq", 5), ("gro", 5)], 5, Certain)];
    assert_eq!(top(&tie).unwrap().stage, "irq");
    assert_eq!(top::<Row>(&[]), None);
    assert_eq!(top(&[Row(vec![("gro", 0)], 0, Certain)]), None);
    assert_eq!(top(&[Row(vec![("gro", -5)], 0, Certain)]), None);
    // A negative stage stays in the sum, so another one may hold more than all.
    let over = top(&[Row(vec![("gro", 30), ("copy", -10)], 0, Certain)]).unwrap();
    assert_eq!((over.stage, over.ns, over.share), ("gro", 30, 1.5));
}
