//! The folder itself: every tracepoint is registered, documented and tested, and binds to what the kernels recorded.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::endian::Endian;
use crate::event_format::EventFormat;
use crate::tracepoints::testing::{KERNELS, written};
use crate::tracepoints::{ALL, FieldType, MissingField, TracepointInfo, Words};

/// Folders that are no tracepoint.
const NOT_REGISTERED: &[&str] = &["common"];

fn source() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/tracepoints")
}

/// The folder of a registered tracepoint.
fn folder(info: &TracepointInfo) -> String {
    match info.system {
        "raw_syscalls" => format!("raw_{}", info.name),
        _ => info.name.trim_end_matches("_*").to_owned(),
    }
}

#[test]
fn every_folder_is_registered_documented_and_tested() {
    let registered: BTreeSet<String> = ALL.iter().map(folder).collect();
    assert_eq!(registered.len(), ALL.len(), "registered twice");
    let mut folders = BTreeSet::new();
    for entry in std::fs::read_dir(source())
        .unwrap()
        .map(Result::unwrap)
        .filter(|e| e.path().is_dir())
    {
        let name = entry.file_name().into_string().unwrap();
        let module = std::fs::read_to_string(entry.path().join("mod.rs")).unwrap();
        assert!(module.starts_with("//! "), "{name}: no header");
        assert!(
            module.contains("#[cfg(test)]\nmod tests;"),
            "{name}: tests are not a module of it"
        );
        let tests = std::fs::read_to_string(entry.path().join("tests.rs")).unwrap();
        assert!(
            tests.contains("#[test]") && tests.contains("assert") || tests.contains("reads"),
            "{name}: no tests"
        );
        if !NOT_REGISTERED.contains(&name.as_str()) {
            folders.insert(name);
        }
    }
    assert_eq!(folders, registered);
}

#[test]
fn no_folder_names_another_event() {
    // Types only: the prose may say which event follows.
    let types: Vec<(String, String)> = ALL
        .iter()
        .map(|i| (folder(i), format!("tracepoints::{}::", folder(i))))
        .collect();
    for (name, _) in &types {
        let module = std::fs::read_to_string(source().join(name).join("mod.rs")).unwrap();
        for (other, path) in &types {
            assert!(!module.contains(path) || other == name, "{name} uses {other}");
        }
    }
}

/// All recorded texts: kernel, system, event, text.
fn recorded() -> Vec<(String, String, String, String)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/format");
    let mut out = Vec::new();
    for release in KERNELS {
        for entry in std::fs::read_dir(root.join(release)).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            let (system, event) = name.strip_suffix(".txt").unwrap().split_once('.').unwrap();
            let text = std::fs::read_to_string(entry.path()).unwrap();
            out.push((release.to_owned(), system.to_owned(), event.to_owned(), text));
        }
    }
    out
}

fn of(format: &EventFormat) -> &'static TracepointInfo {
    let found: Vec<_> = ALL.iter().filter(|i| i.is_of(format)).collect();
    assert_eq!(found.len(), 1, "{}: {} views", format.key(), found.len());
    found[0]
}

#[test]
fn every_recorded_text_binds_to_one_view() {
    let recorded = recorded();
    assert_eq!(recorded.len(), 296);
    for (release, system, event, text) in recorded {
        let format = EventFormat::parse(&system, text.as_bytes()).unwrap();
        assert_eq!(format.name, event);
        assert_eq!(
            (of(&format).bind_check)(&format, Endian::Little),
            Ok(()),
            "{release} {event}"
        );
    }
}

#[test]
fn a_removed_field_is_named_or_was_optional() {
    let mut required = 0;
    for (release, system, event, text) in recorded() {
        let format = EventFormat::parse(&system, text.as_bytes()).unwrap();
        for at in 0..format.fields.len() {
            let mut less = format.clone();
            let removed = less.fields.remove(at).name;
            match (of(&format).bind_check)(&less, Endian::Little) {
                Ok(()) => {}
                Err(MissingField(name)) => {
                    assert_eq!(name.trim_start_matches("r#"), removed, "{release} {event}");
                    required += 1;
                }
            }
        }
    }
    assert_eq!(required, 1465);
}

#[test]
fn patterns_match_names_and_systems() {
    let named = |system: &str, name: &str| EventFormat {
        system: system.to_owned(),
        name: name.to_owned(),
        ..EventFormat::default()
    };
    let views = |f: &EventFormat| ALL.iter().filter(|i| i.is_of(f)).map(|i| i.name).collect::<Vec<_>>();
    assert_eq!(views(&named("syscalls", "sys_enter_futex")), ["sys_enter_*"]);
    assert_eq!(views(&named("raw_syscalls", "sys_enter")), ["sys_enter"]);
    assert_eq!(views(&named("net", "net_dev_queue_x")), [""; 0]);
    assert_eq!(views(&named("block", "net_dev_queue")), [""; 0]);
    // Probes of our recorder, whatever its pid; of nobody else.
    assert_eq!(views(&named("netmortem_4242", "backlog")), ["backlog"]);
    assert_eq!(views(&named("netmortem_", "backlog")), [""; 0]);
    assert_eq!(views(&named("netmortem_x1", "backlog")), [""; 0]);
}

#[test]
fn words_take_width_and_order_from_the_recording() {
    let read = |declaration: &str, endian, bytes: &[u8]| -> Option<[u64; 2]> {
        let format = EventFormat::parse("x", written("x", &[declaration]).as_bytes()).unwrap();
        let access = <Words<2> as FieldType>::bind(&format, &["other", "hist"], endian)?;
        <Words<2> as FieldType>::get(&access, bytes)
    };
    let mut bytes = vec![0; 8];
    bytes.extend(1..=16u8);
    let long = "unsigned long hist[2] 8 16 0";
    assert_eq!(
        read(long, Endian::Little, &bytes),
        Some([0x0807_0605_0403_0201, 0x100f_0e0d_0c0b_0a09])
    );
    assert_eq!(
        read(long, Endian::Big, &bytes),
        Some([0x0102_0304_0506_0708, 0x090a_0b0c_0d0e_0f10])
    );
    let short = "unsigned long hist[2] 8 8 0";
    assert_eq!(read(short, Endian::Little, &bytes), Some([0x0403_0201, 0x0807_0605]));
    assert_eq!(read(long, Endian::Little, &bytes[..23]), None);
    assert_eq!(read("unsigned long hist[3] 8 24 0", Endian::Little, &[0; 64]), None);
    assert_eq!(read("unsigned short hist[2] 8 4 0", Endian::Little, &[0; 64]), None);
    assert_eq!(read("unsigned long hist 8 8 0", Endian::Little, &[0; 64]), None);
}
