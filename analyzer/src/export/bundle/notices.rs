//! What the kernel announced, in a bundle that is made of another: with pseudonyms, and of a slice what was before it, too.
//!
//! In: lines of `notices` (docs/bundle.md, "Seconds"). Out: lines of the same meaning. Of words that are not known numbers stay only.

use netmortem_formats::Capture;
use netmortem_formats::bundle::{NOTICES, PagesEncoder, Second, is_seconds_name, seconds};
use netmortem_formats::bytes_decode::decode;
use netmortem_formats::{Coding, Locus};

use super::names::Names;
use super::texts::{link, pairs, prefix, setting, text_of};

/// Words of the kernel's own.
const WORDS: [(&str, &[&str]); 2] = [("did", &["new", "del"]), ("blackhole", &["yes"])];
const KINDS: [&str; 12] = [
    "listening",
    "link",
    "address",
    "route",
    "rule",
    "qdisc",
    "class",
    "filter",
    "nexthop",
    "ruleset",
    "sysctl",
    "lost",
];
/// Names that modules of the kernel have.
const OF_MODULES: [&str; 3] = ["kind", "qdisc", "cong"];

/// A line with pseudonyms; `None`: it is left out.
pub fn redact(names: &mut Names, line: &[u8]) -> Option<Vec<u8>> {
    let parts = text_of(line)?.split(' ');
    let of = |key: &str| parts.clone().find_map(|w| w.strip_prefix(key)?.strip_prefix('='));
    let what = of("what")?;
    if what == "sysctl" {
        let value = of("value")?.replace('?', " ");
        let kept = setting(names, format!("{} = {value}", of("name")?).as_bytes())?;
        let kept = String::from_utf8(kept).ok()?;
        let (name, value) = kept.split_once(" = ")?;
        let head = ["at", "what", "did", "netns"].map(|k| format!("{k}={}", of(k).unwrap_or_default()));
        let plain = head
            .iter()
            .all(|w| w.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'='));
        let line = format!("{} name={name} value={}", head.join(" "), value.replace(' ', "?"));
        return plain.then(|| line.into_bytes());
    }
    Some(words(names, line))
}

/// The words of a line that are known, with pseudonyms; of the others numbers.
pub fn words(names: &mut Names, line: &[u8]) -> Vec<u8> {
    pairs(line, |key, value| match key {
        "what" => (KINDS.contains(&text_of(value)?) || value == b"left_out").then(|| value.to_vec()),
        "name" | "iif" | "oif" => Some(names.dev(value)),
        "comm" | "program" => Some(names.task(value)),
        "lladdr" => link(names, value),
        "chain" => {
            let parts = value.split(|b| *b == b'/').map(|name| names.other(name));
            Some(parts.collect::<Vec<_>>().join(&b'/'))
        }
        "to" if value == b"default" => Some(value.to_vec()),
        "address" | "to" | "from" => prefix(names, value),
        "via" | "src" | "peer" => address(names, value),
        "hop" => {
            let (via, rest) = text_of(value)?.split_once(',')?;
            let numbers = rest.bytes().all(|b| b.is_ascii_digit() || b == b',');
            let via = if via == "-" {
                b"-".to_vec()
            } else {
                address(names, via.as_bytes())?
            };
            numbers.then(|| [&via, b",".as_slice(), rest.as_bytes()].concat())
        }
        _ if OF_MODULES.contains(&key) => {
            let plain = |b: &u8| b.is_ascii_alphanumeric() || b"_-".contains(b);
            (value.len() <= 16 && value.iter().all(plain)).then(|| value.to_vec())
        }
        _ if WORDS
            .iter()
            .any(|(k, of)| *k == key && of.iter().any(|w| w.as_bytes() == value)) =>
        {
            Some(value.to_vec())
        }
        // Numbers, hex ones and options of qdiscs among them.
        _ => {
            let digits = value.strip_prefix(b"0x").unwrap_or(value);
            digits.iter().all(u8::is_ascii_hexdigit).then(|| value.to_vec())
        }
    })
}

fn address(names: &mut Names, value: &[u8]) -> Option<Vec<u8>> {
    Some(names.ip(text_of(value)?.parse().ok()?).to_string().into_bytes())
}

/// So much of what was before it: the newest.
const MOST_BEFORE: usize = 1 << 20;

/// Lines of those readings that a slice has not, before its first; of what was lost then nothing.
pub fn before(capture: &Capture, first: Option<&str>) -> Vec<u8> {
    let names = capture.members.iter().map(|m| m.name.as_str());
    let readings = names.filter(|n| is_seconds_name(n));
    let earlier = readings
        .zip(seconds(capture))
        .take_while(|(name, _)| first.is_some_and(|f| f != *name));
    let texts = earlier.filter_map(|(_, second)| second.ok()).flat_map(|s| s.texts);
    let mut kept: std::collections::VecDeque<Vec<u8>> = Default::default();
    let mut bytes = 0usize;
    for (_, text) in texts.filter(|(what, _)| what == NOTICES) {
        for line in text.split_inclusive(|b| *b == b'\n') {
            let of = |what: &[u8]| line.windows(what.len()).any(|w| w == what);
            if of(b" what=listening") || of(b" what=lost") || of(b" what=left_out") {
                continue;
            }
            bytes += line.len();
            kept.push_back(line.to_vec());
            while bytes > MOST_BEFORE {
                bytes -= kept.pop_front().map_or(bytes, |l| l.len());
            }
        }
    }
    kept.into_iter().flatten().collect()
}

/// A reading with these lines before its own.
pub fn with(data: &[u8], lines: &[u8]) -> Option<Vec<u8>> {
    let text = decode(data, Coding::Zstd { size: None }, Locus::default()).ok()?;
    let mut second = Second::parse(&text).ok()?;
    match second.texts.iter_mut().find(|(what, _)| what == NOTICES) {
        Some((_, own)) => *own = [lines, own].concat(),
        None => second.texts.push((NOTICES.to_owned(), lines.to_vec())),
    }
    PagesEncoder::new(3).ok()?.encode(&second.encode().ok()?).ok()
}
