//! What the verdict begins with: what users feel (answers, the speed of transfers), then counts that load does not explain, each with the settings that
//! differ beside it. A sentence each; only what the comparison called.

use std::collections::BTreeSet;

use super::resent::Told;
use super::verdict::Outcome;
use crate::analyses::verdict::duration;
use crate::diff::SettingChange;
use crate::diff::judged::{
    beside,
    compare::{Metric, Shift},
    rates::{Kind, Rate},
    recurs, tails,
};
use crate::diff::servers::{
    Servers, answers::LEDGER, asks::Asks, clients::server_of, exchanges::CONVERSATION, held, parts, pools, reopened,
};
use crate::diff::sides::options::DiffOptions;
use crate::diff::values::{again::RETRANSMITS, metrics::Which, rtt, speed::Speeds};

/// Sentences of each kind at most.
pub(in crate::diff) const MOST: usize = 2;

/// What there is to begin with.
pub(in crate::diff) struct Leading<'d> {
    pub metrics: &'d [Metric],
    pub rates: &'d [Rate],
    pub settings: &'d [SettingChange],
    pub servers: &'d Servers,
    pub speeds: &'d Speeds,
    pub resent: &'d Told,
    pub options: &'d DiffOptions,
}

/// What was said, and which settings were named in it.
#[derive(Default)]
pub(in crate::diff) struct Lead {
    pub sentences: Vec<String>,
    /// Answers that did not change: that is what users want to know, too, and heads nothing.
    pub unmoved: Option<String>,
    pub settings: BTreeSet<usize>,
    /// Servers of whose answers something was said.
    pub users: BTreeSet<Option<String>>,
    /// Something judged worse was said.
    pub worse: bool,
    /// Which of `Servers::asks` were said.
    pub asks: BTreeSet<usize>,
    /// Which rates of openings were said.
    pub opened: BTreeSet<String>,
    /// Which of `Servers::sizes` were said.
    pub sizes: BTreeSet<usize>,
    /// Which of `Servers::exchanges` were said.
    pub exchanges: BTreeSet<usize>,
}

fn of_users(m: &Metric) -> bool {
    m.which.ledger == LEDGER && m.which.stage != "qdisc"
}

pub(super) fn server(m: &Metric) -> String {
    m.which
        .service
        .as_ref()
        .map_or_else(|| "all servers".into(), Clone::clone)
}

/// `p50 144.8 µs -> 19.11 ms (132 times as long)`.
pub(in crate::diff) fn moved(s: &Shift) -> String {
    let times = s.after as f64 / s.before.max(1) as f64;
    let times = match (s.before > 0 && times >= 2.0, s.before) {
        (true, _) if times >= 10.0 => format!(" ({times:.0} times as long)"),
        (true, _) => format!(" ({times:.1} times as long)"),
        (false, 1..) => format!(" ({:+.0} %)", 100.0 * (times - 1.0)),
        _ => String::new(),
    };
    format!("p{} {} -> {}{times}", s.percent, duration(s.before), duration(s.after))
}

