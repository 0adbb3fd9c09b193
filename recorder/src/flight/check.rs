//! Whether a flight can do what it is asked for, before it is armed: nobody would notice that it cannot.

use super::counters::Counters;
use super::delays::Delays;
use super::drop_watch::DropWatch;
use super::namespaces::Namespaces;
use super::{FlightOptions, OnKind};
use crate::error::RecordError;
use crate::options::RecordOptions;
use crate::signals::Signals;
use crate::snapshot::second::{self, LeftOut};
use crate::{command, output, tracefs};

/// What would keep a flight from writing, or a trigger from firing: asked for by `--dry-run`, which does not fly.
pub fn check_plan(options: &RecordOptions, flight: &FlightOptions) -> Result<(), RecordError> {
    output::check_folder(output::base(&options.output)?, 0)?;
    command::find(&options.command)?;
    let _signals = Signals::take();
    let tracefs = tracefs::find()?;
    DropWatch::create(&tracefs, &reasons(flight))?;
    Delays::create(&tracefs, &flight.on)?;
    let counters = Counters::of(&second::take(second::MOST_BYTES_KEPT, &mut LeftOut::default()));
    let mut others = Namespaces::of(&flight.on);
    if let Some(o) = &mut others {
        o.read();
    }
    check(flight, options, &counters, others.as_ref())
}

/// SPEC and reason of each `drop:REASON`.
pub(super) fn reasons(flight: &FlightOptions) -> Vec<(&str, &str)> {
    let of = flight.on.iter().filter_map(|on| match &on.kind {
        OnKind::Drop { reason } => Some((on.spec.as_str(), reason.as_str())),
        _ => None,
    });
    of.collect()
}

/// A trigger that can never fire is an error: nobody would notice.
pub(super) fn check(
    flight: &FlightOptions,
    options: &RecordOptions,
    counters: &Counters,
    others: Option<&Namespaces>,
) -> Result<(), RecordError> {
    for on in &flight.on {
        let because = match &on.kind {
            OnKind::Rate { of, own, .. } if !counters.knows(of) && (*own || !others.is_some_and(|o| o.knows(of))) => {
                "no such counter here; they are named as in /proc/net/snmp, netstat and snmp6 (Tcp.RetransSegs), \
                 softnet.dropped, softnet.time_squeeze, dev.<name>.rx_drop, qdisc.<ifindex>.drops"
            }
            OnKind::Exit { .. } if options.command.is_empty() => "there is no command (-- CMD...)",
            _ => continue,
        };
        return Err(RecordError::Trigger {
            spec: on.spec.clone(),
            because: because.to_owned(),
        });
    }
    Ok(())
}
