//! Times and windows as people write them: `1.5s`, `20ms`, `1s..3s`. Exact: a time is digits, not a float.

/// `1s`, `1.5s`, `20ms`, `7us`, `3ns` in ns; the error is a sentence.
pub fn ns(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let wrong = || format!("{text:?} is no time: write 1.5s, 200ms, 10us or 3ns");
    let cut = text.find(char::is_alphabetic).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(cut);
    let number = number.trim_end();
    let digits = match unit {
        "s" => 9,
        "ms" => 6,
        "us" | "\u{b5}s" => 3,
        "ns" => 0,
        _ => return Err(wrong()),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let plain = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.len() + part.len() == 0 || !plain(whole) || !plain(part) || part.len() > digits {
        return Err(wrong());
    }
    let zeros = "0".repeat(digits - part.len());
    format!("{whole}{part}{zeros}").parse().map_err(|_| wrong())
}

/// `1s..3s`, `..5s` or `5s..` in ns; an end that is left out is `None`.
pub fn window(text: &str) -> Result<(Option<u64>, Option<u64>), String> {
    let (from, to) = text
        .split_once("..")
        .ok_or("two times with .. between: 1s..3s, ..5s or 5s..")?;
    // `.2s` is a time, and `0s...2s` more likely 2 s than 0.2 s.
    if to.trim_start().starts_with('.') {
        let digits = to.trim_start().trim_start_matches('.');
        return Err(format!(
            "{text:?} has more than two dots between its times: write {0}..{digits}, or {0}..0.{digits} for a part of one",
            from.trim()
        ));
    }
    let end = |text: &str| match text.trim() {
        "" => Ok(None),
        text => ns(text).map(Some),
    };
    Ok((end(from)?, end(to)?))
}

/// Begin and end of a part, in ns; an end that is left out is `None`.
pub type Part = (Option<u64>, Option<u64>);

/// As [`window`], its end not before its begin.
pub fn part(text: &str) -> Result<Part, String> {
    let (from, to) = window(text)?;
    match from.zip(to).is_some_and(|(a, b)| a > b) {
        true => Err("the first time is later than the second".into()),
        false => Ok((from, to)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_and_mistakes_are_sentences() {
        assert_eq!(ns("1.5s"), Ok(1_500_000_000));
        assert_eq!((ns("20ms"), ns("7us"), ns("3ns")), (Ok(20_000_000), Ok(7_000), Ok(3)));
        assert_eq!(
            (ns(".5ms"), ns(" 1.5 us"), ns("2\u{b5}s")),
            (Ok(500_000), Ok(1_500), Ok(2_000))
        );
        assert_eq!(ns("0.000000001s"), Ok(1));
        for wrong in [
            "",
            "3",
            "s",
            ".s",
            "-1s",
            "1e3ms",
            "0.5ns",
            "1kg",
            "1.2.3s",
            "99999999999s",
        ] {
            assert!(ns(wrong).unwrap_err().contains("is no time"), "{wrong}");
        }
        assert_eq!(window("1s..3s"), Ok((Some(1_000_000_000), Some(3_000_000_000))));
        assert_eq!(
            (window(".."), window("..5s")),
            (Ok((None, None)), Ok((None, Some(5_000_000_000))))
        );
        assert!(window("3").unwrap_err().contains("..5s"));
        // A third dot is of no time.
        for wrong in ["0s...2s", "...2s", "1s.. .5s", "1s....5s"] {
            assert!(window(wrong).unwrap_err().contains("more than two dots"), "{wrong}");
        }
        assert!(window("0s...2s").unwrap_err().contains("write 0s..2s, or 0s..0.2s"));
        assert_eq!(window("0s..0.2s"), Ok((Some(0), Some(200_000_000))));
        assert_eq!(window(".5s..1s"), Ok((Some(500_000_000), Some(1_000_000_000))));
    }
}
