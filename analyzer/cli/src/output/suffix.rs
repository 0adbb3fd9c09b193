//! What the name of an output says of its form: `-o drops.parquet` is Parquet. A name and `--format` that say different things are
//! a mistake in the command line.

use std::path::Path;

use super::Format;
use crate::failure::usage;

/// Suffixes of forms that other tools know, besides those of tables and pages.
const OTHERS: [&str; 2] = ["png", "pdf"];

/// The suffix of a name, in small letters; none of standard output.
fn suffix(to: Option<&Path>) -> Option<String> {
    let name = to.filter(|p| p.as_os_str() != "-")?;
    Some(name.extension()?.to_str()?.to_ascii_lowercase())
}

/// The form of a table: what `--format` says, else what the name of the output does, else text.
pub fn table_format(given: Option<Format>, to: Option<&Path>) -> anyhow::Result<Format> {
    let suffix = suffix(to);
    let named = match suffix.as_deref() {
        Some("csv") => Some(Format::Csv),
        Some("json") => Some(Format::Json),
        Some("parquet") => Some(Format::Parquet),
        _ => None,
    };
    match (given, named, to) {
        (Some(given), Some(named), Some(to)) if given != named => Err(contradiction(&word(given), to)),
        (given, named, _) => Ok(given.or(named).unwrap_or(Format::Table)),
    }
}

/// Of a page, which forms there are with their suffixes: the one that the name says, or an error where it names a form that is none
/// of them; `next` is what to do then.
pub fn page_format<F: Copy>(to: Option<&Path>, forms: &[(&str, F)], next: &str) -> anyhow::Result<Option<F>> {
    let Some((to, suffix)) = to.zip(suffix(to)) else {
        return Ok(None);
    };
    let form = forms.iter().find(|(of, _)| *of == suffix).map(|(_, f)| *f);
    let foreign = ["html", "htm", "md", "markdown", "csv", "json", "parquet"]
        .iter()
        .chain(&OTHERS)
        .any(|s| *s == suffix);
    match form {
        None if foreign => Err(usage(
            format!(
                "{} is the name of a file in another form than is written here",
                to.display()
            ),
            next,
        )),
        form => Ok(form),
    }
}

/// That an option and the name of the output do not say the same.
pub fn contradiction(option: &str, to: &Path) -> anyhow::Error {
    usage(
        format!("{option} and -o {} name two different forms", to.display()),
        "leave the option out, or name a file with the suffix of that form",
    )
}

fn word(of: Format) -> String {
    let word = match of {
        Format::Table => "table",
        Format::Csv => "csv",
        Format::Json => "json",
        Format::Parquet => "parquet",
    };
    format!("--format {word}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::code;

    #[test]
    fn the_name_says_the_form_where_no_option_does() {
        let of = |given, to: &str| table_format(given, Some(Path::new(to))).unwrap();
        assert_eq!(of(None, "a.parquet"), Format::Parquet);
        assert_eq!(of(None, "b/a.CSV"), Format::Csv);
        assert_eq!(of(None, "a.json"), Format::Json);
        for other in ["a", "a.txt", "-", "csv"] {
            assert_eq!(of(None, other), Format::Table, "{other}");
            assert_eq!(of(Some(Format::Csv), other), Format::Csv, "{other}");
        }
        assert_eq!(of(Some(Format::Json), "a.json"), Format::Json);
        assert_eq!(table_format(None, None).unwrap(), Format::Table);
        for (given, to) in [(Format::Table, "a.csv"), (Format::Csv, "a.parquet")] {
            let e = table_format(Some(given), Some(Path::new(to))).unwrap_err();
            assert!(code(&e) == 2 && e.to_string().contains(to), "{e}");
            assert!(e.to_string().contains("--format "), "{e}");
        }
    }

    #[test]
    fn a_page_is_of_its_own_forms() {
        let forms = [("html", 1), ("md", 2)];
        let of = |to: &str| page_format(Some(Path::new(to)), &forms, "name a page");
        assert_eq!(of("a.html").unwrap(), Some(1));
        assert_eq!(of("a.MD").unwrap(), Some(2));
        for none in ["a", "a.2026-11-30", "-", "/dev/null"] {
            assert_eq!(of(none).unwrap(), None, "{none}");
        }
        for wrong in ["a.json", "a.pdf"] {
            assert_eq!(code(&of(wrong).unwrap_err()), 2, "{wrong}");
        }
    }
}
