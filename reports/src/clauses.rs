//! Long sentences in their parts, so that each can stand on a line of its own.

/// The clauses of some sentences, split outside parentheses at `; ` and at `. ` before a capital, a figure or `task/pid`. The marks between them are in none; where
/// there are several, neither is the full stop of the last.
#[must_use]
pub fn clauses(text: &str) -> Vec<&str> {
    marked(text).into_iter().map(|(_, part)| part).collect()
}

/// Sentences, split outside parentheses likewise; `; ` parts none of them.
#[must_use]
pub fn sentences(text: &str) -> Vec<String> {
    let mut all: Vec<String> = vec![];
    for (mark, part) in marked(text) {
        match all.last_mut().filter(|_| mark == ';') {
            Some(last) => *last = format!("{last}; {part}"),
            None => all.push(part.to_owned()),
        }
    }
    all
}

/// The same, each with how far it stands in: 0 the first of all, 1 the others of its sentence and the first of each sentence behind it, 2 the others of these.
#[must_use]
pub fn nested(text: &str) -> Vec<(usize, &str)> {
    let (mut out, mut behind) = (vec![], false);
    for (mark, part) in marked(text) {
        behind |= !out.is_empty() && mark == '.';
        let deep = match (out.is_empty(), mark) {
            (true, _) => 0,
            (_, ';') if behind => 2,
            _ => 1,
        };
        out.push((deep, part));
    }
    out
}

/// Clauses, each with the mark before it.
fn marked(text: &str) -> Vec<(char, &str)> {
    let mut parts: Vec<(char, &str)> = vec![];
    let (mut depth, mut from, mut mark) = (0_usize, 0, '.');
    for (at, c) in text.char_indices() {
        let rest = text.get(at + c.len_utf8()..).and_then(|rest| rest.strip_prefix(' '));
        let begins = |rest: &str| {
            let first = rest.split(' ').next().unwrap_or_default();
            first.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit()) || first.contains('/')
        };
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            ';' | '.' if depth == 0 && rest.is_some_and(|rest| c == ';' || begins(rest)) => {
                parts.extend(text.get(from..at).map(|part| (mark, part)));
                (from, mark) = (at + 2, c);
            }
            _ => {}
        }
    }
    let last = text.get(from..).unwrap_or_default();
    match parts.is_empty() {
        true => parts.push((mark, last)),
        false => parts.push((mark, last.strip_suffix('.').unwrap_or(last))),
    }
    parts.retain(|(_, part)| !part.is_empty());
    parts
}

/// Clauses that are longer are parted once more, at the first colon.
const LONG: usize = 110;

/// What is said of something that was found, step by step: its clauses, of which long ones end at a colon, and have what is in long brackets behind them.
#[must_use]
pub fn steps(text: &str) -> Vec<String> {
    let parts = clauses(text).into_iter().flat_map(parted);
    parts.flat_map(unbracketed).collect()
}

/// Brackets that are longer stand behind their sentence, where that is long with them, characters.
const BRACKET: usize = 80;

