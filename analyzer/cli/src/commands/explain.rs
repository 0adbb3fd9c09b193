//! `netmortem explain`: from an id that the report or a table printed to its rows, its waits, its events and their bytes.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use netmortem_analyzer::Facts;
use netmortem_analyzer::explain::dialogue::Dialogue;
use netmortem_analyzer::explain::{EVENTS, EventLine, Explainer, Explanation, Id, Kind, Ledger, Row};
use netmortem_analyzer::export::slice::{Flow, Subject};
use netmortem_analyzer::ingest::Options;
use netmortem_analyzer::reconstruct::tcp::tables::ConnectionRow;
use netmortem_reports::format::{duration, utc};

use crate::failure::{failure, usage};
use crate::output::{self, clean};
use crate::{Outcome, input};

const EXAMPLES: &str = "\
Examples:
  netmortem explain incident.nmb rx:1234            a received unit: where its time went, and the events that say so
  netmortem explain incident.nmb skb:1234 drop:0    an skb's whole life; the first row of the view drops
  netmortem explain incident.nmb response:12        an answer: both ways, the other end's part, the sends and reads that say so
  netmortem explain incident.nmb tx:77 --json | jq '.[0].events[].place'

An ID is one of
  skb:N rx:N tx:N                  a packet, its way in, its way out (N is skb_id in the views skbs, rx, tx)
  conn:N                           a TCP socket (connection in the view connections)
  response:N turnaround:N          what came after a send; what a thread did from a request to its answer
  open:N reset:N retransmit:N      an attempt to connect, a RST, segments sent again
  udp_turn:N udp_socket:N          what was sent by UDP and what came of it; a UDP socket
  drop:N xmit:N neighbour:N        a free of a packet, a pass over a device, an event of a neighbour entry
  softirq:N poll:N                 a run of a softirq, a NAPI poll
  A:P, A:P > B:P                   the TCP socket with this end (10.0.0.1:443), where there is one; of two ends, A's
where N is the row's place in its view (responses, turnarounds, opens, ...), from 0, unless said otherwise.
Each event ends with where it lies: member+offset, as `netmortem inspect` prints it. The waits of a unit sum to its total; one told `within` an interval took its time somewhere in it.
conn:N begins with the dialogue: who sent what, when it came to the other end, how long it lay there until a thread read it, how long that took to answer;
of both ends where both are recorded. Of more than 60 lines it has the first and the last 10 and those around the longest waits.";

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A bundle (.nmb), trace.dat or perf.data; - is standard input
    #[arg(value_name = "INPUT")]
    input: PathBuf,
    /// What to explain, like rx:45, response:12, open:3, 10.0.0.1:443
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// List at most this many events for each; more than 500: as many lines of a dialogue, too
    #[arg(long, value_name = "N", default_value_t = EVENTS)]
    limit: usize,
    /// One JSON array, an object for each ID
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    part: input::Part,
}

/// Explains.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let words = args.ids.iter().map(String::as_str);
    let no_ids: Vec<&str> = words.filter(|w| Asked::of(w).is_err()).collect();
    input::in_order(&args.input, &no_ids, |file| {
        format!("the file comes first: netmortem explain {file} ID, with an ID like skb:123")
    })?;
    // Mistakes in ids are told before the recording is read.
    let ids: Result<Vec<Asked>, String> = args.ids.iter().map(|i| Asked::of(i)).collect();
    let ids = ids.map_err(|what| {
        usage(
            what,
            "the report prints ids; `netmortem show VIEW INPUT` lists rows with theirs",
        )
    })?;
    // As it can be typed again.
    let mut input = output::quoted(&args.input);
    let opened = input::open_events(&args.input, &args.part)?;
    let facts = opened.facts();
    if let Some(part) = &opened.selected {
        input = format!("{input} {}", part.option);
    }
    let explainer = Explainer::new(&opened.capture, &Options::default());
    let mut told: Vec<Explanation> = vec![];
    for id in ids {
        let id = id.found(&facts, &input)?;
        let one = explainer.explain(&facts, id, args.limit);
        told.push(one.map_err(|e| failure(e.what, e.next.replace("INPUT", &input)))?);
    }
    let mut out = output::writer(None)?;
    if args.json {
        serde_json::to_writer_pretty(&mut out, &told)?;
        writeln!(out)?;
    } else {
        for (i, e) in told.iter().enumerate() {
            if i > 0 {
                writeln!(out)?;
            }
            write(e, &facts, &input, &mut out)?;
        }
        if opened.selected.is_some() {
            writeln!(
                out,
                "\nmembers and offsets are those of the slice that is analyzed: netmortem convert {input} -o slice.nmb writes it"
            )?;
        }
    }
    out.flush()?;
    Ok(Outcome::Done)
}

/// What was asked for.
enum Asked {
    Id(Id),
    /// A connection by its ends; in this order, where they were given one.
    Ends(Flow, bool),
}

