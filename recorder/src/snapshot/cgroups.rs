//! Limits of CPU time (bandwidth control), and how often the kernel stopped who used them up: a container's CPU limit is one.
//!
//! In: the hierarchy with the controller `cpu` (`cgroup_mount`). Out: what was looked at, a line per cgroup that has a limit, and the processes in it
//! or below it, down to the next that has one. It must not take long: the walk is bounded in cgroups, depth and time, and a cgroup without children
//! is asked for its limit only. Follows kernel/sched/core.c `cpu_max_show`, `cpu_cfs_stat_show`, `cpu_extra_stat_show`, fs/kernfs (links of a folder: its children and 2).
//!
//! ```text
//! hierarchy=v2 visited=412 limited=1 whole=yes
//! id=4711 path=/kubepods.slice/web quota_us=20000 period_us=100000 nr_periods=100 nr_throttled=87 throttled_usec=4300000 usage_usec=1990000
//! id=4711 pids=812,813
//! ```
//!
//! v1: cpu.cfs_quota_us, cpu.cfs_period_us, cpu.stat (`throttled_time`, ns). v2: cpu.max, cpu.stat (`throttled_usec`).

use std::ffi::CString;
use std::fmt::Write;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use netmortem_formats::bundle::CPU_STAT_COUNTERS;
use rustix::buffer::spare_capacity;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, open, openat, statat};
use rustix::io::Errno;

use super::addresses::MOST as MOST_PIDS;
use super::cgroup_mount::{Mount, Version};
use super::netlink::word;

/// No more cgroups are looked at, nor deeper ones, nor for longer.
const MOST_VISITED: usize = 10_000;
const DEEPEST: usize = 32;
const PATIENCE: Duration = Duration::from_millis(100);
/// No more with a limit are told.
const MOST_LIMITED: usize = 2_000;
/// Processes in a line.
const IN_LINE: usize = 100;
/// Bytes of a file read: of `cgroup.procs` those of all that are told.
const FILE_BYTES: usize = 4 << 10;
const PROCS_BYTES: usize = 128 << 10;

/// What is looked at at most; a test takes less.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub visited: usize,
    pub limited: usize,
    pub depth: usize,
    pub pids: usize,
    pub patience: Duration,
}

pub(super) const BOUNDS: Bounds = Bounds {
    visited: MOST_VISITED,
    limited: MOST_LIMITED,
    depth: DEEPEST,
    pids: MOST_PIDS,
    patience: PATIENCE,
};

/// What a walk found.
#[derive(Debug, Default)]
pub struct Limits {
    pub text: String,
    /// There was more than is looked at or told: why.
    pub cut: Option<&'static str>,
}

/// Of the recorder's own mounts; no text where none is mounted.
pub fn limits() -> Limits {
    super::cgroup_mount::find().map_or_else(Limits::default, |mount| of(&mount, BOUNDS))
}