/// A sentence, and what is in its first long brackets.
fn unbracketed(step: &str) -> Vec<String> {
    let whole = || vec![step.to_owned()];
    if step.chars().count() <= LONG {
        return whole();
    }
    let (mut depth, mut from) = (0_usize, 0);
    for (at, c) in step.char_indices() {
        match c {
            '(' => {
                from = if depth == 0 { at } else { from };
                depth += 1;
            }
            ')' if depth == 1 => {
                depth = 0;
                let (Some(before), Some(inside), Some(behind)) =
                    (step.get(..from), step.get(from + 1..at), step.get(at + 1..))
                else {
                    return whole();
                };
                if inside.chars().count() >= BRACKET && !before.trim().is_empty() {
                    let before = before.trim_end();
                    // Of several groups it says which it is of.
                    let of = named_last(before).filter(|_| several(behind) || several(before));
                    let inside = of.map_or_else(|| inside.to_owned(), |of| format!("{of}: {inside}"));
                    return vec![format!("{before}{behind}"), inside];
                }
            }
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    whole()
}

/// The devices that a text ends with, as `eth0, eth1 and eth2`; brackets behind these are not of the name.
fn named_last(text: &str) -> Option<&str> {
    let text = match (text.ends_with(')'), text.rsplit_once(" (")) {
        (true, Some((name, _))) => name,
        _ => text,
    };
    let listed = |names: &&str| {
        names
            .split(", ")
            .flat_map(|n| n.split(" and "))
            .all(|n| !n.contains(' '))
    };
    let (before, names) = text.rsplit_once(" on ").unzip();
    // Without a device it is what was said just before, a reason.
    let reason = || {
        let reason = text.rsplit_once(" for ").map(|(_, reason)| reason)?;
        let reason = reason.split_once(" at ").map_or(reason, |(reason, _)| reason);
        (!reason.contains(' ')).then_some(reason)
    };
    before.and(names).filter(listed).or_else(reason)
}

/// Whether one more group follows: a comma outside of brackets, and how many.
fn several(behind: &str) -> bool {
    let mut depth = 0_usize;
    behind.char_indices().any(|(at, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let next = behind.get(at..).and_then(|rest| rest.strip_prefix(", "));
        depth == 0 && next.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}

fn parted(clause: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let colon = clause.char_indices().find(|(at, c)| {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        *c == ':' && depth == 0 && clause.get(at + 1..).is_some_and(|rest| rest.starts_with(' '))
    });
    match colon.and_then(|(at, _)| Some((clause.get(..=at)?, clause.get(at + 2..)?))) {
        Some((first, rest)) if clause.chars().count() > LONG && !rest.is_empty() => vec![first, rest],
        _ => vec![clause],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_by_marks_outside_parentheses() {
        let of = clauses(
            "10 packets, p50 1.5 ms; 64 % of it (write queue; full. All). [::1]:80 held. python3/7 slept. 2 more. Recording (191 ns) is.",
        );
        let expected = [
            "10 packets, p50 1.5 ms",
            "64 % of it (write queue; full. All). [::1]:80 held",
            "python3/7 slept",
            "2 more",
            "Recording (191 ns) is",
        ];
        assert_eq!(of, expected);
        assert_eq!(clauses("One."), ["One."]);
        assert_eq!(clauses(""), [""; 0]);
        assert_eq!(clauses(";) a; µs;"), [";) a", "µs;"]);
    }

    #[test]
    fn sentences_keep_their_clauses() {
        let of = sentences("3 of 3 had no answer (a. B); all lie in 10.0.0.1:53. 4 came twice: so; and so");
        assert_eq!(
            of,
            [
                "3 of 3 had no answer (a. B); all lie in 10.0.0.1:53",
                "4 came twice: so; and so"
            ]
        );
        assert_eq!(sentences(""), [""; 0]);
    }

    #[test]
    fn clauses_stand_under_their_sentence() {
        let of = nested("Answers take longer; p50; p99 (a; b). Others do. So; does; this.");
        let expected = [
            (0, "Answers take longer"),
            (1, "p50"),
            (1, "p99 (a; b)"),
            (1, "Others do"),
            (1, "So"),
            (2, "does"),
            (2, "this"),
        ];
        assert_eq!(of, expected);
        assert_eq!(nested(""), []);
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

    #[test]
    fn long_clauses_end_at_their_first_colon() {
        let what = "43 packets were dropped by this host (a rule: of nftables) on rc:";
        let whose = "TCP data of [::1]:58426 > 10.9.2.2:7106, 43 of the 507 seen there: one in 12";
        let text = format!("{what} {whose}; short: it stays");
        assert_eq!(steps(&text), [what, whose, "short: it stays"]);
        assert_eq!(steps("short: it stays"), ["short: it stays"]);
        assert_eq!(steps(""), [""; 0]);
    }

    #[test]
    fn long_brackets_stand_behind_their_sentence() {
        let inside = "its source is an address of this host (martian), they came back to the host that had sent them: cali1 received them";
        let text =
            format!("52 packets were dropped here for IP_LOCAL_SOURCE ({inside}) on eth0: SYNs (12) from 10.0.0.1");
        let first = "52 packets were dropped here for IP_LOCAL_SOURCE on eth0:";
        assert_eq!(steps(&text), [first, inside, "SYNs (12) from 10.0.0.1"]);
        // Of the first of two groups.
        let text =
            format!("11 packets were dropped: 6 for IP_LOCAL_SOURCE ({inside}) on eth0, 5 for NETFILTER_DROP (a rule)");
        let first = "11 packets were dropped: 6 for IP_LOCAL_SOURCE on eth0, 5 for NETFILTER_DROP (a rule)";
        assert_eq!(
            unbracketed(&text),
            [first.to_owned(), format!("IP_LOCAL_SOURCE: {inside}")]
        );
        let of = |devs: &str| {
            unbracketed(&format!(
                "11 packets were dropped: 6 for NETFILTER_DROP on {devs} ({inside}), 5 for others"
            ))
        };
        for devs in ["br-app and br-wan", "a, b and c", "eth0"] {
            assert_eq!(of(devs)[1], format!("{devs}: {inside}"));
        }
        let part = of("c0, d0 and br0 (as far as known)");
        assert_eq!(part[1], format!("c0, d0 and br0: {inside}"));
        // Of the last of two; of one alone it needs no name, figures in brackets are no group.
        let last = unbracketed(&format!(
            "12 packets were dropped: 5 for OTHERHOST at f on a, b and c (a rule), 7 for PKT_TOO_BIG at g ({inside}) on rs"
        ));
        assert_eq!(last[1], format!("PKT_TOO_BIG: {inside}"));
        let alone = unbracketed(&format!(
            "7 segments were retransmitted without need ({inside}) by 7 calls of one of the sockets (6 tlp, 1 rto)"
        ));
        assert_eq!(alone[1], inside);
        // Short ones stay, and so do those that do not end.
        let short = format!("{} (a queue) {}", "a".repeat(60), "b".repeat(60));
        assert_eq!(steps(&short), [short.as_str()]);
        let open = format!("{} ({}", "a".repeat(60), "b".repeat(90));
        assert_eq!(steps(&open), [open.as_str()]);
    }
}
