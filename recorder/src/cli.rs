//! The command line, shared by `netmortem-record` and `netmortem record`.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use crate::dry_run::dry_run;
use crate::error::RecordError;
use crate::flight::{self, FLIGHT_BUFFER_KIB, FlightOptions, MAX_BUNDLES, On};
use crate::options::{Output, Profile, RecordOptions};
use crate::pcap::{PcapOptions, TapSpec};
use crate::perf::{Backend, PerfOptions};
use crate::plan::Filters;
use crate::record::{Progress, Summary, record_saying};
use crate::units::{self, CpuList, size};

mod fly;
mod names;
mod summary;

use fly::{fly, reach};
use names::default_name;
use summary::command_text;

pub use summary::summary_text;

/// Shown at the end of `--help`.
pub const EXAMPLES: &str = "Examples:
  netmortem-record -d 30s                       thirty seconds into incident-<host>-<time>.nmb
  netmortem-record --dry-run                    what would be recorded, and what it would cost
  netmortem-record -o slow.nmb                  until Ctrl-C
  netmortem-record -o get.nmb -- curl -s URL    while a command runs
  netmortem-record --profile lean --port 443    few events: can stay on for long
  netmortem-record --pcap eth0 -d 30s           the headers of every packet of eth0, too
  netmortem-record -d 10s -o - | ssh laptop 'cat > incident.nmb'
  netmortem-record --flight --on 'retransmits>100/s' --on drop:SOCKET_RCVBUFF -o /var/lib/netmortem/
                                                stay in memory; write 10 s before and 5 s after each trigger";

const BACKENDS: [&str; 3] = ["auto", "ftrace", "perf"];
const PROFILES: [&str; 6] = ["drops", "lean", "tcp", "rx", "tx", "full"];

/// Arguments of a recording.
#[derive(Debug, Clone, clap::Args)]
pub struct RecordArgs {
    /// Where to write the bundle: a new file, or a folder, - is standard output [default: incident-<host>-<time>.nmb]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write over FILE when it exists, unless another recorder is writing it
    #[arg(long, conflicts_with = "flight")]
    pub force: bool,
    /// Stop after this long (500ms, 30s, 5m, 1h, 1d); without it, when CMD exits, at Ctrl-C, or after 1 h when there is no CMD
    #[arg(short, long, value_name = "TIME", value_parser = units::parse_length)]
    pub duration: Option<Duration>,
    /// Which events to record, from the cheapest: drops, lean (at most 12 per request and response), tcp, rx, tx, full
    #[arg(long, value_name = "NAME", default_value = "full", value_parser = PROFILES)]
    pub profile: String,
    /// Of events that hold a port, only those of this one; repeat for several (the other events are recorded whole)
    #[arg(long, value_name = "PORT", value_delimiter = ',', value_parser = units::parse_port)]
    pub port: Vec<u16>,
    /// Of events that hold an interface, only those of this one; repeat for several (the other events are recorded whole)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub dev: Vec<String>,
    /// Only events on these CPUs (0-3,8)
    #[arg(long, value_name = "LIST", value_parser = units::parse_cpus)]
    pub cpu: Option<CpuList>,
    /// Record more than the kernel's own events: kprobes is a few probes in TCP and in name resolution, where the kernel has them
    #[arg(long, value_name = "WHAT", value_parser = ["kprobes"])]
    pub extra: Vec<String>,
    /// Record packets of this interface, too (eth0, or netns:web/eth0 in a network namespace); repeat for several
    #[arg(long, value_name = "IF", value_delimiter = ',', conflicts_with = "flight")]
    pub pcap: Vec<TapSpec>,
    /// How events are recorded: ftrace (a tracing instance), perf (perf_event_open), or auto: ftrace where an instance can be made
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = BACKENDS)]
    pub backend: String,
    /// Only what tasks of this cgroup do (a folder, or a path below /sys/fs/cgroup); by perf
    #[arg(long, value_name = "PATH", conflicts_with = "flight")]
    pub cgroup: Option<PathBuf>,
    /// Only what this process, and what it starts, does; repeat for several; by perf
    #[arg(long, value_name = "PID", value_delimiter = ',', conflicts_with_all = ["flight", "cgroup"])]
    pub pid: Vec<u32>,
    /// Bytes to keep of each packet, payload included; 0 keeps all [default: the headers, no payload]
    #[arg(long, value_name = "BYTES", requires = "pcap")]
    pub snaplen: Option<u32>,
    /// Ring of each interface of --pcap in KiB, or with a suffix [default: 8M]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_kib, requires = "pcap")]
    pub pcap_buffer: Option<u64>,
    /// Ring buffer per CPU in KiB, or with a suffix (512K, 32M) [default: 8M]
    #[arg(short, long, value_name = "SIZE", value_parser = units::parse_kib)]
    pub buffer_size: Option<u64>,
    /// Kernel memory of all ring buffers of events together (100M, 1G), not those of --pcap-buffer, nor the 64K for each CPU of --on drop: [default: an eighth of the available memory]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_kib)]
    pub max_buffers: Option<u64>,
    /// Stop when the bundle has grown to this size (500M, 2G) [default: 4G or half of the free disk; none with -o -]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes)]
    pub max_bytes: Option<u64>,
    /// Stop when the recorder itself needs more of one CPU than this for 5 s, in percent [default: 25 for each CPU, 50 to 200]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_cpu: Option<u32>,
    /// Fly: keep the events in kernel memory, overwriting the oldest, and write a bundle (FILE-000001.nmb, ...) for each trigger
    #[arg(long)]
    pub flight: bool,
    /// What `--flight` waits for and writes.
    #[command(flatten)]
    pub flying: FlightArgs,
    /// Record nothing: print the plan (events, filters, buffers, limits) and what it would cost, from a count of one second
    #[arg(long)]
    pub dry_run: bool,
    /// A command to record: recording stops when it exits; it (not what it started) is terminated, and killed after 2 s, when recording stops first, unless by a limit that was not asked for
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// Record what the kernel says about its network stack into one bundle.
#[derive(Debug, clap::Parser)]
#[command(name = "netmortem-record", version, after_help = EXAMPLES)]
pub struct Standalone {
    /// What `netmortem record` takes, too.
    #[command(flatten)]
    pub record: RecordArgs,
}

