//! `netmortem check`: what could be read, what was lost where.

use std::io::Write;
use std::path::PathBuf;

use netmortem_analyzer::Told;
use netmortem_analyzer::ingest::{self, CaptureInfo, Options};
use netmortem_analyzer::reconstruct::skew::{self, ClockError};
use netmortem_formats::Capture;
use netmortem_formats::join::joined_packets;
use netmortem_formats::pcapng::{self, Tap};
use netmortem_reports::format;

use crate::args::Global;
use crate::output::{self, clean, group_digits};
use crate::progress::Progress;
use crate::terminal::{bold, green, yellow};
use crate::{Outcome, input};

const EXAMPLES: &str = "\
Examples:
  netmortem check incident.nmb                         is this recording fit to judge?
  netmortem check trace.dat --json | jq .lost_events
  netmortem check --strict incident.nmb || echo lossy  exit code 3 when something is missing
  ssh host 'netmortem-record -d 5s -o -' | netmortem check -";

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A bundle (.nmb), trace.dat or perf.data; - is standard input. Of the same time and joined to a bundle: pcap, pcapng (of
    /// eth0 when its file does not say so: eth0=dump.pcap), bundles of the same boot
    #[arg(value_name = "INPUT", required = true)]
    input: Vec<PathBuf>,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    /// Exit with code 3 when events were lost or a part could not be read
    #[arg(long)]
    strict: bool,
}

/// Checks.
pub fn run(args: &Args, global: &Global) -> anyhow::Result<Outcome> {
    let capture = input::open_all(&args.input, None)?;
    let progress = Progress::of_bytes(input::coded_bytes(&capture));
    let info = ingest::check(
        &capture,
        &Options {
            progress: &|n| progress.add(n),
        },
    );
    drop(progress);
    let clocks = clocks(&capture, &info);
    let taps = pcapng::taps(&capture);
    let told = told(&capture, &info);
    let mut out = output::writer(None)?;
    if args.json {
        let mut json = serde_json::to_value(&info)?;
        if let (Some(fields), Some(c)) = (json.as_object_mut(), &clocks) {
            fields.insert("clock_error".into(), serde_json::to_value(c)?);
        }
        if let (Some(fields), false) = (json.as_object_mut(), taps.is_empty()) {
            fields.insert("packets".into(), taps.iter().map(tap_json).collect());
        }
        if let Some(fields) = json.as_object_mut() {
            fields.insert("told".into(), serde_json::to_value(&told)?);
        }
        serde_json::to_writer_pretty(&mut out, &json).map_err(std::io::Error::from)?;
        out.write_all(b"\n")?;
    } else {
        writeln!(
            out,
            "{}",
            bold(&clean(&info.source), global.color.on(&std::io::stdout()))
        )?;
        write_fit((&info, &taps), global.color.on(&std::io::stdout()), &mut out)?;
        write(&info, clocks.as_ref(), global.color.on(&std::io::stdout()), &mut out)?;
        write_taps(&taps, global.color.on(&std::io::stdout()), &mut out)?;
        write_told(&told, global.color.on(&std::io::stdout()), &mut out)?;
        if info.total_events > 0 {
            let inputs: Vec<String> = args.input.iter().map(|p| output::quoted(p)).collect();
            writeln!(out, "next      netmortem report {}", inputs.join(" "))?;
        }
    }
    out.flush()?;
    let fit = info.complete && losses(&info).is_none() && taps.iter().all(whole);
    Ok(if args.strict && !fit {
        Outcome::Bad
    } else {
        Outcome::Done
    })
}

/// Events up to which the CPUs' clocks are compared: that needs all of them in memory and in order, and takes several times
/// as long as the rest of a check, which needs neither. `report` and `show clock_skew` compare them always.
const CLOCK_EVENTS: u64 = 1_000_000;

/// How far the CPUs' clocks can be apart; `None` when there is nothing to compare, or too much.
fn clocks(capture: &Capture, info: &CaptureInfo) -> Option<ClockError> {
    let compare = info.cpus > 1 && info.clock_is_ns && info.total_events <= CLOCK_EVENTS;
    compare.then(|| skew::of_capture(capture, &Options::default()))
}

/// What the recording says of itself. How many joined packets match needs the analysis: of a recording that is too long for a
/// check, `report` says it.
fn told(capture: &Capture, info: &CaptureInfo) -> Told {
    let joined = !joined_packets(capture).is_empty();
    match joined && info.total_events <= CLOCK_EVENTS {
        true => Told::of(capture, &input::facts_of(capture)),
        false => Told::sentences(capture),
    }
}