impl Asked {
    fn of(word: &str) -> Result<Asked, String> {
        word.parse().map(Asked::Id).or_else(|no_id: String| {
            // As the report writes who sent to whom.
            let ends = word.split(['>', '→']).map(str::trim).collect::<Vec<_>>().join("-");
            // A number alone is more likely an id that lacks its kind.
            let named = ends.contains(['.', ':']);
            let flow = ends.parse::<Flow>().ok().filter(|_| named);
            flow.map(|flow| Asked::Ends(flow, word.contains(['>', '→'])))
                .ok_or(no_id)
        })
    }

    fn found(self, facts: &Facts, input: &str) -> anyhow::Result<Id> {
        let (flow, ordered) = match self {
            Asked::Id(id) => return Ok(id),
            Asked::Ends(flow, ordered) => (flow, ordered),
        };
        let named = flow.to_string();
        let in_order = |c: &&ConnectionRow| match flow {
            Flow::Ends(ends) => ordered && ends.are_in_order(c),
            Flow::Connection(_) => false,
        };
        let subject = Subject {
            flows: vec![flow.clone()],
            devs: vec![],
        };
        let mut all = subject
            .connections(facts)
            .map_err(|what| failure(what, format!("`netmortem show connections {input}` lists them")))?;
        // Where the socket of the first end is not recorded, the other's stands for it.
        if all.iter().any(in_order) {
            all.retain(in_order);
        }
        let id = |c: &ConnectionRow| Id::of_row(Kind::Conn, &facts.connections, c);
        if let [one] = all.as_slice()
            && let Some(id) = id(one)
        {
            return Ok(id);
        }
        let start = facts.capture.start_ns.unwrap_or(0);
        let mut what = format!("{} connections are {named}:", all.len());
        for c in all.iter().take(LISTED) {
            let Some(id) = id(c) else { continue };
            let task = match c.task.is_empty() {
                true => "task not known".to_owned(),
                false => format!("{} ({})", clean(&c.task.text()), c.pid),
            };
            let since = |ns: i64| ns.saturating_sub(start) as f64 / 1e9;
            what.push_str(&format!(
                "\n  {id}  {} > {}  {task}  {:.6}s to {:.6}s",
                end(c.saddr, c.sport),
                end(c.daddr, c.dport),
                since(c.first_ns),
                since(c.last_ns)
            ));
        }
        if all.len() > LISTED {
            what.push_str(&format!("\n  and {} more", all.len() - LISTED));
        }
        let first = all.first().and_then(|c| id(c));
        let first = first.map_or_else(|| "conn:N".to_owned(), |id| id.to_string());
        Err(failure(
            what,
            format!(
                "netmortem explain {input} {first}, or another of them; `netmortem show connections {input}` lists all"
            ),
        ))
    }
}

/// Connections that are listed where several have the ends.
const LISTED: usize = 20;

fn end(ip: Option<IpAddr>, port: u16) -> String {
    match ip {
        Some(ip) => SocketAddr::new(ip, port).to_string(),
        None => format!("?:{port}"),
    }
}

/// The dialogue of a connection.
fn dialogue(d: &Dialogue, out: &mut dyn Write) -> std::io::Result<()> {
    let all = d.left_out.saturating_add(d.lines.len() as u64);
    let part = match d.left_out {
        0 => format!("{all} lines"),
        _ => format!(
            "{} of {all} lines: the first and the last, and those around the longest waits; all: --limit {}",
            d.lines.len(),
            all.max(EVENTS as u64 + 1)
        ),
    };
    writeln!(out, "\ndialogue ({part})")?;
    let skipped = |n: u64, out: &mut dyn Write| match n {
        0 => Ok(()),
        n => writeln!(out, "  {:>12} {n} left out", "..."),
    };
    for l in &d.lines {
        skipped(l.left_out, out)?;
        let mut what: Vec<String> = vec![];
        what.extend(l.bytes.map(|b| format!("{b} bytes")));
        what.extend(
            (l.times > 1).then(|| format!("in {} {}", l.times, if l.does == "gets" { "units" } else { "calls" })),
        );
        what.extend((!l.task.is_empty()).then(|| match (l.does, l.call.as_str()) {
            ("sends", "") => format!("by {}", l.task),
            ("sends", call) => format!("by {} ({call})", l.task),
            ("gets", _) => format!("for {}", l.task),
            _ => format!("by {}", l.task),
        }));
        let mut said = l.said.clone();
        if let (true, Some(first)) = (l.times > 1 && l.waited_ns.is_some(), said.first_mut()) {
            first.insert_str(0, "the longest ");
        }
        let said = said.iter().map(|s| format!("; {s}")).collect::<String>();
        let ids = match l.ids.is_empty() {
            true => String::new(),
            false => format!("  [{}]", l.ids.join(" ")),
        };
        let line = format!("{:<6}  {:<8} {}{said}{ids}", l.side, l.does, what.join(" "));
        writeln!(out, "  {:>12} {}", signed(l.since_ns), clean(&line.replace(" ; ", " ")))?;
    }
    skipped(d.left_out_behind, out)?;
    let one = "the other end is not in the recording: what it got and when it read that is not known";
    let inferred = "bytes of sends are those of their segments: no event tells what a call sent";
    let notes = [(!d.both, one), (d.sends_inferred, inferred)];
    let mut notes = notes.iter().filter(|n| n.0);
    notes.try_for_each(|n| writeln!(out, "  note: {}", n.1))
}

