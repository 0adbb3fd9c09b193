//! A progress bar with ETA on standard error, when that is a terminal and the work lasts longer than a second.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const QUIET: Duration = Duration::from_secs(1);

/// Progress of reading `total` bytes. Hidden for the first second; removed when dropped.
pub struct Progress {
    bar: Option<ProgressBar>,
    begun: Instant,
    shown: AtomicBool,
}

impl Progress {
    /// Starts to count.
    pub fn of_bytes(total: u64) -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
            let style = ProgressStyle::with_template("{msg} [{bar:30}] {bytes}/{total_bytes}, {eta} left");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_message("reading");
            bar
        });
        Progress {
            bar,
            begun: Instant::now(),
            shown: AtomicBool::new(false),
        }
    }
    /// Counts bytes; from any thread.
    pub fn add(&self, bytes: u64) {
        let Some(bar) = &self.bar else { return };
        bar.inc(bytes);
        if self.begun.elapsed() > QUIET && !self.shown.swap(true, Ordering::Relaxed) {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
