//! Connections that programs keep for many answers on one side, and open for each on the other: keep-alive that was lost, or came. What a handshake of TLS says counts
//! as answers and requests, too: such counts are no count of what programs ask. And which server is said first, where the program of one asks the other.
//!
//! In: rates of connections opened per answer, what programs ask of others. Out: marks, sentences, an order. Not judged by a test of its own.

use std::collections::BTreeMap;

use super::Servers;
use super::answers::{LEDGER, OPENED_RATE};
use super::asks::Asks;
use super::clients::server_of;
use crate::analyses::verdict::duration;
use crate::diff::judged::{compare::Metric, rates::Rate};
use crate::diff::said::{
    lead::{Lead, Leading},
    verdict::Outcome,
};
use crate::diff::sides::options::DiffOptions;

/// Connections opened per answer, at most, of who keeps them; at least, of who opens one each time, whose answers may be turns of its handshake.
const KEPT: f64 = 0.1;
const EACH: f64 = 0.3;
/// As many where no handshake counts beside the answers.
const PLAIN: f64 = 0.75;
/// Largest chance that both sides open as many.
const CHANCE: f64 = 0.01;
/// Turns of a handshake, at most, with what varies.
const HANDSHAKE: f64 = 2.2;
/// Servers named.
const NAMED: usize = 4;

/// The server of a rate of openings.
fn server(r: &Rate) -> Option<&str> {
    let name = r
        .metric
        .strip_prefix(LEDGER)?
        .strip_prefix('.')?
        .strip_prefix(OPENED_RATE)?;
    name.strip_prefix('[')?.strip_suffix(']')
}

/// Whether connections are no longer kept; or, not so, kept only after.
pub(in crate::diff) fn lost(r: &Rate, o: &DiffOptions) -> Option<bool> {
    let (b, a) = (r.before.value, r.after.value);
    // It is a reason for what was judged, and no verdict: by itself it needs no level that holds for all that is compared.
    let many = r.is_manifold(o) || r.p <= CHANCE && b.max(a) >= o.counts * b.min(a);
    let kept = b.min(a) <= KEPT && b.max(a) >= EACH && many;
    kept.then_some(a > b)
}

/// What that is, behind figures.
pub(in crate::diff) fn words(lost: bool) -> &'static str {
    match lost {
        true => "they are no longer kept (keep-alive lost, inferred)",
        false => "they are kept now (keep-alive, inferred)",
    }
}

/// `1 for 975 answers -> 968 for 2904`.
pub(in crate::diff) fn figures(r: &Rate) -> String {
    format!(
        "{} for {} answers -> {} for {}",
        r.before.of, r.before.out_of, r.after.of, r.after.out_of
    )
}

/// Marks what is asked more of, or less, by no more than handshakes.
pub(in crate::diff) fn mark(asks: &mut [Asks], rates: &[Rate], o: &DiffOptions) {
    for x in asks {
        let rate = rates.iter().find(|r| server(r) == Some(&x.asked));
        let Some((r, lost)) = rate.and_then(|r| Some((r, lost(r, o)?))) else {
            continue;
        };
        let (more, less, opened) = match lost {
            true => (&x.after, &x.before, &r.after),
            false => (&x.before, &x.after, &r.before),
        };
        let beside = more.requests as f64 - less.per_answer * more.answers as f64;
        x.handshakes = opened.value < PLAIN && beside > 0.0 && beside <= HANDSHAKE * opened.of;
    }
}

/// What is counted as answers of a server beside them.
pub(in crate::diff) fn among(asks: &[Asks], service: Option<&str>) -> &'static str {
    let of = |x: &Asks| x.handshakes && x.is_most() && service.map(server_of) == Some(&x.asked);
    match asks.iter().any(of) {
        true => ", turns of handshakes (TLS, logins) among them on one side (inferred)",
        false => "",
    }
}

/// Before a server whose answers changed one whose answers changed, too, and whose program asks it: that is what users feel. Else as they were; and how many of the first one's chain there are behind it: that is where it comes from.
pub(in crate::diff) fn outermost<'m>(mut all: Vec<&'m Metric>, asks: &[Asks]) -> (Vec<&'m Metric>, usize) {
    let key = |m: &Metric| (m.outcome, m.which.service.as_deref().map(server_of).map(str::to_owned));
    let answers = |m: &&Metric| m.which.is_answer();
    let moved: Vec<_> = all.iter().copied().filter(answers).map(key).collect();
    let mut order: Vec<(Outcome, Option<String>)> = vec![];
    for m in &all {
        let mut of = key(m);
        let mut inner = vec![];
        while !order.contains(&of) && !inner.contains(&of) {
            let asks_it = |o: &&(Outcome, Option<String>)| {
                let pair = |x: &Asks| Some(&x.asked) == of.1.as_ref() && Some(&x.server) == o.1.as_ref();
                o.0 == of.0 && asks.iter().any(pair)
            };
            let mut outer = moved.iter().filter(asks_it);
            // One of them is enough.
            let told = outer.clone().any(|o| order.contains(o));
            let next = outer.next().filter(|_| !told).cloned();
            inner.push(of);
            match next {
                Some(next) => of = next,
                None => break,
            }
        }
        order.extend(inner.into_iter().rev());
    }
    let asked = |of: &&(Outcome, Option<String>)| {
        let pair = |o: &(Outcome, Option<String>), x: &Asks| {
            Some(&x.asked) == of.1.as_ref() && Some(&x.server) == o.1.as_ref()
        };
        moved
            .iter()
            .any(|o| o.0 == of.0 && *o != **of && asks.iter().any(|x| pair(o, x)))
    };
    let behind = order.iter().filter(asked).count();
    let at: BTreeMap<_, usize> = order.into_iter().zip(0..).collect();
    all.sort_by_key(|m| at.get(&key(m)).copied());
    (all, behind)
}

impl Leading<'_> {
    /// Connections of the program of a server to those that it asks, which it no longer keeps, or keeps now.
    pub(in crate::diff) fn reopened(&self, out: &mut Lead, outer: &str) {
        for lost_now in [true, false] {
            let own = self.servers.asks.iter().filter(|x| x.server == outer && x.is_most());
            let of = own.filter_map(|x| {
                let r = self.rates.iter().find(|r| server(r) == Some(&x.asked))?;
                (lost(r, self.options) == Some(lost_now)).then_some((x, r))
            });
            let all: Vec<(&Asks, &Rate)> = of.filter(|(_, r)| !out.opened.contains(&r.metric)).collect();
            if all.is_empty() {
                continue;
            }
            let each = all.iter().take(NAMED);
            let each = each.map(|(x, r)| format!("to {}: {}", x.asked, figures(r)));
            let mut sentence = format!(
                "Connections opened by the program of {outer} {}: {}",
                each.collect::<Vec<_>>().join(", "),
                words(lost_now)
            );
            sentence += &self.opening(all.first().map(|(x, _)| x.asked.as_str()));
            if all.iter().any(|(x, _)| x.handshakes) {
                sentence += "; the turns of a handshake (TLS, a login) count among these answers, so that it may ask no more than before, and take the CPU of both (inferred)";
            }
            self.say(out, sentence, vec![]);
            out.opened.extend(all.iter().map(|(_, r)| r.metric.clone()));
        }
    }

    /// What an opening took.
    pub(in crate::diff) fn opening(&self, server: Option<&str>) -> String {
        let Servers { opened, .. } = self.servers;
        match server.and_then(|s| opened.get(s)) {
            Some([_, (n @ 1.., ns)]) => format!("; opening one took p50 {} after (n {n})", duration(*ns)),
            _ => String::new(),
        }
    }
}
