//! What a server itself takes, over all its clients, where its answers are compared client by client: of whom more is asked is another mixture, and where each of them is answered as quickly as before it harms nobody.
//!
//! In: judged metrics of answers. Out: turnarounds and unread requests of such servers, called changed, and the names of these servers. Not where the clients that are compared have not nearly all of its answers.

use std::collections::BTreeSet;

use super::compare::Metric;
use crate::diff::said::verdict::Outcome;
use crate::diff::servers::{
    answers::LEDGER,
    clients::{client_of, server_of},
};

/// Part of a server's answers on each side that clients compared one by one must have.
const NEARLY_ALL: f64 = 0.9;

/// Whether the percentiles that moved of the whole are compared of this client, and a change of the size of its median would have been seen.
fn shows(client: &Metric, whole: &Metric) -> bool {
    let moved = whole.shifts.iter().filter(|s| s.outcome == whole.outcome);
    moved.map(|s| s.percent).all(|percent| {
        let own = client.shifts.iter().find(|s| s.percent == percent);
        own.is_some_and(|s| {
            let least = s.before.max(s.after);
            s.outcome != Outcome::Same || s.minimum_detectable.is_some_and(|ns| ns <= least)
        })
    })
}

pub(in crate::diff) fn moderate(metrics: &mut [Metric]) -> BTreeSet<String> {
    let of_client =
        |m: &&Metric| m.which.is_wait() && m.which.service.as_deref().is_some_and(|s| client_of(s).is_some());
    let explained = |m: &Metric| -> Option<String> {
        let own = m.which.ledger == LEDGER && matches!(m.which.stage, "turnaround" | "unread");
        let judged = matches!(m.outcome, Outcome::Worse | Outcome::Better);
        let name = m
            .which
            .service
            .as_deref()
            .filter(|s| own && judged && client_of(s).is_none())?;
        let theirs = || {
            metrics
                .iter()
                .filter(of_client)
                .filter(|c| c.which.service.as_deref().map(server_of) == Some(name))
        };
        let responses = || theirs().filter(|c| c.which.stage == "response");
        let (b, a): (u64, u64) = responses().fold((0, 0), |(b, a), c| (b + c.before.n, a + c.after.n));
        let most = |of: u64, all: u64| of as f64 >= NEARLY_ALL * all as f64;
        // Each would have shown it.
        let alike =
            responses().all(|c| c.outcome != m.outcome && shows(c, m)) && theirs().all(|c| c.outcome != m.outcome);
        (alike && most(b, m.before.n) && most(a, m.after.n)).then(|| name.to_owned())
    };
    let found: Vec<Option<String>> = metrics.iter().map(explained).collect();
    for (m, _) in metrics.iter_mut().zip(&found).filter(|(_, of)| of.is_some()) {
        m.becomes_changed(m.outcome);
        m.mix = Some(
            "it is asked by its clients in another mixture, each of which is answered as quickly as before".into(),
        );
    }
    found.into_iter().flatten().collect()
}
