//! Nine lines a tired engineer reads first: trust, connections, UDP, application or network, receive and transmit latency, drops, TCP, CPU. Sentences from a fixed list.

use crate::analyses::Outcome;
use crate::analyses::application::Application;
use crate::analyses::breakdown::{Breakdown, Group};
use crate::analyses::counters::Counters;
use crate::analyses::cpus::Cpus;
use crate::analyses::datagrams::Datagrams;
use crate::analyses::drops::Drops;
use crate::analyses::forwarding::Forwarding;
use crate::analyses::napi::Napi;
use crate::analyses::neighbours::{Circling, Flapping, Spell};
use crate::analyses::opens::Opens;
use crate::analyses::paths::Paths;
use crate::analyses::quality::{Level, Quality};
use crate::analyses::receive::Receive;
use crate::analyses::tcp::Tcp;
use crate::analyses::transmit::Transmit;
use crate::facts::Reason;

mod accepts;
mod acknowledged;
pub(super) mod always;
mod application;
mod aside;
mod asked_alone;
mod asked_on;
mod attempts;
mod awaited_end;
mod awaited_peer;
mod away;
mod behind;
mod black_hole;
mod changed;
mod closes;
mod counted;
mod cpus;
mod cut_off;
mod datagrams;
mod doing;
mod dropped;
mod drops;
mod echo;
mod ended;
mod evidence;
mod filled;
mod follows;
mod forwarding;
mod fragments;
mod full_queues;
mod given_up;
mod handshakes;
mod harmless;
mod held;
mod incomplete;
mod inside_tcp;
mod instead;
mod itself;
mod kept;
mod left_early;
mod left_full;
mod left_unread;
mod limited;
mod line;
mod listens;
mod long_work;
mod lossy;
mod lost;
mod minding;
mod named;
mod naps;
mod nature;
mod neighbours;
mod neutral;
mod one;
mod one_line;
mod opens;
mod passed_on;
mod paths;
mod paused;
mod place;
mod questions;
mod queued;
mod quotas;
mod readers;
mod received;
mod refuses;
mod replaced;
mod resets;
mod sent;
mod sentences;
mod slow_ones;
mod slowest;
mod softirqs;
mod spells;
#[cfg(test)]
mod tests;
mod turned_away;
mod turns;
mod unacked;
mod uneven;
mod unjoined;
mod untold;
mod vanished;
pub(super) mod waited;
mod waited_in_vain;
mod waits_for_itself;
mod waker;
mod ways;
mod whose;
mod windows;

pub(crate) use accepts::herd;
#[cfg(test)]
pub(in crate::analyses) use black_hole::black_hole;
pub(crate) use changed::with_the_changes;
pub(crate) use given_up::hedged;
pub use line::{Line, Tone, order};
#[cfg(test)]
pub(in crate::analyses) use long_work::long_work;
use minding::minding;
#[cfg(test)]
pub(super) use named::causes as causes_of_sent;
pub(crate) use quotas::with_the_quotas;
pub(crate) use sent::{limiter, size};
pub(crate) use sentences::{capital, moment, rate, words as up_to_pause};
pub use sentences::{counted, duration, times};
pub(crate) use turned_away::with_the_turned_away;
pub use unjoined::unjoined_words;
#[cfg(test)]
pub(in crate::analyses) use vanished::vanished;

/// Residence in the receive queue, or whole way to the reader, (p99) from which it is worth a look, ns.
pub const RCVQ_NOTICE_NS: i64 = 1_000_000;
/// Time for which packets at least waited unread when the recording ended, worth a look, ns.
pub const UNREAD_NOTICE_NS: i64 = 20_000_000;
/// Share of time in no stage from which the stages are no answer.
pub const UNTOLD_SHARE: f64 = 0.5;
/// Time for which a segment is held by this host or the peer's window (p99) worth a look, ns.
pub const SENDER_NOTICE_NS: i64 = 1_000_000;
/// Share of sent segments' time in waits of this host and for the peer's window that is worth a look, where the p99 of these
/// waits is [`SENDER_FLOOR_NS`] or more.
pub const SENDER_NOTICE_SHARE: f64 = 0.25;
/// Below this (p99, ns) no share of the waits is worth a look.
pub const SENDER_FLOOR_NS: i64 = 100_000;
/// Time to the ACK of a single segment, many times the median, worth a look, ns.
pub const OUTLIER_NOTICE_NS: i64 = 100_000_000;
/// Time for which a segment at least had no ACK when the recording ended, worth a look, ns.
pub const OPEN_NOTICE_NS: i64 = 1_000_000_000;
/// Time to the answer of a request (p99) worth a look, ns, where it stands out: as many times the median (or the way to the peer, as many times the fastest round trip) as the next figure says.
pub const APPLICATION_NOTICE_NS: i64 = 1_000_000;
/// Fewest requests of which that is said: the p99 of a few is only the slowest of them.
pub const APPLICATION_ROWS: u64 = 20;
/// See [`APPLICATION_NOTICE_NS`].
pub const APPLICATION_STANDS_OUT: i64 = 10;
/// NET_RX share of a CPU from which it is worth a look.
pub const SOFTIRQ_NOTICE_SHARE: f64 = 0.30;
/// NET_RX delay (p99) from which it is worth a look, ns.
pub const SOFTIRQ_WAIT_NOTICE_NS: i64 = 500_000;

