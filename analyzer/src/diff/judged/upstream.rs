//! Servers behind others (upstream, as proxies say): where programs that serve are the only ones that ask a server, what takes longer there is harm where the answers that wait for it take longer, and
//! a gain where these take less long.
//!
//! In: judged metrics, who asks whom and waits for it (`servers::askers`). Out: metrics of answers of such servers, called changed and marked as not felt, with the names of these servers. Must not touch anything where an
//! answer that users ask for is longer (shorter) itself, or some are much slower and not judged; nor tails that come again and again, which the answers that wait are too few to show.

use std::collections::{BTreeMap, BTreeSet};

use super::compare::{Metric, PERCENTS, Shift};
use super::tails;
use super::unfelt::{has_users_outside, opposite, seen};
use crate::diff::said::verdict::Outcome;
use crate::diff::servers::{
    answers::LEDGER,
    askers::{self, Asked},
    clients::server_of,
    large::Large,
};
use crate::diff::sides::options::{DiffOptions, Recording};
use crate::stat::nearest_rank;

/// Of what the server behind takes longer: what is less in those that wait for it is not that.
const GONE: f64 = 0.2;
/// Answers that wait that a side must have for each of [`PERCENTS`]: these are not tested, and what chance adds to them shows no likeness.
const WAITING: [usize; 3] = [30, 30, 100];
/// Parts of the requests that are waited for are alike within so many times.
const ALIKE: f64 = 2.0;

/// How much longer, or less long, a server takes, ns, at each of [`PERCENTS`].
type Far = [i64; 3];

/// Both sides.
struct Upstream<'o> {
    sides: [BTreeMap<String, Asked>; 2],
    outside: BTreeSet<String>,
    options: &'o DiffOptions,
}

/// One direction of it.
struct Way<'u> {
    of: &'u Upstream<'u>,
    worse: bool,
    /// Servers whose answers would have shown it, and did not move so: at which percentiles.
    shown: BTreeMap<String, BTreeSet<u64>>,
    far: BTreeMap<String, Far>,
    /// What was found; `None`: it is asked for.
    found: BTreeMap<String, Option<bool>>,
}

fn name(m: &Metric) -> Option<&str> {
    m.which.service.as_deref().map(server_of)
}

impl Upstream<'_> {
    /// Programs that serve are the only ones that ask it, on both sides.
    fn is_behind(&self, name: &str) -> bool {
        let from_servers = |side: &BTreeMap<String, Asked>| side.get(name).is_some_and(Asked::is_from_servers);
        !self.outside.contains(name) && self.sides.iter().all(from_servers)
    }
    /// Whether a server that others ask takes longer (shorter) to answer.
    fn is_felt(&self, metrics: &[Metric], large: &[Large], outcome: Outcome) -> bool {
        let first = |of: Option<&str>| of.is_none_or(|s| !self.is_behind(s));
        let worse = outcome == Outcome::Worse;
        let mut moved = metrics.iter().filter(|m| m.which.is_answer() && m.outcome == outcome);
        moved.any(|m| first(name(m)))
            || large
                .iter()
                .any(|l| l.worse == worse && first(Some(server_of(&l.server))))
    }
}

impl Way<'_> {
    /// Nobody feels that this one takes longer (shorter): whoever waits for it is as quick as before, or is such a one itself.
    fn is_unfelt(&mut self, name: &str, far: Far) -> bool {
        if let Some(found) = self.found.get(name) {
            return found.unwrap_or(false);
        }
        self.found.insert(name.to_owned(), None);
        let found = self.ask(name, self.far.get(name).copied().unwrap_or(far));
        self.found.insert(name.to_owned(), Some(found));
        found
    }
    fn ask(&mut self, name: &str, far: Far) -> bool {
        let of = self.of;
        let [Some(b), Some(a)] = of.sides.each_ref().map(|s| s.get(name)) else {
            return false;
        };
        if !of.is_behind(name) {
            return false;
        }
        if !b.is_awaited() && !a.is_awaited() {
            // Those who might wait would have shown it.
            let by: BTreeSet<&String> = b.programs_of.union(&a.programs_of).collect();
            return by.into_iter().all(|s| self.is_shown(s, far) || self.is_unfelt(s, far));
        }
        let (x, y) = (b.awaited_share(), a.awaited_share());
        if !b.is_known() || !a.is_known() || x.max(y) > ALIKE * x.min(y) {
            return false;
        }
        let fronts: BTreeSet<&String> = b.waited.keys().chain(a.waited.keys()).collect();
        // One that came or went is told by all together.
        let both = |front: &String| [b, a].iter().all(|s| s.waited.contains_key(front));
        let all = |side: &Asked| side.waited.values().flatten().copied().collect::<Vec<i64>>();
        if !fronts.iter().all(|f| both(f)) && !self.alike(all(b), all(a), far) {
            return false;
        }
        fronts.into_iter().filter(|f| both(f)).all(|front| {
            let took = |side: &Asked| side.waited.get(front).cloned().unwrap_or_default();
            let told = of.is_behind(front) || self.shown.contains_key(front);
            told && self.alike(took(b), took(a), far) || self.is_unfelt(front, far)
        })
    }
    /// Whether the percentiles that moved are compared of that server, and did not.
    fn is_shown(&self, name: &str, far: Far) -> bool {
        let moved = PERCENTS.iter().zip(far).filter(|(_, far)| *far > 0);
        let mut moved = moved.map(|((percent, _), _)| percent);
        self.shown.get(name).is_some_and(|at| moved.all(|p| at.contains(p)))
    }
    /// Whether answers that wait take no longer (no less long) than before, or by hardly any of what they would wait for; of few it is not known.
    fn alike(&self, mut b: Vec<i64>, mut a: Vec<i64>, far: Far) -> bool {
        let o = self.of.options;
        let n = b.len().min(a.len());
        let all = || {
            PERCENTS
                .iter()
                .zip(WAITING)
                .zip(far)
                .map(|(((percent, _), need), far)| (percent, need, far))
        };
        // What moved there must be compared here.
        let enough = all().all(|(_, need, far)| far == 0 || n >= need) && n >= WAITING[0];
        enough
            && all().filter(|(_, need, _)| n >= *need).all(|(percent, _, far)| {
                let (relative, absolute) = o.least(*percent);
                let at = |v: &mut Vec<i64>| nearest_rank(v, *percent as usize);
                at(&mut b).zip(at(&mut a)).is_some_and(|(b, a)| {
                    let by = match self.worse {
                        true => a.saturating_sub(b),
                        false => b.saturating_sub(a),
                    };
                    let least = ((b as f64 * relative) as i64).max(absolute);
                    by < least.max((far as f64 * GONE) as i64)
                })
            })
    }
}

