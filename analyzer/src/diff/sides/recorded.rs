//! What both sides recorded: without it there is nothing to compare.

use super::options::Recording;

/// Why a metric that needs these events cannot be compared: one side did not record them.
pub(in crate::diff) fn not_recorded(b: &[Recording<'_>], a: &[Recording<'_>], needs: &[&str]) -> Option<String> {
    let has = |side: &[Recording<'_>], e: &str| side.iter().all(|r| r.facts.capture.recorded(e));
    let lacking = |side: &[Recording<'_>]| needs.iter().find(|e| !has(side, e)).copied();
    match (lacking(b), lacking(a)) {
        (Some(e), None) => Some(format!("{e} was not recorded before")),
        (None, Some(e)) => Some(format!("{e} was not recorded after")),
        (Some(e), Some(_)) => Some(format!("{e} was not recorded")),
        (None, None) => None,
    }
}

/// Events of packets on their way: of an skb that none of them tells nothing is known, so that with more of them there are more skbs.
const SKBS: [&str; 14] = [
    "net:netif_receive_skb",
    "net:netif_receive_skb_entry",
    "net:netif_rx",
    "net:netif_rx_entry",
    "net:napi_gro_receive_entry",
    "net:napi_gro_frags_entry",
    "net:net_dev_queue",
    "net:net_dev_start_xmit",
    "net:net_dev_xmit",
    "skb:consume_skb",
    "skb:kfree_skb",
    "skb:skb_copy_datagram_iovec",
    "qdisc:qdisc_enqueue",
    "qdisc:qdisc_dequeue",
];

/// Part of a recording's events from which one of these makes a difference.
const SKBS_SHARE: f64 = 0.005;

/// Why what is counted per skb cannot be compared: one side's recordings have an event of these that the other's have not.
pub(in crate::diff) fn other_skbs(b: &[Recording<'_>], a: &[Recording<'_>]) -> Option<String> {
    let lacks = |side: &[Recording<'_>], e: &str| side.iter().any(|r| !r.facts.capture.recorded(e));
    let much = |side: &[Recording<'_>], e: &str| {
        let n: u64 = side.iter().filter_map(|r| r.facts.capture.events.get(e)).sum();
        let all: u64 = side.iter().map(|r| r.facts.capture.total_events).sum();
        n as f64 >= SKBS_SHARE * all as f64 && n > 0
    };
    let differs = |e: &str| match (lacks(b, e), lacks(a, e)) {
        (true, false) => much(a, e).then_some("before"),
        (false, true) => much(b, e).then_some("after"),
        _ => None,
    };
    let (event, when) = SKBS.iter().find_map(|e| Some((e, differs(e)?)))?;
    Some(format!(
        "{event} was not recorded {when}: other skbs are seen, of which the drops are a part"
    ))
}