/// Arguments of `--flight`.
#[derive(Debug, Clone, clap::Args)]
pub struct FlightArgs {
    /// A trigger besides SIGUSR1; repeat for several: signal, retransmits>N/s, drops>N/s, drop:REASON, rto, zero-window,
    /// time-squeeze, softirq-delay=TIME, read-wait=TIME, counter:NAME>N/s, exit:CODE or exit:nonzero (of CMD). Counters are
    /// those of the recorder's own network namespace, and of all others together; `own:retransmits>N/s`: of its own alone
    #[arg(long, value_name = "SPEC", requires = "flight", value_parser = On::parse)]
    pub on: Vec<On>,
    /// What lies this long before the trigger is written, as far as the ring buffers reach back
    #[arg(long, value_name = "TIME", requires = "flight", default_value = "10s", value_parser = units::parse_duration)]
    pub before: Duration,
    /// ... and what lies this long after it
    #[arg(long, value_name = "TIME", requires = "flight", default_value = "5s", value_parser = units::parse_duration)]
    pub after: Duration,
    /// End after so many bundles [default: 10, after which CMD runs on]
    #[arg(long, value_name = "N", requires = "flight", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_bundles: Option<u64>,
    /// A trigger that comes sooner than this after the last one is only counted
    #[arg(long, value_name = "TIME", requires = "flight", default_value = "60s", value_parser = units::parse_duration)]
    pub every: Duration,
}

impl RecordArgs {
    /// What `--flight` adds.
    pub fn flight_options(&self) -> FlightOptions {
        let f = &self.flying;
        FlightOptions {
            on: f.on.clone(),
            before: f.before,
            after: f.after,
            max_bundles: f.max_bundles.unwrap_or(MAX_BUNDLES),
            max_bundles_is_default: f.max_bundles.is_none(),
            every: f.every,
        }
    }

