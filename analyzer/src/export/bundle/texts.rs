//! Texts of the host with names and addresses replaced. Only texts whose layout is known are kept: what is not listed here
//! is left out of a redacted bundle.

use netmortem_formats::bundle::{CPU_STAT_COUNTERS, NOTICES, PagesEncoder, Second};
use netmortem_formats::bytes_decode::decode;
use netmortem_formats::{Coding, Locus};

use super::names::Names;
use super::notices;
use crate::snapshots::{field, of_netns};

/// Texts that hold numbers and the kernel's own words only.
const HARMLESS: [&str; 16] = [
    "net/snmp",
    "net/netstat",
    "net/snmp6",
    "net/softnet_stat",
    "net/sockstat",
    "net/sockstat6",
    "net/stat/nf_conntrack",
    "net/stat/arp_cache",
    "net/stat/ndisc_cache",
    "softirqs",
    "stat",
    "qdiscs",
    "classes",
    "irq_affinity",
    "cpu_topology",
    "readings",
];
/// Keys of `links` that hold numbers and the kernel's own words.
const LINK_KEYS: [&str; 20] = [
    "netns",
    "ifindex",
    "type",
    "flags",
    "mtu",
    "qdisc",
    "kind",
    "master",
    "link",
    "link_netnsid",
    "tx_queues",
    "rx_queues",
    "txqlen",
    "operstate",
    "gso_max_size",
    "gso_max_segs",
    "gro_max_size",
    "num_tx_queues",
    "carrier_changes",
    "port_state",
];

/// Keys of `cgroups` that are set, and hold numbers.
const OF_CGROUPS: [&str; 7] = [
    "id",
    "visited",
    "limited",
    "quota_us",
    "period_us",
    "within",
    "burst_us",
];

/// Of a list of sockets the lines of those that listen; `None`: there are none.
pub fn listening(text: &[u8]) -> Option<Vec<u8>> {
    let lines = text.split_inclusive(|b| *b == b'\n');
    let listens = |l: &&[u8]| std::str::from_utf8(l).is_ok_and(|l| field(l, "state") == Some("listen"));
    let kept: Vec<u8> = lines.filter(listens).flatten().copied().collect();
    (!kept.is_empty()).then_some(kept)
}

/// Of a list of cgroups what is set, without what was counted; `None`: there are none.
pub fn limits(text: &[u8]) -> Option<Vec<u8>> {
    let lines = text.split(|b| *b == b'\n').filter(|l| !l.is_empty());
    let kept = lines.flat_map(|l| {
        let mut line = pairs(l, |key, value| {
            (!CPU_STAT_COUNTERS.contains(&key)).then(|| value.to_vec())
        });
        line.push(b'\n');
        line
    });
    let kept: Vec<u8> = kept.collect();
    (!kept.is_empty()).then_some(kept)
}

