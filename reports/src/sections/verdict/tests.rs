use netmortem_analyzer::analyses::verdict::Line;

use super::*;
use crate::sections::fixture;

fn built(tones: &[Tone]) -> Section {
    let facts = fixture::facts();
    let mut answers = fixture::answers(&facts);
    answers.verdict = tones
        .iter()
        .map(|tone| Line {
            subject: "tcp",
            tone: *tone,
            sentence: "A sentence.".to_owned(),
        })
        .collect();
    section(&Input {
        facts: &facts,
        answers: &answers,
    })
}

#[test]
fn each_line_is_a_strip_of_its_colour_in_the_order_given() {
    let section = built(&[Tone::Ok, Tone::Bad, Tone::Unknown, Tone::Notice]);
    let severities: Vec<Severity> = section
        .blocks
        .iter()
        .map(|block| match block {
            Block::Strip(strip) => strip.severity,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        severities,
        [Severity::Good, Severity::Bad, Severity::Unknown, Severity::Notice]
    );
}

#[test]
fn the_lead_says_the_worst() {
    assert!(
        built(&[Tone::Ok, Tone::Notice, Tone::Bad])
            .lead
            .as_str()
            .starts_with("Something is wrong")
    );
    assert!(
        built(&[Tone::Ok, Tone::Notice, Tone::Unknown])
            .lead
            .as_str()
            .starts_with("Nothing is plainly wrong")
    );
    assert!(
        built(&[Tone::Ok, Tone::Unknown])
            .lead
            .as_str()
            .contains("not every question")
    );
    assert_eq!(built(&[Tone::Ok]).lead.as_str(), "Nothing wrong was found.");
}

#[test]
fn every_line_leads_to_a_section_of_the_report() {
    let facts = fixture::facts();
    let answers = fixture::answers(&facts);
    let document = crate::sections::document(&facts, &answers);
    for line in &answers.verdict {
        let to = see(line.subject).unwrap_or_else(|| panic!("{} leads nowhere", line.subject));
        assert!(document.sections.iter().any(|section| section.id == to), "{to}");
    }
}
