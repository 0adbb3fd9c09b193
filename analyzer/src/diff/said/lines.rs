//! What the verdict rests on, a line for each change: what users feel first, then what was sent again or dropped and round trips, what
//! differs manifold, the rest, and last the inner times that follow from these.

use std::collections::BTreeSet;

use super::verdict::{Judged, NAMED_MOST, Outcome, signed};
use crate::analyses::verdict::{duration, rate};
use crate::diff::judged::{
    beside,
    compare::{Metric, Shift},
    rates::{Kind, Rate},
};
use crate::diff::servers::answers::LEDGER;
use crate::diff::sides::settings::{ADDRESSES, SettingChange};
use crate::diff::values::{breakdown::Breakdown, rtt};

/// Lines at most.
const LINES: usize = 12;
/// Growth by so many times is told as a factor, not in percent.
const MANY: i64 = 100;
/// Part of the values from which a device's metric is not told beside that of all.
const NEARLY_ALL: f64 = 0.9;

/// Settings named where nothing else of them is said.
const SETTINGS: usize = 3;

impl Judged<'_> {
    /// A line for each change: what users feel first, then losses, what differs manifold, then by outcome. A setting is named once.
    pub(in crate::diff) fn lines(&self, named: &mut BTreeSet<usize>) -> Vec<(Outcome, String)> {
        let mut all: Vec<((u8, Outcome), Vec<usize>, String)> = vec![];
        for r in self.rates.iter().filter(|r| r.outcome != Outcome::Same) {
            let rank = match r.kind {
                Kind::Speed => 0,
                // Data sent again, and drops.
                Kind::Events if r.is_worse_when_more() => 1,
                _ if r.is_manifold(self.options) => 2,
                _ => 3,
            };
            all.push((
                (rank, r.outcome),
                beside::of_rate(self.settings, &r.metric, self.servers),
                rate_line(r),
            ));
        }
        for m in self.metrics.iter().filter(|m| m.outcome != Outcome::Same) {
            let rank = match m.which.ledger {
                LEDGER => 0,
                _ if rtt::is(&m.which) => 1,
                _ if m.which.is_forwarding() => 2,
                _ if m.follows() => 4,
                _ => 3,
            };
            let Some(line) = metric_line(m, self.breakdowns).filter(|_| !self.told_of_all(m)) else {
                continue;
            };
            let at = beside::of_metric(self.settings, &m.which, self.servers);
            all.push(((rank, m.outcome), at, line));
        }
        all.sort_by_key(|l| l.0);
        all.truncate(LINES);
        let with = |((_, outcome), at, line): ((u8, Outcome), Vec<usize>, String)| {
            let new: Vec<usize> = at.into_iter().filter(|at| named.insert(*at)).collect();
            let words = beside::words(self.settings, &new);
            match words.is_empty() {
                true => (outcome, line),
                false => (outcome, format!("{line}; what differs too: {}", words.join("; "))),
            }
        };
        all.into_iter().map(with).collect()
    }

    /// Whether a device has nearly all values of a metric that is told of all devices, with the same outcome.
    fn told_of_all(&self, m: &Metric) -> bool {
        let all = |o: &&Metric| {
            (o.which.ledger, o.which.stage, o.outcome) == (m.which.ledger, m.which.stage, m.outcome)
                && (&o.which.dev, &o.which.service) == (&None, &m.which.service)
        };
        let most = |all: u64, of: u64| of as f64 >= NEARLY_ALL * all as f64;
        m.which.dev.is_some()
            && self
                .metrics
                .iter()
                .find(all)
                .is_some_and(|o| most(o.before.n, m.before.n) && most(o.after.n, m.after.n))
    }

    /// What would read as an improvement, had it the same units.
    pub(in crate::diff) fn others(&self) -> String {
        let of = self.metrics.iter().filter(|m| m.outcome == Outcome::NotComparable);
        let names: Vec<&str> = of.map(|m| m.metric.as_str()).collect();
        let more = match names.len().saturating_sub(NAMED_MOST) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        match names.is_empty() {
            true => String::new(),
            false => format!(
                "Shorter but not comparable, as their units are others: {}{more}.",
                names.iter().take(NAMED_MOST).copied().collect::<Vec<_>>().join(", ")
            ),
        }
    }

    /// How many settings differ that nothing above named; and which, where nothing differs that they may have to do with.
    pub(in crate::diff) fn settings_left(&self, named: &BTreeSet<usize>, names: bool) -> String {
        let more = if named.is_empty() { "" } else { " more" };
        let theirs = if names { self.their_names(named) } else { String::new() };
        let differ = match self.left(named).count() {
            0 => String::new(),
            1 => format!("1{more} setting differs{theirs}."),
            n => format!("{n}{more} settings differ{theirs}."),
        };
        format!("{differ}{}", of_one_side(self.settings_of_one_side))
            .trim_start()
            .to_owned()
    }

    /// Those that nothing above named; a link-layer address is nothing that anyone sets: each new namespace has others.
    fn left(&self, named: &BTreeSet<usize>) -> impl Iterator<Item = &SettingChange> {
        let all = self.settings.iter().enumerate();
        all.filter(|(at, s)| !named.contains(at) && s.name != ADDRESSES)
            .map(|(_, s)| s)
    }

    /// `: net.ipv4.tcp_rmem, eth0 link and others`: of those that nothing above named.
    fn their_names(&self, named: &BTreeSet<usize>) -> String {
        let names: Vec<&str> = self.left(named).map(|s| s.name.as_str()).collect();
        let more = if names.len() > SETTINGS { " and others" } else { "" };
        let names = names.get(..SETTINGS.min(names.len())).unwrap_or_default();
        format!(": {}{more}", names.join(", "))
    }
}

