//! The text of snapshots: lines of `name=value` words, and attributes in hex. What a line means, who reads it knows.

pub mod cgroups;
pub mod devices;
pub mod groups;
pub mod memory;
pub mod refusing;
pub mod spaces;
pub mod tables;
pub(crate) mod tasks;

use netmortem_formats::Capture;
use netmortem_formats::capture::SnapshotWhen;

/// Lines of the snapshots of that name and time that are UTF-8.
pub(crate) fn lines<'c>(
    capture: &'c Capture,
    what: &'static str,
    when: impl Fn(SnapshotWhen) -> bool + 'c,
) -> impl Iterator<Item = &'c str> {
    let of = capture.snapshots.iter().filter(move |s| s.what == what && when(s.when));
    of.flat_map(|s| s.text.split(|b| *b == b'\n'))
        .filter_map(|l| std::str::from_utf8(l).ok())
}

/// Lines of listening TCP sockets, each with its port.
pub(crate) fn listening<'c>(
    capture: &'c Capture,
    when: impl Fn(SnapshotWhen) -> bool + 'c,
) -> impl Iterator<Item = (u16, &'c str)> {
    let of = |l: &'c str| {
        let listens = field(l, "proto") == Some("tcp") && field(l, "state") == Some("listen");
        let src = field(l, "src").filter(|_| listens)?;
        Some((src.rsplit_once(':')?.1.parse().ok()?, l))
    };
    lines(capture, "sockets", when).filter_map(of)
}

/// Who holds the memory of receive queues, and which listening sockets turned connections away.
pub(crate) fn of_sockets(capture: &Capture) -> (Vec<memory::Holder>, Vec<refusing::Refusing>) {
    (memory::holders(capture), refusing::refusing(capture))
}

/// Namespace and file of a snapshot's name: `netns/4026531840/net/snmp` is of another one than the recorder's own.
pub(crate) fn of_netns(what: &str) -> (Option<&str>, &str) {
    match what.strip_prefix("netns/").and_then(|w| w.split_once('/')) {
        Some((netns, rest)) => (Some(netns), rest),
        None => (None, what),
    }
}

/// Names and values of a line.
pub(crate) fn words(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.split_ascii_whitespace().filter_map(|w| w.split_once('='))
}

/// The first value of that name.
pub(crate) fn field<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    words(line).find(|(n, _)| *n == name).map(|(_, v)| v)
}

/// The same, decimal.
pub(crate) fn number(line: &str, name: &str) -> Option<u64> {
    field(line, name)?.parse().ok()
}

/// The same, hex with `0x`.
pub(crate) fn hex(line: &str, name: &str) -> Option<u64> {
    u64::from_str_radix(field(line, name)?.strip_prefix("0x")?, 16).ok()
}

/// Bytes of an attribute, two digits each.
pub(crate) fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let digit = |d: &u8| char::from(*d).to_digit(16).and_then(|n| u8::try_from(n).ok());
    let byte = |d: &[u8]| match d {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    hex.as_bytes().chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_what_is_none_is_nothing() {
        let line = "a=1 b=0x1f  c= d e=x=y a=2";
        assert_eq!((number(line, "a"), hex(line, "b")), (Some(1), Some(31)));
        assert_eq!((field(line, "c"), field(line, "e")), (Some(""), Some("x=y")));
        assert_eq!(
            (field(line, "d"), number(line, "b"), hex(line, "a")),
            (None, None, None)
        );
        assert_eq!(bytes_of("00ff1A"), Some(vec![0, 255, 26]));
        assert_eq!(
            (bytes_of("0"), bytes_of("0g"), bytes_of("")),
            (None, None, Some(vec![]))
        );
    }
}
