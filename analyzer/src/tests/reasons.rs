//! Reasons that are inferred on kernels that record none are those that this kernel recorded of the same events.

use std::collections::BTreeMap;

use super::older::SAMPLES;
use super::sample;
use crate::facts::Facts;
use crate::table::Cell;
use crate::testing::rewrite::only;

/// Names of one thing: which of them a socket's queue is emptied by depends on the release.
const ALIKE: [&str; 2] = ["QUEUE_PURGE", "SOCKET_CLOSE"];

fn text(cell: Cell<'_>) -> String {
    match cell {
        Cell::Str(s) => s.trim_start_matches("SKB_DROP_REASON_").to_owned(),
        _ => String::new(),
    }
}

/// (reason as recorded, reason as inferred) of each free.
fn frees(whole: &Facts, less: &Facts) -> Vec<(String, String, String)> {
    let of = |f: &Facts| -> BTreeMap<(i64, u16), (String, String)> {
        let rows = f.drops.iter().map(|d| {
            let name = text(f.names.drop_reason(d.reason));
            ((d.time_ns, d.cpu), (name, text(f.names.location(d.location))))
        });
        rows.collect()
    };
    let less = of(less);
    let both = of(whole)
        .into_iter()
        .filter_map(|(k, (was, at))| Some((was, less.get(&k)?.0.clone(), at)));
    both.collect()
}

#[test]
fn what_a_place_stands_for_is_what_was_recorded() {
    let (mut told, mut compared) = (0, 0);
    for name in SAMPLES {
        let c = sample(name);
        let whole = crate::analyze(&c, &Default::default());
        let less = crate::analyze(&only(&c, |_| true, &["skb:kfree_skb.reason"]), &Default::default());
        if whole.names.reasons_by_place {
            continue;
        }
        assert!(less.names.reasons_by_place, "{name}");
        for (was, inferred, at) in frees(&whole, &less).into_iter().filter(|x| !x.1.is_empty()) {
            compared += 1;
            let alike = ALIKE.contains(&was.as_str()) && ALIKE.contains(&inferred.as_str());
            // What this kernel does not specify, and later ones do, contradicts nothing.
            let later = ALIKE.contains(&inferred.as_str()) || at.starts_with("__udp4_lib_rcv");
            let unsaid = was == "NOT_SPECIFIED" && later;
            let same = was == inferred || alike || unsaid;
            assert!(same, "{name}: {was} at {at} was inferred as {inferred}");
            told += usize::from(was == inferred);
        }
    }
    assert!(told >= 30, "{told} of {compared}");
}

#[test]
fn why_a_reset_was_sent_is_what_was_recorded() {
    let mut told = BTreeMap::<String, u64>::new();
    for name in SAMPLES {
        let c = sample(name);
        let whole = crate::analyze(&c, &Default::default());
        if whole.names.reset_reasons_inferred {
            continue;
        }
        let less = crate::analyze(&only(&c, |_| true, &["tcp:tcp_send_reset.reason"]), &Default::default());
        let sent = |f: &Facts| -> BTreeMap<i64, String> {
            let sent = f.resets.iter().filter(|r| !r.received);
            sent.map(|r| (r.time_ns, r.reason.clone())).collect()
        };
        let inferred = sent(&less);
        for (at, was) in sent(&whole) {
            let of = inferred.get(&at).map_or("", String::as_str);
            assert!(
                of.is_empty() || was.ends_with(of),
                "{name}: {was} at {at} was inferred as {of}"
            );
            if !of.is_empty() {
                *told.entry(was).or_default() += 1;
            }
        }
    }
    assert!(told.len() >= 2, "{told:?}");
}
