//! Visits to all network namespaces for what is read every second beside the counters: each is entered once, by a thread of its own, for all that is due.
//!
//! In: kinds. Out: of each its texts, whole, how long they took, and whether they are all. It must not say what changed (`told` does), nor let a kind that
//! waits for a lock spoil another, nor take time that is nobody's: each kind rests by what it took.
//!
//! ```text
//! list (each minute; sooner when one was gone) -> in each namespace: sockets, counters, then what needs rtnl: nics, qdiscs
//! entered       what is read
//! is gone       left out; listed again, now or as soon as that may be
//! may not       left out for a minute
//! other         this reading fails; left out for a minute when the next refuses, too, unless it is the recorder that lacks something
//! ```

use std::io;
use std::time::{Duration, Instant};

use super::beside::{Kind, Texts};
use super::netlink::Dumped;
use super::netns::{self, Netns};
use super::owners::Owners;
use super::refusals::{Refusals, is_denied};
use super::{MAX_NETNS, PATIENCE, links, nics, proc, qdisc, sockets};

/// More sockets than these are not read every second: a whole list of them (some 1.1 kB each) would be longer than a text may be.
pub const MOST_SOCKETS: usize = 2_500;
/// How often all processes are asked for their network namespaces.
const LISTED: Duration = Duration::from_secs(60);
/// And how often at most where one is gone: with thousands of processes that is tens of ms.
pub const AGAIN: Duration = Duration::from_secs(3);

/// What was read of a kind.
#[derive(Debug)]
pub struct Got {
    /// Which.
    pub kind: Kind,
    /// Something is missing.
    pub failed: bool,
    /// There is more than is read.
    pub many: bool,
    /// What it cost, its part of listing and entering included.
    pub took: Duration,
    room: usize,
    lists: (String, String),
    files: Texts,
}

impl Got {
    pub(super) fn new(kind: Kind) -> Got {
        Got {
            kind,
            failed: false,
            many: false,
            took: Duration::ZERO,
            room: MOST_SOCKETS,
            lists: (String::new(), String::new()),
            files: vec![],
        }
    }

    /// It took so long that no further namespace is visited for it.
    fn is_late(&self) -> bool {
        self.took > PATIENCE
    }

    /// The texts.
    pub fn texts(&mut self) -> Texts {
        let (first, second) = std::mem::take(&mut self.lists);
        match self.kind {
            Kind::Nics => vec![("nics".to_owned(), first)],
            Kind::Sockets => vec![("sockets".to_owned(), first)],
            Kind::Qdiscs => vec![("qdiscs".to_owned(), first), ("classes".to_owned(), second)],
            Kind::Counters => std::mem::take(&mut self.files),
        }
    }
}

/// Which there are.
#[derive(Debug, Default)]
pub struct Visits {
    spaces: Vec<Netns>,
    pub(super) listed: Option<Instant>,
    /// The list is not what there is any more.
    stale: bool,
    refusals: Refusals,
}

impl Visits {
    /// Reads kinds in all namespaces.
    pub fn read(&mut self, kinds: &[Kind]) -> Vec<Got> {
        let began = Instant::now();
        let mut all: Vec<Got> = kinds.iter().map(|k| Got::new(*k)).collect();
        self.list(if self.stale { AGAIN } else { LISTED });
        divide(&mut all, began);
        if self.spaces.is_empty() {
            all.iter_mut().for_each(|g| g.failed = true);
        }
        let mut visited = vec![];
        while let Some(space) = self.spaces.iter().find(|s| !visited.contains(&s.inode)) {
            let inode = space.inode;
            visited.push(inode);
            if all.iter().all(|g| g.many || g.is_late()) {
                all.iter_mut().for_each(|g| g.failed = true);
                break;
            }
            let done = space.inside(|| each(&mut all, &mut |g| read(g, space)));
            let there = done.is_ok() || space.is_there();
            let key = || (inode, space.place());
            match done {
                Ok(()) => self.refusals.entered(key),
                Err(e) if there => {
                    all.iter_mut().for_each(|g| g.failed |= !is_denied(&e));
                    if self.refusals.count(key(), Instant::now(), &e) {
                        self.spaces.retain(|s| s.inode != inode);
                    }
                }
                // It is gone, or all processes by which it was found are: then it is in the new list.
                Err(_) if self.list(AGAIN) => visited.retain(|v| *v != inode),
                Err(_) => {
                    self.spaces.retain(|s| s.inode != inode);
                    self.stale = true;
                }
            }
            divide(&mut all, began);
        }
        all
    }

