//! Qdiscs and classes: set, changed, removed.

use std::collections::BTreeMap;

use netmortem_formats::Endian;

use super::links::Links;
use super::state::Said;
use crate::classes::tables::number as class_number;
use crate::settings::qdisc_options;
use crate::snapshots::{field, hex, number};

/// TC_H_ROOT, TC_H_INGRESS.
const ROOT: u64 = 0xffff_ffff;
const INGRESS: u64 = 0xffff_fff1;

/// Namespace, device, and parent or handle.
type Key = (u64, u64, u64);

/// Their kinds and options.
#[derive(Default)]
pub struct Qdiscs {
    qdiscs: BTreeMap<Key, String>,
    classes: BTreeMap<Key, String>,
}

fn key(line: &str, of: &str) -> Option<Key> {
    Some((number(line, "netns")?, number(line, "ifindex")?, hex(line, of)?))
}

/// `tbf rate=50000000 burst=16384`
fn words(line: &str, endian: Endian) -> String {
    let kind = field(line, "kind").unwrap_or("?");
    match field(line, "options") {
        Some(options) => format!("{kind} {}", qdisc_options(kind, options, endian)),
        None => kind.to_owned(),
    }
}

/// `htb rate 5000000 bit/s, ceil ...`
fn class_words(line: &str, endian: Endian) -> String {
    let kind = field(line, "kind").unwrap_or("?");
    let shape = field(line, "options")
        .map(|o| crate::classes::shape(kind, o, endian))
        .unwrap_or_default();
    let bits = |name: &str, of: Option<u64>| of.map(|b| format!(" {name}={}bit", b.saturating_mul(8)));
    let prio = shape.prio.map(|p| format!(" prio={p}"));
    let parts = [bits("rate", shape.rate), bits("ceil", shape.ceil), prio];
    format!("{kind}{}", parts.into_iter().flatten().collect::<String>())
}

fn place(parent: u64) -> String {
    match parent {
        ROOT => "root qdisc".to_owned(),
        INGRESS => "ingress qdisc".to_owned(),
        p => format!("qdisc of class {}", class_number(u32::try_from(p).unwrap_or(0))),
    }
}

impl Qdiscs {
    /// Of the lists.
    pub fn of<'c>(
        qdiscs: impl Iterator<Item = &'c str>,
        classes: impl Iterator<Item = &'c str>,
        endian: Endian,
    ) -> Qdiscs {
        Qdiscs {
            qdiscs: qdiscs
                .filter_map(|l| Some((key(l, "parent")?, words(l, endian))))
                .collect(),
            classes: classes
                .filter_map(|l| Some((key(l, "handle")?, class_words(l, endian))))
                .collect(),
        }
    }

    /// What a notice changes; the end of one whose place another takes is told with that.
    pub fn take(
        &mut self,
        (netns, gone): (u64, bool),
        line: &str,
        next: Option<&str>,
        (links, endian): (&Links, Endian),
    ) -> Option<Said> {
        let at = key(line, "parent")?;
        let now = words(line, endian);
        let dev = links.name(netns, at.1);
        let place = place(at.2);
        let says = if gone {
            let taken = |l: &str| {
                let new = field(l, "what") == Some("qdisc") && field(l, "did") == Some("new");
                new && key(l, "parent") == Some(at)
            };
            if next.is_some_and(taken) {
                // As it is announced it may lack its place: what is known of that stays.
                self.qdiscs.entry(at).or_insert(now);
                return None;
            }
            self.qdiscs.remove(&at);
            format!("{place} of {dev} was removed ({now})")
        } else {
            match self.qdiscs.insert(at, now.clone()) {
                Some(old) if old == now => return None,
                Some(old) => format!("{place} of {dev} became {now} (before: {old})"),
                None => format!("{place} of {dev} became {now}"),
            }
        };
        Some(Said {
            of: dev,
            says,
            new_device: links.came(netns, at.1),
        })
    }

    /// What a notice of a class changes.
    pub fn class(&mut self, (netns, gone): (u64, bool), line: &str, (links, endian): (&Links, Endian)) -> Option<Said> {
        let at = key(line, "handle")?;
        let now = class_words(line, endian);
        let dev = links.name(netns, at.1);
        let class = class_number(u32::try_from(at.2).unwrap_or(0));
        let says = match gone {
            true => {
                self.classes.remove(&at);
                format!("class {class} of {dev} was removed")
            }
            false => match self.classes.insert(at, now.clone()) {
                Some(old) if old == now => return None,
                Some(old) => format!("class {class} of {dev} became {now} (before: {old})"),
                None => format!("class {class} of {dev} was made: {now}"),
            },
        };
        Some(Said {
            of: dev,
            says,
            new_device: links.came(netns, at.1),
        })
    }
}
