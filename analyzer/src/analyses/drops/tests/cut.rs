//! All that comes by a device to be passed on is dropped since a time: a bridge between an uplink and two guests.

use super::*;
use crate::analyses::drops::{Cut, Group};
use crate::analyses::verdict::Tone;
use crate::reconstruct::skb::tables::{SkbClass, SkbRow};

const MS: i64 = 1_000_000;
const RULE: u32 = 7;

fn reasons(name: &str) -> ValueTable {
    ValueTable {
        entries: vec![(RULE.into(), name.into())],
        kind: ValueTableKind::Symbolic,
    }
}

struct Bridge(Facts);

impl Bridge {
    fn new() -> Bridge {
        let mut f = Facts::empty();
        (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(10_000 * MS));
        f.capture.duration_ns = 10_000 * MS;
        f.names.drop_reasons = Some(reasons("NETFILTER_DROP"));
        f.names.locations.insert(0x10, "nft_do_chain".into());
        Bridge(f)
    }
    fn came(&mut self, at: i64, dev: &str, bytes: u32) -> SkbId {
        let id = SkbId(self.0.skbs.len() as u32);
        self.0.skbs.push(SkbRow {
            class: SkbClass::Rx,
            birth_ns: at,
            dev: Name::new(dev.as_bytes()),
            bytes: Some(bytes),
            ..crate::testing::life(id.0)
        });
        id
    }
    /// Each 10 ms from one time to another.
    fn passes(&mut self, (from, to): (i64, i64), dev: &str, bytes: u32) {
        for at in (from..to).step_by(10) {
            let id = self.came(at * MS, dev, bytes);
            self.0
                .hops
                .push(crate::testing::hop(id.0, at * MS + 5, "queue", "other"));
        }
    }
    fn drops(&mut self, (from, to): (i64, i64), dev: &str) {
        for at in (from..to).step_by(20) {
            let id = self.came(at * MS, dev, 100);
            self.0.drops.push(DropRow {
                skb_id: Some(id),
                dev: Name::new(dev.as_bytes()),
                why: "an nftables rule or policy",
                ..drop_row(at * MS + 3, RULE, 0x10, Some(false))
            });
        }
        self.0.drops.sort_by_key(|d| d.time_ns);
    }
    fn groups(&self) -> Vec<Group> {
        let mut f = self.0.clone();
        f.hops.sort_by_key(|h| h.time_ns);
        answer(&f).findings().unwrap().groups.clone()
    }
}

fn of(b: &Bridge) -> Option<Cut> {
    b.groups().first()?.cut.clone()
}

#[test]
fn what_was_passed_on_is_dropped_from_a_time_on() {
    let mut b = Bridge::new();
    b.passes((0, 4_000), "tap0", 100);
    b.drops((4_000, 10_000), "tap0");
    // ARP goes on.
    b.passes((0, 10_000), "tap0", 46);
    let expect = Cut {
        since_ns: 4_000 * MS + 3,
        devices: vec!["tap0".into()],
        dropped: 300,
        before: 400,
        later: 0,
    };
    assert_eq!(of(&b), Some(expect));
    // Of two devices one sentence, and it is an alarm.
    b.passes((0, 4_000), "up", 100);
    b.drops((4_010, 10_000), "up");
    let mut f = b.0.clone();
    f.hops.sort_by_key(|h| h.time_ns);
    let line = crate::analyses::answer(&f)
        .verdict
        .into_iter()
        .find(|l| l.subject == "drops")
        .unwrap();
    let says = "600 packets were dropped by this host for NETFILTER_DROP at nft_do_chain (an nftables rule or policy) on tap0 and up: all that came by tap0 and up to be passed on from 4.000 s on (800 went on before), as where a rule or policy was set then (inferred)";
    assert!(
        line.sentence.starts_with(says) && line.tone == Tone::Bad && line.names_cause,
        "{line:?}"
    );
    // What a few dropped before were does not hide it.
    let mut b = Bridge::new();
    b.passes((0, 4_000), "tap0", 100);
    b.drops((1_000, 1_200), "tap0");
    b.drops((4_000, 10_000), "tap0");
    assert_eq!(
        of(&b).map(|c| (c.since_ns, c.dropped, c.before)),
        Some((4_000 * MS + 3, 300, 400))
    );
}

#[test]
fn what_a_filter_is_for_is_no_cut() {
    // Others go on.
    let mut b = Bridge::new();
    b.passes((0, 10_000), "tap0", 100);
    b.drops((4_000, 10_000), "tap0");
    assert_eq!(of(&b), None);
    // Dropped all along.
    let mut b = Bridge::new();
    b.drops((0, 10_000), "tap0");
    assert_eq!(of(&b), None);
    // Few went on before; or few were dropped since, as of a scan when the guests had ended.
    let mut b = Bridge::new();
    b.passes((0, 150), "tap0", 100);
    b.drops((4_000, 10_000), "tap0");
    assert_eq!(of(&b), None);
    let mut b = Bridge::new();
    b.passes((0, 4_000), "tap0", 100);
    b.drops((9_000, 9_500), "tap0");
    assert_eq!(of(&b), None);
    let mut b = Bridge::new();
    b.passes((0, 4_000), "tap0", 100);
    b.drops((4_000, 4_420), "tap0");
    assert_eq!(of(&b), None);
    // Events were lost: others may have gone on.
    let mut b = Bridge::new();
    b.passes((0, 4_000), "tap0", 100);
    b.drops((4_000, 10_000), "tap0");
    b.0.gaps.push(crate::testing::gap(5_000 * MS, 5_100 * MS));
    assert_eq!(of(&b), None);
}

/// A tap that no program reads fills its ring with what a bridge floods.
#[test]
fn a_ring_that_nobody_reads_is_nobodys_loss() {
    let told = |took: u64| {
        let mut f = Facts::empty();
        f.capture.duration_ns = 10_000 * MS;
        f.capture.events.insert("skb:consume_skb".into(), 1);
        f.names.drop_reasons = Some(reasons("FULL_RING"));
        f.names.locations.insert(0x10, "tun_net_xmit".into());
        f.drops = (0..40)
            .map(|n| drop_row(n * 200 * MS, RULE, 0x10, Some(false)))
            .collect();
        f.by_program.push(crate::reconstruct::skb::ByProgram {
            dev: Name::new(b"eth0"),
            pid: 9,
            gave: Default::default(),
            took: crate::reconstruct::skb::Traffic {
                packets: took,
                bytes: took * 100,
            },
        });
        crate::analyses::answer(&f)
            .verdict
            .into_iter()
            .find(|l| l.subject == "drops")
            .unwrap()
            .tone
    };
    assert_eq!((told(0), told(5)), (Tone::Notice, Tone::Bad));
}