fn write(e: &Explanation, facts: &Facts, input: &str, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "{}: {}", e.id, clean(&e.summary))?;
    e.dialogue.as_ref().map_or(Ok(()), |d| dialogue(d, out))?;
    for l in &e.ledgers {
        ledger(l, facts, out)?;
    }
    for r in &e.rows {
        row(r, out)?;
    }
    if !e.lineage.is_empty() {
        writeln!(out, "\nlineage")?;
        for l in &e.lineage {
            let bytes = l.bytes.map_or_else(String::new, |b| format!(", {b} bytes"));
            let because = match l.because {
                "" => String::new(),
                why => format!("; {why}"),
            };
            writeln!(
                out,
                "  {} {} by {} ({}{bytes}, bytes add up: {}), {}{because}",
                l.is, l.skb, l.kind, l.rule, l.conserved, l.confidence
            )?;
        }
        if e.lineage_left_out > 0 {
            let left_out = e.lineage_left_out;
            writeln!(out, "  and {left_out} more: netmortem show lineage {input}")?;
        }
    }
    writeln!(out, "\nevents ({})", e.events.len())?;
    e.events.iter().try_for_each(|line| event(line, out))?;
    if e.events_left_out > 0 {
        let (left_out, id) = (e.events_left_out, &e.id);
        let all = left_out.saturating_add(e.events.len() as u64);
        writeln!(
            out,
            "  and {left_out} more: netmortem explain {input} {id} --limit {all}"
        )?;
    }
    if !e.related.is_empty() {
        writeln!(out, "\nsee also: netmortem explain {input} {}", e.related.join(" "))?;
    }
    let told = |n: &String| n.replace("INPUT", input);
    e.notes
        .iter()
        .try_for_each(|n| writeln!(out, "note: {}", clean(&told(n))))
}

fn ledger(l: &Ledger, facts: &Facts, out: &mut dyn Write) -> std::io::Result<()> {
    let when = facts
        .capture
        .realtime_offset_ns
        .map_or_else(String::new, |o| format!(", {}", stamp(l.start_ns.saturating_add(o))));
    writeln!(
        out,
        "\nwaits of {}: {} from {} ns on{when}; {}",
        l.id,
        duration(l.total_ns),
        l.start_ns,
        l.confidence
    )?;
    for s in &l.steps {
        let since = |t: i64| signed(t.wrapping_sub(l.start_ns));
        let how = if s.exact { "from  " } else { "within" };
        writeln!(
            out,
            "  {:<14} {:>12}  {how} {:>12} to {:>12}  {}",
            s.stage,
            duration(s.ns),
            since(s.from_ns),
            since(s.to_ns),
            s.meaning
        )?;
    }
    let sum = l.steps.iter().fold(0i64, |sum, s| sum.wrapping_add(s.ns));
    writeln!(out, "  {:<14} {:>12}  = {} ns", "sum", duration(sum), sum)
}

fn row(r: &Row, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "\n{} row {}", r.view, r.place)?;
    let mut unknown = vec![];
    for c in &r.cells {
        match &c.value {
            None => unknown.push(c.name),
            Some(v) => writeln!(out, "  {:<22} {} {}", c.name, clean(&v.to_string()), c.unit)?,
        }
    }
    if unknown.is_empty() {
        return Ok(());
    }
    writeln!(out, "  empty: {}", unknown.join(", "))
}

fn event(e: &EventLine, out: &mut dyn Write) -> std::io::Result<()> {
    write!(out, "  {:>12} {}", signed(e.since_ns), e.time_ns)?;
    if let Some(t) = e.realtime_ns {
        write!(out, " {}", stamp(t))?;
    }
    write!(out, " CPU {} {}/{} {}", e.cpu, e.context, e.pid, clean(&e.event))?;
    if let Some(skb) = &e.skb {
        write!(out, " [{skb}]")?;
    }
    for (name, value) in &e.fields {
        write!(out, " {}={}", clean(name), clean(value))?;
    }
    writeln!(out, "  {}", clean(&e.place.text()).replace(' ', "_"))
}

/// A moment of CLOCK_REALTIME to the nanosecond.
fn stamp(ns: i64) -> String {
    let seconds = utc(ns);
    let seconds = seconds.strip_suffix(" UTC").unwrap_or(&seconds);
    format!("{seconds}.{:09} UTC", ns.rem_euclid(1_000_000_000))
}

/// A difference of times with its sign.
fn signed(ns: i64) -> String {
    match ns {
        0.. => format!("+{}", duration(ns)),
        _ => format!("-{}", duration(ns.wrapping_neg())),
    }
}
