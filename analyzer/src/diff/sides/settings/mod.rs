//! Settings that are not the same on both sides: sysctls, devices and their offloads, qdiscs, the kernel.

mod known;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::Facts;
use crate::settings::OTHERS;
use crate::settings::classes::CLASSES;
use crate::settings::devices::OfDevice;
use known::{device, is_marker, known};

/// What the names of reasons of drops begin with.
const REASON: &str = "drop reason ";

/// The name of what all link-layer addresses that differ are.
pub(in crate::diff) const ADDRESSES: &str = "link-layer addresses";

/// A setting that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SettingChange {
    /// Name.
    pub name: String,
    /// Before; empty: not there.
    pub before: String,
    /// After; empty: not there.
    pub after: String,
    /// Metrics that changed and that it may have to do with; empty: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
}

/// Reasons of drops that any of the kernels lists.
pub(in crate::diff) fn drop_reasons(before: &[&Facts], after: &[&Facts]) -> BTreeSet<String> {
    let all = before.iter().chain(after).flat_map(|f| f.settings.0.keys());
    all.filter_map(|n| n.strip_prefix(REASON)).map(str::to_owned).collect()
}

/// What differs, by name, and how many settings only before, and only after, are told of that the other side's recorder did not read
/// or its kernel does not have; nothing where a side has no snapshot.
pub(in crate::diff) fn changes(before: &[&Facts], after: &[&Facts]) -> (Vec<SettingChange>, (usize, usize)) {
    let of = |side: &[&Facts]| {
        let mut all = Side::new();
        for (name, value) in side.iter().flat_map(|f| &f.settings.0) {
            let values = all.entry(name.clone()).or_default();
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
        all
    };
    let (mut b, mut a) = (of(before), of(after));
    // The order of recordings is no difference.
    b.values_mut().chain(a.values_mut()).for_each(|values| values.sort());
    // Without snapshots nothing is known of any setting.
    if b.is_empty() || a.is_empty() {
        return (vec![], (0, 0));
    }
    let names: BTreeSet<&String> = b.keys().chain(a.keys()).collect();
    let (names, left): (BTreeSet<&String>, BTreeSet<&String>) = names.into_iter().partition(|n| known(n, [&b, &a]));
    let alone = |side: &Side, other: &Side| {
        let of = left
            .iter()
            .filter(|n| side.contains_key(**n) && !other.contains_key(**n));
        // Who has no class lists none.
        of.filter(|n| !is_marker(n) && !n.ends_with(CLASSES)).count()
    };
    let of_one_side = (alone(&b, &a), alone(&a, &b));
    let change = |n: &String| SettingChange {
        name: n.clone(),
        before: value(&b, n),
        after: value(&a, n),
        beside: vec![],
    };
    // Of a device without a `default` that is known nothing can be filled in.
    let told = |c: &SettingChange| OfDevice::of(&c.name).is_none() || !c.before.is_empty() && !c.after.is_empty();
    let all = names.into_iter().map(change).filter(|c| c.before != c.after && told(c));
    (addresses(together(all.collect(), [&b, &a])), of_one_side)
}

/// Link-layer addresses are nothing that anyone sets: each new machine or namespace has others. They are one line, the last.
fn addresses(all: Vec<SettingChange>) -> Vec<SettingChange> {
    let (theirs, mut out): (Vec<_>, Vec<_>) = all.into_iter().partition(|c| c.name.ends_with(" lladdr"));
    let of = match theirs.len() {
        0 => return out,
        1 => "1 device".to_owned(),
        n => format!("{n} devices"),
    };
    out.push(SettingChange {
        name: ADDRESSES.into(),
        before: format!("those of {of}"),
        after: "others, as of machines or namespaces that were made anew".into(),
        beside: vec![],
    });
    out
}

/// The settings of a side: all values of each.
type Side = BTreeMap<String, Vec<String>>;

/// What a side has. What is not there of any other namespace is as the recorder's own has it, and of a device as `default` is.
fn value(side: &Side, name: &str) -> String {
    if let Some(values) = side.get(name) {
        return values.join(" | ");
    }
    if let Some(of) = OfDevice::of(name) {
        return value(side, &of.default());
    }
    let own = name.strip_suffix(OTHERS).and_then(|own| side.get(own));
    own.map_or(String::new(), |v| v.join(" | "))
}

/// A device that is on one side alone differs in all it has: that is one difference.
fn together(all: Vec<SettingChange>, sides: [&Side; 2]) -> Vec<SettingChange> {
    let [b, a] = sides.map(|side| {
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        for d in side.keys().filter_map(|n| device(n)) {
            *count.entry(d).or_default() += 1;
        }
        count
    });
    let had = |side: &BTreeMap<&str, usize>, d: &str| side.get(d).copied().unwrap_or(0);
    let alone = |d: &str| matches!((had(&b, d), had(&a, d)), (0, 2..) | (2.., 0));
    let mut told = BTreeSet::new();
    let mut out = vec![];
    for c in all {
        let Some(of) = device(&c.name).filter(|d| alone(d)).map(str::to_owned) else {
            out.push(c);
            continue;
        };
        if told.insert(of.clone()) {
            let here = |n: usize| if n > 0 { "there".to_owned() } else { String::new() };
            out.push(SettingChange {
                before: here(had(&b, &of)),
                after: here(had(&a, &of)),
                name: of,
                beside: vec![],
            });
        }
    }
    out
}