    /// The same as plain options.
    pub fn options(&self) -> RecordOptions {
        let output = match &self.output {
            Some(p) if p.as_os_str() == "-" => Output::Stdout,
            // `new/` is a folder, too: one that is missing is an error, and no file of that name.
            Some(p) if p.is_dir() || p.as_os_str().as_encoded_bytes().ends_with(b"/") => {
                Output::Named(p.join(default_name()))
            }
            Some(p) => Output::File(p.clone()),
            None => Output::Named(default_name()),
        };
        RecordOptions {
            output,
            force: self.force,
            duration: self.duration,
            profile: Profile::parse(&self.profile).unwrap_or_default(),
            filters: Filters {
                ports: self.port.clone(),
                devs: self.dev.clone(),
                cpus: self.cpu.clone().map(|c| c.0).unwrap_or_default(),
            },
            extra_kprobes: self.extra.iter().any(|e| e == "kprobes"),
            pcap: PcapOptions {
                taps: self.pcap.clone(),
                snaplen: self.snaplen,
                ring_kib: self.pcap_buffer,
            },
            perf: PerfOptions {
                backend: Backend::parse(&self.backend).unwrap_or_default(),
                cgroup: self.cgroup.clone(),
                pids: self.pid.clone(),
            },
            buffer_kib: self.buffer_size.or(self.flight.then_some(FLIGHT_BUFFER_KIB)),
            max_buffers_kib: self.max_buffers,
            max_bytes: self.max_bytes,
            max_cpu_percent: self.max_cpu,
            command: self.command.clone(),
            command_line: std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect(),
        }
    }
}

/// An error of the command line, with a tip when a command to record stands there without `--`.
pub fn with_tip(mut e: clap::Error) -> clap::Error {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    if let (ErrorKind::UnknownArgument, Some(ContextValue::String(word))) = (e.kind(), e.get(ContextKind::InvalidArg))
        && !word.starts_with('-')
    {
        let tip = format!("a command to record stands behind `--`: -- {word} ...");
        e.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    e
}

/// Records and talks to standard error: one line of progress on a terminal, and what was recorded.
pub fn run(args: &RecordArgs) -> Result<(), RecordError> {
    if args.flight && args.backend == "perf" {
        return Err(RecordError::Perf {
            because: "--flight needs a tracing instance: it does not work with --backend perf".to_owned(),
        });
    }
    if args.dry_run {
        if args.flight {
            flight::check_plan(&args.options(), &args.flight_options())?;
        }
        let mut forecast = dry_run(&args.options())?;
        if args.flight && args.duration.is_none() && args.command.is_empty() {
            forecast.limits.duration = None;
        }
        // A reader that has gone (head) wants no more.
        let _ = write!(std::io::stdout(), "{}", forecast.text());
        if args.flight {
            let _ = writeln!(std::io::stdout(), "{}", reach(&forecast, args.flying.before));
        }
        return Ok(());
    }
    if args.flight {
        return fly(args);
    }
    let mut err = std::io::stderr();
    let terminal = err.is_terminal();
    let mut tell = |p: &Progress| {
        if let Some(name) = p.unheeded {
            let clear = if terminal { "\r\x1b[K" } else { "" };
            let _ = writeln!(
                std::io::stderr(),
                "{clear}note: {name} came: only a flight (--flight) writes at a signal; this recording goes on (SIGINT or SIGTERM ends it)"
            );
        }
        if terminal {
            let lost = if p.lost > 0 {
                format!(", {} events LOST", p.lost)
            } else {
                String::new()
            };
            let (secs, bundle) = (p.elapsed.as_secs(), size(p.bundle_bytes));
            let _ = write!(
                std::io::stderr(),
                "\r\x1b[Krecording {secs} s, {bundle}{lost} (Ctrl-C stops)"
            );
        }
    };
    let mut said = None;
    let mut done = |s: &Summary| {
        said.clone_from(&s.command);
        let clear = if terminal { "\r\x1b[K" } else { "" };
        let closing = match s.backend {
            "perf" => "the bundle is whole; the kernel closes the events of perf, which takes it some seconds\n",
            _ => "",
        };
        let _ = write!(std::io::stderr(), "{clear}{}{closing}", summary_text(s));
    };
    let recorded = record_saying(&args.options(), &mut tell, &mut done);
    if terminal && recorded.is_err() {
        let _ = write!(err, "\r\x1b[K");
    }
    // One that outlived the recording has ended by now.
    if let Some(c) = recorded?.command.filter(|c| Some(c) != said.as_ref()) {
        let _ = write!(err, "{}", command_text(&c));
    }
    Ok(())
}
