//! A private tracing instance: its own ring buffers, clock, filters and switches. Removing it undoes all of them.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use netmortem_formats::CpuStats;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::RecordError;
use crate::{hist, tracefs};

const PREFIX: &str = "netmortem-";
/// Names tried.
const MOST: u32 = 1000;

/// An instance of ours. Dropping it stops tracing and removes it; all its `trace_pipe_raw` must be closed before.
#[derive(Debug)]
pub struct Instance {
    path: PathBuf,
    name: String,
    /// Held while we live: it tells a later recorder that this instance is not a leftover, whatever the pid says.
    _lock: File,
}

impl Instance {
    /// Removes leftovers of dead recorders, then creates an instance with tracing off. Returns what was removed, too.
    pub fn create(tracefs: &Path) -> Result<(Instance, Vec<String>), RecordError> {
        let instances = tracefs.join("instances");
        let removed = remove_stale(&instances);
        let pid = std::process::id();
        for n in 0..MOST {
            let name = format!("{PREFIX}{pid}-{n}");
            let path = instances.join(&name);
            match fs::create_dir(&path) {
                Ok(()) => {
                    // Without its lock the next recorder would take it for a leftover.
                    let Some(locked) = lock(&path) else {
                        let _ = fs::remove_dir(&path);
                        continue;
                    };
                    let this = Instance {
                        path,
                        name,
                        _lock: locked,
                    };
                    this.write("tracing_on", "0")?;
                    return Ok((this, removed));
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(e) => return Err(RecordError::tracefs("creating", path, e)),
            }
        }
        Err(RecordError::NoTracefs)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// A path inside it.
    pub fn join(&self, file: &str) -> PathBuf {
        self.path.join(file)
    }
    /// Writes one of its files.
    pub fn write(&self, file: &str, value: &str) -> Result<(), RecordError> {
        tracefs::write(&self.join(file), value)
    }
    /// Reads one of its files.
    pub fn read(&self, file: &str) -> Result<String, RecordError> {
        Ok(String::from_utf8_lossy(&tracefs::read(&self.join(file))?).into_owned())
    }

    /// Empties its ring buffers and sets their statistics to 0 (opening `trace` for writing does that).
    pub fn reset(&self) -> Result<(), RecordError> {
        self.write("trace", "")
    }

    /// Sets the best clock this kernel has: comparable between CPUs and with CLOCK_MONOTONIC first. Returns its name.
    pub fn set_clock(&self) -> Result<&'static str, RecordError> {
        let known = self.read("trace_clock")?;
        let known: Vec<&str> = known.split_whitespace().map(|c| c.trim_matches(['[', ']'])).collect();
        let clock = ["mono", "global"]
            .into_iter()
            .find(|c| known.contains(c))
            .unwrap_or("local");
        self.write("trace_clock", clock)?;
        Ok(clock)
    }

    /// CPU numbers that have a ring buffer.
    pub fn cpus(&self) -> Vec<u32> {
        let names = tracefs::list(&self.join("per_cpu"));
        let mut cpus: Vec<u32> = names
            .iter()
            .filter_map(|n| n.strip_prefix("cpu")?.parse().ok())
            .collect();
        cpus.sort_unstable();
        cpus
    }

    /// `per_cpu/cpuN/stats`.
    pub fn stats(&self, cpu: u32) -> Result<CpuStats, RecordError> {
        let text = self.read(&format!("per_cpu/cpu{cpu}/stats"))?;
        Ok(parse_stats(&self.name, cpu, &text))
    }

    /// Removes it now, and says so when that fails.
    pub fn remove(self) -> Result<(), RecordError> {
        self.remove_now()
            .map_err(|e| RecordError::tracefs("removing", &self.path, e))
    }

    fn remove_now(&self) -> io::Result<()> {
        let _ = self.write("tracing_on", "0");
        remove_instance(&self.path)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Nothing more can be done about a failure here; the next recorder removes a leftover.
        let _ = self.remove_now();
    }
}

/// The numbers of a `stats` text.
pub fn parse_stats(instance: &str, cpu: u32, text: &str) -> CpuStats {
    let value = |key: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(':'));
        line.and_then(|v| v.trim().parse().ok()).unwrap_or(0)
    };
    CpuStats {
        instance: instance.to_owned(),
        cpu,
        entries: value("entries"),
        overrun: value("overrun"),
        commit_overrun: value("commit overrun"),
        dropped_events: value("dropped events"),
        read_events: value("read events"),
        bytes: value("bytes"),
    }
}

/// An instance stays busy for a moment after its last reader closed, and as long as it has histogram triggers with variables.
fn remove_instance(path: &Path) -> io::Result<()> {
    let mut result = fs::remove_dir(path);
    if result.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::ResourceBusy) {
        hist::remove_all(path);
    }
    for _ in 0..100 {
        match &result {
            Err(e) if e.kind() == io::ErrorKind::ResourceBusy => std::thread::sleep(Duration::from_millis(20)),
            _ => break,
        }
        result = fs::remove_dir(path);
    }
    result
}

/// Locks an instance of ours. Another recorder that looks whether it is a leftover holds the lock for a moment.
fn lock(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    for _ in 0..50 {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(2)),
            done => return done.ok().map(|()| file),
        }
    }
    None
}

/// An instance that is being made is not locked for a moment; one of this age was.
const MADE: Duration = Duration::from_secs(3);

/// Removes instances whose recorder was killed: nobody holds the lock. The pid in the name tells only where to wait: one that is there and
/// young may be being made, and is left; one that is not may be of another pid namespace, so its instance must grow old, too.
fn remove_stale(instances: &Path) -> Vec<String> {
    let stale = |name: &String| {
        let pid = name
            .strip_prefix(PREFIX)
            .and_then(|r| r.split_once('-')?.0.parse::<u32>().ok());
        let path = instances.join(name);
        let age = || fs::metadata(&path).and_then(|m| m.modified()).ok()?.elapsed().ok();
        let (Some(pid), Some(young)) = (pid, age().map(|a| MADE.saturating_sub(a))) else {
            return false;
        };
        let unlocked = || {
            let f = File::open(&path).ok()?;
            flock(&f, FlockOperation::NonBlockingLockExclusive).ok().map(|()| f)
        };
        if !young.is_zero() {
            if Path::new(&format!("/proc/{pid}")).exists() || unlocked().is_none() {
                return false;
            }
            std::thread::sleep(young);
        }
        // Held until it is gone: who makes one of that name meanwhile cannot take it.
        unlocked().is_some_and(|_held| remove_instance(&path).is_ok())
    };
    tracefs::list(instances).into_iter().filter(stale).collect()
}