/// Of a mount.
pub(super) fn of(mount: &Mount, bounds: Bounds) -> Limits {
    let Ok(root) = open(&mount.at, FOLDER, Mode::empty()) else {
        return Limits::default();
    };
    let mut walk = Walk {
        version: mount.version,
        bounds,
        began: Instant::now(),
        visited: 0,
        limited: 0,
        room: bounds.pids,
        text: String::new(),
        cut: None,
        ended: false,
        refused: false,
    };
    let path = mount.root.trim_end_matches('/').to_owned();
    if let Ok(about) = rustix::fs::fstat(&root) {
        let here = Here {
            id: about.st_ino,
            leaf: about.st_nlink == 2,
            depth: 0,
            may_limit: true,
        };
        walk.cgroup(&root, ".", here, &path, None);
    }
    let whole = match walk.cut.is_none() && !walk.refused && !mount.part {
        true => "yes",
        false => "no",
    };
    let head = format!(
        "hierarchy={} visited={} limited={} whole={whole}\n",
        mount.version.name(),
        walk.visited,
        walk.limited
    );
    Limits {
        text: head + &walk.text,
        cut: walk.cut,
    }
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// What is known of a cgroup before it is looked at.
#[derive(Clone, Copy)]
struct Here {
    id: u64,
    /// It has no children (its folder has two links).
    leaf: bool,
    depth: usize,
    /// Its parent lets it have a limit (v2: cgroup.subtree_control).
    may_limit: bool,
}

struct Walk {
    version: Version,
    bounds: Bounds,
    began: Instant,
    visited: usize,
    limited: usize,
    room: usize,
    text: String,
    cut: Option<&'static str>,
    /// Nothing more is looked at.
    ended: bool,
    refused: bool,
}

impl Walk {
    /// The cgroup `name` of a folder, and those below it; `within`: the nearest above that has a limit.
    fn cgroup(&mut self, parent: &OwnedFd, name: &str, here: Here, path: &str, within: Option<u64>) {
        let full = self.visited >= self.bounds.visited;
        // The clock is cheap beside a cgroup's files.
        let slow = self.began.elapsed() > self.bounds.patience;
        if full || slow {
            self.cut = Some(if full { "there are too many" } else { "it took too long" });
            self.ended = true;
            return;
        }
        self.visited += 1;
        let limit = match here.may_limit {
            true => self.limit(parent, name),
            false => None,
        };
        let told = limit.filter(|_| {
            if self.limited >= self.bounds.limited {
                self.cut = Some("there are too many with a limit");
            }
            self.limited < self.bounds.limited
        });
        // Cgroups without children and without anything to tell end here: the most by far.
        if told.is_none() && within.is_none() && here.leaf {
            return;
        }
        let Some(folder) = self.read(openat(parent, name, FOLDER, Mode::empty())) else {
            return;
        };
        let within = match told {
            Some(limit) => {
                self.limited += 1;
                self.tell(&folder, here.id, path, &limit, within);
                Some(here.id)
            }
            None => within,
        };
        if let Some(id) = within {
            self.processes(&folder, id);
        }
        if !here.leaf {
            self.children(folder, here, path, within);
        }
    }

    fn children(&mut self, folder: OwnedFd, here: Here, path: &str, within: Option<u64>) {
        let may_limit = match self.version {
            Version::V1 => true,
            Version::V2 => self
                .text_of(&folder, "cgroup.subtree_control", FILE_BYTES)
                .is_some_and(|t| t.split_ascii_whitespace().any(|c| c == "cpu")),
        };
        if !may_limit && within.is_none() {
            return;
        }
        if here.depth >= self.bounds.depth {
            self.cut = Some("they are too deep");
            return;
        }
        let Some(mut entries) = self.read(Dir::read_from(&folder)) else {
            return;
        };
        while let Some(Ok(entry)) = entries.next() {
            let bytes = entry.file_name().to_bytes();
            if entry.file_type() != FileType::Directory || matches!(bytes, b"." | b"..") {
                continue;
            }
            let Ok(name) = std::str::from_utf8(bytes) else {
                // Of a name that is no text nothing can be told; it is said that something is missing.
                self.refused = true;
                continue;
            };
            let Some(about) = self.read(statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)) else {
                continue;
            };
            let child = Here {
                id: about.st_ino,
                leaf: about.st_nlink == 2,
                depth: here.depth + 1,
                may_limit,
            };
            self.cgroup(&folder, name, child, &format!("{path}/{name}"), within);
            if self.ended {
                return;
            }
        }
    }

    /// Quota and period, us; `None`: it has no limit.
    fn limit(&mut self, parent: &OwnedFd, name: &str) -> Option<(u64, u64)> {
        match self.version {
            Version::V1 => {
                let quota = number(&self.text_of(parent, &format!("{name}/cpu.cfs_quota_us"), FILE_BYTES)?)?;
                let period = self.text_of(parent, &format!("{name}/cpu.cfs_period_us"), FILE_BYTES)?;
                Some((quota, number(&period)?))
            }
            Version::V2 => {
                let max = self.text_of(parent, &format!("{name}/cpu.max"), FILE_BYTES)?;
                let (quota, period) = max.split_once(' ')?;
                Some((number(quota)?, number(period)?))
            }
        }
    }

    fn tell(&mut self, folder: &OwnedFd, id: u64, path: &str, (quota, period): &(u64, u64), within: Option<u64>) {
        let path = if path.is_empty() { "/" } else { path };
        let line = format!("id={id} path={} quota_us={quota} period_us={period}", word(path));
        self.text.push_str(&line);
        if let Some(above) = within {
            _ = write!(self.text, " within={above}");
        }
        let burst = match self.version {
            Version::V1 => "cpu.cfs_burst_us",
            Version::V2 => "cpu.max.burst",
        };
        if let Some(n) = self.text_of(folder, burst, FILE_BYTES).and_then(|t| number(&t)) {
            _ = write!(self.text, " burst_us={n}");
        }
        let stat = self.text_of(folder, "cpu.stat", FILE_BYTES).unwrap_or_default();
        for line in stat.lines() {
            if let Some((name, n)) = line.split_once(' ')
                && CPU_STAT_COUNTERS.contains(&name)
                && let Some(n) = n.trim().parse::<u64>().ok()
            {
                _ = write!(self.text, " {name}={n}");
            }
        }
        self.text.push('\n');
    }

    /// Processes in a cgroup; of a threaded one its threads.
    fn processes(&mut self, folder: &OwnedFd, id: u64) {
        let all = self
            .text_of(folder, "cgroup.procs", PROCS_BYTES)
            .or_else(|| self.text_of(folder, "cgroup.threads", PROCS_BYTES));
        // 0: of another pid namespace.
        let pids: Vec<&str> = all
            .iter()
            .flat_map(|t| t.lines())
            .filter(|l| number(l).is_some())
            .collect();
        let told = pids.get(..self.room.min(pids.len())).unwrap_or_default();
        if told.len() < pids.len() {
            self.cut = Some("they have too many processes");
        }
        self.room -= told.len();
        for some in told.chunks(IN_LINE) {
            _ = writeln!(self.text, "id={id} pids={}", some.join(","));
        }
    }

    /// A file that is there; read at once, as kernfs gives a text of less than a page.
    fn text_of(&mut self, folder: impl AsFd, name: &str, bytes: usize) -> Option<String> {
        let path = CString::new(name).ok()?;
        let file: File = self
            .read(openat(folder, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()))?
            .into();
        let mut out = Vec::with_capacity(bytes);
        loop {
            match rustix::io::read(&file, spare_capacity(&mut out)) {
                Err(Errno::INTR) => {}
                Err(_) => return None,
                Ok(0) => break,
                // The end of a short text needs no second call.
                Ok(_) if bytes == FILE_BYTES || out.len() == bytes => break,
                Ok(_) => {}
            }
        }
        Some(String::from_utf8_lossy(&out).into_owned())
    }

    /// What is not there, or goes meanwhile, is nothing; what is refused is not known.
    fn read<T>(&mut self, done: rustix::io::Result<T>) -> Option<T> {
        match done {
            Ok(t) => Some(t),
            Err(Errno::NOENT | Errno::NODEV | Errno::OPNOTSUPP | Errno::NOTDIR) => None,
            Err(_) => {
                self.refused = true;
                None
            }
        }
    }
}

/// Above 0: `max`, -1 and 0 are no limit, and no process.
fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|n| *n > 0)
}
