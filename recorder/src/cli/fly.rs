//! `--flight` on the terminal, or in a service's log.

use std::io::Write;
use std::time::Duration;

use netmortem_formats::bundle::Manifest;

use super::RecordArgs;
use super::summary::summary_text;
use crate::dry_run::Forecast;
use crate::error::RecordError;
use crate::flight::{FlightEvent, flight};

/// How far back the rings would reach at the rate that was counted.
pub fn reach(forecast: &Forecast, before: Duration) -> String {
    let [_, ring_bytes_per_s, _, _] = forecast.rates();
    let (cpus, before) = (forecast.plan.cpus.len() as f64, before.as_secs_f64());
    let all = forecast.plan.buffer_bytes_per_cpu as f64 * cpus;
    match ring_bytes_per_s > 0.0 {
        true => format!(
            "flight: at this rate the buffers reach back {:.1} s where all CPUs are equally busy; --before is {before} s",
            all / ring_bytes_per_s
        ),
        false => format!("flight: nothing was counted; --before is {before} s"),
    }
}

/// Flies, and tells standard error what happens: a line or two for each trigger, as a service's log wants it.
pub fn fly(args: &RecordArgs) -> Result<(), RecordError> {
    let mut err = std::io::stderr();
    let mut tell = |e: &FlightEvent<'_>| {
        let text = match e {
            FlightEvent::Armed(m) => armed(args, m),
            FlightEvent::Triggered(t) => format!("trigger {}: {}\n", t.on, t.sentence),
            FlightEvent::TooSoon(t) => format!(
                "trigger {}: {}; too soon after the last, not written\n",
                t.on, t.sentence
            ),
            FlightEvent::Off(why) => format!("{why}\n"),
            FlightEvent::Note(note) => format!("note: {note}\n"),
            FlightEvent::NotWritten(why) => format!("NOT WRITTEN: {why}\n"),
            FlightEvent::Written(s) => summary_text(s),
        };
        let _ = write!(std::io::stderr(), "{text}");
    };
    let s = flight(&args.options(), &args.flight_options(), &mut tell)?;
    let _ = writeln!(
        err,
        "landed after {:.0} s by {}: {} bundles, {} triggers came too soon; the recorder used {:.2} CPU seconds",
        s.elapsed.as_secs_f64(),
        s.stop_reason,
        s.bundles,
        s.suppressed,
        s.cpu_ns as f64 / 1e9
    );
    if let Some(sentence) = s.sentence {
        let _ = writeln!(err, "note: {sentence}");
    }
    Ok(())
}

/// That it is armed, for what, and what should be known of that.
fn armed(args: &RecordArgs, m: &Manifest) -> String {
    let specs: Vec<&str> = args
        .flying
        .on
        .iter()
        .map(|on| on.spec.as_str())
        .filter(|s| *s != "signal")
        .collect();
    let waits = match specs.is_empty() {
        true => "only SIGUSR1 triggers (--on adds others)".to_owned(),
        false => format!("triggers: SIGUSR1, {}", specs.join(", ")),
    };
    let mut out = format!(
        "armed: profile {}, {} kinds of events, {} KiB on each of {} CPUs, instance {}; {waits}; Ctrl-C ends\n",
        m.plan.profile,
        m.plan.events.len(),
        m.plan.buffer_bytes_per_cpu >> 10,
        m.plan.cpus.len(),
        m.plan.instance
    );
    for n in &m.notes {
        out += &format!("note: {n}\n");
    }
    if args.profile == "full" {
        out += "note: with --profile lean the rings reach about four times as far back as with full\n";
    }
    out
}
