//! Where the cgroups are that limits of CPU are set on: one hierarchy has the controller `cpu`, of version 1 or 2.
//!
//! In: /proc/self/mountinfo (fs/proc_namespace.c `show_mountinfo`), /proc/self/cgroup (kernel/cgroup/cgroup.c `proc_cgroup_show`). Out: a mount.
//!
//! ```text
//! 32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct      v1, where cpu is an option
//! 25 31 0:22 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate                    v2, where no v1 has it
//! ```

use std::path::{Path, PathBuf};

use crate::tracefs::read_file;

/// PROC_CGROUP_INIT_INO: /proc/self/ns/cgroup of who sees all cgroups by their whole paths.
const FIRST_NAMESPACE: &str = "cgroup:[4026531835]";

/// Version of the hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    V1,
    V2,
}

impl Version {
    /// As people call it.
    pub fn name(self) -> &'static str {
        match self {
            Version::V1 => "v1",
            Version::V2 => "v2",
        }
    }
}

/// A mounted hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    pub version: Version,
    /// Where it is mounted.
    pub at: PathBuf,
    /// Path of the cgroup that is mounted there: `/`, or a container's own.
    pub root: String,
    /// Cgroups outside of it may have limits, too: a container sees its own only.
    pub part: bool,
}

/// That of the recorder; `None`: none is mounted.
pub fn find() -> Option<Mount> {
    let mounts = read_file(Path::new("/proc/self/mountinfo")).ok()?;
    let own = read_file(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let mut found = of(&mounts, &String::from_utf8_lossy(&own))?;
    let first = std::fs::read_link("/proc/self/ns/cgroup");
    found.part |= first.is_ok_and(|name| name.as_os_str() != FIRST_NAMESPACE);
    Some(found)
}

/// Of these texts.
pub(super) fn of(mountinfo: &[u8], own: &str) -> Option<Mount> {
    let all: Vec<Mount> = mountinfo.split(|b| *b == b'\n').filter_map(mount).collect();
    let in_v1 = own.lines().any(|l| {
        let controllers = l.split(':').nth(1).unwrap_or_default();
        controllers.split(',').any(|c| c == "cpu")
    });
    let wanted = match in_v1 || all.iter().any(|m| m.version == Version::V1) {
        true => Version::V1,
        false => Version::V2,
    };
    let of = || all.iter().filter(|m| m.version == wanted);
    of().find(|m| !m.part).or_else(|| of().next()).cloned()
}

fn mount(line: &[u8]) -> Option<Mount> {
    let line = String::from_utf8_lossy(line);
    let (about, kind) = line.split_once(" - ")?;
    let mut about = about.split(' ').skip(3);
    let (root, at) = (unescaped(about.next()?), unescaped(about.next()?));
    let mut kind = kind.split(' ');
    let (name, options) = (kind.next()?, kind.nth(1).unwrap_or_default());
    let version = match name {
        "cgroup2" => Version::V2,
        "cgroup" if options.split(',').any(|o| o == "cpu") => Version::V1,
        _ => return None,
    };
    Some(Mount {
        version,
        at: at.into(),
        part: root != "/",
        root,
    })
}

/// `\040` is a space (fs/seq_file.c `mangle_path`).
fn unescaped(text: &str) -> String {
    let mut out = vec![];
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let byte = digits.and_then(|d| u8::from_str_radix(std::str::from_utf8(d).ok()?, 8).ok());
        out.push(byte.unwrap_or(*first));
        rest = match byte {
            Some(_) => after.get(3..).unwrap_or_default(),
            None => after,
        };
    }
    String::from_utf8_lossy(&out).into_owned()
}
