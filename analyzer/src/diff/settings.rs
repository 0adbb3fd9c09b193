//! Settings that are not the same on both sides: sysctls, devices and their offloads, qdiscs, the kernel.

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::Facts;
use crate::settings::OTHERS;

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
pub(super) fn changes(before: &[&Facts], after: &[&Facts]) -> Vec<SettingChange> {
    let of = |side: &[&Facts]| {
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
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
    // Older recorders did not read those of other namespaces.
    let read = format!("sysctls{OTHERS}");
    let both = b.contains_key(&read) && a.contains_key(&read);
    let known = |n: &&String| both || !n.ends_with(OTHERS);
    let names: BTreeSet<&String> = b.keys().chain(a.keys()).filter(known).collect();
    let text = |of: &BTreeMap<String, Vec<String>>, n: &String| of.get(n).map_or(String::new(), |v| v.join(" | "));
    // What is not there of any other namespace is as the recorder's own has it.
    let text = |of: &BTreeMap<String, Vec<String>>, n: &String| match n.strip_suffix(OTHERS) {
        Some(own) if !of.contains_key(n) => text(of, &own.to_owned()),
        _ => text(of, n),
    };
    let change = |n: &String| SettingChange {
        name: n.clone(),
        before: text(&b, n),
        after: text(&a, n),
        beside: vec![],
    };
    let all = names.into_iter().map(change).filter(|c| c.before != c.after);
    together(all.collect(), [&b, &a])
}

/// What a setting is of: the device of `eth0 mtu`, nothing of a sysctl.
fn device(name: &str) -> Option<&str> {
    name.split_once(' ').map(|(device, _)| device)
}

/// A device that is on one side alone differs in all it has: that is one difference.
fn together(all: Vec<SettingChange>, sides: [&BTreeMap<String, Vec<String>>; 2]) -> Vec<SettingChange> {
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
}