    /// Lists them when the last list is so old; whether it did.
    fn list(&mut self, age: Duration) -> bool {
        let now = Instant::now();
        if self.listed.is_some_and(|at| now.duration_since(at) < age) {
            return false;
        }
        self.listed = Some(now);
        let spaces = netns::list();
        // Without a descriptor to read /proc by there is none; the old list is better then.
        self.stale = !spaces.iter().any(|s| s.own);
        if !self.stale {
            self.spaces = spaces;
            let refusals = &self.refusals;
            self.spaces.retain(|s| !refusals.bar(&(s.inode, s.place()), now));
            self.spaces.truncate(MAX_NETNS);
        }
        !self.stale
    }
}

/// Time that is no kind's own (listing, entering) is that of all, in equal parts: together they took all of it.
fn divide(all: &mut [Got], began: Instant) {
    let own: Duration = all.iter().map(|g| g.took).sum();
    let part = began.elapsed().saturating_sub(own) / u32::try_from(all.len().max(1)).unwrap_or(1);
    all.iter_mut().for_each(|g| g.took += part);
}

/// Inside a namespace: each kind, those first that need no rtnl, which a driver may hold for seconds. One that is late lacks this namespace.
pub fn each(all: &mut [Got], read: &mut dyn FnMut(&mut Got) -> io::Result<()>) {
    for rtnl in [false, true] {
        for got in all.iter_mut().filter(|g| needs_rtnl(g.kind) == rtnl && !g.many) {
            if got.is_late() {
                got.failed = true;
                continue;
            }
            let began = Instant::now();
            got.failed |= read(got).is_err();
            got.many = got.room == 0;
            got.failed |= got.many;
            got.took += began.elapsed();
        }
    }
}

fn needs_rtnl(kind: Kind) -> bool {
    matches!(kind, Kind::Nics | Kind::Qdiscs)
}

fn read(got: &mut Got, space: &Netns) -> io::Result<()> {
    let (netns, lists) = (space.inode, &mut got.lists);
    match got.kind {
        Kind::Nics => {
            let (done, all) = links::links(netns, &mut String::new())?;
            nics::nics(netns, &all, false, &mut lists.0)?;
            settled(done)
        }
        Kind::Qdiscs => {
            let mut own = String::new();
            // Those of the recorder's own are in every reading already, whole.
            let qdiscs = if space.own { &mut own } else { &mut lists.0 };
            let (done, with_qdisc) = qdisc::qdiscs(netns, qdiscs)?;
            settled(done)?;
            settled(qdisc::classes(netns, &with_qdisc, &mut lists.1)?)
        }
        Kind::Sockets => {
            let owners = Owners::default();
            let done = sockets::sockets(netns, &owners, &mut got.room, &mut lists.0)?;
            settled(Dumped { changed: false, ..done })
        }
        Kind::Counters if space.own => Ok(()),
        Kind::Counters => {
            let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
            let files = proc::of_namespace(netns).into_iter().map(|(what, t)| (what, text(t)));
            got.files.extend(files);
            Ok(())
        }
    }
}

/// A list that changed while it was read, or was cut, says nothing of what it lacks.
fn settled(done: Dumped) -> io::Result<()> {
    match done.changed || done.cut {
        true => Err(io::ErrorKind::Interrupted.into()),
        false => Ok(()),
    }
}
