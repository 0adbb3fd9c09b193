//! `--on drop:REASON`: a second instance with one filtered event and a small buffer. The kernel says when something is in
//! it; after the first event it is switched off until the flight is armed again, so that a storm costs nothing.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use crate::error::RecordError;
use crate::instance::Instance;

const FOLDER: &str = "events/skb/kfree_skb";
/// Per CPU: some hundred events; only the first of them are looked at.
const BUFFER_KIB: &str = "64";
/// Lines of the kernel's that are kept as evidence.
const EVIDENCE: usize = 5;

/// Waits for drops of certain reasons. `pipe` comes first: an instance cannot go while it is read.
pub struct DropWatch {
    pipe: File,
    instance: Instance,
    armed: bool,
}

impl DropWatch {
    /// Sets it up, switched off. `None` when no reason is asked for. The other value are leftovers that were removed.
    pub fn create(tracefs: &Path, reasons: &[(&str, &str)]) -> Result<Option<DropWatch>, RecordError> {
        if reasons.is_empty() {
            return Ok(None);
        }
        let (instance, _) = Instance::create(tracefs)?;
        let format = instance.read(&format!("{FOLDER}/format"))?;
        let mut any = Vec::new();
        for (spec, reason) in reasons {
            let number = number_of(&format, reason).ok_or_else(|| RecordError::Trigger {
                spec: (*spec).to_owned(),
                because: format!(
                    "this kernel drops no packet for that reason; it knows: {}",
                    reasons_of(&format).map(|(_, n)| n).collect::<Vec<_>>().join(" ")
                ),
            })?;
            any.push(format!("reason == {number}"));
        }
        instance.set_clock()?;
        for (option, value) in [("overwrite", "1"), ("stacktrace", "0"), ("userstacktrace", "0")] {
            let _ = instance.write(&format!("options/{option}"), value);
        }
        // Wake at the first event; kernels before 5.0 always do.
        let _ = instance.write("buffer_percent", "0");
        instance.write("buffer_size_kb", BUFFER_KIB)?;
        instance.write(&format!("{FOLDER}/filter"), &any.join(" || "))?;
        instance.write(&format!("{FOLDER}/enable"), "1")?;
        let path = instance.join("trace_pipe");
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let pipe = OpenOptions::new().read(true).custom_flags(flags).open(&path);
        Ok(Some(DropWatch {
            pipe: pipe.map_err(|e| RecordError::tracefs("opening", path, e))?,
            instance,
            armed: false,
        }))
    }

    /// Forgets what is in the buffer and waits for the next drop.
    pub fn arm(&mut self) -> Result<(), RecordError> {
        if !self.armed {
            self.instance.reset()?;
            self.instance.write("tracing_on", "1")?;
            self.armed = true;
        }
        Ok(())
    }

    /// What the kernel printed, when there was one; then it is off.
    pub fn fired(&mut self) -> Result<Vec<String>, RecordError> {
        if !self.armed {
            return Ok(Vec::new());
        }
        let mut text = vec![0; 16 << 10];
        // Nothing there is an error of its own (EAGAIN); any other leaves this trigger silent until the next look.
        let n = self.pipe.read(&mut text).unwrap_or(0);
        text.truncate(n);
        let text = String::from_utf8_lossy(&text);
        let lines = text.lines().filter(|l| l.contains("kfree_skb:"));
        let lines: Vec<String> = lines.take(EVIDENCE).map(|l| l.trim().to_owned()).collect();
        if !lines.is_empty() {
            self.instance.write("tracing_on", "0")?;
            self.armed = false;
        }
        Ok(lines)
    }

    /// Sleeps until there may be one, or so long.
    pub fn wait(&self, at_most: Duration) {
        let started = Instant::now();
        let timeout = Timespec {
            tv_sec: i64::try_from(at_most.as_secs()).unwrap_or(1),
            tv_nsec: i64::from(at_most.subsec_nanos()),
        };
        let woken = match self.armed {
            true => poll(&mut [PollFd::new(&self.pipe, PollFlags::IN)], Some(&timeout)),
            false => poll(&mut [], Some(&timeout)),
        };
        // Readable at once and yet nothing in it: do not spin on it.
        if woken.is_ok_and(|n| n > 0) && started.elapsed() < Duration::from_millis(1) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Number and name of every reason in a format text: `{ 6, "SOCKET_RCVBUFF" }`.
fn reasons_of(format: &str) -> impl Iterator<Item = (u32, &str)> {
    let symbols = format.split_once("__print_symbolic(REC->reason").map_or("", |(_, s)| s);
    symbols.split('{').filter_map(|part| {
        let (number, rest) = part.split_once(',')?;
        let name = rest.trim().strip_prefix('"')?.split('"').next()?;
        Some((number.trim().parse().ok()?, name))
    })
}

/// The number of a reason on this kernel; it differs from one to the next.
pub fn number_of(format: &str, reason: &str) -> Option<u32> {
    reasons_of(format).find(|(_, name)| *name == reason).map(|(n, _)| n)
}
