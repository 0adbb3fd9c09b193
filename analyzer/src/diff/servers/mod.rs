//! Servers and those who ask them: answers, and what else is known of the reasons why they take longer.

pub(in crate::diff) mod answers;
pub(in crate::diff) mod askers;
pub(in crate::diff) mod asks;
pub(in crate::diff) mod at_once;
pub(in crate::diff) mod behind;
pub(in crate::diff) mod clients;
pub(in crate::diff) mod detours;
pub(in crate::diff) mod divided;
pub(in crate::diff) mod exchanges;
pub(in crate::diff) mod failing;
pub(in crate::diff) mod few;
pub(in crate::diff) mod gave_up;
pub(in crate::diff) mod held;
pub(in crate::diff) mod large;
pub(in crate::diff) mod parts;
pub(in crate::diff) mod paths;
pub(in crate::diff) mod pauses;
pub(in crate::diff) mod pools;
mod questions;
pub(in crate::diff) mod reopened;
pub(in crate::diff) mod shared_out;
pub(in crate::diff) mod sizes;
pub(in crate::diff) mod stopped;
pub(in crate::diff) mod streams;

use std::collections::{BTreeMap, BTreeSet};

use self::answers::LEDGER;
use self::asks::Asks;
use self::divided::Divided;
use self::exchanges::Exchanges;
use self::failing::Failing;
use self::few::Few;
use self::held::Held;
use self::large::Large;
use self::parts::Parts;
use self::paths::Way;
use self::pauses::Pauses;
use self::sizes::Sizes;
use self::stopped::Stopped;
use self::streams::Streams;
use crate::diff::judged::kinds::Kinds;
use crate::diff::values::{metrics::Table, moves::Moves};

/// What the answers of each server say of it beside their times.
#[derive(Debug, Clone, Default)]
pub(in crate::diff) struct Servers {
    /// Devices whose queue their packets passed.
    pub devices: BTreeMap<String, BTreeSet<String>>,
    /// Sentences: transfers that one side alone has, which are left out.
    pub left_out: Vec<String>,
    /// Devices that packets of transfers left by, by their names in metrics (`from 10.0.0.1:80`), where the queueing of a device differs.
    pub transfers: BTreeMap<String, BTreeSet<String>>,
    /// Names of the processes at either end of their connections, as lists of tasks have them (with spaces as in names of settings); none where no cgroup has a limit.
    pub programs: BTreeMap<String, BTreeSet<String>>,
    /// Openings of connections on each side: how many, and their median, ns.
    pub opened: BTreeMap<String, [(usize, i64); 2]>,
    /// What held their requests and answers in write queues, of whole recordings.
    pub held: Held,
    /// Mean parts of their answers on each side.
    pub parts: BTreeMap<String, [Parts; 2]>,
    /// Those that answer on one side alone.
    pub stopped: Vec<Stopped>,
    /// Why such were not looked for; `None`: they were.
    pub not_looked_for: Option<String>,
    /// Those to which openings fail on one side.
    pub failing: Vec<Failing>,
    /// Those whose answers are not compared.
    pub few: Vec<Few>,
    /// Those whose programs ask others.
    pub asks: Vec<Asks>,
    /// Sentences: those whose programs ask others one after the other on one side alone, by server.
    pub at_once: BTreeMap<String, String>,
    /// Programs that give up requests on one side alone.
    pub gave_up: Vec<gave_up::Told>,
    /// Addresses that are tried in vain on one side alone.
    pub detours: Vec<detours::Detour>,
    /// Programs that divide their requests otherwise.
    pub divided: Vec<Divided>,
    /// Programs that pause within their requests on one side alone.
    pub paused: Vec<Pauses>,
    /// Servers that hold back what they stream on one side alone.
    pub streams: Vec<Streams>,
    /// Servers whose large answers take longer, or less long.
    pub large: Vec<Large>,
    /// Servers whose answers, or requests, have more bytes, or fewer.
    pub sizes: Vec<Sizes>,
    /// Servers whose connections have more exchanges, or fewer.
    pub exchanges: Vec<Exchanges>,
    /// What went to each server, on each side.
    pub moves: [Vec<Moves>; 2],
    /// Servers that ask another one a few at a time on one side alone.
    pub ceilings: Vec<pools::Ceiling>,
    /// Servers whose requests are of another mixture.
    pub kinds: Vec<Kinds>,
    /// Servers that packets reach by another way.
    pub ways: Vec<Way>,
}

impl Servers {
    pub fn of(before: &[Table], after: &[Table]) -> Servers {
        let mut out = Servers::default();
        for (at, side) in [before, after].into_iter().enumerate() {
            let mut took: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
            for (which, values) in side.iter().flatten().filter(|(w, _)| w.ledger == LEDGER) {
                let Some(server) = &which.service else { continue };
                if let Some(dev) = &which.dev {
                    out.devices.entry(server.clone()).or_default().insert(dev.clone());
                }
                if which.stage == "connect" {
                    took.entry(server)
                        .or_default()
                        .extend(values.at.iter().map(|v| v.value));
                }
            }
            for (server, mut ns) in took {
                let n = ns.len();
                let median = crate::stat::nearest_rank(&mut ns, 50).unwrap_or(0);
                if let Some(slot) = out.opened.entry(server.to_owned()).or_default().get_mut(at) {
                    *slot = (n, median);
                }
            }
        }
        out
    }
}
