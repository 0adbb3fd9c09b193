//! The events of a plan as descriptors: one for each event, CPU and, of processes, thread.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, getrlimit, setrlimit};

use super::PerfOptions;
use super::sys::{Event, Ring, What, Whom};
use crate::error::RecordError;
use crate::plan::Target;
use crate::tracefs;

/// Tracefs as a plan sees it: filters are tried on an event that is closed again; nothing is written.
pub struct Wanted {
    root: PathBuf,
    /// Id and filter of each event that is wanted.
    events: RefCell<Vec<(u64, String)>>,
    filters: RefCell<Vec<(String, String)>>,
}

impl Wanted {
    /// With the events below this tracefs.
    pub fn new(tracefs: &Path) -> Wanted {
        Wanted {
            root: tracefs.to_path_buf(),
            events: RefCell::default(),
            filters: RefCell::default(),
        }
    }

    /// What the plan enabled.
    pub fn into_events(self) -> Vec<(u64, String)> {
        self.events.into_inner()
    }

    fn id(&self, folder: &str) -> Result<u64, RecordError> {
        let path = self.root.join(folder).join("id");
        let text = tracefs::read(&path)?;
        let id = String::from_utf8_lossy(&text).trim().parse();
        id.map_err(|_| RecordError::tracefs("reading", path, io::ErrorKind::InvalidData.into()))
    }
}

impl Target for Wanted {
    fn root(&self) -> PathBuf {
        self.root.clone()
    }

    fn set_filter(&self, folder: &str, filter: &str) -> bool {
        let event = self.id(folder).ok().and_then(|id| {
            let cpu = crate::host::machine().cpus_online.first().copied().unwrap_or(0);
            Event::open(What::Tracepoint(id), Whom::All, cpu).ok()
        });
        // Refused as a whole: opening it again will say why.
        let taken = event.is_none_or(|e| e.set_filter(filter).is_ok());
        if taken {
            self.filters.borrow_mut().push((folder.to_owned(), filter.to_owned()));
        }
        taken
    }

    fn enable(&self, folder: &str) -> Result<(), RecordError> {
        let id = self.id(folder)?;
        let filters = self.filters.borrow();
        let filter = filters.iter().rfind(|(f, _)| f == folder).map(|(_, f)| f.clone());
        self.events.borrow_mut().push((id, filter.unwrap_or_default()));
        Ok(())
    }
}

/// Whether this process may open a tracepoint of all tasks at all.
pub fn may_open(root: &Path) -> bool {
    let wanted = Wanted::new(root);
    let cpu = crate::host::machine().cpus_online.first().copied().unwrap_or(0);
    let id = wanted.id("events/sched/sched_switch");
    id.is_ok_and(|id| Event::open(What::Tracepoint(id), Whom::All, cpu).is_ok())
}

/// Of whom events are recorded.
pub enum Scope {
    /// All tasks.
    All,
    /// Threads.
    Threads(Vec<u32>),
    /// Tasks of a cgroup.
    Cgroup(OwnedFd, PathBuf),
}

impl Scope {
    /// As asked for.
    pub fn of(options: &PerfOptions) -> Result<Scope, RecordError> {
        let bad = |because| RecordError::Perf { because };
        if let Some(asked) = &options.cgroup {
            if !options.pids.is_empty() {
                return Err(bad("--cgroup and --pid: choose one".to_owned()));
            }
            let path = cgroup_folder(asked);
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let folder = rustix::fs::open(&path, flags, Mode::empty());
            let folder = folder.map_err(|e| bad(format!("--cgroup {}: {e}", path.display())))?;
            return Ok(Scope::Cgroup(folder, path));
        }
        let mut threads = Vec::new();
        for pid in &options.pids {
            let names = tracefs::list(Path::new(&format!("/proc/{pid}/task")));
            if names.is_empty() {
                return Err(bad(format!("--pid {pid}: there is no such process")));
            }
            threads.extend(names.iter().filter_map(|n| n.parse::<u32>().ok()));
        }
        Ok(match threads.is_empty() {
            true => Scope::All,
            false => Scope::Threads(threads),
        })
    }

    /// Whether all threads of `--pid`, and what they started, have ended: the kernel then hangs up their events.
    pub fn has_ended(&self, cpus: &[OnCpu]) -> bool {
        let Scope::Threads(threads) = self else { return false };
        // One kind of event of each thread is enough; of one that had ended before it was opened another's stands there.
        let events = cpus.first().map_or(&[][..], |c| &c.events);
        let one_kind = events.get(..threads.len()).unwrap_or(events);
        !one_kind.is_empty() && one_kind.iter().all(Event::has_hung_up)
    }

    fn whoms(&self) -> Vec<Whom<'_>> {
        match self {
            Scope::All => vec![Whom::All],
            Scope::Threads(t) => t.iter().map(|t| Whom::Thread(*t)).collect(),
            Scope::Cgroup(folder, _) => vec![Whom::Cgroup(folder)],
        }
    }
}

