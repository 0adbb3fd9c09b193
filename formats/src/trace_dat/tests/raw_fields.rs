//! Every field of about a thousand sampled events against `trace-cmd report -R`, which prints `field=value` in the order of
//! the format text. Generic: nothing here knows an event.

use std::collections::HashMap;

use super::walk::{Item, items, sample, sample_text};
use crate::event_format::{BytesAccess, EventFormat, FieldFormat, FieldKind, IntAccess, StrAccess};
use crate::{Capture, Endian};

/// A line of the report, taken apart.
struct Line<'a> {
    instance: &'a str,
    comm: &'a str,
    pid: i64,
    cpu: u32,
    ts: u64,
    event: &'a str,
    fields: &'a str,
}

/// `[instance:] comm-pid [cpu] seconds.ns: event: fields`
fn line(text: &str) -> Line<'_> {
    let (task, rest) = text.split_once(" [").unwrap();
    let (cpu, rest) = rest.split_once("] ").unwrap();
    let (ts, rest) = rest.trim_start().split_once(": ").unwrap();
    let (event, fields) = rest.split_once(':').unwrap();
    let (seconds, ns) = ts.split_once('.').unwrap();
    let (instance, task) = match task.trim_start().split_once(": ") {
        Some((instance, task)) => (instance, task.trim_start()),
        None => ("", task.trim_start()),
    };
    let (comm, pid) = task.rsplit_once('-').unwrap();
    let ts = seconds.parse::<u64>().unwrap() * 1_000_000_000 + ns.parse::<u64>().unwrap();
    Line {
        instance,
        comm,
        pid: pid.parse().unwrap(),
        cpu: cpu.parse().unwrap(),
        ts,
        event,
        fields: fields.trim_start(),
    }
}

/// (field, printed value), cut at the names of the format text because values may hold spaces.
fn printed<'a>(f: &'a EventFormat, mut text: &'a str) -> Vec<(&'a FieldFormat, &'a str)> {
    let mut out = Vec::new();
    for (i, field) in f.fields.iter().enumerate() {
        text = text
            .strip_prefix(&format!("{}=", field.name))
            .unwrap_or_else(|| panic!("{} in {text}", field.name));
        let end = f
            .fields
            .get(i + 1)
            .and_then(|next| text.find(&format!(" {}=", next.name)))
            .unwrap_or(text.len());
        out.push((field, text[..end].trim_end()));
        text = text[end..].trim_start();
    }
    assert_eq!(text, "");
    out
}

fn number(text: &str) -> Option<i128> {
    match text.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16).ok(),
        None if text == "(nil)" => Some(0),
        None => text.parse().ok(),
    }
}

/// Whether the field of this payload is what was printed.
fn agrees(c: &Capture, f: &EventFormat, field: &FieldFormat, payload: &[u8], text: &str) -> bool {
    let endian = Endian::Little;
    match field.kind {
        FieldKind::Int => {
            let value = IntAccess::bind(f, &field.name, endian).unwrap().u64(payload).unwrap();
            let mask = if field.size == 8 {
                u128::MAX
            } else {
                (1 << (8 * field.size)) - 1
            };
            match number(text) {
                // A negative number and its two's complement of that width are the same bytes.
                Some(n) => (n as u128) & mask == u128::from(value) & mask || n == i128::from(value.cast_signed()),
                // %ps prints the name, %pS the offset too.
                None => c
                    .kallsyms
                    .resolve(value)
                    .is_some_and(|(name, off)| name == text || format!("{name}+{off:#x}") == text),
            }
        }
        _ if text.starts_with("ARRAY[") => {
            let bytes = BytesAccess::bind(f, &field.name, endian)
                .unwrap()
                .bytes(payload)
                .unwrap();
            let list = text.trim_start_matches("ARRAY[").trim_end_matches(']');
            let want: Vec<u8> = list.split(", ").map(|h| u8::from_str_radix(h, 16).unwrap()).collect();
            bytes == want
        }
        // A byte array that looks printable is printed as a text, up to its NUL.
        _ => {
            let bytes = match StrAccess::bind(f, &field.name, endian) {
                Some(a) => a.bytes(payload).unwrap(),
                None => BytesAccess::bind(f, &field.name, endian)
                    .unwrap()
                    .bytes(payload)
                    .unwrap(),
            };
            let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
            &bytes[..end] == text.as_bytes()
        }
    }
}

#[test]
fn sampled_fields_are_those_of_trace_cmd() {
    let c = sample();
    let mut records: HashMap<(&str, u32, u64), Vec<Vec<u8>>> = HashMap::new();
    for s in &c.streams {
        for item in items(&c, s) {
            if let Item::Record { ts, payload } = item {
                records.entry((&s.instance, s.cpu, ts)).or_default().push(payload);
            }
        }
    }
    let (mut events, mut fields) = (0, 0);
    for text in sample_text("report-raw-sample.txt").lines() {
        let l = line(text);
        let same_time = &records[&(l.instance, l.cpu, l.ts)];
        let of_event: Vec<(&EventFormat, &Vec<u8>)> = same_time
            .iter()
            .filter_map(|p| {
                let id = c.endian.u16(p, 0)?;
                Some((c.event_formats.iter().find(|f| f.id == id && f.name == l.event)?, p))
            })
            .collect();
        // Two events of one name may share a nanosecond; one of them is this line.
        let found = of_event.iter().find(|(f, payload)| {
            let pid = IntAccess::bind(f, "common_pid", c.endian).unwrap().i64(payload);
            pid == Some(l.pid)
                && printed(f, l.fields)
                    .iter()
                    .all(|(field, text)| agrees(&c, f, field, payload, text))
        });
        let Some((f, _)) = found else {
            panic!("no record of that time agrees: {text}\n{of_event:?}")
        };
        assert!(
            c.comms
                .iter()
                .any(|(pid, comm)| (i64::from(*pid), comm.as_str()) == (l.pid, l.comm)),
            "{text}"
        );
        events += 1;
        fields += f.fields.len();
    }
    assert_eq!(events, 1013);
    assert_eq!(fields, FIELDS);
}

/// Own fields of all sampled lines together.
const FIELDS: usize = 5613;
