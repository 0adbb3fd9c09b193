//! `netmortem convert`: a recording, or its facts, in another form.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueEnum;
use netmortem_analyzer::Told;
use netmortem_analyzer::export::bundle::{Change, Names, RewriteError, import, rewrite_with};
use netmortem_analyzer::export::packets::{self, PacketsError};
use netmortem_analyzer::export::perfetto;
use netmortem_analyzer::export::slice::{self, Compared, Cut, Flow, SliceError, Subject};
use netmortem_analyzer::fit;
use netmortem_formats::Capture;

use crate::failure::{failure, usage};
use crate::output::{self, clean};
use crate::part::not_cut;
use crate::{Outcome, input};

const EXAMPLES: &str = "\
Examples:
  netmortem convert incident.nmb -o incident.perfetto-trace   open it at ui.perfetto.dev (nothing is uploaded)
  netmortem convert incident.nmb -o tables/ --to parquet      one Parquet file for each table
  netmortem convert incident.nmb -o packets.pcapng            recorded with --pcap: wireshark shows where each packet waited
  netmortem convert incident.nmb eth0=dump.pcap -o packets.pcapng   the same for what tcpdump captured at that time
  netmortem convert incident.nmb --time 1s..3s -o slice.nmb   these two seconds, for the ticket
  netmortem convert incident.nmb --flow 10.0.0.1:443 -o slice.nmb   without what is of other flows
  netmortem convert trace.dat -o incident.nmb                 what trace-cmd or perf recorded, as a bundle
  netmortem convert incident.nmb --redact -o public.nmb       pseudonyms for names and addresses; findings stay
  netmortem convert after.nmb --redact --names ours.json -o public.nmb   the same ones in all bundles, for diff

Without --to the name of OUT says the form: .perfetto-trace or .pftrace is perfetto, .pcapng and .nmb are themselves; a name that ends in /, or a folder, is parquet.
A time counts from the first event; either side may be missing. A FLOW is conn:3 (`show connections`), a port, an end, or two ends (10.0.0.1:443-10.0.0.2:5000).
What is not proven to be of another flow or device stays, as does all that tells where a packet waited; the slice's notes say what was cut,
and whether rows of the flow are the same as before; where some are not, the exit code is 3.";

/// Into what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum To {
    /// A folder with a Parquet file for each table.
    Parquet,
    /// A trace for ui.perfetto.dev: CPUs, polls, arrows from skb to reader, cwnd.
    Perfetto,
    /// The bundle's packets, each with where it waited as its comment.
    Pcapng,
    /// A bundle: cut (--time, --flow, --dev), with pseudonyms (--redact), made of a trace.dat or perf.data.
    Bundle,
}

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A bundle (.nmb), trace.dat or perf.data; - is standard input. Of the same time and joined to a bundle: pcap, pcapng (of
    /// eth0 when its file does not say so: eth0=dump.pcap), bundles of the same boot
    #[arg(value_name = "INPUT", required = true)]
    input: Vec<PathBuf>,
    /// Where to write; - is standard output. A recording that is there already is written over only with --force
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Into what [default: what the name of OUT says]
    #[arg(long, value_enum, value_name = "FORM")]
    to: Option<To>,
    /// Write over a recording that is there already
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    part: input::Part,
    /// Without what is proven to be of other flows; repeat for several
    #[arg(long, value_name = "FLOW", value_delimiter = ',')]
    flow: Vec<Flow>,
    /// Without packets that passed other devices only; repeat for several
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    dev: Vec<String>,
    /// Pseudonyms for names of tasks and devices and for addresses, the same ones everywhere
    #[arg(long)]
    redact: bool,
    /// With --redact: a file of names and their pseudonyms, made when it does not exist and added to. Bundles redacted with one file
    /// can be compared by `diff`, and in it you find whom a pseudonym stands for: keep it to yourself
    #[arg(long, value_name = "FILE", requires = "redact")]
    names: Option<PathBuf>,
}

