//! One recording by `netmortem-record` around what a rig does.
//!
//! The recorder runs `netmortem-lab hold`: it says `go` on its output once tracing is on, and ends when its input is closed,
//! which ends the recording. So a rig knows when it is recorded, without a sleep.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context, bail};

use crate::sys;

/// Which recorder: a `netmortem-record` by path, or this program's own copy.
#[derive(Debug, Clone, Default)]
pub struct Recorder(pub Option<PathBuf>);

/// A recording under way. Dropping it kills the recorder, which then removes its tracing instance.
#[derive(Debug)]
pub struct Recording {
    child: Child,
    input: Option<ChildStdin>,
    log: PathBuf,
}

impl Recorder {
    /// Starts to record into `dir/bundle.nmb` with `buffer` per CPU, and returns when tracing is on.
    pub fn start(&self, dir: &Path, buffer: &str) -> anyhow::Result<Recording> {
        let me = std::env::current_exe()?;
        let mut command = match &self.0 {
            Some(path) => Command::new(path),
            None => {
                let mut c = Command::new(&me);
                c.arg("record");
                c
            }
        };
        let log = dir.join("recorder.txt");
        command
            .arg("-o")
            .arg(dir.join("bundle.nmb"))
            .args(["-d", "120s", "-b", buffer])
            // An emulated machine is slow and small: the defaults would end a recording there, or shrink its buffers.
            .args(["--max-cpu", "10000", "--max-buffers", "1G", "--"]);
        command.arg(&me).arg("hold");
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&log)?);
        sys::die_with_parent(&mut command);
        let mut child = command.spawn().context("starting the recorder")?;
        let input = child.stdin.take();
        let output = child.stdout.take();
        let mut this = Recording { child, input, log };
        let mut line = String::new();
        let mut output = BufReader::new(output.context("the recorder has no output")?);
        output.read_line(&mut line)?;
        if line.trim() != "go" {
            this.input = None;
            let _ = this.child.wait();
            bail!("the recorder did not start: {}", this.said());
        }
        // The command must not fill a pipe; it says nothing more.
        Ok(this)
    }
}

impl Recording {
    fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default().trim().to_owned()
    }
    /// Ends it and waits for the bundle.
    pub fn finish(mut self) -> anyhow::Result<()> {
        self.input = None;
        let status = self.child.wait()?;
        if !status.success() {
            bail!("the recorder failed ({status}): {}", self.said());
        }
        Ok(())
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.input = None;
        if matches!(self.child.try_wait(), Ok(None)) {
            // It ends with its command; waiting keeps it from outliving the rig.
            let _ = self.child.wait();
        }
    }
}

/// The recorded command: says `go`, then lasts until its input ends.
pub fn hold() -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "go")?;
    out.flush()?;
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}
