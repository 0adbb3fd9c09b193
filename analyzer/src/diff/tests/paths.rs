//! Devices that packets to a server pass on one side alone.

use super::samples::{facts, of};
use crate::confidence::Confidence;
use crate::diff::Outcome;
use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::skb::tables::HopRow;
use crate::reconstruct::tcp::role::{Role, role};

const SERVER: &str = "10.78.1.2:7000";

/// A real recording, whose clients' packets to that server pass these devices besides; each nth of them.
fn by(devs: &[&str], each: usize, slower_ns: i64) -> Facts {
    let mut f = facts("rpc/rpc.nmb");
    let to: Vec<SkbId> = (f.tx.iter())
        .filter(|t| {
            let row = t.connection.map(|c| &f.connections[c.0 as usize]);
            row.is_some_and(|r| r.dport == 7000 && role(r.born, r.sport, r.dport).0 == Role::Client)
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
        told.starts_with(&format!("Answers of {SERVER} take longer: ")),
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