/// Converts.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let form = form(args)?;
    let changed = args.redact || !args.flow.is_empty() || !args.dev.is_empty();
    if form != To::Bundle && changed {
        return Err(usage(
            "--flow, --dev and --redact make another bundle",
            "write one first (-o slice.nmb), then convert that",
        ));
    }
    if [To::Bundle, To::Pcapng].contains(&form) && args.part.memory.is_some() {
        return Err(usage(
            "--memory is for tables and Perfetto traces: a bundle and its packets are not analyzed in part",
            "leave it out; --time makes a bundle of a part",
        ));
    }
    if form == To::Pcapng && args.part.time.is_some() {
        return Err(usage(
            "packets are not cut in time with the events",
            "convert all of it; tshark -Y 'frame.time_relative > 1' chooses",
        ));
    }
    output::distinct_from(&args.input, &[&args.output])?;
    output::spare_recording(&args.output, args.force)?;
    match form {
        To::Bundle => bundle(args),
        To::Pcapng => pcapng(args),
        To::Parquet => parquet(args),
        To::Perfetto => trace(args),
    }
}

fn form(args: &Args) -> anyhow::Result<To> {
    let out = &args.output;
    let name = out.to_string_lossy();
    let named = match out.extension().and_then(|e| e.to_str()) {
        _ if name.ends_with('/') || out.is_dir() => Some(To::Parquet),
        Some("nmb") => Some(To::Bundle),
        Some("pcapng") => Some(To::Pcapng),
        Some("perfetto-trace" | "pftrace") => Some(To::Perfetto),
        _ => None,
    };
    match (args.to, named) {
        (Some(to), Some(named)) if to != named => {
            let word = to
                .to_possible_value()
                .map_or(String::new(), |v| v.get_name().to_owned());
            Err(output::contradiction(&format!("--to {word}"), out))
        }
        (Some(form), _) | (None, Some(form)) => Ok(form),
        (None, None) => Err(usage(
            format!("the name {name} does not say what to write"),
            "add --to parquet, --to perfetto, --to pcapng or --to bundle",
        )),
    }
}

fn parquet(args: &Args) -> anyhow::Result<Outcome> {
    let folder = &args.output;
    if folder.as_os_str() == "-" {
        return Err(usage("tables are a folder, not a stream", "name a folder: -o tables/"));
    }
    // Made before the long run: what cannot be written is told at once.
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let facts = input::open_part(&args.input, &args.part, input::with_events)?.facts();
    for table in facts.tables() {
        let path = folder.join(format!("{}.parquet", table.name()));
        output::distinct_from(&args.input, &[&path])?;
        output::whole(&path, |out| Ok(netmortem_frames::to_parquet(table.as_ref(), out)?))?;
        say(&format!("{}: {} rows", path.display(), table.len()))?;
    }
    Ok(Outcome::Done)
}

fn trace(args: &Args) -> anyhow::Result<Outcome> {
    output::distinct_from(&args.input, &[&args.output])?;
    let opened = input::open_part(&args.input, &args.part, Ok)?;
    let facts = opened.facts();
    let w = output::whole(&args.output, |out| Ok(perfetto::write(&facts, &opened.capture, out)?))?;
    say(&format!(
        "{} received and {} sent packets, {} softirq runs, {} polls, {} TCP samples, {} drops, {} calls that sent segments again, {} gaps: open it at ui.perfetto.dev",
        w.received, w.sent, w.softirqs, w.polls, w.samples, w.drops, w.retransmits, w.gaps
    ))?;
    Ok(Outcome::Done)
}

