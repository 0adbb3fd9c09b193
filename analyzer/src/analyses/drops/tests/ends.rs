//! From where to where packets went of which no socket tells.

use super::drop_row;
use crate::analyses::drops::{Addresses, Ends, Pairs, answer};
use crate::counters::tables::CounterRow;
use crate::facts::Facts;
use crate::reconstruct::drops::Way;
use crate::reconstruct::skb::tables::SkbRow;

/// Ten drops of a netfilter hook, each of so many bytes; those with a way: from 10.0.0.(2 + n % 3) to 192.0.2.1.
fn facts(with: usize, bytes: u32) -> Facts {
    let mut f = Facts::empty();
    f.names.drop_reasons = Some(netmortem_formats::event_format::ValueTable {
        entries: vec![(12, "NETFILTER_DROP".into())],
        kind: netmortem_formats::event_format::ValueTableKind::Symbolic,
    });
    f.names.locations.insert(0x10, "nf_hook_slow".into());
    for n in 0..10usize {
        let mut d = drop_row(n as i64 * 1_000, 12, 0x10, Some(false));
        d.skb_id = Some(crate::facts::SkbId(n as u32));
        d.way = (n < with).then(|| Way {
            from: [10, 0, 0, 2 + (n % 3) as u8].into(),
            to: [192, 0, 2, 1].into(),
            passed: Some((0, 0)),
        });
        f.drops.push(d);
        f.skbs.push(SkbRow {
            bytes: Some(bytes),
            ..crate::testing::life(n as u32)
        });
    }
    f
}

fn ends(f: &Facts) -> Option<Ends> {
    answer(f).findings().unwrap().groups[0].ends.clone()
}

#[test]
fn half_of_them_tell() {
    let one = |most: &str, count, others| Addresses {
        most: most.into(),
        count,
        others,
    };
    let expect = |known, most| Ends {
        known,
        to: one("192.0.2.1", known, 0),
        from: one("10.0.0.2", most, 2),
        cut_off: None,
        partly: None,
    };
    assert_eq!(ends(&facts(10, 60)), Some(expect(10, 4)));
    assert_eq!(ends(&facts(5, 60)), Some(expect(5, 2)));
    assert_eq!(ends(&facts(4, 60)), None);
    let said = |f: &Facts| {
        let lines = crate::analyses::answer(f).verdict;
        lines.iter().find(|l| l.subject == "drops").unwrap().sentence.clone()
    };
    let all = said(&facts(10, 60));
    let says = "all to 192.0.2.1, from 10.0.0.2 (4) and 2 other addresses, by their route lookups";
    assert!(all.contains(says), "{all}");
    let some = said(&facts(5, 60));
    assert!(
        some.contains("5 of these to 192.0.2.1, from 10.0.0.2 (2) and 2 other addresses"),
        "{some}"
    );
}

/// As many as connection tracking could not enter, on a host that forwards.
#[test]
fn what_the_kernel_counted_tells_of_strangers() {
    let full = |bytes: u32, counted: u64| {
        let mut f = facts(10, bytes);
        for name in ["insert_failed", "drop"] {
            f.counters.push(CounterRow {
                source: "nf_conntrack",
                netns: None,
                of: String::new(),
                name: name.into(),
                start: Some(0),
                end: Some(counted),
            });
        }
        let full = answer(&f).findings().unwrap().groups[0].full.clone();
        full.filter(|f| f.counted).map(|f| f.says)
    };
    let says = full(60, 10).unwrap();
    assert!(
        says.starts_with("what their address translation (NAT) gave these new connections was taken"),
        "{says}"
    );
    assert!(
        says.contains("nf_conntrack counted 10 more insert_failed, as many as these, all of which are as long as SYNs"),
        "{says}"
    );
    // As a question of a resolver may be.
    assert_eq!(full(62, 10), None);
    assert_eq!(full(1400, 10), None);
    assert_eq!(full(60, 8), None);
    assert_eq!(full(60, 12), None);
}

/// No alarm by itself: a rule that bans does that, and one that drops what comes late.
#[test]
fn whose_others_get_through_is_said() {
    let of = |passed: (u32, u32)| {
        let mut f = facts(10, 60);
        f.names.locations.insert(0x10, "nft_do_chain".into());
        for d in &mut f.drops {
            d.why = crate::reconstruct::drops::judge(Some("NETFILTER_DROP"), Some("nft_do_chain"), 0x0800, true).1;
            d.way = d.way.map(|w| Way {
                passed: Some(passed),
                ..w
            });
        }
        let lines = crate::analyses::answer(&f).verdict;
        let line = lines.iter().find(|l| l.subject == "drops").unwrap().clone();
        (
            ends(&f).unwrap(),
            line.tone == crate::analyses::verdict::Tone::Bad,
            line.sentence,
        )
    };
    let pairs = |passed| {
        Some(Pairs {
            pairs: 3,
            dropped: 10,
            passed,
        })
    };
    // 4, 3 and 3 of three pairs.
    let (e, bad, said) = of((5, 0));
    assert_eq!((e.cut_off, e.partly, bad), (pairs(15), None, false));
    let says = "all of 3 pairs of addresses of which 15 others got through before and none is known to since";
    assert!(said.contains(says), "{said}");
    let (e, bad, said) = of((0, 20));
    assert_eq!((e.cut_off, e.partly, bad), (None, pairs(60), false));
    assert!(
        said.contains("all of 3 pairs of addresses of which 60 others got through"),
        "{said}"
    );
    // Few before, few beside.
    for passed in [(0, 0), (4, 0), (0, 14)] {
        let (e, bad, said) = of(passed);
        assert_eq!((e.cut_off, e.partly, bad), (None, None, false), "{said}");
    }
}