/// What was lost, or may have been, as a phrase; `None` when nothing.
fn losses(info: &CaptureInfo) -> Option<String> {
    let places = match info.losses_of_unknown_size {
        1 => "at 1 place".to_owned(),
        n => format!("at {} places", group_digits(n)),
    };
    let lost = match (info.lost_events, info.losses_of_unknown_size) {
        (0, 0) => None,
        (n, 0) => Some(format!("{} events LOST", group_digits(n))),
        (0, _) => Some(format!("events LOST {places}; the kernel did not store how many")),
        (n, _) => Some(format!(
            "{} events LOST, and more {places} without a number",
            group_digits(n)
        )),
    };
    let short = info.short_rings.len();
    let lost = match (lost, short) {
        (lost, 0) => lost,
        (None, n) => Some(format!(
            "older events OVERWRITTEN in the rings of {n} CPUs, how many in this time is not known"
        )),
        (Some(lost), n) => Some(format!("{lost}; older events OVERWRITTEN in the rings of {n} CPUs")),
    };
    let unplaced = match info.lost_at_unknown_time {
        0 => return lost,
        n => format!(
            "whether events were lost in this time is NOT KNOWN (the kernel counted {} lost at a time that nothing tells)",
            group_digits(n)
        ),
    };
    Some(lost.map_or(unplaced.clone(), |lost| format!("{lost}; {unplaced}")))
}

/// All packets of an interface are there.
fn whole(t: &Tap) -> bool {
    t.dropped.unwrap_or(0) == 0 && t.problems.is_empty()
}

/// Whether it is fit to judge, in a line.
fn write_fit((info, taps): (&CaptureInfo, &[Tap]), color: bool, out: &mut dyn Write) -> std::io::Result<()> {
    let fit = match (info.total_events, losses(info), info.complete) {
        (0, _, false) => yellow(
            "no: the file is cut or damaged before its first event; copy it again",
            color,
        ),
        (0, _, true) => yellow("no: there is no event in it", color),
        _ if !info.clock_is_ns => yellow("in part: its clock does not count ns, so no latency can be told", color),
        (_, None, true) if !taps.iter().all(whole) => {
            yellow("in part: no event was lost, but packets were, or cannot be read", color)
        }
        (_, None, true) => green("yes: nothing was lost, and all of it was read", color),
        (_, Some(lost), true) => yellow(
            &format!("in part: {lost}; a report says what that leaves unknown"),
            color,
        ),
        (_, None, false) => yellow("in part: the file is cut or damaged; what is there was read", color),
        (_, Some(lost), false) => yellow(&format!("in part: the file is cut or damaged, and {lost}"), color),
    };
    writeln!(out, "fit       {fit}")
}

fn write(info: &CaptureInfo, clocks: Option<&ClockError>, color: bool, out: &mut dyn Write) -> std::io::Result<()> {
    let known = |s: &str| {
        if s.is_empty() {
            "not recorded".to_owned()
        } else {
            clean(s).into_owned()
        }
    };
    writeln!(out, "format    {} {}", info.format, clean(&info.format_version))?;
    writeln!(
        out,
        "host      {}, kernel {}",
        known(&info.hostname),
        known(&info.kernel_release)
    )?;
    if !info.command.is_empty() {
        writeln!(out, "recorder  {}", clean(&info.command))?;
    }
    let not_ns = if info.clock_is_ns {
        ""
    } else {
        " (does not count ns: no latency can be told)"
    };
    writeln!(out, "clock     {}{not_ns}", known(&info.clock))?;
    if let Some(c) = clocks {
        writeln!(out, "skew      {}", skew_line(c))?;
    }
    let began = info.start_ns.zip(info.realtime_offset_ns);
    match began.map(|(start, offset)| start.saturating_add(offset)) {
        Some(unix_ns) => writeln!(out, "began     {}", format::utc(unix_ns))?,
        None if info.total_events > 0 => writeln!(out, "began     not known: the file has no time of day")?,
        None => {}
    }
    if info.total_events > 0 {
        let (length, cpus) = (format::duration(info.duration_ns), info.cpus);
        writeln!(out, "length    {length} on {cpus} CPUs")?;
    }
    writeln!(out, "events    {}", group_digits(info.total_events))?;
    match losses(info) {
        None if !info.complete => {
            let what = "no event in what was read; what is missing of the file nobody can count";
            writeln!(out, "lost      {}", yellow(what, color))?;
        }
        None => writeln!(out, "lost      {}", green("none", color))?,
        Some(l) => writeln!(out, "lost      {}", yellow(&l, color))?,
    }
    for p in &info.problems {
        writeln!(out, "problem   {}", clean(p))?;
    }
    for m in &info.missing_events {
        writeln!(out, "missing   {}", clean(m))?;
    }
    writeln!(
        out,
        "\n{}",
        bold(
            &format!("{:>12} {:>10} {:>12}  ring buffer", "events", "lost", "bytes"),
            color
        )
    )?;
    for s in &info.streams {
        let unknown = if s.losses_of_unknown_size > 0 { "+?" } else { "" };
        let lost = format!("{}{unknown}", group_digits(s.lost_events));
        let name = if s.instance.is_empty() {
            String::new()
        } else {
            format!("{}, ", clean(&s.instance))
        };
        let used = if s.used {
            ""
        } else {
            " (not used: same events as another instance)"
        };
        let (events, bytes) = (group_digits(s.events), group_digits(s.bytes));
        writeln!(out, "{events:>12} {lost:>10} {bytes:>12}  {name}CPU {}{used}", s.cpu)?;
    }
    writeln!(out, "\n{}", bold(&format!("{:>12}  event", "records"), color))?;
    let mut events: Vec<(&String, &u64)> = info.events.iter().collect();
    events.sort_by_key(|(name, n)| (std::cmp::Reverse(**n), name.as_str()));
    for (name, n) in events {
        writeln!(out, "{:>12}  {}", group_digits(*n), clean(name))?;
    }
    if !info.gaps.is_empty() {
        writeln!(out, "\ngaps: {}; `--json` lists them with their times", info.gaps.len())?;
    }
    Ok(())
}

