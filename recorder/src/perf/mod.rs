//! The perf backend: tracepoints through perf_event_open, for hosts where tracefs can be read and not written, and for what
//! one cgroup or process does.
//!
//! In: the same plan as for a tracing instance. Out: a bundle with `perf/` members (`docs/bundle.md`). It must not write
//! below tracefs, decode payloads, or leave anything behind: all it makes are file descriptors, which go with it.
//! Follows perf_event_open(2) and include/uapi/linux/perf_event.h.
//!
//! ```text
//! events of the profile -> ids (tracefs, read only) -> one fd for each event and CPU, switched off
//!   per CPU: a dummy event owns the ring (mmap), all others write into it (SET_OUTPUT)
//! switched on -> per CPU a thread: poll at a quarter -> bytes from tail to head -> batch of whole records -> zstd -> member
//! switched off -> rest of every ring -> read of every fd: events seen, events lost -> end.json
//! ```

mod count;
mod drain;
mod events;
mod run;
#[allow(unsafe_code)] // system calls that have no safe interface, and the memory shared with the kernel
mod sys;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use crate::error::RecordError;
use crate::instance::Instance;
use crate::options::RecordOptions;
use crate::tracefs;

pub use count::{Counted, count_perf};
pub use run::record_perf;

/// How events reach the recorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backend {
    /// A tracing instance, unless one cannot be made, or only a cgroup or processes are asked for.
    #[default]
    Auto,
    /// A tracing instance.
    Ftrace,
    /// perf_event_open.
    Perf,
}

impl Backend {
    /// The backend of a name.
    pub fn parse(name: &str) -> Option<Backend> {
        match name {
            "auto" => Some(Backend::Auto),
            "ftrace" => Some(Backend::Ftrace),
            "perf" => Some(Backend::Perf),
            _ => None,
        }
    }
}

/// What the perf backend alone can do, and which backend is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PerfOptions {
    /// Which backend.
    pub backend: Backend,
    /// Only what tasks of this cgroup do: a folder, or a path below /sys/fs/cgroup.
    pub cgroup: Option<PathBuf>,
    /// Only what these processes, and what they start, do.
    pub pids: Vec<u32>,
}

impl PerfOptions {
    /// Whether no tracing instance will do.
    pub fn is_asked_for(&self) -> bool {
        self.backend == Backend::Perf || self.cgroup.is_some() || !self.pids.is_empty()
    }
}

/// What was chosen.
pub enum Chosen {
    /// This instance, and instances that were removed as leftovers.
    Ftrace(Instance, Vec<String>),
    /// perf, and why.
    Perf(String),
}

/// Chooses, and makes the instance where that is the choice.
pub fn choose(options: &RecordOptions, tracefs: &std::path::Path) -> Result<Chosen, RecordError> {
    let perf = &options.perf;
    let only = match (&perf.cgroup, perf.pids.is_empty()) {
        (Some(_), _) => Some("--cgroup"),
        (None, false) => Some("--pid"),
        (None, true) => None,
    };
    match (perf.backend, only) {
        (Backend::Ftrace, Some(option)) => Err(RecordError::Perf {
            because: format!("{option} needs the perf backend: a tracing instance records every task"),
        }),
        (Backend::Perf, _) => Ok(Chosen::Perf("asked for".to_owned())),
        (Backend::Auto, Some(option)) => Ok(Chosen::Perf(format!("{option} was asked for"))),
        (Backend::Ftrace, None) => {
            let (instance, removed) = Instance::create(tracefs)?;
            Ok(Chosen::Ftrace(instance, removed))
        }
        (Backend::Auto, None) => match Instance::create(tracefs) {
            Ok((instance, removed)) => Ok(Chosen::Ftrace(instance, removed)),
            // Where perf is refused, too, the first refusal is the one that matters.
            Err(refused) => match tracefs::list(&tracefs.join("events")).is_empty() || !events::may_open(tracefs) {
                true => Err(refused),
                false => Ok(Chosen::Perf(format!("no tracing instance can be made ({refused})"))),
            },
        },
    }
}
