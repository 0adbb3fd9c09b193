//! Every field of every event against another parser: crate `tracepoint_decode`.

use tracepoint_decode::{PerfEventFormat, PerfFieldArray, PerfFieldFormat};

use super::texts::{Text, live, recorded};
use crate::event_format::{EventFormat, FieldFormat, FieldKind};

#[test]
fn recorded_texts() {
    for (folder, count) in [("6.1.192", 94), ("6.12.117", 102), ("6.18.44", 100), ("other", 25)] {
        let texts = recorded(folder);
        assert_eq!(texts.len(), count, "{folder}");
        compare(&texts);
    }
}

#[test]
fn all_events_of_this_machine() {
    match live() {
        Ok(texts) => compare(&texts),
        Err(why) => println!("skipped: {why}"),
    }
}

fn compare(texts: &[Text]) {
    let mut differences = Vec::new();
    for (system, text) in texts {
        let text_str = std::str::from_utf8(text).unwrap();
        let ours = EventFormat::parse(system, text).unwrap();
        let theirs = PerfEventFormat::parse(true, system, text_str).unwrap();
        let mut check = |what: &str, a: String, b: String| {
            if a != b {
                differences.push(format!("{} {what}: ours {a}, theirs {b}", ours.key()));
            }
        };
        check("name", ours.name.clone(), theirs.name().into());
        check("ID", ours.id.to_string(), theirs.id().to_string());
        check(
            "common fields",
            ours.common.len().to_string(),
            theirs.common_field_count().to_string(),
        );
        check(
            "fields",
            (ours.common.len() + ours.fields.len()).to_string(),
            theirs.fields().len().to_string(),
        );
        check("print fmt", ours.print_fmt.clone(), theirs.print_fmt().into());
        for (a, b) in ours.common.iter().chain(&ours.fields).zip(theirs.fields()) {
            check("field", ours_seen(a), theirs_seen(b));
        }
    }
    assert!(
        differences.is_empty(),
        "{} differences:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

fn ours_seen(f: &FieldFormat) -> String {
    let FieldFormat {
        name,
        offset,
        size,
        signed,
        kind,
        ..
    } = f;
    let kind = match kind {
        FieldKind::Int | FieldKind::Opaque => "one".to_owned(),
        FieldKind::Array { count: 0, text, .. } => format!("to the end, text {text}"),
        FieldKind::Array { size, count, text } => format!("{count} of {size}, text {text}"),
        FieldKind::DataLoc { text } => format!("data_loc, text {text}"),
        FieldKind::RelLoc { text } => format!("rel_loc, text {text}"),
    };
    format!("{name}@{offset} size {size} signed {signed}: {kind}")
}

/// `FieldFormat::String8` of crate eventheader_types: the type is `char`.
const STRING8: u8 = 10;

fn theirs_seen(f: &PerfFieldFormat) -> String {
    let text = f.specified_format().as_int() == STRING8;
    let kind = match f.array() {
        PerfFieldArray::None => "one".to_owned(),
        PerfFieldArray::RestOfEvent => format!("to the end, text {text}"),
        PerfFieldArray::Fixed => {
            format!(
                "{} of {}, text {text}",
                f.specified_array_count(),
                f.size() / f.specified_array_count()
            )
        }
        PerfFieldArray::DataLoc2 | PerfFieldArray::DataLoc4 => format!("data_loc, text {text}"),
        PerfFieldArray::RelLoc2 | PerfFieldArray::RelLoc4 => format!("rel_loc, text {text}"),
    };
    format!(
        "{}@{} size {} signed {}: {kind}",
        f.name(),
        f.offset(),
        f.size(),
        f.signed().unwrap_or(false)
    )
}