/// How far the clocks of the CPUs are apart, in a line; the page says how that is known.
fn skew_line(c: &ClockError) -> String {
    let Some(error_ns) = c.error_ns else {
        return "not known: no event on one CPU could be tied to its cause on another".into();
    };
    let apart = match c.bound_ns {
        _ if !c.consistent => "no constant offsets between the CPUs' clocks explain all events".into(),
        Some(ns) => format!("the CPUs' clocks are at most {} apart", format::duration(ns)),
        None => "how far the CPUs' clocks are apart is not known".into(),
    };
    let pairs = group_digits(c.pairs);
    let seen = match c.negative {
        0 => format!("no effect came before its cause in {pairs} pairs on two CPUs"),
        n => format!(
            "{} effects of {pairs} came before their cause: intervals between CPUs may be wrong by {}",
            group_digits(n),
            format::duration(error_ns)
        ),
    };
    format!("{apart}; {seen}")
}

/// Packets of each interface; nothing when there are none to tell of.
fn write_taps(taps: &[Tap], color: bool, out: &mut dyn Write) -> std::io::Result<()> {
    if taps.is_empty() {
        return Ok(());
    }
    let title = format!("{:>12} {:>10} {:>12}  interface", "packets", "lost", "bytes");
    writeln!(out, "\n{}", bold(&title, color))?;
    for t in taps {
        let lost = t.dropped.map_or("unknown".to_owned(), group_digits);
        let (packets, bytes) = (group_digits(t.packets), group_digits(t.original_bytes));
        let name = if t.name.is_empty() { "not named" } else { &t.name };
        let of = if t.description.is_empty() { "" } else { ", " };
        let (name, description) = (clean(name), clean(&t.description));
        writeln!(out, "{packets:>12} {lost:>10} {bytes:>12}  {name}{of}{description}")?;
    }
    for p in taps.iter().flat_map(|t| &t.problems) {
        writeln!(out, "problem   {}", clean(&p.message))?;
    }
    Ok(())
}

/// That it is a slice, what became of joined packets, and the notes; nothing when there are none.
fn write_told(told: &Told, color: bool, out: &mut dyn Write) -> std::io::Result<()> {
    if *told != Told::default() {
        writeln!(out)?;
    }
    for s in &told.slice {
        writeln!(out, "{}     {}", yellow("slice", color), clean(s))?;
    }
    for file in &told.packets {
        writeln!(out, "joined    {}", clean(&file.sentence()))?;
        if let Some(w) = file.warning() {
            writeln!(out, "{}   {}", yellow("warning", color), clean(&w))?;
        }
    }
    for n in &told.notes {
        writeln!(out, "note      {}", clean(n))?;
    }
    match told.left_out {
        0 => Ok(()),
        n => writeln!(out, "note      and {} more", group_digits(n)),
    }
}

fn tap_json(t: &Tap) -> serde_json::Value {
    serde_json::json!({
        "name": t.name,
        "description": t.description,
        "link_type": t.link_type,
        "packets": t.packets,
        "outbound": t.outbound,
        "captured_bytes": t.captured_bytes,
        "original_bytes": t.original_bytes,
        "first_realtime_ns": t.first_last_ns.map(|f| f.0),
        "last_realtime_ns": t.first_last_ns.map(|f| f.1),
        "received": t.received,
        "lost": t.dropped,
        "problems": t.problems.iter().map(|p| p.message.as_str()).collect::<Vec<_>>(),
    })
}
