//! Cgroups with a limit of CPU time, how often the kernel stopped what is in them while this was recorded, and which processes these are.
//!
//! In: the snapshots `cgroups` and `tasks`, of before and after (docs/bundle.md). Out: limits with what their counters rose by. Older recorders have no
//! such list: then nothing is known of any. Where it is not whole (a container sees its own cgroups only), that a process has no limit is not known.
//! Source: kernel/sched/fair.c `throttle_cfs_rq` (nr_throttled once per period and group, throttled time summed over CPUs).

use std::collections::{BTreeMap, BTreeSet};

use netmortem_formats::Capture;
use netmortem_formats::capture::SnapshotWhen;

pub mod tables;

use super::tasks::processes;
use super::{field, lines, number};
use crate::counters::is_flight;
use tables::CgroupRow;

/// Cgroups kept at most; a hostile file may hold any number.
const MOST: usize = 100_000;
/// Limits above one another.
const DEEPEST: usize = 64;

/// Counters of `cpu.stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stat {
    /// `nr_periods`.
    pub periods: u64,
    /// `nr_throttled`.
    pub throttled: u64,
    /// `throttled_usec`, or `throttled_time` of version 1; ns.
    pub throttled_ns: i64,
}

/// A cgroup with a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limited {
    /// Its path, as /proc/PID/cgroup has it.
    pub path: String,
    /// CPU time for each period, us.
    pub quota_us: u64,
    /// The period, us.
    pub period_us: u64,
    /// By how much its counters rose; `None`: not known.
    pub rose: Option<Stat>,
    /// Threads and processes in it, or below it and in no nearer one with a limit.
    pub pids: BTreeSet<i32>,
    within: Option<u64>,
}

impl Limited {
    /// `20 ms of CPU per 100 ms`: people set whole ms, as a rule.
    pub fn limit(&self) -> String {
        let of = |us: u64| match us % 1_000 {
            0 => format!("{} ms", us / 1_000),
            _ => format!("{us} µs"),
        };
        format!("{} of CPU per {}", of(self.quota_us), of(self.period_us))
    }

    /// Share of the periods in which it was stopped.
    pub fn share(&self) -> f64 {
        let rose = self.rose.unwrap_or_default();
        rose.throttled as f64 / rose.periods.max(1) as f64
    }
}

/// What is known of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Of<'l> {
    /// Nothing.
    Unknown,
    /// It is in no cgroup that has a limit.
    NoLimit,
    /// Limits that hold for it, the nearest first.
    Limits(Vec<&'l Limited>),
}

/// What the lists tell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CpuLimits {
    /// View `cgroups`, those stopped for longest first.
    pub rows: Vec<CgroupRow>,
    by_id: BTreeMap<u64, Limited>,
    /// The nearest limited cgroup of a thread or process, by what was read last.
    of_pid: BTreeMap<i32, u64>,
    /// Of version 1: files have other names.
    pub version_1: bool,
    /// A list is there; one of before and one of after.
    pub listed: (bool, bool),
    /// Both lists are there, and have all cgroups of the host.
    whole: bool,
    /// Process of each thread, and its name.
    tasks: BTreeMap<i32, (i32, String)>,
    /// The first list was read just after the trigger of a flight.
    pub since_trigger: bool,
}