fn pcapng(args: &Args) -> anyhow::Result<Outcome> {
    output::distinct_from(&args.input, &[&args.output])?;
    let capture = input::open_all(&args.input, args.part.memory)?;
    let has = |m: &netmortem_formats::Member| m.name.starts_with("packets/");
    if !capture.members.iter().any(has) {
        let none = PacketsError::NoPackets.to_string();
        return Err(failure(
            none,
            "record them beside the events: netmortem record --pcap eth0",
        ));
    }
    let facts = input::facts_of(&capture);
    let w = output::whole(&args.output, |out| {
        packets::write(&facts, &capture, out).map_err(|e| match e {
            PacketsError::Io(e) => e.into(),
            e => failure(e.to_string(), "`netmortem check INPUT` prints what was recorded"),
        })
    })?;
    say(&format!(
        "{} packets: {} matched with the kernel's events (of these {} by their socket, too), {} not because several events fit, {} because none is known to",
        w.packets,
        w.certain + w.strong,
        w.certain,
        w.ambiguous,
        w.unmatched
    ))?;
    match w.errors {
        0 => {}
        1 => say("1 part of the packets could not be read and is not in it")?,
        n => say(&format!("{n} parts of the packets could not be read and are not in it"))?,
    }
    let told = Told::of(&capture, &facts);
    for file in &told.packets {
        say(&clean(&file.sentence()))?;
        file.warning()
            .map_or(Ok(()), |w| say(&format!("warning: {}", clean(&w))))?;
    }
    Ok(Outcome::Done)
}

fn bundle(args: &Args) -> anyhow::Result<Outcome> {
    let kept = args.names.as_deref();
    let written: Vec<&Path> = [args.output.as_path()].into_iter().chain(kept).collect();
    output::distinct_from(&args.input, &written)?;
    let was = kept.map(stood).transpose()?;
    let mut names = match (kept, &was) {
        (Some(path), Some(json)) => list(path, json.as_deref())?,
        _ => Names::default(),
    };
    let mut capture = input::with_events(input::open_all(&args.input, args.part.memory)?)?;
    let changed = args.part.time.is_some() || args.redact || !args.flow.is_empty() || !args.dev.is_empty();
    if capture.format != "bundle" {
        if !changed {
            return made(&capture, &args.output);
        }
        // Made a bundle first, in memory, and changed then.
        let source = capture.source.clone();
        let made = fit::as_bundle(capture, args.part.memory());
        capture = made.map_err(|e| match e {
            fit::FitError::Rewrite(e) => told(e),
            e => not_cut(&source, &e, true),
        })?;
    }
    let mut change = Change {
        redact: args.redact,
        ..Change::default()
    };
    let subject = Subject {
        flows: args.flow.clone(),
        devs: args.dev.clone(),
    };
    let before = (subject != Subject::default()).then(|| input::facts_of(&capture));
    let mut same = Compared::default();
    if let Some(facts) = &before {
        let (cut, compared) = slice::cut(&capture, facts, &subject).map_err(|e| match e {
            SliceError::Rewrite(e) => told(e),
            SliceError::Nothing(what) => {
                let input = output::quoted(Path::new(&capture.source));
                failure(
                    what,
                    format!(
                        "`netmortem show connections {input}` and `netmortem show hops {input}` list what there is"
                    ),
                )
            }
        })?;
        (change.cut, same) = (Some(cut), compared);
    }
    if let Some(time) = args.part.time {
        // Where there is no event, writing says so.
        change.window = fit::window(&capture, time).or(Some((0, u64::MAX)));
    }
    if let Some((facts, cut)) = before.as_ref().zip(change.cut.as_ref())
        && let Some(why) = slice::nothing(facts, &subject, cut, change.window)
    {
        return Err(failure(
            format!("{}; nothing is written", clean(&why)),
            format!(
                "ask for the flow, the device or the time alone, or for a longer time; `netmortem show hops {}` lists what passed where",
                output::quoted(Path::new(&capture.source))
            ),
        ));
    }
    let done = output::whole(&args.output, |out| {
        let (_, done) = rewrite_with(&capture, &change, &mut names, out).map_err(told)?;
        // Before the bundle has its name: one whose pseudonyms are in no list would be compared by them.
        if let Some((path, was)) = kept.zip(was.as_ref()) {
            if &stood(path)? != was {
                return Err(failure(
                    format!("{} was changed meanwhile by another run", path.display()),
                    "convert again, one after the other",
                ));
            }
            output::whole(path, |out| Ok(out.write_all(names.to_list().as_bytes())?))?;
        }
        Ok(done)
    })?;
    say(&format!(
        "{} events kept, {} before and {} after cut; {} names and {} addresses replaced; {} members left out (the new bundle's notes say which)",
        done.events,
        done.cut_before,
        done.cut_after,
        done.names,
        done.addresses,
        done.left_out.len()
    ))?;
    if let Some(path) = kept {
        say(&format!(
            "whom they stand for: {} (keep it to yourself)",
            path.display()
        ))?;
    }
    if let Some(cut) = &change.cut {
        say(&others(cut, done.cut_others.values().sum()))?;
        say(&compared(same))?;
    }
    Ok(match same.different {
        0 => Outcome::Done,
        _ => Outcome::Bad,
    })
}