/// ` 405 settings are told by one side only, and are not compared (its recorder, or its kernel, has more).`
fn of_one_side((before, after): (usize, usize)) -> String {
    let said = |n: usize| match n {
        1 => "1 setting is".to_owned(),
        n => format!("{n} settings are"),
    };
    match (before, after) {
        (0, 0) => String::new(),
        (b, 0) => format!(
            " {} told before only, and not compared: its recorder, or its kernel, has more.",
            said(b)
        ),
        (0, a) => format!(
            " {} told after only, and not compared: its recorder, or its kernel, has more.",
            said(a)
        ),
        (b, a) => format!(
            " {} told by one side only, {b} before and {a} after, and not compared: its recorder, or its kernel, has more.",
            said(b + a)
        ),
    }
}

/// What a stage has to do with the change of its ledger's mean: a share of it, where it is one.
pub(in crate::diff) fn share(part_ns: f64, whole_ns: f64, ledger: &str) -> String {
    let (part, whole) = (part_ns as i64, whole_ns as i64);
    let is_share = part.signum() == whole.signum() && part.unsigned_abs() <= whole.unsigned_abs();
    match is_share {
        true => format!(
            "{} of the {} that the mean {ledger} changed by",
            signed(part),
            signed(whole)
        ),
        false => format!("its mean {}, the mean {ledger} {}", signed(part), signed(whole)),
    }
}

fn relative(s: &Shift) -> String {
    match s.before {
        0 => String::new(),
        b if s.shift / MANY >= b.abs() => format!(", {:.0} times as long", s.after as f64 / b as f64),
        b => format!(", {:+.0} %", 100.0 * s.shift as f64 / b.unsigned_abs() as f64),
    }
}

/// `rx.poll_wait p50 3.10 µs -> 52.3 µs (+49.2 µs, +1587 %); adds 50.1 µs to the mean rx of 61.2 µs`.
fn metric_line(m: &Metric, breakdowns: &[Breakdown]) -> Option<String> {
    let s = m.telling()?;
    let sign = if s.shift > 0 { "+" } else { "" };
    let mut line = format!(
        "{} p{} {} -> {} ({sign}{}{})",
        m.metric,
        s.percent,
        duration(s.before),
        duration(s.after),
        duration(s.shift),
        relative(s)
    );
    let ledger = breakdowns
        .iter()
        .find(|b| b.ledger == m.which.ledger && m.which.is_stage());
    if let Some((b, part)) = ledger.and_then(|b| Some((b, b.parts.iter().find(|p| p.stage == m.which.stage)?))) {
        line += &format!("; {}", share(part.added_ns(), b.after_ns - b.before_ns, b.ledger));
    }
    match (&m.mix, m.outcome) {
        (Some(mix), Outcome::NotComparable) => line = format!("not comparable: {line}, but {mix}"),
        (Some(mix), _) => line += &format!("; {mix}"),
        (None, _) => {}
    }
    if m.unfelt {
        line += "; not felt in answers";
    }
    Some(line)
}

pub(in crate::diff) fn amount(kind: Kind, v: f64) -> String {
    match kind {
        Kind::Events => format!("{:.2} in 1000", v * 1e3),
        Kind::Units => format!("{:.1} % of units", v * 100.0),
        Kind::Time => format!("{:.1} % of the time", v * 100.0),
        Kind::Size => format!("{v:.1}"),
        Kind::Count => format!("{v:.3}"),
        Kind::Speed => rate(v * 8.0 / 1e6),
    }
}

pub(in crate::diff) fn rate_line(r: &Rate) -> String {
    let text = |v: f64| amount(r.kind, v);
    let of = r.amounts().map_or_else(String::new, |t| format!(" ({t})"));
    let note = r.note.map_or_else(String::new, |why| format!("; {why}"));
    format!(
        "{} {} -> {}{of}{note}",
        r.metric,
        text(r.before.value),
        text(r.after.value)
    )
}
