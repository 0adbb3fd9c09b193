//! Settings that are not the same on both sides: sysctls, devices and their offloads, qdiscs, the kernel.

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::Facts;
use crate::settings::OTHERS;
use crate::settings::cgroups;
use crate::settings::devices::{MARKER, OfDevice, SOME};

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

/// What differs, by name; nothing where a side has no snapshot.
pub(in crate::diff) fn changes(before: &[&Facts], after: &[&Facts]) -> Vec<SettingChange> {
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
        return vec![];
    }
    let names: BTreeSet<&String> = b.keys().chain(a.keys()).filter(|n| known(n, [&b, &a])).collect();
    let change = |n: &String| SettingChange {
        name: n.clone(),
        before: value(&b, n),
        after: value(&a, n),
        beside: vec![],
    };
    // Of a device without a `default` that is known nothing can be filled in.
    let told = |c: &SettingChange| OfDevice::of(&c.name).is_none() || !c.before.is_empty() && !c.after.is_empty();
    let all = names.into_iter().map(change).filter(|c| c.before != c.after && told(c));
    together(all.collect(), [&b, &a])
}

/// The settings of a side: all values of each.
type Side = BTreeMap<String, Vec<String>>;

/// Whether both sides can say what a setting is: older recorders did not read those of other namespaces, nor those of devices.
fn known(name: &str, sides: [&Side; 2]) -> bool {
    let both = |marker: &str| sides.iter().all(|s| s.contains_key(marker));
    if name.starts_with(cgroups::MAX) || name.starts_with(cgroups::STAT) {
        return both(cgroups::MARKER) && (both(cgroups::COUNTED) || !name.starts_with(cgroups::STAT));
    }
    if [cgroups::MARKER, cgroups::COUNTED].contains(&name) {
        return false;
    }
    let read = format!("sysctls{OTHERS}");
    let others = !name.ends_with(OTHERS) || sides.iter().all(|s| s.contains_key(&read));
    let Some(of) = OfDevice::of(name) else {
        return others && name != MARKER;
    };
    // Where devices were too many, one of which nothing is told was perhaps not read. A device of one side alone is told as such.
    let (first, link) = (format!("{}.{}.", of.folder, of.device), of.link());
    let told = |side: &Side| match side.get(MARKER) {
        None => false,
        Some(m) if m.iter().any(|m| m.contains(SOME)) => side
            .range(first.clone()..)
            .next()
            .is_some_and(|(n, _)| n.starts_with(&first)),
        Some(_) => true,
    };
    let there = sides.map(|s| has_device(s, &link));
    others && sides.iter().all(|s| told(s)) && there[0] == there[1]
}

/// Whether anything but sysctls is told of a device.
fn has_device(side: &Side, dev: &str) -> bool {
    let first = format!("{dev} ");
    side.range(first.clone()..)
        .next()
        .is_some_and(|(n, _)| n.starts_with(&first))
}

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