impl CpuLimits {
    /// Of a capture.
    pub fn of(capture: &Capture) -> CpuLimits {
        let mut all = CpuLimits {
            since_trigger: capture.manifest.as_ref().is_some_and(is_flight),
            ..CpuLimits::default()
        };
        let (mut read, mut there) = ([false; 2], [false; 2]);
        let mut counted: BTreeMap<u64, [Option<Stat>; 2]> = BTreeMap::new();
        for (at, when) in [SnapshotWhen::Start, SnapshotWhen::End].into_iter().enumerate() {
            for l in lines(capture, "cgroups", move |w| w == when) {
                if let Some(version) = field(l, "hierarchy") {
                    all.version_1 |= version == "v1";
                    (read[at], there[at]) = (field(l, "whole") == Some("yes"), true);
                    continue;
                }
                let Some(id) = number(l, "id") else { continue };
                if let Some(limited) = limited(l).filter(|_| all.by_id.len() < MOST || all.by_id.contains_key(&id)) {
                    counted.entry(id).or_default()[at] = stat(l);
                    // The later limit is what holds.
                    let pids = all.by_id.remove(&id).map(|had| had.pids).unwrap_or_default();
                    all.by_id.insert(id, Limited { pids, ..limited });
                } else if let Some(of) = all.by_id.get_mut(&id) {
                    let pids = field(l, "pids").into_iter().flat_map(|p| p.split(','));
                    for pid in pids.filter_map(|p| p.parse::<i32>().ok()) {
                        of.pids.insert(pid);
                        all.of_pid.insert(pid, id);
                    }
                }
            }
        }
        for (id, of) in &mut all.by_id {
            of.rose = counted.get(id).and_then(|c| rose(*c, read[0]));
        }
        all.whole = read == [true; 2];
        all.listed = (there != [false; 2], there == [true; 2]);
        if !all.by_id.is_empty() || all.whole {
            let of = |(tid, (pid, name)): (i32, (i32, crate::name::Name))| (tid, (pid, name.text().to_string()));
            all.tasks = processes(capture).into_iter().map(of).collect();
        }
        all.rows = all.as_rows();
        all
    }

    /// Of a capture of one recording; of joined ones nothing is known.
    pub fn of_one(capture: &Capture, one: bool) -> CpuLimits {
        match one {
            true => CpuLimits::of(capture),
            false => CpuLimits::default(),
        }
    }

    /// Both lists have all cgroups of the host: who is in none that is listed has no limit.
    pub fn whole(&self) -> bool {
        self.whole
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Limited> {
        self.by_id.values()
    }

    /// Limits that hold for a thread.
    pub fn of_thread(&self, tid: i32) -> Of<'_> {
        let process = self.tasks.get(&tid).map(|t| t.0);
        let has = |pid: i32| self.by_id.get(self.of_pid.get(&pid)?);
        let Some(nearest) = has(tid).or_else(|| has(process?)) else {
            return match process.is_some() && self.whole {
                true => Of::NoLimit,
                false => Of::Unknown,
            };
        };
        let mut found = vec![nearest];
        let mut above = nearest.within;
        while let Some(of) = above
            .and_then(|id| self.by_id.get(&id))
            .filter(|_| found.len() < DEEPEST)
        {
            found.push(of);
            above = of.within;
        }
        Of::Limits(found)
    }

    /// What the limit is called.
    pub fn setting(&self) -> &'static str {
        match self.version_1 {
            true => "cpu.cfs_quota_us",
            false => "cpu.max",
        }
    }

    /// Whether a list of tasks has that thread.
    pub fn lists(&self, tid: i32) -> bool {
        self.tasks.contains_key(&tid)
    }

    /// A process's name, where a list has it.
    pub fn name(&self, pid: i32) -> Option<&str> {
        self.tasks.get(&pid).map(|t| t.1.as_str()).filter(|n| !n.is_empty())
    }

    /// The process of a thread, where a list has it.
    pub fn process(&self, tid: i32) -> i32 {
        self.tasks.get(&tid).map_or(tid, |t| t.0)
    }
}

fn limited(l: &str) -> Option<Limited> {
    Some(Limited {
        path: field(l, "path")?.to_owned(),
        quota_us: number(l, "quota_us")?,
        period_us: number(l, "period_us").filter(|n| *n > 0)?,
        rose: None,
        pids: BTreeSet::new(),
        within: number(l, "within"),
    })
}

fn stat(l: &str) -> Option<Stat> {
    let usec = number(l, "throttled_usec").map(|n| n.saturating_mul(1_000));
    let ns = usec.or_else(|| number(l, "throttled_time"))?;
    Some(Stat {
        periods: number(l, "nr_periods")?,
        throttled: number(l, "nr_throttled")?,
        throttled_ns: i64::try_from(ns).unwrap_or(i64::MAX),
    })
}

/// One that the first list, a whole one, does not have was made, or limited, later. Less than before: not the same one.
fn rose([before, after]: [Option<Stat>; 2], whole: bool) -> Option<Stat> {
    let (before, after) = (before.or_else(|| whole.then(Stat::default))?, after?);
    Some(Stat {
        periods: after.periods.checked_sub(before.periods)?,
        throttled: after.throttled.checked_sub(before.throttled)?,
        throttled_ns: Some(after.throttled_ns - before.throttled_ns).filter(|n| *n >= 0)?,
    })
}

