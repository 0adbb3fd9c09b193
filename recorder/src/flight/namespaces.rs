//! Counters of the other network namespaces, for triggers: what a container's sockets send again its own namespace counts.
//!
//! In: /proc/net and qdiscs inside each. Out: [`Counters`] of all of them together, with the name of each. It must not cost: it
//! rests after each reading, as the readings of `snapshot/beside.rs` do.

use std::path::Path;
use std::time::{Duration, Instant};

use super::counters::Counters;
use super::{On, OnKind, Rate};
use crate::clock;
use crate::snapshot::netns::{self, Netns};
use crate::snapshot::{MAX_NETNS, qdisc};
use crate::tracefs::read_file;

/// It takes one part in so many of a CPU at most, by the time that it took.
const SHARE: u32 = 200;
/// A second less what its own tick may be early.
const SECOND: Duration = Duration::from_millis(900);
/// How often all processes are asked for their network namespaces, at most; and what part of a CPU that takes at most.
const LISTED: Duration = Duration::from_secs(10);
const LIST_SHARE: u32 = 400;
/// No further one is read after this: signals and other triggers wait meanwhile.
const PATIENCE: Duration = Duration::from_millis(100);

/// All but the recorder's own.
#[derive(Debug)]
pub struct Namespaces {
    files: Vec<&'static str>,
    qdiscs: bool,
    spaces: Vec<Netns>,
    /// Those that are not looked at: there are too many.
    left: usize,
    /// When they are listed again.
    list_due: Instant,
    due: Instant,
    /// The last reading, and the one before.
    now: Counters,
    before: Counters,
}

impl Namespaces {
    /// `None` where no trigger counts what namespaces have.
    pub fn of(on: &[On]) -> Option<Namespaces> {
        let mut files: Vec<&str> = on.iter().flat_map(|on| files(&on.kind)).copied().collect();
        files.sort_unstable();
        files.dedup();
        let first = Namespaces {
            qdiscs: files.contains(&"dev"),
            files,
            spaces: vec![],
            left: 0,
            list_due: Instant::now(),
            due: Instant::now(),
            now: Counters::default(),
            before: Counters::default(),
        };
        (!first.files.is_empty()).then_some(first)
    }

    /// Reads them when they are due; whether it did.
    pub fn read(&mut self) -> bool {
        let began = Instant::now();
        if began < self.due {
            return false;
        }
        self.list(began);
        let began = Instant::now();
        let mut now = Counters::at(clock::clock_pair().monotonic_ns);
        let mut gone = vec![];
        for space in &self.spaces {
            if began.elapsed() > PATIENCE {
                break;
            }
            let (files, qdiscs) = (&self.files, self.qdiscs);
            match space.inside(|| texts(files, qdiscs, space.inode)) {
                Ok(texts) => {
                    let called = format!("netns:{}", space.called());
                    texts.iter().for_each(|(what, text)| now.add(what, text, &called));
                }
                // It is gone, or the process by which it was found is: until the next list.
                Err(_) => gone.push(space.inode),
            }
        }
        self.spaces.retain(|s| !gone.contains(&s.inode));
        self.before = std::mem::replace(&mut self.now, now);
        self.due = began + began.elapsed().saturating_mul(SHARE).max(SECOND);
        true
    }

    /// By how much the counters of a rate grew between the last two readings, and how long that was, ns.
    pub fn growth(&self, of: &Rate) -> (Vec<(&str, u64)>, i64) {
        let apart = self.now.at_ns.saturating_sub(self.before.at_ns);
        (self.now.growth(&self.before, of), apart)
    }

    /// Whether a rate has anything to count there.
    pub fn knows(&self, of: &Rate) -> bool {
        self.now.knows(of)
    }

    /// What a person should know.
    pub fn note(&self) -> Option<String> {
        (self.left > 0).then(|| {
            format!(
                "triggers count in the recorder's own network namespace and {MAX_NETNS} others; {} more are not looked at",
                self.left
            )
        })
    }

    fn list(&mut self, now: Instant) {
        if now < self.list_due {
            return;
        }
        self.spaces = netns::list();
        self.list_due = now + now.elapsed().saturating_mul(LIST_SHARE).max(LISTED);
        self.spaces.retain(|s| !s.own);
        self.left = self.spaces.len().saturating_sub(MAX_NETNS);
        self.spaces.truncate(MAX_NETNS);
    }
}

/// Those below /proc/net that hold what a trigger counts.
fn files(kind: &OnKind) -> &'static [&'static str] {
    match kind {
        OnKind::Rate { own: false, of, .. } => match of {
            Rate::Retransmits => &["snmp"],
            Rate::Rto | Rate::ZeroWindow => &["netstat"],
            Rate::Counter(name) if name.starts_with("softnet.") => &[],
            Rate::Drops | Rate::Counter(_) => &["snmp", "netstat", "snmp6", "dev"],
            // Of CPUs, not of namespaces.
            Rate::TimeSqueeze => &[],
        },
        _ => &[],
    }
}

/// Inside a namespace.
fn texts(files: &[&'static str], qdiscs: bool, inode: u64) -> Vec<(String, Vec<u8>)> {
    let read = |file: &&str| {
        let text = read_file(&Path::new("/proc/thread-self/net").join(file)).ok()?;
        Some((format!("net/{file}"), text))
    };
    let mut all: Vec<_> = files.iter().filter_map(read).collect();
    let mut text = String::new();
    if qdiscs && qdisc::qdiscs(inode, &mut text).is_ok() {
        all.push(("qdiscs".to_owned(), text.into_bytes()));
    }
    all
}