/// Time that a connection takes to open from which it is worth a look, ns: a SYN is sent again after a second at first, hardly a round trip is that long.
pub const SETUP_NOTICE_NS: i64 = 500_000_000;

/// What neighbour entries did: times with another address, and addresses that two hosts have; and frames that went round.
type Entries<'a> = (&'a [Spell], &'a [Flapping], Option<&'a Circling>);

/// Writes the nine lines.
pub fn answer(
    quality: &Quality,
    (opens, udp, application): (&Outcome<Opens>, &Outcome<Datagrams>, &Outcome<Application>),
    receive: &Outcome<Receive>,
    (transmit, breakdown, paths): (&Outcome<Transmit>, &Breakdown, &Paths),
    (napi, cpus, forwarding): (&Outcome<Napi>, &Outcome<Cpus>, &Forwarding),
    (drops, (spells, flapping, circling), counters): (&Outcome<Drops>, Entries<'_>, &Outcome<Counters>),
    tcp: &Outcome<Tcp>,
) -> Vec<Line> {
    let tone = sentences::tone_of_quality(quality);
    let (in_few, minor) = sentences::of_quality(&quality.sentence);
    let few = headline(tone, || in_few);
    let trust = Line {
        minor: minor || quality.of_capture == Level::Good,
        ..Line::of("quality", tone, quality.sentence.clone(), few)
    };
    let line = |subject, of: Result<(Tone, String), &Vec<Reason>>| match of {
        Ok((tone, sentence)) => {
            let few = headline(tone, || sentences::first_words(&sentence));
            Line::of(subject, tone, sentence, few)
        }
        Err(why) => {
            let said = sentences::unknown(subject, why);
            Line::of(subject, Tone::Unknown, said, String::new())
        }
    };
    let in_words = |mut line: Line, words: Option<String>| {
        if let Some(words) = words {
            line.headline = headline(line.tone, || words);
        }
        line
    };
    fn get<T>(o: &Outcome<T>) -> Result<&T, &Vec<Reason>> {
        match o {
            Outcome::Findings(t) => Ok(t),
            Outcome::Unknown(r) => Err(r),
        }
    }
    // Figures of many units stand when few events are missing.
    let figures = |of: (Tone, String)| match quality.level {
        Level::Bad => minding(of, quality),
        Level::Good | Level::Degraded => of,
    };
    // Of answers, where some were awaited; else of what was sent.
    let of_answers = application.findings().is_some_and(|a| a.awaited.is_some());
    let with_the_paths = |line: Line, here: bool| match here {
        true => paths::with_the_paths(line, paths),
        false => line,
    };
    let by_connection = breakdown.transmit.iter().find(|k| k.by == "connection");
    let senders: &[Group] = by_connection.map_or(&[], |k| &k.groups);
    let counted = counters.findings();
    let by_event = get(drops).map(|d| {
        let of = drops::beside_the_queues(drops::drops(d), d, transmit.findings());
        (d, minding(of, quality))
    });
    let behind = by_event
        .as_ref()
        .is_ok_and(|(d, of)| untold::behind(of, d.lost, &d.untold));
    let dropped = |(d, of): (&Drops, (Tone, String))| {
        let of = sentences::with_the_card(of, counted);
        let of = counted::with_the_counted(of, counted);
        let of = untold::with_the_untold(of, &d.untold, behind);
        let of = unjoined::with_the_unjoined(of, &d.unjoined);
        let of = neighbours::with_the_neighbours(of, spells, quality.capture.start_ns);
        let of = neighbours::with_the_flapping(of, flapping);
        neighbours::with_the_circling(of, circling)
    };
    let udp_dropped = drops.findings().map_or((0, 0), datagrams::dropped);
    let known = datagrams::Known {
        answers: application.findings(),
        children: receive.findings().and_then(|r| r.children.as_ref()),
    };
    let drops_line = line("drops", by_event.clone().map(dropped));
    // What was lost, by events first; where nothing is known to be, the head of the page says nothing of it.
    let lost = by_event.ok().filter(|(d, _)| d.lost > 0);
    let by_events = lost.map(|(_, of)| headline(drops_line.tone, || sentences::first_words(&of.1)));
    // Why SYNs were refused is said of connections, where it is known.
    let half_open = opens.findings().is_some_and(|o| o.half_open.is_some());
    let turned_away = counted::headline(counted).filter(|_| !half_open);
    let by_counters = [sentences::the_card(counted), turned_away];
    let why = neighbours::headline(spells);
    let twice = neighbours::flapping_words(flapping);
    let unjoined = drops.findings().and_then(|d| unjoined::headline(&d.unjoined));
    let untold = drops.findings().and_then(|d| untold::headline(&d.untold));
    let (untold, less) = if behind { (None, untold) } else { (untold, None) };
    // The cause first.
    let dropped: Vec<String> = circling
        .map(neighbours::circling_words)
        .into_iter()
        .chain(twice)
        .chain(unjoined)
        .chain(untold)
        .chain(why)
        .chain(by_events)
        .chain(less)
        .chain(by_counters.into_iter().flatten())
        .collect();
    let mut lines = vec![
        trust,
        Line {
            minor: (opens.findings()).is_some_and(|o| opens::one_reset(o) || opens::noise(o)),
            names_cause: opens
                .findings()
                .is_some_and(|o| opens::names_cause(o, drops.findings().is_some_and(drops::names_cause))),
            ..in_words(
                line(
                    "opens",
                    get(opens).map(|o| minding(ended::opens(o, application.findings()), quality)),
                ),
                opens.findings().map(opens::headline),
            )
        },
        Line {
            names_cause: udp.findings().is_some_and(questions::name_the_cause),
            ..in_words(
                line(
                    "datagrams",
                    get(udp).map(|d| minding(datagrams::datagrams(d, udp_dropped, &known), quality)),
                ),
                udp.findings().map(|d| datagrams::headline(d, &known)),
            )
        },
        with_the_paths(
            queued::first(
                Line {
                    minor: application.findings().is_some_and(application::small),
                    names_cause: application.findings().is_some_and(application::names_cause),
                    ..in_words(
                        line(
                            "application",
                            get(application).map(|a| figures(application::application(a))),
                        ),
                        application.findings().map(application::headline),
                    )
                },
                application.findings(),
            ),
            of_answers,
        ),
        counted::holes(
            Line {
                minor: receive.findings().is_some_and(received::only_busy),
                names_cause: receive
                    .findings()
                    .is_some_and(|r| received::cause(r).is_some() || received::kept_back(r) || received::waited_for(r)),
                ..in_words(
                    line("receive", get(receive).map(|r| figures(received::receive(r)))),
                    receive.findings().map(received::headline),
                )
            },
            counted,
        ),
        with_the_paths(
            Line {
                minor: transmit.findings().is_some_and(unacked::none_known),
                names_cause: transmit.findings().is_some_and(passed_on::names_cause),
                ..in_words(
                    line(
                        "transmit",
                        get(transmit).map(|t| figures(passed_on::with(t, sent::transmit(t, senders)))),
                    ),
                    transmit.findings().map(passed_on::headline),
                )
            },
            !of_answers && transmit.findings().is_some(),
        ),
        Line {
            names_cause: circling.is_some()
                || (drops.findings()).is_some_and(|d| drops::names_cause(d) || harmless::lacked(d, drops_line.tone)),
            ..in_words(drops_line, Some(dropped.join("; ")))
        },
        line("tcp", get(tcp).map(|t| minding(sentences::tcp(t), quality))),
        Line {
            minor: napi.findings().is_some_and(softirqs::hardly),
            names_cause: forwarding.costly.is_some() || napi.findings().is_some_and(|n| n.saturated.is_some()),
            ..cpus::with_the_cpus(
                forwarding::with_the_forwarding(
                    in_words(
                        line("napi", get(napi).map(|n| figures(softirqs::napi(n)))),
                        napi.findings().map(softirqs::napi_headline),
                    ),
                    forwarding,
                    napi.findings().is_some_and(softirqs::has_more),
                ),
                cpus.findings(),
            )
        },
    ];
    // Nor do those who wait for another thread, where it is not woken for what came.
    if receive.findings().is_some_and(received::kept_back) && application.findings().is_some_and(turns::for_a_lock) {
        let answers = lines.iter_mut().filter(|l| l.subject == "application");
        answers.for_each(|l| l.names_cause = false);
    }
    // What a loop does to everybody, or a route to those that it covers, stands behind it.
    if circling.is_some() || drops.findings().is_some_and(drops::covered) {
        lines.iter_mut().for_each(|l| l.names_cause &= l.subject == "drops");
    }
    let top = receive.findings().and_then(received::top_stage);
    let lines = echo::without_echo(lines, receive.findings(), top);
    let of = follows::Of {
        drops: drops.findings(),
        opens: opens.findings(),
        udp: udp.findings(),
        application: application.findings(),
        receive: receive.findings(),
        transmit: transmit.findings(),
        tcp: tcp.findings(),
    };
    neutral::marked(follows::follows(lines, &of), &of, cpus.findings())
}

/// Only what is worth a look or wrong is said there.
fn headline(tone: Tone, words: impl FnOnce() -> String) -> String {
    match tone {
        Tone::Notice | Tone::Bad => words(),
        Tone::Ok | Tone::Unknown => String::new(),
    }
}
