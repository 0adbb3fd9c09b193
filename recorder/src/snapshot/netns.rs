//! Network namespaces: which there are, and work inside each. Events of all of them are in a recording, so their
//! interfaces, qdiscs and sockets are needed too.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::netlink::word;

/// Folders where programs keep namespaces by name (ip-netns, docker, podman).
const NAMED: [&str; 3] = ["/run/netns", "/run/docker/netns", "/var/run/netns"];

/// A network namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Netns {
    /// Inode: the number in `/proc/<pid>/ns/net`, unique while it lives.
    pub inode: u64,
    /// The recorder's own.
    pub own: bool,
    /// Processes in it, the lowest first.
    pids: Vec<u32>,
    name: Option<String>,
    /// Where it has a name.
    named: Vec<PathBuf>,
}

/// Inode of the recorder's own.
pub fn own_inode() -> Option<u64> {
    inode("/proc/self/ns/net".as_ref())
}

fn inode(path: &Path) -> Option<u64> {
    Some(fs::metadata(path).ok()?.ino())
}

/// Inode of that of a process.
pub fn of_pid(pid: u32) -> Option<u64> {
    inode(&of_process(pid))
}

fn of_process(pid: u32) -> PathBuf {
    format!("/proc/{pid}/ns/net").into()
}

/// All that have a process or a name, the recorder's own first.
pub fn list() -> Vec<Netns> {
    let own = own_inode();
    let mut all: BTreeMap<u64, Netns> = BTreeMap::new();
    let mut add = |path: PathBuf, pid: Option<u32>, name: Option<String>| {
        let Some(inode) = inode(&path) else { return };
        let n = all.entry(inode).or_insert_with(|| Netns {
            inode,
            own: Some(inode) == own,
            pids: vec![],
            name: None,
            named: vec![],
        });
        match pid {
            Some(pid) => n.pids.push(pid),
            None => n.named.push(path),
        }
        n.name = n.name.take().or(name);
    };
    for pid in super::tasks::numbers("/proc".as_ref()) {
        add(of_process(pid), Some(pid), None);
    }
    for folder in NAMED {
        for name in crate::tracefs::list(folder.as_ref()) {
            let path = Path::new(folder).join(&name);
            // A name without a namespace mounted on it is an ordinary file of another file system.
            let on_nsfs = rustix::fs::statfs(&path).is_ok_and(|s| s.f_type == NSFS_MAGIC);
            if on_nsfs {
                add(path, None, Some(name));
            }
        }
    }
    let mut all: Vec<Netns> = all.into_values().collect();
    all.sort_by_key(|n| !n.own);
    all
}

const NSFS_MAGIC: rustix::fs::FsWord = 0x6e73_6673;

/// `netns=<inode> own=yes pids=<n> first_pid=<pid> name=<name>` lines.
pub fn text(all: &[Netns]) -> String {
    let mut out = String::new();
    for n in all {
        _ = write!(
            out,
            "netns={} own={} pids={}",
            n.inode,
            if n.own { "yes" } else { "no" },
            n.pids.len()
        );
        if let Some(pid) = n.pids.first() {
            _ = write!(out, " first_pid={pid}");
        }
        if let Some(name) = &n.name {
            _ = write!(out, " name={}", word(name));
        }
        out.push('\n');
    }
    out
}

impl Netns {
    /// Its name, or its inode in digits: what `--pcap netns:` takes.
    pub fn called(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.inode.to_string())
    }

    /// Whether this is its name, or its inode in digits.
    pub fn is_called(&self, name: &str) -> bool {
        self.name.as_deref() == Some(name) || self.inode.to_string() == name
    }

    /// Where it can be found: a name first, which lasts longer than a process.
    fn places(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let of_processes = self.pids.iter().map(|pid| of_process(*pid));
        self.named.iter().cloned().chain(of_processes)
    }

    /// The first of these.
    pub fn place(&self) -> PathBuf {
        self.places().next().unwrap_or_default()
    }

    /// Whether it still is where it was found. (If not, it may live on by a process that has come since.)
    pub fn is_there(&self) -> bool {
        self.places().any(|place| inode(&place) == Some(self.inode))
    }

    /// Opens it.
    pub fn open(&self) -> io::Result<File> {
        let mut why = io::Error::new(io::ErrorKind::NotFound, "it is gone");
        for place in self.places() {
            match File::open(place) {
                // A pid may have been given to another process since the list was made.
                Ok(file) if file.metadata()?.ino() == self.inode => return Ok(file),
                Ok(_) => {}
                // The process has ended, or is just ending.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => why = e,
                Err(e) => return Err(e),
            }
        }
        Err(why)
    }

    /// Runs `work` inside; in a thread of its own unless it is ours, so that the recorder never changes its place.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        if self.own {
            return Ok(work());
        }
        let enter = || {
            let file = self.open()?;
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
            Ok(work())
        };
        std::thread::scope(|s| {
            // A host that is out of threads (pids.max) is one that is recorded.
            let thread = std::thread::Builder::new().spawn_scoped(s, enter)?;
            thread
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("its thread died")))
        })
    }
}
