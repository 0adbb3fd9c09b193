//! Where turnarounds passed: what their threads did, and asleep in which system call.

use rustc_hash::FxHashMap;

use crate::name::Name;
use crate::reconstruct::application::tables::TurnaroundRow;

/// One way to spend time.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Part {
    /// `running`, `run_queue`, `wakeup`, `asleep_in` a call, `asleep` (in other calls, or no event tells in which), `unknown`.
    pub state: &'static str,
    /// The system call of `asleep_in`; `unrecorded`: in none that was recorded.
    pub call: Option<String>,
    /// ns.
    pub ns: i64,
    /// Share of the whole, 0 to 1.
    pub share: f64,
}

/// Sums over turnarounds.
#[derive(Debug, Default)]
pub struct Parts {
    total: i64,
    running: i64,
    run_queue: i64,
    wakeup: i64,
    asleep: i64,
    unknown: i64,
    calls: FxHashMap<Name, i64>,
}

impl Parts {
    /// Adds a row.
    pub fn add(&mut self, r: &TurnaroundRow) {
        let s = &r.split;
        self.total = self.total.saturating_add(r.total_ns());
        self.running = self.running.saturating_add(s.running_ns);
        self.run_queue = self.run_queue.saturating_add(s.run_queue_ns);
        self.wakeup = self.wakeup.saturating_add(s.waking_ns.saturating_add(s.idle_exit_ns));
        self.unknown = self.unknown.saturating_add(s.unknown_ns);
        self.asleep = self.asleep.saturating_add(s.asleep_ns.saturating_sub(r.asleep_in_ns));
        if !r.asleep_in.is_empty() {
            let of = self.calls.entry(r.asleep_in).or_insert(0);
            *of = of.saturating_add(r.asleep_in_ns);
        }
    }
    /// The parts that are there, largest first.
    pub fn largest(&self) -> Vec<Part> {
        let part = |state, call, ns: i64| Part {
            state,
            call,
            ns,
            share: ns as f64 / self.total.max(1) as f64,
        };
        let mut all: Vec<Part> = [
            ("running", self.running),
            ("run_queue", self.run_queue),
            ("wakeup", self.wakeup),
            ("asleep", self.asleep),
            ("unknown", self.unknown),
        ]
        .into_iter()
        .map(|(state, ns)| part(state, None, ns))
        .collect();
        let calls = self.calls.iter();
        all.extend(calls.map(|(call, ns)| part("asleep_in", Some(call.text().into_owned()), *ns)));
        all.retain(|p| p.ns > 0);
        all.sort_by(|a, b| {
            b.ns.cmp(&a.ns)
                .then_with(|| (a.state, &a.call).cmp(&(b.state, &b.call)))
        });
        all
    }
}

impl Part {
    /// As a person says it.
    pub fn words(&self) -> String {
        match (self.state, self.call.as_deref()) {
            ("running", _) => "running".into(),
            ("run_queue", _) => "waiting for a CPU".into(),
            ("wakeup", _) => "being woken".into(),
            ("asleep_in", Some("unrecorded")) => "asleep, in no recorded system call".into(),
            ("asleep_in", Some(call)) => format!("asleep in {call}"),
            ("asleep", _) => "asleep".into(),
            _ => "no event tells what".into(),
        }
    }
}
