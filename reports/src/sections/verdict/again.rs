//! What the head of the page has said already is named in the lines under it, not said again.

use crate::clauses::clauses;

/// Clauses that are shorter are said again, characters.
const SHORT: usize = 90;
/// Characters by which a clause is named.
const NAMED: usize = 56;
/// What is said of what was left out.
const ABOVE: &str = " … (above)";

/// A sentence whose long clauses are cut where one of the headlines has them in the same words.
pub fn in_few(sentence: &str, headlines: &[&str]) -> String {
    let all = clauses(sentence);
    if !all.iter().any(|clause| said(clause, headlines)) {
        return sentence.to_owned();
    }
    let few = all.into_iter().map(|clause| match said(clause, headlines) {
        true => format!("{}{ABOVE}", first_words(clause)),
        false => clause.to_owned(),
    });
    few.collect::<Vec<_>>().join("; ")
}

/// Whether a headline has it; its first letter may be a capital here, and a full stop behind it.
fn said(clause: &str, headlines: &[&str]) -> bool {
    let clause = clause.strip_suffix('.').unwrap_or(clause);
    let mut letters = clause.chars();
    let small: String = letters
        .next()
        .map_or_else(String::new, |c| c.to_lowercase().chain(letters).collect());
    // Not as the end or the beginning of a number, an address or a word.
    let begins = |h: &str, at: usize| {
        let mut before = h.get(..at).unwrap_or_default().chars().rev();
        let (last, one_before) = (before.next(), before.next());
        match last {
            Some('.' | ',' | '-' | ':') => !one_before.is_some_and(|c| c.is_ascii_digit()),
            Some(c) => !c.is_alphanumeric(),
            None => true,
        }
    };
    let ends = |h: &str, at: usize| {
        let mut behind = h.get(at..).unwrap_or_default().chars();
        let (next, one_behind) = (behind.next(), behind.next());
        match next {
            Some('.' | ',' | ':') => !one_behind.is_some_and(|c| c.is_ascii_digit()),
            Some(c) => !c.is_alphanumeric(),
            None => true,
        }
    };
    let has = |h: &str, words: &str| {
        h.match_indices(words)
            .any(|(at, _)| begins(h, at) && ends(h, at + words.len()))
    };
    clause.chars().count() >= SHORT && headlines.iter().any(|h| has(h, clause) || has(h, &small))
}

/// Words that say nothing without the next one.
const OPEN: [&str; 16] = [
    "a", "an", "at", "by", "for", "from", "in", "it", "of", "on", "p50", "the", "to", "took", "was", "were",
];

/// Whole words, the last neither a number, whose unit follows, nor one that needs another.
fn first_words(clause: &str) -> &str {
    let end = clause.char_indices().nth(NAMED).map_or(clause.len(), |(at, _)| at);
    let cut = clause.get(..end).unwrap_or(clause);
    let mut few = cut.rfind(' ').and_then(|at| cut.get(..at)).unwrap_or(cut);
    while let Some((before, last)) = few.rsplit_once(' ') {
        let number = last.chars().all(|c| c.is_ascii_digit() || c == '.');
        let open = OPEN.contains(&last) || number || last.ends_with(':');
        if !open || before.is_empty() {
            break;
        }
        few = before;
    }
    few.trim_end_matches([',', ':', '('])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_clauses_that_a_headline_has_are_named_only() {
        let long = "answers from 10.0.0.1:80 took p50 120 ms, all of it in the server: waiting for another thread, woken by threads named python3";
        let head = format!("a; {long}");
        let sentence = format!("Requests took p50 1 ms. A{}; 3 more.", &long[1..]);
        let expected = "Requests took p50 1 ms; Answers from 10.0.0.1:80 took p50 120 ms, all … (above); 3 more";
        assert_eq!(in_few(&sentence, &[&head]), expected);
        // Another number.
        let other = format!("Requests took p50 1 ms. 1 of {}.", &long[11..]);
        assert_eq!(in_few(&other, &[&format!("21 of {}", &long[11..])]), other);
        let share = format!("{} to 10.0.0.1:80.", &long[11..]);
        for (before, behind) in [("21.", ""), ("1,", ""), ("", "80, in all"), ("", ".5"), ("1.", "80")] {
            let other = format!("5 {share}");
            let head = format!("{before}5 {}{behind}", share.trim_end_matches('.'));
            assert_eq!(in_few(&other, &[&head]), other, "{head}");
        }
        // Not said there, in other words, or short.
        assert_eq!(in_few(&sentence, &[]), sentence);
        assert_eq!(in_few(&sentence, &[&head.replace("120", "121")]), sentence);
        assert_eq!(
            in_few("10 packets were lost.", &["10 packets were lost"]),
            "10 packets were lost."
        );
    }

    #[test]
    fn no_number_stands_without_its_unit() {
        for (clause, few) in [
            (
                "215 of 1456 answers from 10.9.2.100:7437 took p50 4.15 ms, all at once",
                "215 of 1456 answers from 10.9.2.100:7437",
            ),
            (
                "14 packets were dropped by this host, first of them: 7 for no reason",
                "14 packets were dropped by this host, first",
            ),
            ("7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7", "7"),
        ] {
            assert_eq!(first_words(clause), few);
        }
    }

    #[test]
    fn words_of_any_alphabet_are_cut_between_letters() {
        let long = "µ".repeat(100);
        assert_eq!(in_few(&long, &[&long]), format!("{}{ABOVE}", "µ".repeat(NAMED)));
    }
}
