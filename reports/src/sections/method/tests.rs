use super::*;
use crate::sections::fixture;
use crate::sections::tests::tables;

#[test]
fn what_could_not_be_answered_is_listed_with_the_reason() {
    let facts = fixture::facts();
    let answers = fixture::answers(&facts);
    let section = section(&Input {
        facts: &facts,
        answers: &answers,
    });
    let unknown = tables(&section)
        .into_iter()
        .find(|table| table.caption.as_str() == "What could not be answered")
        .unwrap();
    assert_eq!(
        unknown.rows,
        [vec![
            Cell::Code("qdisc".into()),
            Cell::Text("qdisc:qdisc_enqueue was not recorded".into())
        ]]
    );
}

#[test]
fn thresholds_are_those_of_the_analyses() {
    let shown: Vec<String> = thresholds()
        .rows
        .iter()
        .map(|row| {
            row[1]
                .shown(Some(crate::format::TimeUnit::Seconds))
                .replace('\u{202f}', " ")
        })
        .collect();
    let expected = [
        format::percent(quality::BAD_LOSS_SHARE),
        format::duration(verdict::RCVQ_NOTICE_NS),
        format::percent(verdict::SOFTIRQ_NOTICE_SHARE),
        format::duration(verdict::SOFTIRQ_WAIT_NOTICE_NS),
    ];
    for (shown, expected) in shown.iter().zip(expected) {
        assert_eq!(*shown, expected.replace('\u{202f}', " "));
    }
}

#[test]
fn words_of_confidence_are_the_analyzers() {
    use netmortem_analyzer::Confidence;
    let words: Vec<Cell> = confidence().rows.iter().map(|row| row[0].clone()).collect();
    let expected = [
        Confidence::Certain,
        Confidence::Strong,
        Confidence::Weak,
        Confidence::Unknown,
    ];
    assert_eq!(words, expected.map(|confidence| Cell::Code(confidence.word().into())));
}