/// How far each server moved so.
fn far(metrics: &[Metric], large: &[Large], outcome: Outcome) -> BTreeMap<String, Far> {
    let mut out: BTreeMap<String, Far> = BTreeMap::new();
    let mut add = |server: &str, at: usize, ns: i64| {
        if let Some(most) = out.entry(server.to_owned()).or_default().get_mut(at) {
            *most = ns.saturating_abs().max(*most);
        }
    };
    for m in metrics
        .iter()
        .filter(|m| m.which.ledger == LEDGER && m.outcome == outcome)
    {
        let Some(server) = name(m) else { continue };
        for s in m.shifts.iter().filter(|s| s.outcome == outcome) {
            if let Some(at) = PERCENTS.iter().position(|(p, _)| *p == s.percent) {
                add(server, at, s.shift);
            }
        }
    }
    for l in large.iter().filter(|l| l.worse == (outcome == Outcome::Worse)) {
        add(server_of(&l.server), 0, l.by_ns);
    }
    out
}

/// Calls changed, and marks, what is of a server that nobody waits for longer, or less long; their names.
pub(in crate::diff) fn moderate(
    metrics: &mut [Metric],
    large: &mut Vec<Large>,
    sides: [&[Recording<'_>]; 2],
    o: &DiffOptions,
) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let judged = [Outcome::Worse, Outcome::Better];
    let moved = judged.map(|outcome| far(metrics, large, outcome));
    if moved.iter().all(BTreeMap::is_empty) {
        return out;
    }
    let [Some(before), Some(after)] = sides.map(askers::of) else {
        return out;
    };
    let upstream = Upstream {
        sides: [before, after],
        outside: sides.iter().flat_map(|s| has_users_outside(s)).collect(),
        options: o,
    };
    for (outcome, far) in judged.into_iter().zip(moved) {
        let worse = outcome == Outcome::Worse;
        if upstream.is_felt(metrics, large, outcome) || worse && !tails::said(metrics).is_empty() {
            continue;
        }
        let shown = |m: &&Metric| {
            m.which.is_answer() && [Outcome::Same, opposite(outcome)].contains(&m.outcome) && seen(m, outcome)
        };
        let known = |s: &&Shift| s.outcome == opposite(outcome) || s.minimum_detectable.is_some();
        let mut at: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
        for m in metrics.iter().filter(shown) {
            let percents = m.shifts.iter().filter(known).map(|s| s.percent);
            at.entry(name(m).unwrap_or_default().to_owned())
                .or_default()
                .extend(percents);
        }
        // What comes again and again may be of fewer answers than tell.
        let again: BTreeSet<&str> = metrics.iter().filter(|m| m.recurs).filter_map(name).collect();
        let servers: Vec<(String, Far)> = far.iter().map(|(s, far)| (s.clone(), *far)).collect();
        let mut way = Way {
            of: &upstream,
            worse,
            shown: at,
            far,
            found: BTreeMap::new(),
        };
        let unfelt = servers.into_iter().filter(|(s, _)| !again.contains(s.as_str()));
        let unfelt: BTreeSet<String> = unfelt
            .filter(|(s, far)| way.is_unfelt(s, *far))
            .map(|(s, _)| s)
            .collect();
        large.retain(|l| l.worse != worse || !unfelt.contains(server_of(&l.server)));
        let theirs = |m: &&mut Metric| {
            let own = m.which.ledger == LEDGER && m.outcome == outcome;
            own && name(m).is_some_and(|s| unfelt.contains(s))
        };
        for m in metrics.iter_mut().filter(theirs) {
            m.becomes_changed(outcome);
            m.unfelt = true;
        }
        out.extend(unfelt);
    }
    out
}
