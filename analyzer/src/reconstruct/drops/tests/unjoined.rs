//! Multicast that nobody there joined.

use netmortem_formats::event_format::{ValueTable, ValueTableKind};

use super::super::unjoined::{UNJOINED, are_told_apart, judge};
use crate::Confidence;
use crate::reconstruct::drops::in_words;

const UNCLEAR: (Option<bool>, &str, Confidence) = (None, "unclear", Confidence::Unknown);

fn table(names: &[&str]) -> ValueTable {
    ValueTable {
        entries: (0u64..).zip(names).map(|(n, name)| (n, (*name).to_owned())).collect(),
        kind: ValueTableKind::Symbolic,
    }
}

#[test]
fn it_is_told_where_all_other_refusals_have_reasons() {
    let newer = |names: &[&str]| are_told_apart(Some(&table(names)));
    assert!(newer(&["NOT_SPECIFIED", "IP_LOCAL_SOURCE"]) && newer(&["SKB_DROP_REASON_IP_LOCAL_SOURCE"]));
    assert!(!newer(&["NOT_SPECIFIED", "IP_RPFILTER"]) && !newer(&[]) && !are_told_apart(None));
    let at = |reason, place, protocol, told| judge(UNCLEAR, (Some(reason), Some(place), protocol), told);
    let expect = (Some(true), UNJOINED, Confidence::Weak);
    assert_eq!(at("NOT_SPECIFIED", "ip_rcv_finish_core", 0x0800, true), expect);
    assert_eq!(at("NOT_SPECIFIED", "ip_rcv_finish_core.isra.0", 0x0800, true), expect);
    assert_eq!(at("NOT_SPECIFIED", "ip_route_input_mc", 0x0800, true), expect);
    for (reason, place, protocol, told) in [
        ("NOT_SPECIFIED", "ip_rcv_finish_core", 0x0800, false),
        ("NOT_SPECIFIED", "ip_rcv_finish_core", 0x86dd, true),
        ("NOT_SPECIFIED", "ip_rcv_core", 0x0800, true),
        ("IP_RPFILTER", "ip_rcv_finish_core", 0x0800, true),
    ] {
        assert_eq!(
            at(reason, place, protocol, told),
            UNCLEAR,
            "{reason} {place} {protocol} {told}"
        );
    }
    let other = (Some(false), "a rule", Confidence::Strong);
    let rule = judge(other, (Some("NOT_SPECIFIED"), Some("ip_rcv_finish_core"), 0x0800), true);
    assert_eq!(rule, other);
    assert_eq!(judge(UNCLEAR, (None, None, 0x0800), true), UNCLEAR);
    let words = in_words("NOT_SPECIFIED", "ip_rcv_finish_core", UNJOINED);
    assert_eq!(words, UNJOINED);
}
