//! Packets that a rule dropped on a bridge's port while the bridge hands its frames to the rules of IP, too (br_netfilter): a policy of the forward chain then meets what is only switched.
//!
//! Needs the lists of links, and the sysctls of `net.bridge`. Of which family the rule is no event tells.

use crate::facts::Facts;
use crate::reconstruct::drops::tables::DropRow;

/// ETH_P_IP, ETH_P_IPV6.
const FAMILIES: [(u16, &str); 2] = [
    (0x0800, "net.bridge.bridge-nf-call-iptables"),
    (0x86dd, "net.bridge.bridge-nf-call-ip6tables"),
];

/// The setting that does it.
pub(super) fn bridged(facts: &Facts, dev: &str, rows: &[&DropRow]) -> Option<&'static str> {
    let protocol = rows.first()?.protocol;
    let (_, setting) = FAMILIES.iter().find(|f| f.0 == protocol)?;
    let port = facts.routes.links.is_port(dev) == Some(true);
    let on = facts.settings.0.get(*setting).is_some_and(|value| value == "1");
    // What the host itself routes is looked up.
    let switched = |r: &&DropRow| r.protocol == protocol && r.way.is_none();
    (port && on && rows.iter().all(switched)).then_some(*setting)
}

#[cfg(test)]
mod tests {
    use super::*;
    use netmortem_formats::capture::SnapshotWhen;

    #[test]
    fn only_what_is_switched_and_handed_to_rules_of_ip() {
        let links = "netns=1 ifindex=2 name=br0 kind=bridge\nnetns=1 ifindex=3 name=tap0 master=2\nnetns=1 ifindex=4 name=eth0\n";
        let capture = crate::testing::listed(&[("links", SnapshotWhen::Start, links)]);
        let mut f = Facts::empty();
        f.routes.links = crate::links::Links::of(&capture);
        let setting = "net.bridge.bridge-nf-call-iptables";
        f.settings.0.insert(setting.into(), "1".into());
        let of = |protocol| DropRow {
            protocol,
            ..crate::testing::drop_at(1)
        };
        let (v4, v6) = (of(0x0800), of(0x86dd));
        assert_eq!(bridged(&f, "tap0", &[&v4, &v4]), Some(setting));
        // No port; of IPv6, whose setting is not on; of both.
        assert_eq!(bridged(&f, "eth0", &[&v4]), None);
        assert_eq!(bridged(&f, "tap0", &[&v6]), None);
        assert_eq!(bridged(&f, "tap0", &[&v4, &v6]), None);
        f.settings.0.insert(setting.into(), "0 | 1".into());
        assert_eq!(bridged(&f, "tap0", &[&v4]), None);
    }
}
