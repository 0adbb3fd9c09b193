//! What the comparison says of the pairs: planted changes found and where, and false alarms where nothing was changed.

use std::fmt::Write as _;
use std::path::Path;

use netmortem_analyzer::diff::{Diff, DiffOptions, Outcome, Window, compare};
use netmortem_analyzer::{Facts, analyze};

use super::{ALL, Plant, bundle};

/// One pair judged.
#[derive(Debug, Clone)]
pub struct Pair {
    /// Which.
    pub name: String,
    /// What was planted; `None`: nothing.
    pub plant: Option<&'static str>,
    /// Whether what was planted is among what changed.
    pub found: bool,
    /// Whether it is the first among the stages, or the first rate, that changed.
    pub first: bool,
    /// Everything called worse, better or changed, first ones first.
    pub said: Vec<String>,
    /// In a word.
    pub outcome: Outcome,
}

/// All pairs.
#[derive(Debug, Clone, Default)]
pub struct Table(pub Vec<Pair>);

fn facts(path: &Path) -> Option<Facts> {
    let capture = netmortem_formats::open_path(path).ok()?.ok()?;
    Some(analyze(&capture, &Default::default()))
}

fn said(d: &Diff) -> Vec<String> {
    let rates = d.rates.iter().map(|r| (r.outcome, &r.metric));
    let all = d.metrics.iter().map(|m| (m.outcome, &m.metric)).chain(rates);
    let changed = all.filter(|c| c.0 != Outcome::Same);
    changed.map(|(o, name)| format!("{name} {}", o.word())).collect()
}

fn pair(name: String, plant: Option<&Plant>, d: &Diff) -> Pair {
    let said = said(d);
    let names = |of: &String| {
        let metric = of.split(' ').next().unwrap_or("");
        let any_dev = metric.split('[').next().unwrap_or("");
        plant.is_some_and(|p| p.names.contains(&metric) || p.names.contains(&any_dev))
    };
    Pair {
        name,
        plant: plant.map(|p| p.name),
        found: said.iter().any(names),
        // What users feel comes before where it is.
        first: said.iter().find(|s| !s.starts_with("app.")).is_some_and(names)
            || d.rates
                .first()
                .is_some_and(|r| r.outcome != Outcome::Same && names(&r.metric)),
        said,
        outcome: d.verdict.outcome,
    }
}

/// Of the scenes' own devices: others use the machine, too.
fn options() -> DiffOptions {
    DiffOptions {
        devices: vec!["va".into(), "vb".into()],
        ..DiffOptions::default()
    }
}

/// What is said of two recordings; `None` when one cannot be opened.
pub fn between(before: &Path, after: &Path) -> Option<Diff> {
    Some(compare(&[&facts(before)?], &[&facts(after)?], &options()))
}

/// Judges the pairs in a folder: every before with its after, every side with the next recording of the same side, and the
/// halves of every recording.
pub fn judge(out: &Path) -> Table {
    let mut table = Table::default();
    let options = options();
    let mut compared = |name: String, plant: Option<&Plant>, b: &Facts, a: &Facts, o: &DiffOptions| {
        table.0.push(pair(name, plant, &compare(&[b], &[a], o)));
    };
    for plant in ALL {
        let mut last: Option<(Facts, Facts)> = None;
        for n in 0.. {
            let sides = ["before", "after"].map(|side| bundle(out, plant, n, side));
            if !sides.iter().any(|p| p.exists()) {
                break;
            }
            let [Some(b), Some(a)] = sides.map(|p| facts(&p)) else {
                continue;
            };
            compared(format!("{} {n}", plant.name), Some(plant), &b, &a, &options);
            for (side, f) in [("before", &b), ("after", &a)] {
                // Halves of the traffic, not of the recording: it begins and ends with nothing.
                let Some((from, to)) = traffic(f) else { continue };
                let middle = from + (to - from) / 2;
                let halves = DiffOptions {
                    before_window: Some(Window {
                        from_ns: from,
                        to_ns: middle,
                    }),
                    after_window: Some(Window {
                        from_ns: middle,
                        to_ns: to + 1,
                    }),
                    ..options.clone()
                };
                compared(format!("{} {n} {side}, halves", plant.name), None, f, f, &halves);
            }
            match last.take() {
                None => last = Some((b, a)),
                Some((b0, a0)) => {
                    compared(
                        format!("{} before {} and {n}", plant.name, n - 1),
                        None,
                        &b0,
                        &b,
                        &options,
                    );
                    compared(
                        format!("{} after {} and {n}", plant.name, n - 1),
                        None,
                        &a0,
                        &a,
                        &options,
                    );
                }
            }
        }
    }
    table
}

/// First and last packet, ns since the start of the recording.
fn traffic(f: &Facts) -> Option<(i64, i64)> {
    let start = f.capture.start_ns?;
    let times = || {
        let ours = f.rx.iter().filter(|r| matches!(r.dev.bytes(), b"va" | b"vb"));
        ours.map(|r| r.start_ns)
    };
    Some((times().min()? - start, times().max()? - start))
}

impl Table {
    fn of(&self, keep: impl Fn(&Pair) -> bool) -> Vec<&Pair> {
        self.0.iter().filter(|p| keep(p)).collect()
    }
    /// A/B pairs, those found, those found and named first.
    pub fn detected(&self) -> (usize, usize, usize) {
        let ab = self.of(|p| p.plant.is_some());
        let count = |f: fn(&&&Pair) -> bool| ab.iter().filter(f).count();
        (ab.len(), count(|p| p.found), count(|p| p.first))
    }
    /// A/A pairs (repeats, halves), and those of which anything was said.
    pub fn false_alarms(&self) -> [(usize, usize); 2] {
        [false, true].map(|halves| {
            let aa = self.of(|p| p.plant.is_none() && p.name.ends_with("halves") == halves);
            (aa.len(), aa.iter().filter(|p| !p.said.is_empty()).count())
        })
    }
    /// For a person.
    pub fn text(&self, verbose: bool) -> String {
        let mut out = String::new();
        _ = writeln!(
            out,
            "{:<16} {:>5} {:>6} {:>6}  planted",
            "A/B", "pairs", "found", "first"
        );
        for plant in ALL {
            let of = self.of(|p| p.plant == Some(plant.name));
            let (found, first) = (
                of.iter().filter(|p| p.found).count(),
                of.iter().filter(|p| p.first).count(),
            );
            _ = writeln!(
                out,
                "{:<16} {:>5} {found:>6} {first:>6}  {}",
                plant.name,
                of.len(),
                plant.what
            );
        }
        let (n, found, first) = self.detected();
        _ = writeln!(out, "{:<16} {n:>5} {found:>6} {first:>6}", "all");
        let [repeats, halves] = self.false_alarms();
        _ = writeln!(out, "A/A              pairs  alarms");
        _ = writeln!(out, "repeats          {:>5} {:>7}", repeats.0, repeats.1);
        _ = writeln!(out, "halves           {:>5} {:>7}", halves.0, halves.1);
        let wrong = |p: &&Pair| match p.plant {
            Some(_) => !p.found,
            None => !p.said.is_empty(),
        };
        for p in self.0.iter().filter(|p| verbose || wrong(p)) {
            _ = writeln!(out, "  {}: {}: {}", p.name, p.outcome.word(), p.said.join("; "));
        }
        out
    }
}