/// A snapshot's text redacted; `None`: it is left out.
pub fn redact(names: &mut Names, what: &str, text: &[u8]) -> Option<Vec<u8>> {
    let (_, what) = of_netns(what);
    if HARMLESS.contains(&what) || what.starts_with("sys/net/") {
        return Some(text.to_vec());
    }
    if what == "net/dev" {
        return Some(devices(names, text));
    }
    let lines = text.split(|b| *b == b'\n').filter(|l| !l.is_empty());
    let mut out = vec![];
    for line in lines {
        let new = match what {
            "sysctl" | "sysctl_devices" => match setting(names, line) {
                Some(line) => line,
                None => continue,
            },
            // Of all that a driver tells only what it counts.
            "nics" if !line.split(|b| *b == b' ').any(|w| w == b"group=stats") => continue,
            "nics" => pairs(line, |key, value| match key {
                "dev" => Some(names.dev(value)),
                "group" => Some(value.to_vec()),
                _ => value.iter().all(u8::is_ascii_digit).then(|| value.to_vec()),
            }),
            // Numbers, masks of CPUs and lists of them.
            "queues" => pairs(line, |key, value| match key {
                "dev" => Some(names.dev(value)),
                "queue" => Some(value.to_vec()),
                _ => value
                    .iter()
                    .all(|b| b.is_ascii_hexdigit() || b",-".contains(b))
                    .then(|| value.to_vec()),
            }),
            "tasks" => words(line, 2, |rest| names.task(rest)),
            "interfaces" => interface(names, line),
            "links" => pairs(line, |key, value| match key {
                "name" => Some(names.dev(value)),
                k if LINK_KEYS.contains(&k) => Some(value.to_vec()),
                _ => None,
            }),
            "addresses" => pairs(line, |key, value| match key {
                "address" => prefix(names, value),
                "netns" | "ifindex" | "scope" | "flags" => Some(value.to_vec()),
                _ => None,
            }),
            "neighbours" => pairs(line, |key, value| match key {
                "to" => Some(names.ip(text_of(value)?.parse().ok()?).to_string().into_bytes()),
                "lladdr" => link(names, value),
                "netns" | "ifindex" | "state" | "probes" => Some(value.to_vec()),
                _ => None,
            }),
            "groups" => pairs(line, |key, value| match key {
                "dev" => Some(names.dev(value)),
                "group" => Some(names.ip(text_of(value)?.parse().ok()?).to_string().into_bytes()),
                "netns" | "ifindex" | "users" => Some(value.to_vec()),
                _ => None,
            }),
            "cgroups" => pairs(line, |key, value| match key {
                "path" => Some(path(names, value)),
                _ => limit(key, value),
            }),
            "sockets" => pairs(line, |key, value| match key {
                "src" | "dst" => Some(names.socket(&String::from_utf8_lossy(value)).into_bytes()),
                _ => Some(value.to_vec()),
            }),
            "namespaces" => pairs(line, |key, value| match key {
                "name" => Some(names.other(value)),
                _ => Some(value.to_vec()),
            }),
            "routes" => notices::words(names, line),
            NOTICES => match notices::redact(names, line) {
                Some(line) => line,
                None => continue,
            },
            _ => return None,
        };
        out.extend(new);
        out.push(b'\n');
    }
    Some(out)
}

/// A reading of every second: of its texts those that can be redacted.
pub fn second(names: &mut Names, coded: &[u8]) -> Option<Vec<u8>> {
    let text = decode(coded, Coding::Zstd { size: None }, Locus::default()).ok()?;
    let mut second = Second::parse(&text).ok()?;
    let texts = std::mem::take(&mut second.texts).into_iter();
    let redacted = texts.filter_map(|(what, text)| Some((what.clone(), redact(names, &what, &text)?)));
    second.texts = redacted.collect();
    PagesEncoder::new(3).ok()?.encode(&second.encode().ok()?).ok()
}

/// A cgroup's path: each of its names may be a container's or a service's. A `?` in one stands for what the recorder could not write.
fn path(names: &mut Names, value: &[u8]) -> Vec<u8> {
    let parts = value.split(|b| *b == b'/').map(|name| names.other(name));
    parts.collect::<Vec<_>>().join(&b'/')
}

