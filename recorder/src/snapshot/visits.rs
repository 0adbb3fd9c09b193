//! Visits to all network namespaces for what is read every second beside the counters: each is entered once, by a thread of its own, for all that is due.
//!
//! In: kinds. Out: of each its texts, whole, how long they took, and whether they are all. It must not say what changed (`told` does).

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use super::beside::{Kind, Texts};
use super::netlink::Dumped;
use super::netns::{self, Netns};
use super::owners::Owners;
use super::{MAX_NETNS, PATIENCE, links, nics, proc, qdisc, sockets};

/// More sockets than these are not read every second: a whole list of them (some 1.1 kB each) would be longer than a text may be.
pub const MOST_SOCKETS: usize = 2_500;
/// How often all processes are asked for their network namespaces.
const LISTED: Duration = Duration::from_secs(60);
/// A namespace that cannot be entered so often, one time after the other, is not asked again.
const REFUSALS: u32 = 2;

/// What was read of a kind.
#[derive(Debug)]
pub struct Got {
    /// Which.
    pub kind: Kind,
    /// Something is missing.
    pub failed: bool,
    /// There is more than is read.
    pub many: bool,
    /// What it cost, its part of entering included.
    pub took: Duration,
    room: usize,
    lists: (String, String),
    files: Texts,
}

impl Got {
    fn new(kind: Kind) -> Got {
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
    listed: Option<Instant>,
    /// How often namespaces could not be entered, one time after the other.
    refused: HashMap<u64, u32>,
}

impl Visits {
    /// Reads kinds in all namespaces. Where one cannot be entered (it is gone, or the process by which it was found is) they are listed anew.
    pub fn read(&mut self, kinds: &[Kind]) -> Vec<Got> {
        let mut got = self.once(kinds);
        for _ in 0..REFUSALS {
            if self.listed.is_some() {
                break;
            }
            let before: Vec<Duration> = got.iter().map(|g| g.took).collect();
            got = self.once(kinds);
            got.iter_mut().zip(before).for_each(|(g, before)| g.took += before);
        }
        got
    }

    fn once(&mut self, kinds: &[Kind]) -> Vec<Got> {
        let began = Instant::now();
        self.list(began);
        let mut all: Vec<Got> = kinds.iter().map(|k| Got::new(*k)).collect();
        for space in &self.spaces {
            let entering = Instant::now();
            let before: Duration = all.iter().map(|g| g.took).sum();
            let done = space.inside(|| all.iter_mut().for_each(|g| visit(g, space)));
            let visited = all.iter().map(|g| g.took).sum::<Duration>().saturating_sub(before);
            let entered = entering.elapsed().saturating_sub(visited);
            let each = entered / u32::try_from(all.len().max(1)).unwrap_or(1);
            all.iter_mut().for_each(|g| g.took += each);
            let late = began.elapsed() > PATIENCE;
            if done.is_ok() {
                self.refused.remove(&space.inode);
            } else {
                *self.refused.entry(space.inode).or_default() += 1;
                self.listed = None;
            }
            all.iter_mut().for_each(|g| g.failed |= late || done.is_err());
            if late {
                break;
            }
        }
        all
    }

    fn list(&mut self, now: Instant) {
        if self.listed.is_none_or(|at| now.duration_since(at) >= LISTED) {
            self.listed = Some(now);
            self.spaces = netns::list();
            // What is refused again is not asked for again.
            self.spaces
                .retain(|s| self.refused.get(&s.inode).is_none_or(|n| *n < REFUSALS));
            self.spaces.truncate(MAX_NETNS);
        }
    }
}

/// Inside a namespace.
fn visit(got: &mut Got, space: &Netns) {
    if got.many {
        return;
    }
    let began = Instant::now();
    got.failed |= read(got, space).is_err();
    got.many = got.room == 0;
    got.failed |= got.many;
    got.took += began.elapsed();
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
