//! The way of packets over devices, where a rig has planted it: every unit that was read came that way, all of it in one life.

use std::collections::HashMap;

use netmortem_analyzer::Facts;

use super::Oracle;
use super::rows::{LedgerRow, number, table, text};
use crate::truth::Truth;

/// Devices of each life, in order of time, one that follows itself once.
fn ways(facts: &Facts) -> Option<HashMap<i64, Vec<String>>> {
    let t = table(facts, "hops")?;
    let columns = t.columns();
    let at = |name: &str| columns.iter().position(|c| c.name == name).unwrap_or(usize::MAX);
    let (skb, dev) = (at("skb_id"), at("dev"));
    let mut ways: HashMap<i64, Vec<String>> = HashMap::new();
    for row in 0..t.len() {
        let Some(id) = number(t.cell(row, skb)) else { continue };
        let (of, dev) = (ways.entry(id).or_default(), text(t.cell(row, dev)));
        if of.last() != Some(&dev) {
            of.push(dev);
        }
    }
    Some(ways)
}

/// Name of the oracle.
pub const WAYS: &str = "ways of packets over devices";

/// Units with payload that were read, of the sockets whose packets' way is planted.
pub fn whole(truth: &Truth, rx: &[LedgerRow], facts: &Facts) -> Option<Oracle> {
    let ways = ways(facts).filter(|_| !truth.ways.is_empty())?;
    let mut oracle = Oracle {
        name: WAYS,
        ..Oracle::default()
    };
    for way in &truth.ways {
        let of = rx.iter().filter(|r| r.ports.is_some_and(|p| p.0 == way.dport));
        for r in of.filter(|r| r.end == "read" && r.bytes.is_some_and(|b| b > 0)) {
            let came = r.skb_id.and_then(|id| ways.get(&id));
            oracle.check(came == Some(&way.devices), || {
                format!("{:?} came over {came:?}", r.skb_id)
            });
        }
    }
    oracle.check(oracle.checked > 0, || "no unit of a planted way was read".into());
    Some(oracle)
}