/// Another word of a cgroup: numbers, and the two that the first line has.
fn limit(key: &str, value: &[u8]) -> Option<Vec<u8>> {
    let known = match key {
        "hierarchy" => [&b"v1"[..], b"v2"].contains(&value),
        "whole" => [&b"yes"[..], b"no"].contains(&value),
        "pids" => value.iter().all(|b| b.is_ascii_digit() || *b == b','),
        _ if OF_CGROUPS.contains(&key) || CPU_STAT_COUNTERS.contains(&key) => value.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    known.then(|| value.to_vec())
}

/// What is UTF-8.
pub fn text_of(value: &[u8]) -> Option<&str> {
    std::str::from_utf8(value).ok()
}

/// Settings whose values are words of the kernel's own.
const WORDED: [&str; 4] = [
    "net.core.default_qdisc",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_allowed_congestion_control",
];

/// `net.core.rmem_max = 212992`; a device's, `net.ipv4.conf.eth0.rp_filter = 2`, by its new name. Numbers only: other values may name something
/// of the host, or be its secret. The comment that says what is listed stays.
pub fn setting(names: &mut Names, line: &[u8]) -> Option<Vec<u8>> {
    let text = text_of(line)?;
    if text.starts_with("# what differs from ") && text.chars().all(|c| c.is_ascii_alphanumeric() || "#', ".contains(c))
    {
        return Some(line.to_vec());
    }
    let (key, value) = text.split_once(" = ")?;
    let numbers = !value.is_empty() && value.chars().all(|c| c.is_ascii_digit() || " \t-".contains(c));
    let words = WORDED.contains(&key) && value.chars().all(|c| c.is_ascii_alphanumeric() || "_ ".contains(c));
    if !key.starts_with("net.") || !(numbers || words) {
        return None;
    }
    let of_devices = [
        "net.ipv4.conf.",
        "net.ipv6.conf.",
        "net.ipv4.neigh.",
        "net.ipv6.neigh.",
        "net.mpls.conf.",
    ];
    let key = match of_devices.iter().find_map(|of| Some((of, key.strip_prefix(of)?))) {
        None => key.as_bytes().to_vec(),
        Some((of, rest)) => {
            // A dot in a device's name is a slash here.
            let (dev, what) = rest.rsplit_once('.')?;
            let dev = match dev {
                "all" | "default" => dev.as_bytes().to_vec(),
                _ => names.dev(dev.replace('/', ".").as_bytes()),
            };
            [of.as_bytes(), &dev, b".", what.as_bytes()].concat()
        }
    };
    Some([&key, b" = ".as_slice(), value.as_bytes()].concat())
}

/// `10.0.0.1/24`.
pub fn prefix(names: &mut Names, value: &[u8]) -> Option<Vec<u8>> {
    let (address, length) = text_of(value)?.split_once('/')?;
    let length: u8 = length.parse().ok()?;
    Some(format!("{}/{length}", names.ip(address.parse().ok()?)).into_bytes())
}

/// `02:00:00:00:00:01`; what is no address of Ethernet goes.
pub fn link(names: &mut Names, value: &[u8]) -> Option<Vec<u8>> {
    let bytes: Option<Vec<u8>> = text_of(value)?
        .split(':')
        .map(|b| u8::from_str_radix(b, 16).ok())
        .collect();
    let new = names.link(bytes?.try_into().ok()?);
    let hex: Vec<String> = new.iter().map(|b| format!("{b:02x}")).collect();
    Some(hex.join(":").into_bytes())
}

/// `pid comm` lines.
pub fn cmdlines(names: &mut Names, text: &[u8]) -> Vec<u8> {
    let mut out = vec![];
    for line in text.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
        out.extend(words(line, 1, |rest| names.task(rest)));
        out.push(b'\n');
    }
    out
}

/// At most `keep` first words as they are, if they are numbers; the rest of the line replaced.
fn words(line: &[u8], keep: usize, mut replace: impl FnMut(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let (mut out, mut rest) = (vec![], line);
    for _ in 0..keep {
        let Some(end) = rest.iter().position(|b| *b == b' ') else {
            break;
        };
        let (word, after) = rest.split_at(end);
        if !word.iter().all(u8::is_ascii_digit) {
            break;
        }
        out.extend(word);
        out.push(b' ');
        rest = after.get(1..).unwrap_or_default();
    }
    out.extend(replace(rest));
    out
}

/// /proc/net/dev: two lines of headings, then `name: numbers`.
fn devices(names: &mut Names, text: &[u8]) -> Vec<u8> {
    let mut out = b"Inter-|   Receive  |  Transmit\n face |\n".to_vec();
    for line in text.split(|b| *b == b'\n').skip(2) {
        let Some(at) = line.iter().rposition(|b| *b == b':') else {
            continue;
        };
        let (name, numbers) = line.split_at(at);
        if numbers.iter().skip(1).all(|b| b.is_ascii_digit() || *b == b' ') {
            out.extend([&names.dev(name.trim_ascii()), numbers, b"\n"].concat());
        }
    }
    out
}

/// `ifindex name mtu ...`.
fn interface(names: &mut Names, line: &[u8]) -> Vec<u8> {
    let parts = line.split(|b| *b == b' ').enumerate();
    let new: Vec<Vec<u8>> = parts
        .map(|(i, w)| match i {
            1 => names.dev(w),
            _ => w.to_vec(),
        })
        .collect();
    new.join(&b' ')
}

/// `key=value` words; `None`: the word is left out.
pub fn pairs(line: &[u8], mut replace: impl FnMut(&str, &[u8]) -> Option<Vec<u8>>) -> Vec<u8> {
    let mut out: Vec<Vec<u8>> = vec![];
    for word in line.split(|b| *b == b' ') {
        let Some(at) = word.iter().position(|b| *b == b'=') else {
            continue;
        };
        let (key, value) = word.split_at(at);
        let key_text = String::from_utf8_lossy(key);
        if let Some(new) = replace(&key_text, value.get(1..).unwrap_or_default()) {
            out.push([key, b"=", &new].concat());
        }
    }
    out.join(&b' ')
}