impl Leading<'_> {
    pub fn lead(&self) -> Lead {
        let mut out = Lead::default();
        self.paused(&mut out);
        let paused = !out.sentences.is_empty();
        // What is worse stands first, whatever else became better.
        let slower = |r: &&Rate| r.kind == Kind::Speed || r.metric.starts_with(RETRANSMITS);
        let worse_behind = self.rates.iter().filter(slower).any(|r| r.outcome == Outcome::Worse);
        self.users(&mut out, |o| o == Outcome::Worse || !worse_behind);
        super::forwarding::say(self, &mut out);
        let mixtures = self.servers.kinds.iter().filter(|k| k.mixture);
        for k in mixtures.take(MOST) {
            self.say(&mut out, k.sentence.clone(), vec![]);
        }
        self.ways(&mut out);
        for d in self.servers.divided.iter().take(MOST) {
            self.say(&mut out, d.sentence.clone(), vec![]);
        }
        self.speeds(&mut out);
        self.sent_again(&mut out);
        if worse_behind {
            self.users(&mut out, |o| o == Outcome::Better);
        }
        let moved = |m: &Metric| of_users(m) && matches!(m.outcome, Outcome::Worse | Outcome::Better);
        if !paused && !self.metrics.iter().any(moved) {
            out.unmoved = super::unmoved::sentence(self.metrics);
        }
        self.failed(&mut out);
        self.opened(&mut out);
        self.frames(&mut out);
        out
    }

    /// Adds a sentence and the settings beside it that were not named yet.
    pub(in crate::diff) fn say(&self, out: &mut Lead, sentence: String, beside: Vec<usize>) {
        let new: Vec<usize> = beside.into_iter().filter(|at| out.settings.insert(*at)).collect();
        let words = beside::words(self.settings, &new);
        let differ = match words.is_empty() {
            true => String::new(),
            false => format!(" What differs too: {}.", words.join("; ")),
        };
        out.sentences.push(format!("{sentence}.{differ}"));
    }

    fn users(&self, out: &mut Lead, which: impl Fn(Outcome) -> bool) {
        let changed =
            |m: &&Metric| of_users(m) && matches!(m.outcome, Outcome::Worse | Outcome::Better) && which(m.outcome);
        let mut said: BTreeSet<Option<String>> = out.users.clone();
        // Of one server what its clients felt, before what it did itself.
        let mut all: Vec<&Metric> = self.metrics.iter().filter(changed).collect();
        let order = ["conversation", "call", "response", "connect", "turnaround", "unread"];
        // Others may have waited behind larger ones.
        let larger = |m: &Metric| self.servers.larger(m.which.service.as_deref());
        all.sort_by_key(|m| (m.outcome, !larger(m), order.iter().position(|s| *s == m.which.stage)));
        let (all, behind) = reopened::outermost(all, &self.servers.asks);
        let most = MOST + behind.min(MOST);
        for m in all {
            let Some(s) = m
                .telling()
                .filter(|_| said.len() < most && said.insert(m.which.service.clone()))
            else {
                continue;
            };
            let (longer, n) = (s.shift > 0, format!("n {} -> {}", m.before.n, m.after.n));
            let how = if longer { "longer" } else { "less long" };
            let first = match m.which.stage {
                "call" => format!(
                    "Answers from {}, with the opening of their connection, take {how}",
                    server(m)
                ),
                "response" => format!("Answers from {} take {how}", server(m)),
                CONVERSATION => format!(
                    "Connections to {} take {how} from their opening to the last answer",
                    server(m)
                ),
                "connect" => format!("Connections to {} take {how} to open", server(m)),
                "unread" => format!("Requests lie unread {how} at {}", server(m)),
                _ => format!("{} itself takes {how} to answer", server(m)),
            };
            // What an opening takes is not by what is asked behind it.
            let answers = m.which.is_wait();
            let service = m.which.service.as_deref().filter(|_| answers);
            let turns = reopened::among(&self.servers.asks, service);
            let tenth = if answers { tails::beside(m) } else { String::new() } + &recurs::words(m);
            let mut sentence = format!("{first}: {}, {n}{turns}{tenth}", moved(s));
            let kind = (self.servers.kinds.iter())
                .find(|k| !k.mixture && k.worse == longer && Some(k.server.as_str()) == service);
            if let Some(kind) = kind {
                sentence += &format!("; {}", kind.sentence);
            }
            for (at, of) in self.servers.sizes_of(service, longer) {
                sentence += &format!("; {}", of.words(false));
                out.sizes.insert(at);
            }
            let whose = m.which.service.as_deref();
            let whose = whose.filter(|_| answers || m.which.stage == CONVERSATION);
            for (at, of) in self.servers.exchanges_of(whose, longer) {
                // Of each of its clients it is the same.
                if out.exchanges.insert(at) {
                    sentence += &format!("; {}", of.words());
                }
            }
            if m.which.stage == "call"
                && let Some((alone, s)) = self.alone(m)
            {
                let (b, a) = (duration(s.before), duration(s.after));
                sentence += &format!("; send to answer alone p{} {b} -> {a} ({})", s.percent, alone.word());
            }
            if let Some(parts) = self.grown(m) {
                sentence += &parts;
            }
            let waits = self.metrics.iter().filter(|q| {
                (q.which.stage, &q.which.service, q.outcome) == ("qdisc", &m.which.service, m.outcome)
                    && q.which.ledger == LEDGER
            });
            let mut beside = beside::of_metric(self.settings, &m.which, self.servers);
            for q in waits.take(MOST) {
                if let (Some(s), Some(dev)) = (q.telling(), &q.which.dev) {
                    let (b, a) = (duration(s.before), duration(s.after));
                    sentence += &format!("; their packets waited in the qdisc of {dev} p{} {b} -> {a}", s.percent);
                    sentence += &self.servers.behind(self.metrics, q);
                }
                // Those of this queue first.
                let own = beside::of_metric(self.settings, &q.which, self.servers);
                beside.retain(|at| !own.contains(at));
                beside.splice(0..0, own);
            }
            self.say(out, sentence, beside);
            out.users.insert(m.which.service.clone());
            out.worse |= m.outcome == Outcome::Worse;
            let own = |c: &&pools::Ceiling| Some(c.server.as_str()) == m.which.service.as_deref();
            for c in self.servers.ceilings.iter().filter(own).take(MOST) {
                self.say(out, c.sentence.clone(), vec![]);
            }
            self.asks(out, m.which.service.as_deref());
        }
    }

    /// How often the program of this server asks others.
    fn asks(&self, out: &mut Lead, server: Option<&str>) {
        if let Some(server) = server.map(server_of) {
            self.reopened(out, server);
            let new = |s: &&String| !out.sentences.iter().any(|said| said.starts_with(s.as_str()));
            if let Some(sentence) = self.servers.at_once.get(server).filter(new) {
                self.say(out, sentence.clone(), vec![]);
            }
        }
        let of = |x: &&(usize, &Asks)| x.1.is_said() && Some(x.1.server.as_str()) == server.map(server_of);
        let all: Vec<(usize, &Asks)> = self.servers.asks.iter().enumerate().collect();
        for (at, x) in all.iter().filter(of).take(MOST) {
            if out.asks.insert(*at) {
                self.say(out, x.sentence(), vec![]);
            }
        }
    }

    /// The answers without the opening of their connection.
    fn alone(&self, call: &Metric) -> Option<(&Metric, &Shift)> {
        let m = self.beside(call, "response")?;
        Some((m, m.shifts.first()?))
    }

    /// Another metric of the same server.
    fn beside(&self, of: &Metric, stage: &str) -> Option<&Metric> {
        let same =
            |m: &&Metric| (m.which.ledger, m.which.stage, &m.which.service) == (LEDGER, stage, &of.which.service);
        self.metrics.iter().find(same)
    }

    /// Which part of the answers it is that takes longer, or less long.
    fn grown(&self, m: &Metric) -> Option<String> {
        let alike = |of: &Metric| of.outcome == m.outcome;
        match m.which.stage {
            "call" | "response" => {
                let response = self.beside(m, "response").filter(|r| alike(r))?;
                let service = m.which.service.as_deref().unwrap_or_default();
                let [b, a] = self.servers.parts.get(service)?;
                let longer = m.telling().is_some_and(|s| s.shift > 0);
                let answers = (response.before.n, response.after.n);
                let said = parts::said((b, answers.0), (a, answers.1), longer)?;
                // What held is of all clients of a server.
                let of_all = server_of(service) == service;
                let way = parts::way_longer(b, a).filter(|_| longer && of_all);
                let held = way.and_then(|by| held::said(&self.servers.held, server_of(service), answers, by));
                Some(said + &held.unwrap_or_default())
            }
            "turnaround" => {
                let unread = self.beside(m, "unread").filter(|u| alike(u))?;
                Some(format!("; of that unread {}", moved(unread.telling()?)))
            }
            _ => None,
        }
    }

    /// Of bulk transfers, those that became slower first.
    fn speeds(&self, out: &mut Lead) {
        let of = |r: &&Rate| r.kind == Kind::Speed && r.outcome != Outcome::Same;
        let mut all: Vec<&Rate> = self.rates.iter().filter(of).collect();
        all.sort_by_key(|r| r.outcome);
        for r in all.into_iter().take(MOST) {
            if let Some(sentence) = self.speeds.said(r) {
                self.say(out, sentence, beside::of_rate(self.settings, &r.metric, self.servers));
                out.worse |= r.outcome == Outcome::Worse;
            }
        }
    }

    /// What was sent again, those that became more first; and round trips.
    fn sent_again(&self, out: &mut Lead) {
        let mut told: BTreeSet<String> = BTreeSet::new();
        let mut all: Vec<&Rate> = self.rates.iter().filter(|r| r.outcome != Outcome::Same).collect();
        // Of all services together only where no one tells whose.
        all.retain(|r| r.metric.starts_with(RETRANSMITS));
        if all.len() > 1 {
            all.retain(|r| r.metric != RETRANSMITS);
        }
        all.sort_by_key(|r| r.outcome);
        for r in all.into_iter().take(MOST) {
            if let Some((sentence, way)) = self.resent.said(r, self.rates, self.metrics) {
                told.extend(way);
                self.say(out, sentence, beside::of_rate(self.settings, &r.metric, self.servers));
                out.worse |= r.outcome == Outcome::Worse;
            }
        }
        let moved = |m: &&Metric| rtt::is(&m.which) && matches!(m.outcome, Outcome::Worse | Outcome::Better);
        let ways = self.metrics.iter().filter(moved).filter(|m| !told.contains(&m.metric));
        for m in ways.take(MOST) {
            let Some(s) = m.telling() else { continue };
            let how = if s.shift > 0 { "longer" } else { "less long" };
            let sentence = format!(
                "Round trips to {}, while data is under way, take {how}: {}",
                server(m),
                self::moved(s)
            );
            self.say(out, sentence, vec![]);
            out.worse |= m.outcome == Outcome::Worse;
        }
    }

    fn paused(&self, out: &mut Lead) {
        for p in self.servers.paused.iter().take(MOST) {
            self.say(out, p.sentence(), vec![]);
            out.worse |= p.worse;
        }
        for s in self.servers.streams.iter().take(MOST) {
            self.say(out, s.sentence.clone(), vec![]);
            out.worse |= s.worse;
        }
        for l in self.servers.large.iter().take(MOST) {
            let which = Which::new(LEDGER, "response").of_service(&l.server);
            let mut beside = beside::of_metric(self.settings, &which, self.servers);
            // Buffers first.
            let buffer = |at: &usize| self.settings.get(*at).is_some_and(|s| s.name.contains("mem"));
            beside.sort_by_key(|at| !buffer(at));
            let limit = self.settings.iter().find_map(|s| l.limited(s)).unwrap_or_default();
            self.say(out, format!("{}{limit}", l.sentence), beside);
            out.worse |= l.worse;
        }
    }

    /// Ways to servers whose answers changed.
    fn ways(&self, out: &mut Lead) {
        let changed = |m: &&Metric| of_users(m) && matches!(m.outcome, Outcome::Worse | Outcome::Better);
        let of: BTreeSet<&str> = (self.metrics.iter().filter(changed))
            .filter_map(|m| m.which.service.as_deref())
            .map(server_of)
            .collect();
        for w in self
            .servers
            .ways
            .iter()
            .filter(|w| of.contains(w.server.as_str()))
            .take(MOST)
        {
            self.say(out, w.sentence.clone(), vec![]);
        }
    }
}
