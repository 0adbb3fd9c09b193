//! CPU limits of cgroups, by the names of the processes in them: paths of pods and containers are new with each start of them.
//!
//! In: the snapshots `cgroups` and `tasks`. Out: `cpu.max[web]`, and how often it was stopped, in few words (`cpu.stat[web]`): a share that is a little
//! another is no difference. [`MARKER`] and [`COUNTED`] say that they were read at all.

use std::collections::BTreeSet;

use netmortem_formats::Capture;

use super::Collected;
use crate::snapshots::cgroups::{CpuLimits, Limited};

/// A setting of ours: there where the recorder read limits, and where it counted.
pub const MARKER: &str = "cgroups";
/// As said.
pub const COUNTED: &str = "cgroups counted";
/// How the names begin of what is set, and of what was counted.
pub const MAX: &str = "cpu.max[";
/// As said.
pub const STAT: &str = "cpu.stat[";

/// Names told of a cgroup.
const NAMES: usize = 32;
/// Shares of the periods from which a cgroup is stopped in some, and in most.
const SOME: f64 = 0.05;
const MOSTLY: f64 = 0.5;

pub(super) fn put(capture: &Capture, into: &mut Collected) {
    let all = CpuLimits::of(capture);
    // Of a list that is not whole it is not known who has no limit.
    for (marker, there) in [(MARKER, all.listed.0), (COUNTED, all.listed.1)] {
        if there && all.whole() {
            into.put(marker, "read");
        }
    }
    for limited in all.all() {
        let names = limited.pids.iter().filter_map(|pid| all.name(*pid));
        let names: BTreeSet<&str> = names.collect();
        for name in names.into_iter().take(NAMES) {
            let name = as_in_settings(name);
            into.put(&format!("{MAX}{name}]"), &limited.limit());
            if let Some(stopped) = stopped(limited) {
                into.put(&format!("{STAT}{name}]"), stopped);
            }
        }
    }
}

/// A space ends the name of a device in names of settings.
pub(crate) fn as_in_settings(process: &str) -> String {
    process.replace(char::is_whitespace, "?")
}

fn stopped(l: &Limited) -> Option<&'static str> {
    l.rose?;
    Some(match l.share() {
        share if share >= MOSTLY => "stopped in most periods",
        share if share >= SOME => "stopped in some periods",
        _ => "stopped in hardly a period",
    })
}
