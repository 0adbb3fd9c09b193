//! A progress line on standard error, when that is a terminal and the work lasts longer than a second: a bar with ETA while the
//! input is read, then that facts are being made of it.

use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this shows nothing.
const QUIET: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(150);

/// Progress of reading and analyzing an input of `total` coded bytes. The line goes away when this is dropped.
pub struct Progress(Option<Line>);

struct Line {
    bar: ProgressBar,
    total: u64,
    /// Dropped to end the thread that waits to show the line.
    shown_later: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Starts to count.
    pub fn of_bytes(total: u64) -> Progress {
        if !std::io::stderr().is_terminal() {
            return Progress(None);
        }
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        bar.set_style(style("reading [{bar:30}] {bytes}/{total_bytes}, {eta} left"));
        let (stop, stopped) = channel();
        let later = bar.clone();
        let thread = std::thread::spawn(move || show_later(&later, &stopped));
        Progress(Some(Line {
            bar,
            total,
            shown_later: Some((stop, thread)),
        }))
    }
    /// Counts bytes read; from any thread.
    pub fn add(&self, bytes: u64) {
        let Some(line) = &self.0 else { return };
        line.bar.inc(bytes);
        if line.bar.position() >= line.total {
            line.bar
                .set_style(style("{spinner} all read; finding out what happened, {elapsed}"));
        }
    }
}

fn show_later(bar: &ProgressBar, stopped: &Receiver<()>) {
    if stopped.recv_timeout(QUIET) == Err(RecvTimeoutError::Timeout) {
        bar.set_draw_target(ProgressDrawTarget::stderr());
        bar.enable_steady_tick(TICK);
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.shown_later.take() {
            drop(stop);
            let _ = thread.join(); // it cannot panic, and there is nothing to do if it did
        }
        self.bar.finish_and_clear();
    }
}
