//! WCAG 2 contrast of every pair of colours that text is shown in, light and dark, computed from the style sheet itself: 4.5:1 for letters of
//! this size (1.4.3), 3:1 for tones against their ground (1.4.11).

use std::collections::BTreeMap;

use super::STYLE;
use crate::chart::Tone;

type Variables = BTreeMap<String, String>;

/// The variables of the light page and of the dark one.
fn pages() -> [Variables; 2] {
    let (light, rest) = STYLE
        .split_once("@media screen and (prefers-color-scheme:dark)")
        .unwrap();
    let (dark, _) = rest.split_once("\nsvg ").unwrap();
    let of = |text: &str| -> Variables {
        let parts = text
            .split(['{', ';', '}'])
            .filter_map(|part| part.trim().strip_prefix("--"));
        let pairs = parts.filter_map(|part| part.split_once(':'));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    let light = of(light);
    let mut dark_page = light.clone();
    dark_page.extend(of(dark));
    [light, dark_page]
}

/// Relative luminance (WCAG 2.2).
fn luminance(color: &str) -> f64 {
    let digits = color.strip_prefix('#').unwrap();
    let long: String = match digits.len() {
        3 => digits.chars().flat_map(|c| [c, c]).collect(),
        _ => digits.to_owned(),
    };
    let part = |at: usize| {
        let value = f64::from(u8::from_str_radix(&long[at..at + 2], 16).unwrap()) / 255.0;
        match value <= 0.040_45 {
            true => value / 12.92,
            false => ((value + 0.055) / 1.055).powf(2.4),
        }
    };
    0.2126 * part(0) + 0.7152 * part(2) + 0.0722 * part(4)
}

fn contrast(one: &str, other: &str) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn contrast_is_that_of_the_standard() {
    assert!((contrast("#000", "#fff") - 21.0).abs() < 1e-9);
    assert!((contrast("#777777", "#ffffff") - 4.48).abs() < 0.005);
    // What the words "good" had before.
    assert!((contrast("#1a7f37", "#e6f4ea") - 4.47).abs() < 0.005);
}

#[test]
fn all_text_of_the_page_can_be_read() {
    for (page, name) in pages().iter().zip(["light", "dark"]) {
        let mut pairs: Vec<(&str, String)> = Vec::new();
        for ground in ["bg", "card", "soft"] {
            pairs.extend(["ink", "muted", "link"].map(|ink| (ink, ground.to_owned())));
        }
        for tone in ["good", "info", "notice", "bad", "unknown"] {
            pairs.extend([tone, "ink", "muted", "link"].map(|ink| (ink, format!("{tone}-bg"))));
        }
        // The tip and what is said are the other way round.
        pairs.push(("bg", "ink".to_owned()));
        for (ink, ground) in pairs {
            let of = contrast(&page[ink], &page[&ground]);
            assert!(of >= 4.5, "{name}: {ink} on {ground} is {of:.2}:1");
        }
    }
}

/// What a colour of a picture is on the dark page.
fn dark(attribute: &str, color: &str) -> String {
    let rule = format!("[{attribute}=\"{color}\"]{{{attribute}:");
    let (_, rest) = STYLE.split_once(&rule).unwrap_or_else(|| panic!("no rule for {color}"));
    rest.split('}').next().unwrap().to_owned()
}

#[test]
fn all_text_and_tones_of_pictures_can_be_seen() {
    let [light, dark_page] = pages();
    let ground = "#F5F7F9";
    for text in ["#1B1F24", "#57606A"] {
        for (ink, grounds) in [
            (text.to_owned(), [light["card"].clone(), ground.to_owned()]),
            (dark("fill", text), [dark_page["card"].clone(), dark("fill", ground)]),
        ] {
            for on in grounds {
                let of = contrast(&ink, &on);
                assert!(of >= 4.5, "{ink} on {on} is {of:.2}:1");
            }
        }
    }
    let hex = |color: plotters_backend::BackendColor| {
        let (r, g, b) = color.rgb;
        format!("#{r:02X}{g:02X}{b:02X}")
    };
    for tone in Tone::ALL {
        let color = hex(tone.color());
        let seen = [
            (contrast(&color, &light["card"]), 3.0),
            (contrast(&dark("fill", &color), &dark_page["card"]), 3.0),
            (contrast(&hex(tone.letters()), &color), 4.5),
            (contrast("#000", &dark("fill", &color)), 4.5),
        ];
        for (of, least) in seen {
            assert!(of >= least, "{tone:?}: {of:.2}:1, {seen:?}");
        }
        assert_eq!(dark("fill", &color), dark("stroke", &color));
    }
    assert!(STYLE.contains("svg text[fill=\"#FFFFFF\"]{fill:#000}"));
}
