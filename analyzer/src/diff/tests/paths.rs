//! Devices that packets to a server pass on one side alone.

use super::samples::{facts, of};
use crate::confidence::Confidence;
use crate::diff::Outcome;
use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::skb::tables::{DeathKind, HopRow};
use crate::reconstruct::tcp::role::Role;
use crate::snapshots::tables::SnapshotRow;

const SERVER: &str = "10.78.1.2:7000";

/// A real recording, whose clients' packets to that server pass these devices besides; each nth of them.
fn by(devs: &[&str], each: usize, slower_ns: i64) -> Facts {
    let mut f = facts("rpc/rpc.nmb");
    let to: Vec<SkbId> = (f.tx.iter())
        .filter(|t| {
            let row = t.connection.map(|c| &f.connections[c.0 as usize]);
            row.is_some_and(|r| r.dport == 7000 && r.role().0 == Role::Client)
        })
        .map(|t| t.skb_id)
        .collect();
    assert!(to.len() > 100, "{}", to.len());
    for skb_id in to.into_iter().step_by(each) {
        for dev in devs {
            f.hops.push(HopRow {
                skb_id,
                time_ns: i64::MAX,
                cpu: 0,
                kind: "queue",
                dev: Name::new(dev.as_bytes()),
                bytes: None,
                confidence: Confidence::Strong,
            });
        }
    }
    for r in &mut f.responses {
        if f.connections[r.connection.0 as usize].dport == 7000 {
            r.ready_ns = r.ready_ns.map(|t| t + slower_ns);
        }
    }
    f
}

#[test]
fn another_way_is_said_behind_the_answers_that_came_over_it() {
    let d = of(&by(&["rt1"], 1, 0), &by(&["rt2", "tun0"], 1, 5_000_000));
    let told = &d.verdict.sentence;
    assert!(
        told.starts_with(&format!("Answers from {SERVER} take longer: ")),
        "{told}"
    );
    let said = format!(" to {SERVER} take another way: they now pass rt2, tun0, and no longer rt1.");
    assert!(told.contains(&said), "{told}");
    // Where answers did not change it is a line, that changes nothing else.
    let d = of(&by(&[], 1, 0), &by(&["tun0"], 1, 0));
    assert_eq!(d.verdict.outcome, Outcome::Same);
    let line = |l: &(Outcome, String)| {
        l.0 == Outcome::Changed
            && l.1
                .ends_with(&format!(" to {SERVER} take another way: they now pass tun0"))
    };
    assert!(d.verdict.lines.iter().any(line), "{:?}", d.verdict.lines);
}

#[test]
fn some_packets_over_another_device_are_no_other_way() {
    let d = of(&by(&[], 1, 0), &by(&["tun0"], 3, 0));
    assert!(
        !d.verdict.lines.iter().any(|l| l.1.contains("another way")),
        "{:?}",
        d.verdict.lines
    );
    let d = of(&by(&["tun0"], 1, 0), &by(&["tun0"], 1, 0));
    assert!(
        !d.verdict.lines.iter().any(|l| l.1.contains("another way")),
        "{:?}",
        d.verdict.lines
    );
}

/// With a list of links that has these, and their kinds.
fn with_links(mut f: Facts, links: &[(&str, &str)]) -> Facts {
    for (name, kind) in links {
        f.snapshots.push(SnapshotRow {
            what: "links".into(),
            netns: None,
            start: true,
            end: true,
            line: format!("netns=1 ifindex=9 name={name} kind={kind}"),
        });
    }
    f
}

fn told(before: &Facts, after: &Facts) -> Vec<String> {
    let d = of(before, after);
    let said = d.verdict.lines.into_iter().map(|l| l.1).chain([d.verdict.sentence]);
    said.filter(|l| l.contains("another way")).collect()
}

#[test]
fn names_that_containers_get_at_random_are_no_other_way() {
    let with = |devs: &[&str], links: &[(&str, &str)]| with_links(by(devs, 1, 0), links);
    let before = with(&["veth12", "br-ab"], &[("veth12", "veth"), ("br-ab", "bridge")]);
    let after = with(&["p7", "lan"], &[("p7", "veth"), ("lan", "bridge")]);
    assert_eq!(told(&before, &after), [""; 0]);
    // By their names where no list has them.
    let unlisted = with(&["veth77", "br-cd"], &[]);
    assert_eq!(told(&before, &unlisted), [""; 0]);
    // One more is another way; so is one of another kind in its place.
    let more = with(&["veth77", "br-cd", "tun0"], &[]);
    let of = told(&before, &more);
    assert!(of.len() == 1 && of[0].contains("they now pass tun0"), "{of:?}");
    let other = with(&["veth77", "br-cd"], &[("br-cd", "vlan")]);
    let of = told(&before, &other);
    assert!(
        of.len() == 1 && of[0].contains("now pass br-cd, and no longer br-ab"),
        "{of:?}"
    );
}

#[test]
fn what_is_not_recorded_on_one_side_is_no_other_way() {
    let (before, mut after) = (by(&[], 1, 0), by(&["tun0"], 1, 0));
    assert_eq!(told(&before, &after).len(), 1);
    after.capture.enabled_events = None;
    after.capture.events.remove("net:netif_receive_skb");
    assert_eq!(told(&before, &after), [""; 0]);
}

/// The parts of a packet that was cut are other packets: it passes no device behind that.
#[test]
fn packets_that_were_cut_have_no_way() {
    let (before, mut after) = (by(&["tun0"], 1, 0), by(&[], 1, 0));
    assert_eq!(told(&before, &after).len(), 1);
    let sent: std::collections::BTreeSet<SkbId> = after.tx.iter().map(|t| t.skb_id).collect();
    for s in after.skbs.iter_mut().filter(|s| sent.contains(&s.skb_id)) {
        s.death_kind = DeathKind::Segmented;
    }
    assert_eq!(told(&before, &after), [""; 0]);
}
