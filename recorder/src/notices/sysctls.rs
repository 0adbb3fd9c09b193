//! Settings below /proc/sys/net that somebody writes: inotify(7) tells of it, as of any file (fs/read_write.c `vfs_write`).
//!
//! In: network namespaces. Out: the name of what was written, and its value then. Not by whom: inotify does not know. What the kernel sets itself is not told.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::inotify;

use crate::snapshot::netlink::word;
use crate::snapshot::netns::Netns;
use crate::snapshot::settings::is_secret;
use crate::tracefs::read_file;

const ROOT: &str = "/proc/sys/net";
/// Folders watched in each namespace; a host with more devices is watched in part.
pub const MOST: usize = 64;
const EVENT_BYTES: usize = 16 << 10;
/// Watches in all: the user's limit (fs.inotify.max_user_watches) is others', too.
const MOST_IN_ALL: usize = 2_048;
/// Writes read at once.
const MOST_AT_ONCE: usize = 256;
/// Folders with one for each device.
const BY_DEVICE: [&str; 2] = ["conf", "neigh"];
/// Folders of all devices, which come before those of each.
const OF_ALL: [&str; 2] = ["all", "default"];

/// A watch: of which namespace, and which folder.
#[derive(Debug, Clone)]
struct Watched {
    space: Netns,
    folder: PathBuf,
}

/// All watches.
#[derive(Debug)]
pub struct Sysctls {
    fd: OwnedFd,
    watched: HashMap<i32, Watched>,
    /// Values told last.
    told: HashMap<(u64, String), String>,
    /// Namespaces with more folders than are watched, or of which the kernel refused some.
    pub in_part: usize,
}

impl Sysctls {
    /// None yet.
    pub fn new() -> io::Result<Sysctls> {
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        Ok(Sysctls {
            fd: inotify::init(flags)?,
            watched: HashMap::new(),
            told: HashMap::new(),
            in_part: 0,
        })
    }

    /// Watches those of a namespace.
    pub fn watch(&mut self, space: &Netns) {
        let fd = self.fd.as_fd();
        let room = MOST_IN_ALL.saturating_sub(self.watched.len());
        let work = || {
            let (mut folders, all) = folders(space.own);
            let whole = all && folders.len() <= room;
            folders.truncate(room);
            let add = |folder: PathBuf| {
                let wd = inotify::add_watch(fd, &folder, inotify::WatchFlags::MODIFY).ok()?;
                Some((wd, folder))
            };
            let asked = folders.len();
            let watches: Vec<_> = folders.into_iter().filter_map(add).collect();
            let whole = whole && watches.len() == asked;
            (watches, whole)
        };
        let Ok((watches, whole)) = space.inside(work) else {
            self.in_part += 1;
            return;
        };
        self.in_part += usize::from(!whole);
        for (wd, folder) in watches {
            let space = space.clone();
            self.watched.entry(wd).or_insert(Watched { space, folder });
        }
    }

    /// Forgets a namespace that is gone: its watches stay until they are taken away.
    pub fn forget(&mut self, netns: u64) {
        let gone = self.watched.iter().filter(|(_, w)| w.space.inode == netns);
        for (wd, _) in gone {
            // The kernel may have taken it away before.
            _ = inotify::remove_watch(&self.fd, *wd);
        }
        self.watched.retain(|_, w| w.space.inode != netns);
        self.told.retain(|(of, _), _| *of != netns);
    }

    /// What was written, so many at most: namespace, name, value where it is another than was told last; and how many writes were read. True: some were lost.
    pub fn written(&mut self) -> (Vec<(u64, String, String)>, u32, bool) {
        let mut buffer = [MaybeUninit::uninit(); EVENT_BYTES];
        let mut reader = inotify::Reader::new(&self.fd, &mut buffer);
        let (mut found, mut lost): (Vec<(&Watched, PathBuf)>, bool) = (vec![], false);
        // Until it would block.
        let mut events = 0;
        for _ in 0..MOST_AT_ONCE {
            let Ok(event) = reader.next() else { break };
            events += 1;
            lost |= event.events().contains(inotify::ReadFlags::QUEUE_OVERFLOW);
            let name = event.file_name().map(|n| n.to_bytes().to_vec());
            if let Some((watched, name)) = self.watched.get(&event.wd()).zip(name) {
                let path = watched.folder.join(OsStr::from_bytes(&name));
                if !found
                    .iter()
                    .any(|(w, p)| w.space.inode == watched.space.inode && *p == path)
                {
                    found.push((watched, path));
                }
            }
        }
        let read = found.into_iter().filter_map(|(watched, path)| {
            let name = name(&path)?;
            let value = watched.space.inside(|| read_file(&path).ok()).ok()??;
            let value = String::from_utf8_lossy(&value).trim().to_owned();
            Some((watched.space.inode, name, word(&value)))
        });
        let mut read: Vec<_> = read.collect();
        let told = &mut self.told;
        read.retain(|(netns, name, value)| told.insert((*netns, name.clone()), value.clone()).as_ref() != Some(value));
        (read, events, lost)
    }
}

impl AsFd for Sysctls {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// `net.ipv4.tcp_sack`; none of what is secret.
fn name(path: &Path) -> Option<String> {
    let below = path.strip_prefix("/proc/sys").ok()?;
    let parts: Vec<String> = below.iter().map(|p| p.to_string_lossy().replace('.', "/")).collect();
    let name = word(&parts.join("."));
    (!is_secret(&name)).then_some(name)
}

/// Folders with settings, those of all devices first; whether these are all. The topmost is one for all namespaces: it is the recorder's own.
fn folders(own: bool) -> (Vec<PathBuf>, bool) {
    let mut all = vec![];
    let mut rest = vec![PathBuf::from(ROOT)];
    while let Some(folder) = rest.pop() {
        let inside = fs::read_dir(&folder).into_iter().flatten().flatten();
        let folders = inside
            .filter(|e| e.file_type().is_ok_and(|t| t.is_dir()))
            .map(|e| e.path());
        // Those of devices, of which there may be thousands, have none inside.
        match BY_DEVICE.iter().any(|of| folder.ends_with(of)) {
            true => all.extend(folders),
            false => rest.extend(folders),
        }
        if own || folder != Path::new(ROOT) {
            all.push(folder);
        }
    }
    let of_one = |p: &PathBuf| {
        let by_device = p.parent().is_some_and(|p| BY_DEVICE.iter().any(|of| p.ends_with(of)));
        by_device && !OF_ALL.iter().any(|a| p.ends_with(a))
    };
    all.sort_by_key(|p| (of_one(p), p.clone()));
    let whole = all.len() <= MOST;
    all.truncate(MOST);
    (all, whole)
}
