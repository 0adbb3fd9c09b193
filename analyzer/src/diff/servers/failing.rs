//! Servers to which most openings of connections fail on one side, where the other side has too few attempts for a rate, as of clients that keep their connections.
//!
//! In: what was asked of each server on both sides. Out: figures, and a sentence for each server with [`MANY`] failures or more on one side, a tenth of these at most on the other, and fewer
//! than ten attempts on either. Without a test of chance worse (or better) where half of the attempts failed or more, in three tenths of the time at least, where the other side's time would
//! have shown [`MANY`] of them, and the server did serve there; else not judged, and no good news. Where both sides have ten attempts or more a rate is tested; those that the test does not
//! call, of one recording each, are told where none failed on the other side, whose attempts would have shown [`MANY`], and some failed in [`RECURS`] tenths of the time: by itself that is chance
//! in 1 of 323 comparisons. Not those that
//! answer on one side alone: they are told by that.

use std::collections::BTreeSet;

use super::answers::LEDGER;
use super::stopped::{FEW, MANY, Stopped};
use crate::diff::judged::rates::Rate;
use crate::diff::judged::recurs::{self, PARTS};
use crate::diff::said::verdict::Outcome;
use crate::diff::values::{
    asking::{Asking, Of, Side},
    attempts,
};

/// Part of the attempts that fail.
const HALF: f64 = 0.5;
/// Tenths of the time in which some fail: fewer are one burst.
const TENTHS: usize = 3;
const RECURS: usize = 7;
/// Servers told.
const TOLD: usize = 2;

/// A server to which openings fail.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Failing {
    /// `address:port`.
    pub server: String,
    /// Before.
    pub before: Asking,
    /// After.
    pub after: Asking,
    /// So sure that no test of chance is asked: worse, or better.
    pub worse: Option<bool>,
    /// There are enough on both sides for a rate.
    #[serde(skip)]
    pub(in crate::diff) rated: bool,
    /// Tenths of the time in which some failed.
    #[serde(skip)]
    pub(in crate::diff) tenths: usize,
}

/// All of them, those that are judged first, then those with most failures.
pub(in crate::diff) fn of(sides: [&Side; 2], stopped: &[Stopped]) -> Vec<Failing> {
    let [b, a] = sides;
    let names: BTreeSet<&String> = b.keys().chain(a.keys()).collect();
    let nothing = Of::default();
    let one = |server: &String| {
        let [before, after] = sides.map(|side| side.get(server).unwrap_or(&nothing));
        let starts = after.asking.failed_opens() >= before.asking.failed_opens();
        let (bad, good) = if starts { (after, before) } else { (before, after) };
        let rated = bad.asking.opens.min(good.asking.opens) as f64 >= attempts::LEAST;
        let (n, other) = (bad.asking.failed_opens(), good.asking.failed_opens());
        let many = n >= MANY && other as f64 <= FEW * n as f64;
        let recurs = other == 0 && bad.tenths.len() >= RECURS;
        if (rated && !recurs) || !many || stopped.iter().any(|s| &s.server == server) {
            return None;
        }
        // What the other side would have had of as many: by its time, and where both sides opened many, by its attempts.
        let expected = match rated {
            true => n as f64 * good.asking.opens as f64 / bad.asking.opens.max(1) as f64,
            false => n as f64 * good.asking.seconds / bad.asking.seconds.max(1e-9),
        };
        let served = good.asking.answers > 0 || good.asking.opens > other;
        let mostly = n as f64 >= HALF * bad.asking.opens as f64;
        let often = if rated {
            recurs
        } else {
            mostly && bad.tenths.len() >= TENTHS
        };
        let sure = often && expected >= MANY as f64 && served;
        Some(Failing {
            server: server.clone(),
            before: before.asking.clone(),
            after: after.asking.clone(),
            worse: sure.then_some(starts),
            rated,
            tenths: bad.tenths.len(),
        })
    };
    let mut all: Vec<Failing> = names.into_iter().filter_map(one).collect();
    let most = |f: &Failing| f.before.failed_opens().max(f.after.failed_opens());
    all.sort_by_key(|f| (f.worse.is_none(), std::cmp::Reverse(most(f)), f.server.clone()));
    all
}

/// Leaves out what a rate tells, or whose unit is the recording.
pub(in crate::diff) fn unrated(all: &mut Vec<Failing>, rates: &[Rate], groups: bool) {
    let called = |server: &str| {
        let name = format!("{LEDGER}.{}[{server}]", attempts::FAILED_RATE);
        rates.iter().any(|r| r.outcome != Outcome::Same && r.metric == name)
    };
    all.retain(|f| !f.rated || f.worse.is_some() && !groups && !called(&f.server));
}

impl Failing {
    /// `Openings of connections to 10.0.0.1:80 that failed: 0 of 8 -> 200 of 203 (200 refused)`.
    fn sentence(&self) -> String {
        let (b, a) = (&self.before, &self.after);
        let bad = if b.failed_opens() > a.failed_opens() { b } else { a };
        let judged = match self.worse {
            Some(_) if self.rated => format!(
                "; in {} of {PARTS} parts of the time, and in none of the other side's (by itself chance gives that in 1 of {:.0} comparisons)",
                self.tenths,
                1.0 / recurs::chance(self.tenths)
            ),
            Some(_) => String::new(),
            None => "; not judged, as there are too few on one side".to_owned(),
        };
        format!(
            "Openings of connections to {} that failed: {} of {} -> {} of {} ({}){judged}.",
            self.server,
            b.failed_opens(),
            b.opens,
            a.failed_opens(),
            a.opens,
            bad.how_failed()
        )
    }
}

/// A sentence for each; of some.
pub(in crate::diff) fn said(all: &[Failing]) -> Vec<String> {
    let more = match all.len().saturating_sub(TOLD) {
        0 => None,
        1 => Some("So do those to 1 more server.".to_owned()),
        n => Some(format!("So do those to {n} more servers.")),
    };
    all.iter().take(TOLD).map(Failing::sentence).chain(more).collect()
}
