//! The thin recorder: what the kernel says about its network stack, into one bundle.
//!
//! In: a plan (profile, buffer size, when to stop). Out: a bundle (`docs/bundle.md`). It must not decode event payloads,
//! use the global trace buffer, or leave anything behind: the private tracing instance goes when it goes.
//! Follows the kernel's Documentation/trace/ftrace.rst (instances, trace_pipe_raw, stats) and events.rst (filters).
//!
//! ```text
//! plan -> Instance (events enabled, tracing_on 0) -> manifest, texts, snapshots/start -> tracing_on 1 -> CMD
//!            per CPU: trace_pipe_raw -splice-> pipe -> batch of whole sub-buffers -> zstd -> member
//!            or, with the perf backend, per CPU: mapped ring -> batch of whole records -> zstd -> member
//!            once a second: counters, sockets, qdiscs; what the kernel announced meanwhile (notices) -> member
//!            per interface of --pcap: AF_PACKET ring -> headers -> pcapng section -> zstd -> member
//! stop -> tracing_on 0 -> rest of every CPU -> snapshots/end, stats -> end.json -> instance removed
//! ```

mod advice;
mod aside;
pub mod cli;
mod clock;
mod command;
mod drain;
mod dry_run;
mod error;
mod finish;
pub mod flight;
mod hist;
mod host;
mod instance;
mod limits;
mod notices;
mod options;
mod output;
mod pcap;
mod perf;
mod permissions;
mod pipe;
mod plan;
mod prepare;
mod probes;
mod readings;
mod record;
mod signals;
mod snapshot;
mod symbols;
#[cfg(test)]
mod tests;
mod tracefs;
pub mod units;
mod watch;

pub use dry_run::{Forecast, dry_run};
pub use error::RecordError;
pub use flight::{FlightEvent, FlightOptions, FlightSummary, On};
pub use limits::Limits;
pub use options::{Output, Profile, RecordOptions};
pub use pcap::{PcapOptions, TapSpec};
pub use perf::{Backend, PerfOptions};
pub use plan::Filters;
pub use record::{Progress, Summary, record, record_saying};