/// A folder as it is, or what lies at that path below the mount of cgroups.
fn cgroup_folder(asked: &Path) -> PathBuf {
    let below = |root: &str| Path::new(root).join(asked.strip_prefix("/").unwrap_or(asked));
    let tries = [
        asked.to_path_buf(),
        below("/sys/fs/cgroup"),
        below("/sys/fs/cgroup/unified"),
        below("/sys/fs/cgroup/perf_event"),
    ];
    let is_cgroup = |p: &&PathBuf| p.join("cgroup.procs").exists();
    tries.iter().find(is_cgroup).unwrap_or(&tries[0]).clone()
}

/// What was opened on one CPU.
pub struct OnCpu {
    /// The CPU.
    pub cpu: u32,
    /// Its events, which write into the ring.
    pub events: Vec<Event>,
}

/// A ring on each CPU, all of `bytes` (a power of two of pages), or of what this process may lock: half, half again.
/// Returns what it became.
fn rings(cpus: &[u32], mut bytes: usize) -> Result<(Vec<Ring>, usize), RecordError> {
    let ring = |cpu: u32, bytes: usize| {
        let wake_at = u32::try_from(bytes / 4).unwrap_or(u32::MAX);
        let owner = Event::open(What::Ring { wake_at }, Whom::All, cpu).map_err(refused)?;
        Ok(Ring::map(owner, bytes))
    };
    loop {
        // Those that were mapped are given back before the next try: the limit is of all together.
        let mapped: Result<io::Result<Vec<Ring>>, RecordError> = cpus.iter().map(|cpu| ring(*cpu, bytes)).collect();
        match mapped? {
            Ok(rings) => return Ok((rings, bytes)),
            Err(e) if e.raw_os_error() == Some(libc::EPERM) && bytes > rustix::param::page_size() => bytes /= 2,
            Err(source) => {
                return Err(RecordError::System {
                    doing: "mapping a ring of perf (kernel.perf_event_mlock_kb limits it without CAP_IPC_LOCK)",
                    source,
                });
            }
        }
    }
}

/// What [`open`] opened, and the bytes of each ring.
pub type Opened = (Vec<(OnCpu, Ring)>, usize);

/// Opens everything on every CPU, switched off.
pub fn open(wanted: &[(u64, String)], scope: &Scope, cpus: &[u32], ring_bytes: usize) -> Result<Opened, RecordError> {
    let whoms = scope.whoms();
    let needed = (wanted.len() * whoms.len() + 1) as u64 * cpus.len() as u64;
    raise_limit(needed)?;
    let mut out = Vec::new();
    let (rings, ring_bytes) = rings(cpus, ring_bytes)?;
    for (cpu, ring) in cpus.iter().zip(rings) {
        let mut events = Vec::with_capacity(wanted.len() * whoms.len());
        for (id, filter) in wanted {
            for whom in &whoms {
                let event = match Event::open(What::Tracepoint(*id), *whom, *cpu) {
                    Ok(e) => e,
                    // A thread that ended meanwhile.
                    Err(e) if e.raw_os_error() == Some(libc::ESRCH) => continue,
                    Err(e) => return Err(refused(e)),
                };
                event.output_into(&ring).map_err(refused)?;
                if !filter.is_empty() {
                    event.set_filter(filter).map_err(refused)?;
                }
                events.push(event);
            }
        }
        if events.is_empty() {
            return Err(RecordError::Perf {
                because: "no event could be opened: the processes have ended".to_owned(),
            });
        }
        out.push((OnCpu { cpu: *cpu, events }, ring));
    }
    Ok((out, ring_bytes))
}

/// Each event on each CPU is a file descriptor, and the usual limit is 1024.
fn raise_limit(needed: u64) -> Result<(), RecordError> {
    let open = fs::read_dir("/proc/self/fd").map_or(0, |d| d.count() as u64);
    let needed = needed.saturating_add(open).saturating_add(64);
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|n| n >= needed) {
        return Ok(());
    }
    limit.current = limit.maximum;
    let raised = setrlimit(Resource::Nofile, limit).is_ok();
    match limit.maximum {
        Some(hard) if hard < needed || !raised => Err(RecordError::Perf {
            because: format!(
                "{needed} file descriptors are needed, one for each event and CPU, and this process may have {hard} (ulimit \
                 -Hn, or LimitNOFILE= of systemd); a smaller --profile or fewer CPUs (--cpu) need fewer"
            ),
        }),
        _ => Ok(()),
    }
}

/// What a refusal of perf_event_open means.
fn refused(e: io::Error) -> RecordError {
    let because = match e.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            if let Some(because) = crate::permissions::of_a_user_namespace() {
                return RecordError::Perf { because };
            }
            let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
            format!(
                "the kernel refused perf_event_open: CAP_PERFMON (CAP_SYS_ADMIN before 5.8) is missing, or a container forbids it; \
                 kernel.perf_event_paranoid is {}",
                paranoid.trim()
            )
        }
        Some(libc::EMFILE | libc::ENFILE) => format!("perf_event_open: {e}: one is needed for each event and CPU"),
        Some(libc::EBADF | libc::EINVAL) => {
            format!("perf_event_open: {e} (of a cgroup: it must be one of cgroup v2, or of the hierarchy perf_event)")
        }
        Some(libc::ENOSYS) => "this kernel has no perf events (CONFIG_PERF_EVENTS)".to_owned(),
        _ => format!("perf_event_open: {e}"),
    };
    RecordError::Perf { because }
}
