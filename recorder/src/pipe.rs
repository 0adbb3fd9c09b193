//! Writing to who may not read.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::signals;

/// How long the reader of a pipe may take nothing after the recording was told to stop.
const PATIENCE: Duration = Duration::from_secs(3);

/// A pipe, a socket or a device: its reader may stop reading. Waits as long as the recording goes on, and [`PATIENCE`]
/// without progress after that.
pub(crate) struct Pipe {
    file: File,
    /// Ours alone and not blocking; `None` for a socket, which takes a flag instead, and where it cannot be had.
    own: Option<File>,
    stopped: Arc<AtomicBool>,
    /// Given up: those who still want to write (other threads, buffers being dropped) are refused at once.
    given_up: bool,
}

impl Pipe {
    pub(crate) fn new(file: File, stopped: Arc<AtomicBool>) -> Pipe {
        // O_NONBLOCK on `file` itself would change the descriptor of everybody who shares it, the shell included.
        let again = format!("/proc/self/fd/{}", file.as_raw_fd());
        let flags = libc::O_NONBLOCK;
        let own = OpenOptions::new().write(true).custom_flags(flags).open(again).ok();
        Pipe {
            file,
            own,
            stopped,
            given_up: false,
        }
    }

    fn try_write(&mut self, data: &[u8]) -> io::Result<usize> {
        if let Some(own) = &mut self.own {
            return own.write(data);
        }
        match send(&self.file, data, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Err(Errno::NOTSOCK) => self.file.write(data),
            done => Ok(done?),
        }
    }
}

impl Write for Pipe {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let mut stopped_at = None;
        loop {
            match self.try_write(data) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                done => return done,
            }
            // A signal also counts before there is a recording to stop: symbols alone fill a pipe.
            if self.stopped.load(Ordering::Acquire) || signals::came() {
                let since = *stopped_at.get_or_insert_with(Instant::now);
                if self.given_up || since.elapsed() >= PATIENCE {
                    self.given_up = true;
                    let what = format!("its reader took nothing for {} s", PATIENCE.as_secs());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, what));
                }
            }
            let timeout = Timespec {
                tv_sec: 0,
                tv_nsec: 100_000_000,
            };
            let file = self.own.as_ref().unwrap_or(&self.file);
            match poll(&mut [PollFd::new(file, PollFlags::OUT)], Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
