//! Questions and their answers, computed from the fact tables alone. One folder per question; the answers are plain
//! serialisable data that the report shows and `--json` prints.
//!
//! ```text
//! Facts -> quality, application, lifetimes, napi, forwarding, cpus, drops, neighbours, opens, datagrams, paths, counters, tcp\
//! Facts -> units (rows of `rx`, `tx` by column)                                         +-> verdict (reads the other answers) -> Answers
//!            -> receive, transmit, exemplars, overtime, breakdown                      /
//! rows of `rx`, `tx` -> waits (their top wait; asked by the verdict and by the rigs)
//! ```

pub mod application;
pub mod breakdown;
pub mod changes;
pub mod counters;
pub mod cpus;
pub mod datagrams;
pub mod drops;
pub mod exemplars;
pub mod forwarding;
mod left_behind;
pub mod lifetimes;
mod lives;
pub mod napi;
pub mod neighbours;
pub mod opens;
mod outside;
pub mod overtime;
pub mod paths;
pub mod quality;
pub mod receive;
pub mod tcp;
pub mod transmit;
pub mod units;
pub mod verdict;
pub mod waits;
mod went;

use crate::facts::{Facts, Reason};
use crate::told::Told;

/// An answer, or why there is none.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "lowercase", tag = "outcome", content = "answer")]
pub enum Outcome<T> {
    /// What was found.
    Findings(T),
    /// No answer, because.
    Unknown(Vec<Reason>),
}

impl<T> Outcome<T> {
    /// The findings, if any.
    pub fn findings(&self) -> Option<&T> {
        match self {
            Outcome::Findings(t) => Some(t),
            Outcome::Unknown(_) => None,
        }
    }
}

/// All answers of one capture.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Answers {
    /// Can this capture be trusted?
    pub quality: quality::Quality,
    /// Nine lines.
    pub verdict: Vec<verdict::Line>,
    /// What was changed meanwhile, and what was different after it?
    pub changes: changes::Changes,
    /// Did connections come to be?
    pub opens: Outcome<opens::Opens>,
    /// Did those who asked by UDP get an answer, and did a datagram come twice?
    pub datagrams: Outcome<datagrams::Datagrams>,
    /// Is it the network or the application?
    pub application: Outcome<application::Application>,
    /// Where do received packets spend their time?
    pub receive: Outcome<receive::Receive>,
    /// Where do sent segments spend their time?
    pub transmit: Outcome<transmit::Transmit>,
    /// Did the way to a remote host get longer?
    pub paths: paths::Paths,
    /// How long do skbs live?
    pub lifetimes: Outcome<lifetimes::Lifetimes>,
    /// How do softirq and NAPI run?
    pub napi: Outcome<napi::Napi>,
    /// What does forwarding cost of the CPUs?
    pub forwarding: forwarding::Forwarding,
    /// How busy were the CPUs, and was their time stolen?
    pub cpus: Outcome<cpus::Cpus>,
    /// What was dropped, why, and does it matter?
    pub drops: Outcome<drops::Drops>,
    /// Did frames go to a wrong link-layer address?
    pub neighbours: Vec<neighbours::Spell>,
    /// Do two hosts have one address?
    pub flapping: Vec<neighbours::Flapping>,
    /// Frames that went round through bridges.
    pub circling: Option<neighbours::Circling>,
    /// What did the kernel's own counters say?
    pub counters: Outcome<counters::Counters>,
    /// How did TCP connections do?
    pub tcp: Outcome<tcp::Tcp>,
    /// Which units show each stage best?
    pub exemplars: exemplars::Exemplars,
    /// What happened when?
    pub over_time: overtime::OverTime,
    /// Whose latency is it, and where do packets go?
    pub breakdown: breakdown::Breakdown,
    /// What could not be answered, and why.
    pub unknown: Vec<Reason>,
}

/// Asks every question of the tables alone: what the recording says of itself in sentences is not among them.
pub fn answer(facts: &Facts) -> Answers {
    answer_told(facts, Told::default())
}

/// Asks every question. Each reads the tables by itself; what none of the others says is asked at the same time.
pub fn answer_told(facts: &Facts, told: Told) -> Answers {
    let of_units = || {
        let ledgers = units::Ledgers::of(facts);
        let (rx, tx) = (&ledgers.rx, &ledgers.tx);
        let paths = || rayon::join(|| receive::answer(facts, rx), || transmit::answer(facts, tx));
        let kept = || exemplars::answer(facts, &ledgers);
        let shares = || {
            rayon::join(
                || overtime::answer(facts, &ledgers),
                || breakdown::answer(facts, &ledgers),
            )
        };
        rayon::join(paths, || rayon::join(kept, shares))
    };
    let of_rows = || {
        let host = || rayon::join(|| napi::answer(facts), || tcp::answer(facts));
        let lives = || rayon::join(|| lifetimes::answer(facts), || quality::answer(facts));
        let turns = || rayon::join(|| application::answer(facts), || paths::answer(facts));
        rayon::join(host, || rayon::join(lives, turns))
    };
    let drops = drops::answer(facts);
    let (neighbours, flapping) = (neighbours::answer(facts), neighbours::flapping(facts));
    let circling = neighbours::circling(facts);
    let opens = opens::answer(facts);
    let datagrams = datagrams::answer(facts);
    let (counters, cpus, changes) = (counters::answer(facts), cpus::answer(facts), changes::answer(facts));
    let forwarding = forwarding::answer(facts);
    let (of_units, of_rows) = rayon::join(of_units, of_rows);
    let ((receive, transmit), (exemplars, (over_time, breakdown))) = of_units;
    let ((napi, tcp), ((lifetimes, quality), (application, paths))) = of_rows;
    let quality = quality.told(told);
    let lines = verdict::answer(
        &quality,
        (&opens, &datagrams, &application),
        &receive,
        (&transmit, &breakdown, &paths),
        (&napi, &cpus, &forwarding),
        (&drops, (&neighbours, &flapping, circling.as_ref()), &counters),
        &tcp,
    );
    let verdict = verdict::with_the_quotas(lines, facts, receive.findings());
    let lines = verdict::with_the_turned_away(verdict, application.findings());
    let verdict = verdict::with_the_changes(lines, (&facts.changed, &changes), drops.findings());
    Answers {
        quality,
        verdict,
        changes,
        opens,
        datagrams,
        application,
        receive,
        transmit,
        paths,
        lifetimes,
        napi,
        forwarding,
        cpus,
        drops,
        neighbours,
        flapping,
        circling,
        counters,
        tcp,
        exemplars,
        over_time,
        breakdown,
        unknown: facts.unknown.clone(),
    }
}

/// The first of these events that nothing says was recorded: that none of it is there is no news.
pub(crate) fn not_recorded(facts: &Facts, keys: &[&str]) -> Option<String> {
    let c = &facts.capture;
    let key = keys.iter().find(|k| !c.recorded(k))?;
    if quality::profile::leaves_out(c, key) {
        return Some(quality::profile::because(c, key));
    }
    Some(format!(
        "there is no {key} in the recording, and nothing says that it was recorded"
    ))
}

/// The reasons given for `subject`, or a general one.
pub(crate) fn reasons(facts: &Facts, subject: &'static str, otherwise: &str) -> Vec<Reason> {
    let found: Vec<Reason> = facts.unknown.iter().filter(|r| r.subject == subject).cloned().collect();
    let found = quality::profile::together(facts, found);
    if found.is_empty() {
        vec![Reason {
            subject,
            because: otherwise.to_string(),
        }]
    } else {
        found
    }
}
