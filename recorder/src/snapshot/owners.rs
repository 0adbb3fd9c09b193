//! Which processes hold which socket: the links of /proc/<pid>/fd, once for all namespaces.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::time::{Duration, Instant};

/// A host with a million open files must not wait for this.
const PATIENCE: Duration = Duration::from_millis(500);
/// More holders of one socket than these (a server's forked workers) are only counted.
const NAMED: usize = 4;

/// Holders by inode of the socket.
#[derive(Debug, Default)]
pub struct Owners {
    by_inode: HashMap<u64, (Vec<u32>, u32)>,
    /// Not all processes were read: time ran out.
    pub cut: bool,
}

impl Owners {
    /// Reads the links of all processes, for half a second at most.
    pub fn read() -> Owners {
        let mut out = Owners::default();
        let started = Instant::now();
        for pid in super::tasks::numbers("/proc".as_ref()) {
            if started.elapsed() > PATIENCE {
                out.cut = true;
                break;
            }
            let Ok(links) = fs::read_dir(format!("/proc/{pid}/fd")) else {
                continue;
            };
            for link in links.flatten() {
                let Ok(target) = fs::read_link(link.path()) else {
                    continue;
                };
                let inode = target
                    .to_str()
                    .and_then(|t| t.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok());
                let Some(inode) = inode else { continue };
                let (pids, more) = out.by_inode.entry(inode).or_default();
                match pids.last() == Some(&pid) {
                    true => {}
                    false if pids.len() < NAMED => pids.push(pid),
                    false => *more += 1,
                }
            }
        }
        out
    }

    /// Appends ` pids=1,2` and, when there are more, ` more_pids=3`; nothing for a socket that no process holds.
    pub fn append(&self, inode: u64, out: &mut String) {
        let Some((pids, more)) = self.by_inode.get(&inode) else {
            return;
        };
        let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
        _ = write!(out, " pids={}", pids.join(","));
        if *more > 0 {
            _ = write!(out, " more_pids={more}");
        }
    }
}
