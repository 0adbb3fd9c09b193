//! `--time` and `--memory`: which part of a recording is analyzed, and what is said where nobody asked for a part.

use std::io::Write;

use netmortem_analyzer::Facts;
use netmortem_analyzer::export::bundle::RewriteError;
use netmortem_analyzer::fit::{self, FitError, Selected};
use netmortem_formats::{Bytes, Capture};

use crate::failure::failure;
use crate::output::clean;
use crate::{input, memory, times};

/// What becomes of a recording that memory does not hold where nobody asked for a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unasked {
    /// A part is analyzed: what is made of it has room to say so.
    Said,
    /// It is refused: rows do not say that they are of a part, and ids would be others.
    Refused,
}

/// Which part of a recording is analyzed.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Part {
    /// Only this time, like 1s..3s, ..500ms or 2s.. since its first event
    #[arg(long, value_name = "FROM..TO", value_parser = times::part)]
    pub time: Option<times::Part>,
    /// Memory that the analysis may take; of a recording that needs more a part is analyzed, and it says which [default: what
    /// is free]
    #[arg(long, value_name = "SIZE", value_parser = memory::size)]
    pub memory: Option<u64>,
}

impl Part {
    /// Bytes.
    pub fn memory(&self) -> u64 {
        self.memory.or_else(memory::free).unwrap_or(u64::MAX)
    }

    /// Bytes of the memory for what needs `needed`, of several that need `all` beside what any analysis takes: that is once for all, as
    /// they are analyzed one after the other.
    fn share(&self, needed: u64, all: u64) -> u64 {
        let memory = self.memory();
        let Some(room) = memory.checked_sub(fit::BASE) else {
            return memory;
        };
        let own = needed.saturating_sub(fit::BASE);
        let part = u128::from(room) * u128::from(own) / u128::from(all.max(1));
        fit::BASE.saturating_add(u64::try_from(part).unwrap_or(u64::MAX))
    }

    /// What [`Part::share`] leaves for a capture beside itself: what was unpacked lies in the memory that was asked for, too. What is free
    /// was looked at after that.
    pub fn room(&self, capture: &Capture, all: u64) -> u64 {
        let unpacked = match &capture.bytes {
            Bytes::Owned(bytes) if self.memory.is_some() => bytes.len() as u64,
            _ => 0,
        };
        self.share(fit::needed(capture), all).saturating_sub(unpacked)
    }

    /// The part of a capture; `all`: what all recordings need, see [`Part::share`].
    pub fn take(&self, capture: Capture, all: u64, unasked: Unasked) -> anyhow::Result<Opened> {
        let memory = self.room(&capture, all);
        let source = capture.source.clone();
        let (capture, selected) =
            fit::fit(capture, self.time, memory).map_err(|e| not_cut(&source, &e, self.time.is_some()))?;
        let cut = selected.as_ref().and_then(|s| Some((s, s.because.as_ref()?)));
        if let Some((part, because)) = cut.filter(|_| unasked == Unasked::Refused && self.memory.is_none()) {
            let why = because.split_once(':').map_or(because.as_str(), |(why, _)| why);
            return Err(failure(
                format!("{}: {why}", clean(&source)),
                format!(
                    "ask for a part: {} fits (diff: --before-time, --after-time); or --memory SIZE",
                    part.option
                ),
            ));
        }
        if let Some((_, because)) = cut {
            // Nothing is left to do where that cannot be written.
            let more = match unasked {
                Unasked::Said => " --time FROM..TO asks for another part, --memory for more.",
                Unasked::Refused => "",
            };
            let _ = writeln!(std::io::stderr(), "netmortem: {}: {because}{more}", clean(&source));
        }
        Ok(Opened { capture, selected })
    }
}

/// Why no part was taken, and what to do.
pub fn not_cut(source: &str, e: &FitError, asked: bool) -> anyhow::Error {
    let next = match (e, asked) {
        (FitError::Rewrite(RewriteError::Empty), _) => {
            "`netmortem check INPUT` prints how long it is; --time counts from its first event"
        }
        (FitError::TooLittle, _) => "--memory SIZE says how much there is",
        (FitError::Import { .. }, _) => {
            "`netmortem convert INPUT -o FILE.nmb` makes it a bundle with little memory; take the part of that"
        }
        (_, true) => "leave out --time: a part cannot be taken of this one",
        (_, false) => {
            "it needs more memory than is free, and a part cannot be taken of it: --memory SIZE analyzes it all the same"
        }
    };
    failure(format!("{}: {e}", clean(source)), next)
}

/// A recording, or the part of it that is analyzed.
pub struct Opened {
    /// What is analyzed.
    pub capture: Capture,
    /// Which part, where it is not all.
    pub selected: Option<Selected>,
}

impl Opened {
    /// Analyzes, with a progress bar.
    pub fn facts(&self) -> Facts {
        let mut facts = input::facts_of(&self.capture);
        facts.capture.selected.clone_from(&self.selected);
        facts
    }
}
