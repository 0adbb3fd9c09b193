//! The command that is recorded (`-- CMD...`).

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use netmortem_formats::bundle::CommandEnd;
use rustix::fs::{Access, access};
use rustix::process::{Pid, Signal, kill_process};

use crate::error::RecordError;
use crate::signals::Signals;

/// How long a command that outlived the recording may take to obey SIGTERM, and then to die of SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// How often one that outlives the recording is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Whether it can be started, before anything is set up for it: its name as `execvp` looks it up.
pub fn find(argv: &[OsString]) -> Result<(), RecordError> {
    let Some(name) = argv.first() else { return Ok(()) };
    let no = |kind: io::ErrorKind| RecordError::Command {
        command: name.to_string_lossy().into(),
        source: kind.into(),
    };
    let runs = |path: &Path| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    let named = Path::new(name);
    if name.as_bytes().contains(&b'/') {
        return match (runs(named), named.exists()) {
            (true, _) => Ok(()),
            (false, true) => Err(no(io::ErrorKind::PermissionDenied)),
            (false, false) => Err(no(io::ErrorKind::NotFound)),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    match std::env::split_paths(&path).any(|folder| runs(&folder.join(named))) {
        true => Ok(()),
        false => Err(no(io::ErrorKind::NotFound)),
    }
}

/// When the recording has ended: how the command ended, or, where it is spared and still runs, itself besides.
pub fn end(command: Option<Command>, spared: bool) -> (Option<CommandEnd>, Option<Command>) {
    match command {
        Some(mut c) => match spared && !c.has_ended() {
            true => (Some(c.how()), Some(c)),
            false => (Some(c.end()), None),
        },
        None => (None, None),
    }
}

/// A running command. Dropping it terminates it.
#[derive(Debug)]
pub struct Command {
    child: Child,
    status: Option<ExitStatus>,
}

impl Command {
    /// Starts it. `to_stderr`: our standard output carries the bundle, so its output goes to standard error.
    pub fn start(argv: &[OsString], to_stderr: bool) -> Result<Command, RecordError> {
        let name = argv.first().cloned().unwrap_or_default();
        let mut c = std::process::Command::new(&name);
        c.args(argv.iter().skip(1));
        if to_stderr {
            c.stdout(rustix::io::dup(std::io::stderr()).map_or_else(|_| Stdio::null(), Stdio::from));
        }
        let child = c.spawn();
        let child = child.map_err(|source| RecordError::Command {
            command: name.to_string_lossy().into(),
            source,
        })?;
        Ok(Command { child, status: None })
    }

    /// Whether it has exited.
    pub fn has_ended(&mut self) -> bool {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status.is_some()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<CommandEnd> {
        self.has_ended().then(|| self.how())
    }

    fn how(&self) -> CommandEnd {
        CommandEnd {
            pid: self.child.id(),
            exit_code: self.status.and_then(|s| s.code()),
            signal: self.status.and_then(|s| s.signal()),
        }
    }

    /// How it ended. One that still runs is asked to terminate, and killed if it does not:
    /// a recorder does not leave processes behind.
    pub fn end(mut self) -> CommandEnd {
        self.terminate();
        self.how()
    }

    /// Waits until it ends by itself, or a signal asks us to end it: how it ended.
    pub fn outlive(mut self, signals: &Signals) -> CommandEnd {
        while !self.has_ended() && signals.received().is_none() {
            std::thread::sleep(LOOK);
        }
        self.end()
    }

    fn terminate(&mut self) {
        if self.has_ended() {
            return;
        }
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        self.wait(GRACE);
        if !self.has_ended() {
            // It ignores SIGTERM. A process that not even this ends (in an uninterruptible sleep) is left behind, said.
            let _ = self.child.kill();
            self.wait(GRACE);
        }
    }

    fn wait(&mut self, patience: Duration) {
        let asked = Instant::now();
        while !self.has_ended() && asked.elapsed() < patience {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        self.terminate();
    }
}
