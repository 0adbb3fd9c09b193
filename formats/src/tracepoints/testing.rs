//! What the tests of the tracepoint folders share: the recorded format texts, and payloads written by hand.

use std::fmt::Debug;
use std::path::PathBuf;

use crate::endian::Endian;
use crate::event_format::{EventFormat, ValueTable};
use crate::tracepoints::Tracepoint;

/// The kernels whose format texts are in `testdata/format`.
pub const KERNELS: [&str; 3] = ["6.1.192", "6.12.117", "6.18.44"];

/// 10.0.0.1 and 10.0.0.2 as the fields `saddr[4]` and `saddr_v6[16]`, as sockaddr with ports 5201 and 40000, and a MAC
/// address in its 32 bytes.
pub const A4: [u8; 4] = [10, 0, 0, 1];
pub const B4: [u8; 4] = [10, 0, 0, 2];
pub const A6: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1];
pub const B6: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2];
pub const A28: [u8; 28] = [
    2, 0, 0x14, 0x51, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
];
pub const B28: [u8; 28] = [
    2, 0, 0x9c, 0x40, 10, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
];
pub const MAC: [u8; 32] = {
    let mut mac = [0; 32];
    (mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]) = (2, 0, 0x5e, 1, 2, 3);
    mac
};

/// The bytes of a payload written as lines `hex field`: what is behind the first word of a line is for the reader.
pub fn payload(lines: &str) -> Vec<u8> {
    let digits: String = lines.lines().filter_map(|l| l.split_whitespace().next()).collect();
    assert!(digits.len().is_multiple_of(2), "odd number of digits");
    digits
        .as_bytes()
        .chunks(2)
        .map(|c| u8::from_str_radix(std::str::from_utf8(c).unwrap(), 16).unwrap())
        .collect()
}

fn path(release: &str, system: &str, name: &str) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/format");
    root.join(release).join(format!("{system}.{name}.txt"))
}

/// The recorded format text; fails when the kernel does not have the event.
pub fn text(release: &str, system: &str, name: &str) -> String {
    let path = path(release, system, name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// That text without the line of `field`.
pub fn without(text: &str, field: &str) -> String {
    let declared = |l: &str| l.contains("field:") && [";", "["].iter().any(|end| l.contains(&format!(" {field}{end}")));
    assert!(text.lines().any(declared), "no field {field}");
    text.lines()
        .filter(|l| !declared(l))
        .map(|l| format!("{l}\n"))
        .collect()
}

/// That text with `field` under another name.
pub fn renamed(text: &str, field: &str, other: &str) -> String {
    assert!(text.contains(&format!(" {field};")), "no field {field}");
    text.replace(&format!(" {field};"), &format!(" {other};"))
}

/// A text written by hand, for kernels that we have no recording of: common fields, then lines
/// `declaration offset size signed`.
pub fn written(name: &str, fields: &[&str]) -> String {
    let common = [
        "unsigned short common_type 0 2 0",
        "unsigned char common_flags 2 1 0",
        "unsigned char common_preempt_count 3 1 0",
        "int common_pid 4 4 1",
        "",
    ];
    let mut text = format!("name: {name}\nID: 42\nformat:\n");
    for line in common.iter().chain(fields) {
        let mut words = line.rsplitn(4, ' ');
        if let (Some(signed), Some(size), Some(offset), Some(field)) =
            (words.next(), words.next(), words.next(), words.next())
        {
            text += &format!("\tfield:{field};\toffset:{offset};\tsize:{size};\tsigned:{signed};");
        }
        text += "\n";
    }
    text + "\nprint fmt: \"\"\n"
}

/// The format of the event on that kernel.
pub fn format(release: &str, system: &str, name: &str) -> EventFormat {
    EventFormat::parse(system, text(release, system, name).as_bytes()).unwrap()
}

/// Fails unless exactly these kernels have the event.
pub fn only_on<T: Tracepoint>(releases: &[&str]) {
    let has: Vec<_> = KERNELS
        .into_iter()
        .filter(|r| path(r, T::SYSTEM, T::NAME).exists())
        .collect();
    assert_eq!(has, releases);
}

/// Fails unless the event's text on each of these kernels reads `payload` as `expected`; see [`reads_text`].
pub fn reads<'a, T>(releases: &[&str], payload: &'a [u8], needed: usize, expected: &T::Event<'a>)
where
    T: Tracepoint,
    T::Event<'a>: Debug + PartialEq,
{
    for release in releases {
        reads_text::<T>(&text(release, T::SYSTEM, T::NAME), payload, needed, expected);
    }
}

/// Fails unless that format text reads `payload` as `expected`, and nothing from any payload of less than `needed` bytes.
pub fn reads_text<'a, T>(text: &str, payload: &'a [u8], needed: usize, expected: &T::Event<'a>)
where
    T: Tracepoint,
    T::Event<'a>: Debug + PartialEq,
{
    let format = EventFormat::parse(T::SYSTEM, text.as_bytes()).unwrap();
    let bound = T::bind(&format, Endian::Little).unwrap();
    assert_eq!(T::read(&bound, payload).as_ref(), Some(expected));
    assert!(
        T::read(&bound, &payload[..needed]).is_some(),
        "{needed} bytes are enough"
    );
    for cut in 0..needed {
        assert!(T::read(&bound, &payload[..cut]).is_none(), "read from {cut} bytes");
    }
}

/// What that kernel's format reads from `payload`.
pub fn reading<'a, T: Tracepoint>(release: &str, payload: &'a [u8]) -> T::Event<'a> {
    let bound = T::bind(&format(release, T::SYSTEM, T::NAME), Endian::Little).unwrap();
    T::read(&bound, payload).unwrap()
}

/// Fails unless each kernel's table of `field` gives these names, and none to a value past them.
pub fn names<T: Tracepoint>(releases: &[&str], field: &str, expected: &[(u64, &str)]) {
    for release in releases {
        let format = format(release, T::SYSTEM, T::NAME);
        let table = ValueTable::of(&format, field).unwrap_or_else(|| panic!("{release}: no table of {field}"));
        for (value, name) in expected {
            assert_eq!(table.name(*value).as_deref(), Some(*name), "{release} {field} {value}");
        }
    }
}

/// Fails unless the print fmt of each kernel leaves the values of `field` unresolved: the text names enumerators
/// instead of numbers, so that no name can be given.
pub fn unnamed<T: Tracepoint>(releases: &[&str], field: &str, values: std::ops::Range<u64>) {
    for release in releases {
        let table = ValueTable::of(&format(release, T::SYSTEM, T::NAME), field);
        for value in values.clone() {
            assert_eq!(
                table.as_ref().and_then(|t| t.name(value)),
                None,
                "{release} {field} {value}"
            );
        }
    }
}
