//! Network namespaces that cannot be entered, though they are there: which are left out of what is read every second, and for how long.
//!
//! In: why one could not be entered. Out: whether it is left out. It must not leave out one for what the recorder lacks for a moment: what is left out
//! seems to be gone.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::io::Errno;

/// One that is left out is asked again after this.
pub const FORGOTTEN: Duration = Duration::from_secs(60);
/// It is left out after so many refusals, one reading after the other.
const REFUSALS: u32 = 2;
/// Of readings so far apart: a second less what its tick may be early. What one reading asks twice counts once.
const APART: Duration = Duration::from_millis(900);

/// What a namespace is known by: its inode, and where it was found, since the inodes of those that are gone are given to others.
pub type Key = (u64, PathBuf);

#[derive(Debug)]
struct Refused {
    times: u32,
    last: Instant,
}

/// Those that refused lately.
#[derive(Debug, Default)]
pub struct Refusals(HashMap<Key, Refused>);

impl Refusals {
    /// One refused; whether it is left out from now on.
    pub fn count(&mut self, key: Key, now: Instant, why: &io::Error) -> bool {
        self.0.retain(|_, r| now.duration_since(r.last) < FORGOTTEN);
        if lacking(why) {
            return false;
        }
        // Who has no permission has it no sooner in the next reading.
        let times = if is_denied(why) { REFUSALS } else { 1 };
        let known = self.0.contains_key(&key);
        let refused = self.0.entry(key).or_insert(Refused { times, last: now });
        if known && now.duration_since(refused.last) >= APART {
            refused.times = refused.times.saturating_add(times);
            refused.last = now;
        }
        refused.times >= REFUSALS
    }

    /// One was entered.
    pub fn entered(&mut self, key: impl FnOnce() -> Key) {
        if !self.0.is_empty() {
            self.0.remove(&key());
        }
    }

    /// Whether one is left out.
    pub fn bar(&self, key: &Key, now: Instant) -> bool {
        let lately = self.0.get(key).filter(|r| now.duration_since(r.last) < FORGOTTEN);
        lately.is_some_and(|r| r.times >= REFUSALS)
    }
}

/// Whether a refusal is an answer, not a failure: one who may not enter a namespace never read it.
pub fn is_denied(why: &io::Error) -> bool {
    why.kind() == io::ErrorKind::PermissionDenied
}

/// No threads, descriptors or memory: that says nothing of the namespace.
fn lacking(why: &io::Error) -> bool {
    let lacks = [Errno::AGAIN, Errno::MFILE, Errno::NFILE, Errno::NOMEM];
    Errno::from_io_error(why).is_some_and(|e| lacks.contains(&e))
}
