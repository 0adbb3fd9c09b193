//! Packets larger than the MTU of a router's next link: repaired by path MTU discovery, and in a black hole, against the kernel's
//! counter of them, the counter of the rule that dropped the router's ICMP messages, and what arrived (sample-data/mtu).

use netmortem_analyzer::analyses;
use netmortem_analyzer::analyses::verdict::Tone;
use netmortem_analyzer::table::Cell;
use netmortem_tests::{csv, facts, nstat, sample};

const SAMPLE: &str = "mtu/mtu.nmb";

fn beside(name: &str) -> String {
    std::fs::read_to_string(sample(SAMPLE).with_file_name(name)).unwrap()
}

#[test]
fn repaired_is_normal_and_a_black_hole_is_named() {
    let f = facts(SAMPLE).unwrap();
    let reason = |d: &_| {
        let d: &netmortem_analyzer::reconstruct::drops::tables::DropRow = d;
        match f.names.drop_reason(d.reason) {
            Cell::Str(s) => s.into_owned(),
            _ => String::new(),
        }
    };
    let (provenance, truth) = (beside("PROVENANCE.md"), csv(&beside("truth.csv")));
    let big: Vec<_> = f.drops.iter().filter(|d| reason(d) == "PKT_TOO_BIG").collect();
    assert_eq!(Some(big.len() as u64), nstat(&provenance, "IpFragFails"));
    let filtered = truth[1]["from_ns"].parse::<i64>().unwrap();
    let (first, second): (Vec<_>, Vec<_>) = big.into_iter().partition(|d| d.time_ns < filtered);
    assert!(truth[0]["arrived"] == "1" && truth[1]["arrived"] == "0" && !first.is_empty());
    for d in &first {
        assert_eq!(d.expected, Some(true), "{d:?}");
        assert!(
            d.confidence.is_solid() && d.why.contains("path MTU discovery repaired it"),
            "{d:?}"
        );
    }
    for d in &second {
        assert_eq!(d.expected, Some(false), "{d:?}");
        assert!(
            d.why
                .contains("black hole, the ICMP message for its sender was dropped by this host"),
            "{d:?}"
        );
    }
    // The rule counted the messages: they are named, and are as many.
    let counted = provenance
        .lines()
        .find_map(|l| l.trim().strip_prefix("ip protocol icmp counter packets "));
    let counted: usize = counted.unwrap().split(' ').next().unwrap().parse().unwrap();
    let messages = f.drops.iter().filter(|d| reason(d) == "NETFILTER_DROP");
    assert_eq!(messages.clone().count(), counted);
    assert!(
        messages
            .clone()
            .all(|d| d.why.contains("ICMP message that a packet was too big"))
    );
    assert_eq!(second.len(), counted);
    let line = analyses::answer(&f)
        .verdict
        .into_iter()
        .find(|l| l.subject == "drops")
        .unwrap();
    assert_eq!(line.tone, Tone::Bad);
    let said = format!("{counted} for PKT_TOO_BIG at ip_forward on ra (a path MTU black hole:");
    assert!(line.sentence.contains(&said), "{}", line.sentence);
}

/// The first upload alone: nothing was lost that matters.
#[test]
fn path_mtu_discovery_alone_is_no_reason_for_alarm() {
    let mut f = facts(SAMPLE).unwrap();
    let filtered = csv(&beside("truth.csv"))[1]["from_ns"].parse::<i64>().unwrap();
    f.drops.retain(|d| d.time_ns < filtered);
    let line = analyses::answer(&f)
        .verdict
        .into_iter()
        .find(|l| l.subject == "drops")
        .unwrap();
    assert_ne!(line.tone, Tone::Bad, "{}", line.sentence);
}