/// What a file has; `None`: there is none.
fn stood(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        read => Ok(Some(read.with_context(|| format!("cannot read {}", path.display()))?)),
    }
}

/// The list of names in a file; a new one where there is none.
fn list(path: &Path, json: Option<&[u8]>) -> anyhow::Result<Names> {
    let Some(json) = json else { return Ok(Names::new_list()) };
    Names::from_list(json).map_err(|e| {
        failure(
            format!("{}: {e}", path.display()),
            "name a file that `netmortem convert --names` wrote, or one that does not exist",
        )
    })
}

fn told(e: RewriteError) -> anyhow::Error {
    match e {
        RewriteError::Io(e) => e.into(),
        RewriteError::Empty => failure(
            e.to_string(),
            "`netmortem check INPUT` prints when it begins and how long it is",
        ),
        RewriteError::NoneRead => failure(
            e.to_string(),
            "`netmortem check INPUT` prints what was read and what was not",
        ),
        e @ (RewriteError::NotABundle(_)
        | RewriteError::NoManifest
        | RewriteError::NoEvents(_)
        | RewriteError::Cycles
        | RewriteError::Instances) => failure(e.to_string(), "record with `netmortem record`"),
    }
}

/// A bundle of another tool's recording.
fn made(capture: &Capture, to: &Path) -> anyhow::Result<Outcome> {
    let done = output::whole(to, |out| import(capture, out).map(|(_, done)| done).map_err(told))?;
    let left_out = match done.left_out {
        0 => String::new(),
        n => format!(", {n} of other tracing instances left out"),
    };
    say(&format!("{} events, {} bytes{left_out}", done.events, done.bytes))?;
    Ok(Outcome::Done)
}

fn others(cut: &Cut, events: u64) -> String {
    format!(
        "of other flows or devices than {}: {events} events cut; packets: {} kept as asked for, {} of others because it waited with them, {} because it is not known whose they are; {} cut; drops: {} kept as asked for, {} of others, {} because it is not known whose they are; {} cut",
        clean(&cut.of),
        cut.own,
        cut.context,
        cut.unknown,
        cut.others,
        cut.drops.own.len(),
        cut.drops.others_kept,
        cut.drops.unknown,
        cut.drops.others
    )
}

/// Whether the rows of what was asked for are those of the original, without a cut in time.
fn compared(same: Compared) -> String {
    let Compared {
        rx,
        tx,
        drops,
        different,
    } = same;
    match different {
        0 => format!(
            "its {rx} rows of rx and {tx} of tx are the same in the slice, but for ids and observer_ns, and so are its {drops} of drops"
        ),
        n => format!(
            "{n} of its {rx} rows of rx, {tx} of tx and {drops} of drops are not the same in the slice: do not conclude from it, use --time alone"
        ),
    }
}

fn say(line: &str) -> std::io::Result<()> {
    writeln!(std::io::stderr(), "{line}")
}
