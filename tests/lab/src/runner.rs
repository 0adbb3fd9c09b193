//! Plays rigs, each in a process of its own with a time limit; whatever becomes of it, its namespaces are removed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::independent;
use crate::net;
use crate::recording::Recorder;
use crate::rigs::Rig;
use crate::sys;
use crate::truth::{Case, Truth};

/// How long one rig may take.
const LIMIT: Duration = Duration::from_secs(120);
/// How often a rig is played at most where most of its plants fail by their own stamps, or it goes wrong.
pub const TRIES: u32 = 3;

/// How a rig ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Played {
    /// Its truth and its bundle are in this folder.
    Done(PathBuf),
    /// It cannot be played here.
    Skipped(String),
    /// It went wrong.
    Failed(String),
}

/// Why nothing can be played here.
pub fn unable() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("not root".into());
    }
    if !Path::new("/sys/kernel/tracing/instances").is_dir() {
        return Some("no tracefs at /sys/kernel/tracing".into());
    }
    for program in ["ip", "ethtool"] {
        if Command::new(program).arg("--version").output().is_err() {
            return Some(format!("no {program}"));
        }
    }
    None
}

/// Plays one rig into `out/<name>`: again, at most `tries` times, while half of its plants or more fail by their own stamps
/// or it goes wrong, for the machine may have been busy; the first attempt that does not, or the last, counts. What went wrong
/// in the others is told by `tell`.
pub fn play(rig: &Rig, out: &Path, recorder: &Recorder, tries: u32, tell: impl Fn(&str)) -> anyhow::Result<Played> {
    for left in (1..tries).rev() {
        let played = once(rig, out, recorder)?;
        let why = match &played {
            Played::Skipped(_) => return Ok(played),
            Played::Failed(why) => format!("failed: {why}"),
            Played::Done(dir) => {
                let cases = Truth::load(&dir.join("truth.json"))?.cases;
                let void: Vec<&Case> = cases.iter().filter(|c| !c.void.is_empty()).collect();
                match void.first() {
                    Some(first) if void.len() * 2 >= cases.len() => {
                        format!(
                            "{} of {} plants failed, one because {}",
                            void.len(),
                            cases.len(),
                            first.void
                        )
                    }
                    _ => return Ok(played),
                }
            }
        };
        tell(&format!("{}: {left} more tries: {why}", rig.name));
        forget(&out.join(rig.name))?;
    }
    once(rig, out, recorder)
}

/// Removes what an attempt left: a recording does not write over a file, and a later attempt's truth is not this one's.
fn forget(dir: &Path) -> anyhow::Result<()> {
    for file in ["bundle.nmb", "truth.json", "kmem.txt", "pcap.csv"] {
        match std::fs::remove_file(dir.join(file)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e.into()),
            _ => {}
        }
    }
    Ok(())
}

/// Plays it once.
fn once(rig: &Rig, out: &Path, recorder: &Recorder) -> anyhow::Result<Played> {
    let cpus = std::thread::available_parallelism()?.get();
    if cpus < rig.cpus {
        return Ok(Played::Skipped(format!("needs {} CPUs, here are {cpus}", rig.cpus)));
    }
    let dir = out.join(rig.name);
    std::fs::create_dir_all(&dir)?;
    // Actors run ahead of everything: those of two rigs would be in each other's way.
    let lock = std::fs::File::create(std::env::temp_dir().join("netmortem-lab.lock"))?;
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive)?;
    net::clean(None);
    let log = dir.join("rig.txt");
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("rig").arg(rig.name).arg("--out").arg(&dir);
    if let Some(path) = &recorder.0 {
        command.arg("--recorder").arg(path);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&log)?);
    sys::die_with_parent(&mut command);
    let mut child = command.spawn()?;
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if started.elapsed() > LIMIT {
            let _ = child.kill();
            let _ = child.wait();
            break None;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    drop(lock);
    net::clean(Some(child.id()));
    independent::kmem::clean(child.id());
    let said = std::fs::read_to_string(&log).unwrap_or_default().trim().to_owned();
    Ok(match status {
        Some(s) if s.success() => Played::Done(dir),
        Some(s) if s.code() == Some(SKIPPED) => Played::Skipped(said),
        Some(s) => Played::Failed(format!("{s}: {said}")),
        None => Played::Failed(format!("not done after {LIMIT:?}: {said}")),
    })
}

/// Exit code of a rig that cannot be played on this machine; the reason is its last word.
pub const SKIPPED: i32 = 4;

/// The error of a rig that cannot be played here.
#[derive(Debug)]
pub struct NotHere(pub String);

impl std::fmt::Display for NotHere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotHere {}

#[cfg(test)]
mod tests {
    /// A rig that is played again finds its folder as the first time: nothing of the attempt before is in its way.
    #[test]
    fn an_attempt_leaves_nothing_to_the_next() {
        let out = std::env::temp_dir().join(format!("netmortem-lab-forget-{}", std::process::id()));
        let dir = out.join("r");
        std::fs::create_dir_all(&dir).unwrap();
        for file in ["bundle.nmb", "truth.json", "rig.txt"] {
            std::fs::write(dir.join(file), "x").unwrap();
        }
        super::forget(&dir).unwrap();
        let left: Vec<_> = std::fs::read_dir(&dir)
            .unwrap()
            .map(|f| f.unwrap().file_name())
            .collect();
        assert_eq!(left, ["rig.txt"]);
        super::forget(&dir).unwrap();
        std::fs::remove_dir_all(&out).unwrap();
    }
}
