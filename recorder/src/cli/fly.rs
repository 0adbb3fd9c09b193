//! `--flight` on the terminal, or in a service's log.

use std::io::Write;
use std::time::Duration;

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
            FlightEvent::Armed(m) => format!(
                "armed: profile {}, {} kinds of events, {} KiB on each of {} CPUs, instance {}; SIGUSR1 or a trigger writes, \
                 Ctrl-C ends\n",
                m.plan.profile,
                m.plan.events.len(),
                m.plan.buffer_bytes_per_cpu >> 10,
                m.plan.cpus.len(),
                m.plan.instance
            ),
            FlightEvent::Triggered(t) => format!("trigger {}: {}\n", t.on, t.sentence),
            FlightEvent::TooSoon(t) => format!(
                "trigger {}: {}; too soon after the last, not written\n",
                t.on, t.sentence
            ),
            FlightEvent::Off(why) => format!("{why}\n"),
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
