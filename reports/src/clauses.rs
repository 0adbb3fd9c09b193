//! Long sentences in their parts, so that each can stand on a line of its own.

/// The clauses of some sentences, split outside parentheses at `; ` and at `. ` before a capital or a figure. The marks between them are in none; where
/// there are several, neither is the full stop of the last.
#[must_use]
pub fn clauses(text: &str) -> Vec<&str> {
    let mut parts = vec![];
    let (mut depth, mut from) = (0_usize, 0);
    for (at, c) in text.char_indices() {
        let mut behind = text.get(at + c.len_utf8()..).unwrap_or_default().chars();
        let (space, next) = (behind.next() == Some(' '), behind.next());
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            ';' | '.'
                if depth == 0
                    && space
                    && (c == ';' || next.is_some_and(|c| c.is_uppercase() || c.is_ascii_digit())) =>
            {
                parts.extend(text.get(from..at));
                from = at + 2;
            }
            _ => {}
        }
    }
    let last = text.get(from..).unwrap_or_default();
    match parts.is_empty() {
        true => parts.push(last),
        false => parts.push(last.strip_suffix('.').unwrap_or(last)),
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_by_marks_outside_parentheses() {
        let of = clauses(
            "10 packets, p50 1.5 ms; 64 % of it (write queue; full. All). [::1]:80 held. 2 more. Recording (191 ns) is.",
        );
        let expected = [
            "10 packets, p50 1.5 ms",
            "64 % of it (write queue; full. All). [::1]:80 held",
            "2 more",
            "Recording (191 ns) is",
        ];
        assert_eq!(of, expected);
        assert_eq!(clauses("One."), ["One."]);
        assert_eq!(clauses(""), [""; 0]);
        assert_eq!(clauses(";) a; µs;"), [";) a", "µs;"]);
    }

    #[test]
    fn nothing_but_the_marks_is_left_out() {
        for text in ["a; b; (c; d; e", ")); x; ü. Ü; ", "; ; ", "A. B. C.", "µ.; ; X"] {
            let mut rest = text;
            for part in clauses(text) {
                let (skipped, behind) = rest.split_once(part).unwrap();
                assert!(skipped.chars().all(|c| " ;.".contains(c)), "{text:?}: {skipped:?}");
                rest = behind;
            }
            assert!(rest.chars().all(|c| " ;.".contains(c)), "{text:?}: {rest:?}");
        }
    }
}