/// What a setting is of: the device of `eth0 mtu`, nothing of a sysctl.
fn device(name: &str) -> Option<&str> {
    name.split_once(' ').map(|(device, _)| device)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(of: &[(&str, &str)]) -> Facts {
        let mut f = crate::testing::Script::new("6.18.44", &[]).facts();
        f.settings.0.clear();
        for (name, value) in of {
            f.settings.0.insert((*name).into(), (*value).into());
        }
        f
    }

    #[test]
    fn a_device_of_one_side_is_one_difference() {
        let b = facts(&[
            ("net.a", "1"),
            ("eth0 mtu", "1500"),
            ("tun0 mtu", "9000"),
            ("tun0 qdisc", "fq"),
            ("x qdisc", "a"),
        ]);
        let a = facts(&[
            ("net.a", "2"),
            ("eth0 mtu", "1400"),
            ("eth0 qdisc", "fq"),
            ("y mtu", "1"),
            ("y kind", "veth"),
        ]);
        let said: Vec<String> = changes(&[&b], &[&a])
            .into_iter()
            .map(|c| format!("{}: {:?} -> {:?}", c.name, c.before, c.after))
            .collect();
        let expect = [
            r#"eth0 mtu: "1500" -> "1400""#,
            r#"eth0 qdisc: "" -> "fq""#,
            r#"net.a: "1" -> "2""#,
            r#"tun0: "there" -> """#,
            // A qdisc may be all that is told of a device.
            r#"x qdisc: "a" -> """#,
            r#"y: "" -> "there""#,
        ];
        assert_eq!(said, expect);
    }

    #[test]
    fn the_order_of_recordings_is_no_difference() {
        let [x, y, z] = ["1", "2", "3"].map(|v| facts(&[("net.a", v)]));
        assert_eq!(changes(&[&x, &y], &[&y, &x]), []);
        assert_eq!(changes(&[&x, &y], &[&y, &z])[0].before, "1 | 2");
    }

    /// A pod's sysctl is told beside the host's, where both recorders read them.
    #[test]
    fn settings_of_other_namespaces_are_compared_where_both_sides_have_them() {
        let read = ("sysctls@netns", "read");
        let before = facts(&[("net.ipv4.tcp_sack", "1"), read]);
        let after = facts(&[("net.ipv4.tcp_sack", "1"), ("net.ipv4.tcp_sack@netns", "0"), read]);
        let told = |b: &Facts, a: &Facts| {
            let all = changes(&[b], &[a]).into_iter().map(|c| (c.name, c.before, c.after));
            all.collect::<Vec<_>>()
        };
        let expected = ("net.ipv4.tcp_sack@netns".to_owned(), "1".to_owned(), "0".to_owned());
        assert_eq!(told(&before, &after), [expected]);
        // Of several, where one differs: what the others have stands beside it.
        let one = facts(&[("net.ipv4.tcp_sack", "1"), ("net.ipv4.tcp_sack@netns", "0 | 1"), read]);
        assert_eq!(told(&before, &one)[0].2, "0 | 1");
        assert_eq!(told(&one, &after)[0].1, "0 | 1");
        let older = facts(&[("net.ipv4.tcp_sack", "1")]);
        assert_eq!(told(&older, &after), []);
    }

    /// A limit of CPU is told where both sides read them, and how often it stopped somebody where both counted.
    #[test]
    fn limits_of_cgroups_are_compared_where_both_sides_have_them() {
        let read = ("cgroups", "read");
        let max = ("cpu.max[web]", "20 ms of CPU per 100 ms");
        let stopped = ("cpu.stat[web]", "stopped in most periods");
        let told = |b: &[(&str, &str)], a: &[(&str, &str)]| {
            let all = changes(&[&facts(b)], &[&facts(a)]).into_iter();
            all.map(|c| format!("{}: {} -> {}", c.name, c.before, c.after))
                .collect::<Vec<_>>()
        };
        let said = ["cpu.max[web]:  -> 20 ms of CPU per 100 ms"];
        assert_eq!(told(&[read], &[read, max, stopped]), said);
        let counted = [read, ("cgroups counted", "read")];
        let all = [&counted[..], &[max, stopped]].concat();
        assert_eq!(told(&counted, &all).len(), 2);
        assert_eq!(told(&[("net.a", "1")], &[("net.a", "1"), read, max]), [] as [&str; 0]);
    }

    /// What is set on a device, against what its namespace's `default` is on the other side.
    #[test]
    fn settings_of_devices_are_compared_where_both_sides_have_them() {
        let filter = "net.ipv4.conf.eth0.rp_filter";
        let read = ("sysctl_devices", "read");
        let default = ("net.ipv4.conf.default.rp_filter", "0");
        let before = facts(&[("eth0 mtu", "1500"), default, read]);
        let after = facts(&[("eth0 mtu", "1500"), default, (filter, "1"), read]);
        let told = |b: &[&Facts], a: &[&Facts]| {
            let all = changes(b, a).into_iter();
            all.map(|c| format!("{}: {} -> {}", c.name, c.before, c.after))
                .collect::<Vec<_>>()
        };
        assert_eq!(told(&[&before], &[&after]), [format!("{filter}: 0 -> 1")]);
        assert_eq!(told(&[&after], &[&before]), [format!("{filter}: 1 -> 0")]);
        assert_eq!(
            told(&[&before, &after], &[&after]),
            [] as [String; 0],
            "one of a side has it"
        );
        // A `default` that is set later does not change a device that is there: then the device differs from it, and is as it was.
        let later = [("net.ipv4.conf.default.rp_filter", "1"), (filter, "0"), read];
        assert_eq!(
            told(&[&before], &[&facts(&later)]),
            ["eth0 mtu: 1500 -> ", "net.ipv4.conf.default.rp_filter: 0 -> 1"]
        );
        let later = facts(&[later[0], later[1], later[2], ("eth0 mtu", "1500")]);
        assert_eq!(told(&[&before], &[&later]), ["net.ipv4.conf.default.rp_filter: 0 -> 1"]);
        // An older recorder did not read them.
        let older = facts(&[("eth0 mtu", "1500"), default]);
        assert_eq!(told(&[&older], &[&after]), [] as [String; 0]);
        // Nor did one that met too many devices, where nothing is told of this one.
        let part = ("sysctl_devices", "of some devices | read");
        let some = facts(&[("eth0 mtu", "1500"), default, part]);
        assert_eq!(told(&[&some], &[&after]), [] as [String; 0]);
        let other = ("net.ipv4.conf.eth0.forwarding", "0");
        let some = facts(&[
            ("eth0 mtu", "1500"),
            default,
            part,
            other,
            ("net.ipv4.conf.default.forwarding", "0"),
        ]);
        // Of its forwarding the other side does not know the default.
        assert_eq!(
            told(&[&some], &[&after]),
            ["net.ipv4.conf.default.forwarding: 0 -> ", &format!("{filter}: 0 -> 1")]
        );
        // A device of one side alone is one difference.
        let gone = facts(&[default, read]);
        let two = facts(&[
            ("eth0 mtu", "1500"),
            ("eth0 kind", "veth"),
            default,
            (filter, "1"),
            read,
        ]);
        assert_eq!(told(&[&gone], &[&two]), ["eth0:  -> there"]);
    }

    /// Of a pod's device, too: against its own namespace's default, else the host's.
    #[test]
    fn settings_of_devices_of_other_namespaces_are_compared() {
        let (filter, default) = ("net.ipv4.conf.eth0.rp_filter@netns", "net.ipv4.conf.default.rp_filter");
        let read = [("sysctl_devices", "read"), ("sysctls@netns", "read"), (default, "2")];
        let with = |more: &[(&str, &str)]| facts(&[&read[..], more].concat());
        let told = |b: &Facts, a: &Facts| {
            let all = changes(&[b], &[a]).into_iter();
            all.map(|c| format!("{}: {} -> {}", c.name, c.before, c.after))
                .collect::<Vec<_>>()
        };
        assert_eq!(told(&with(&[]), &with(&[(filter, "1")])), [format!("{filter}: 2 -> 1")]);
        let own = with(&[("net.ipv4.conf.default.rp_filter@netns", "0")]);
        let both = [
            "net.ipv4.conf.default.rp_filter@netns: 0 -> 2".to_owned(),
            format!("{filter}: 0 -> 1"),
        ];
        assert_eq!(told(&own, &with(&[(filter, "1")])), both);
        let older = facts(&[("sysctl_devices", "read"), (default, "2")]);
        assert_eq!(told(&older, &with(&[(filter, "1")])), [] as [String; 0]);
    }
}