/// Of such lists.
#[cfg(test)]
pub(crate) fn cpu_limits(texts: &[(&str, SnapshotWhen, &str)]) -> CpuLimits {
    CpuLimits::of(&crate::testing::listed(texts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use SnapshotWhen::{End, Start};

    const BEFORE: &str = "hierarchy=v2 visited=9 limited=2 whole=yes\n\
        id=1 path=/pod quota_us=50000 period_us=100000 nr_periods=10 nr_throttled=1 throttled_usec=5\nid=1 pids=7\n\
        id=2 path=/pod/web quota_us=20000 period_us=100000 within=1 nr_periods=10 nr_throttled=1 throttled_usec=5000\nid=2 pids=8,9\n";
    const AFTER: &str = "hierarchy=v2 visited=9 limited=3 whole=yes\n\
        id=1 path=/pod quota_us=50000 period_us=100000 nr_periods=30 nr_throttled=1 throttled_usec=5\nid=1 pids=7\n\
        id=2 path=/pod/web quota_us=20000 period_us=100000 within=1 nr_periods=110 nr_throttled=88 throttled_usec=4305000\nid=2 pids=8,10\n\
        id=3 path=/new quota_us=1000 period_us=1000 nr_periods=4 nr_throttled=2 throttled_time=77\n";
    const TASKS: &str = "8 8 web\n80 8 web-worker\n5 5 init\n";

    fn stat(periods: u64, throttled: u64, throttled_ns: i64) -> Option<Stat> {
        Some(Stat {
            periods,
            throttled,
            throttled_ns,
        })
    }

    #[test]
    fn what_rose_and_whose_it_is() {
        let all = cpu_limits(&[
            ("cgroups", Start, BEFORE),
            ("cgroups", End, AFTER),
            ("tasks", Start, TASKS),
        ]);
        let got: Vec<_> = all.all().map(|l| (l.path.as_str(), l.rose)).collect();
        let expected = [
            ("/pod", stat(20, 0, 0)),
            ("/pod/web", stat(100, 87, 4_300_000_000)),
            ("/new", stat(4, 2, 77)),
        ];
        assert_eq!(got, expected);
        let paths = |tid| match all.of_thread(tid) {
            Of::Limits(of) => of.iter().map(|l| l.path.clone()).collect(),
            other => vec![format!("{other:?}")],
        };
        // Itself, a thread of it, who was there before only, the pod's own; who is in none, and who is in no list of tasks.
        for tid in [8, 80, 9, 10] {
            assert_eq!(paths(tid), ["/pod/web", "/pod"]);
        }
        assert_eq!(paths(7), ["/pod"]);
        assert_eq!(
            (paths(5), paths(6)),
            (vec!["NoLimit".into()], vec!["Unknown".to_owned()])
        );
    }

    #[test]
    fn what_is_not_whole_or_not_there_is_not_known() {
        let part = BEFORE.replace("yes", "no");
        let all = cpu_limits(&[
            ("cgroups", Start, &part),
            ("cgroups", End, AFTER),
            ("tasks", End, TASKS),
        ]);
        assert_eq!(all.of_thread(5), Of::Unknown);
        assert_eq!(all.all().find(|l| l.path == "/new").unwrap().rose, None);
        let half = cpu_limits(&[("cgroups", Start, BEFORE)]);
        assert!(half.all().count() == 2 && half.all().all(|l| l.rose.is_none()));
        // Less than before, a limit in a circle, and nonsense.
        let odd = "hierarchy=v2 whole=yes\nid=2 path=/a quota_us=1 period_us=1 within=2 nr_periods=1 nr_throttled=0 throttled_usec=0\nid=2 pids=1,x,-3,99999999999\n\
            id=9 pids=4\nid=x path=/b\nid=4 path=/c quota_us=1 period_us=0\n\nid=5 quota_us=1 period_us=1\n";
        let all = cpu_limits(&[("cgroups", Start, BEFORE), ("cgroups", End, odd)]);
        assert_eq!(all.all().find(|l| l.path == "/a").unwrap().rose, None);
        assert!(matches!(all.of_thread(1), Of::Limits(of) if of.len() == DEEPEST));
        assert_eq!(cpu_limits(&[]), CpuLimits::default());
        assert_eq!(CpuLimits::default().of_thread(1), Of::Unknown);
    }
}
