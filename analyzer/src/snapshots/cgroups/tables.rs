//! Rows of the view `cgroups`.

use super::{CpuLimits, Limited};
use crate::table::{Cell, TableDef, col};

/// Processes of a cgroup that are named.
const NAMED: usize = 8;

/// A cgroup with a limit of CPU time.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CgroupRow {
    /// Its path, as /proc/PID/cgroup has it.
    pub path: String,
    /// Files of its limit: cpu.max, or cpu.cfs_quota_us of version 1.
    pub setting: &'static str,
    /// CPU time for each period, us.
    pub quota_us: u64,
    /// The period, us.
    pub period_us: u64,
    /// Periods in which something in it ran (nr_periods); `None`: not known, as the three below.
    pub periods: Option<u64>,
    /// Those in which it was stopped (nr_throttled).
    pub throttled: Option<u64>,
    /// Part of the periods.
    pub throttled_share: Option<f64>,
    /// Time stopped, summed over its CPUs, ns.
    pub throttled_ns: Option<i64>,
    /// Processes in it: `web/812`; so many at most.
    pub processes: Vec<String>,
    /// How many more there are.
    pub processes_more: u64,
}

impl CpuLimits {
    pub(super) fn as_rows(&self) -> Vec<CgroupRow> {
        let mut rows: Vec<CgroupRow> = self.all().map(|l| self.row(l)).collect();
        rows.sort_by(|x, y| (y.throttled_ns.cmp(&x.throttled_ns)).then_with(|| x.path.cmp(&y.path)));
        rows
    }

    fn row(&self, l: &Limited) -> CgroupRow {
        let name = |pid: &i32| {
            self.name(*pid)
                .map_or_else(|| pid.to_string(), |n| format!("{n}/{pid}"))
        };
        CgroupRow {
            path: l.path.clone(),
            setting: self.setting(),
            quota_us: l.quota_us,
            period_us: l.period_us,
            periods: l.rose.map(|s| s.periods),
            throttled: l.rose.map(|s| s.throttled),
            throttled_share: l.rose.filter(|s| s.periods > 0).map(|_| l.share()),
            throttled_ns: l.rose.map(|s| s.throttled_ns),
            processes: l.pids.iter().take(NAMED).map(name).collect(),
            processes_more: l.pids.len().saturating_sub(NAMED) as u64,
        }
    }
}

/// The view.
pub static CGROUPS: TableDef<CgroupRow> = TableDef {
    name: "cgroups",
    meaning: "one row per cgroup with a limit of CPU time (a container's CPU limit is one): the limit, and in how many of its periods the kernel stopped what is in it between the \
              readings before and after the recording (cpu.stat); of a flight since its trigger",
    columns: &[
        col!("path", "", Str, "as /proc/PID/cgroup has it", |r, _| Cell::str(
            r.path.as_str()
        )),
        col!("quota_us", "us", U64, "CPU time for each period", |r, _| Cell::U64(
            r.quota_us
        )),
        col!("period_us", "us", U64, "the period", |r, _| Cell::U64(r.period_us)),
        col!(
            "periods",
            "count",
            U64,
            "periods in which something in it ran (nr_periods); empty: in one reading only",
            |r, _| r.periods.into()
        ),
        col!(
            "throttled",
            "count",
            U64,
            "those in which it was stopped (nr_throttled)",
            |r, _| r.throttled.into()
        ),
        col!("throttled_share", "", F64, "part of the periods", |r, _| r
            .throttled_share
            .into()),
        col!(
            "throttled_ns",
            "ns",
            I64,
            "time stopped, summed over its CPUs (throttled_usec, throttled_time)",
            |r, _| r.throttled_ns.into()
        ),
        col!(
            "processes",
            "",
            Str,
            "in it, or below it and in no nearer one with a limit, when they were listed: name/pid",
            |r, _| {
                let more = match r.processes_more {
                    0 => String::new(),
                    n => format!(" and {n} more"),
                };
                Cell::str(r.processes.join(" ") + &more)
            }
        ),
    ],
};

#[cfg(test)]
mod tests {
    use netmortem_formats::capture::SnapshotWhen::{End, Start};

    use super::super::cpu_limits;

    #[test]
    fn those_stopped_for_longest_come_first_with_their_processes() {
        let text = |n: u64| {
            format!(
                "hierarchy=v1 visited=9 limited=3 whole=yes\nid=1 path=/a quota_us=50000 period_us=100000 nr_periods={n} nr_throttled=0 throttled_time=0\n\
                 id=2 path=/b quota_us=20000 period_us=100000 nr_periods={n} nr_throttled={} throttled_time={}\nid=2 pids=1,2,3,4,5,6,7,8,9,10\n",
                n / 2,
                n * 7
            )
        };
        let late = "id=3 path=/c quota_us=1 period_us=1 nr_periods=1 nr_throttled=1\n";
        let all = cpu_limits(&[
            ("cgroups", Start, &text(10)),
            ("cgroups", End, &(text(110) + late)),
            ("tasks", End, "2 2 web\n"),
        ]);
        let rows = all.rows;
        let told: Vec<_> = (rows.iter())
            .map(|r| {
                (
                    r.path.as_str(),
                    r.periods,
                    r.throttled,
                    r.throttled_share,
                    r.throttled_ns,
                )
            })
            .collect();
        let expected = [
            ("/b", Some(100), Some(50), Some(0.5), Some(700)),
            ("/a", Some(100), Some(0), Some(0.0), Some(0)),
            // Its counters are not whole.
            ("/c", None, None, None, None),
        ];
        assert_eq!(told, expected);
        assert_eq!((rows[0].setting, rows[0].processes_more), ("cpu.cfs_quota_us", 2));
        assert_eq!(rows[0].processes[..3], ["1", "web/2", "3"]);
    }
}
