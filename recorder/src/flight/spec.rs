//! `--on SPEC`: what a flight recorder waits for.

use std::fmt;

use crate::units;

/// One `--on`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct On {
    /// As it was given.
    pub spec: String,
    /// What it means.
    pub kind: OnKind,
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnKind {
    /// SIGUSR1.
    Signal,
    /// Counters grow faster than this, together.
    Rate {
        /// Which.
        of: Rate,
        /// Growth per second that has to be exceeded; 0: any.
        per_s: u64,
        /// Of the recorder's own network namespace alone.
        own: bool,
    },
    /// A packet dropped for this reason (`skb:kfree_skb`).
    Drop {
        /// As the kernel names it (`SOCKET_RCVBUFF`).
        reason: String,
    },
    /// A time between two events that the kernel measures itself (`delays.rs`).
    Delay {
        /// Which.
        of: DelayOf,
        /// From this on, us.
        at_least_us: u64,
    },
    /// The command exits so; `None` is any status but 0.
    Exit {
        /// Status; 128 + n when signal n killed it.
        code: Option<i32>,
    },
}

/// A time between two events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DelayOf {
    /// From the raise of NET_RX to its entry, on one CPU.
    Softirq,
    /// From data ready on a TCP socket until a read of it returns.
    Read,
}

/// A sum of counters of network namespaces, or of all CPUs. Which: `counters.rs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rate {
    /// Segments sent again.
    Retransmits,
    /// Packets refused by sockets, queues, qdiscs and devices.
    Drops,
    /// Retransmission timeouts.
    Rto,
    /// A window of zero, ours or a peer's.
    ZeroWindow,
    /// Receive softirqs that ended with work left.
    TimeSqueeze,
    /// One counter by its name.
    Counter(String),
}

/// The forms, for messages.
pub const FORMS: &str = "signal, retransmits>N/s, drops>N/s, drop:REASON, rto[>N/s], zero-window[>N/s], time-squeeze[>N/s], \
                         counter:NAME>N/s (own:... of them: in the recorder's network namespace alone), softirq-delay=TIME, \
                         read-wait=TIME, exit:CODE, exit:nonzero";

impl On {
    /// Parses a SPEC.
    pub fn parse(spec: &str) -> Result<On, String> {
        let bad = |why: &str| format!("{spec:?}: {why}; one of: {FORMS}");
        let (what, limit) = match spec.split_once('>') {
            Some((what, limit)) => (
                what.trim(),
                Some(per_second(limit).ok_or_else(|| bad("N/s is a whole number"))?),
            ),
            None => (spec.trim(), None),
        };
        if let (Some((name, time)), None) = (what.split_once('='), limit) {
            let of = match name {
                "softirq-delay" => DelayOf::Softirq,
                "read-wait" => DelayOf::Read,
                _ => return Err(bad("no such trigger")),
            };
            let time = units::parse_duration(time).map_err(|e| bad(&e))?;
            let at_least_us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
            if at_least_us == 0 {
                return Err(bad("the time is at least 1us"));
            }
            return Ok(On {
                spec: spec.to_owned(),
                kind: OnKind::Delay { of, at_least_us },
            });
        }
        let (own, what) = match what.strip_prefix("own:") {
            Some(of) => (true, of),
            None => (false, what),
        };
        let rate = |of, per_s| OnKind::Rate { of, per_s, own };
        let needed = || limit.ok_or_else(|| bad("it needs a limit >N/s"));
        let kind = match what.split_once(':').unwrap_or((what, "")) {
            ("retransmits", "") => rate(Rate::Retransmits, needed()?),
            ("drops", "") => rate(Rate::Drops, needed()?),
            ("rto", "") => rate(Rate::Rto, limit.unwrap_or(0)),
            ("zero-window", "") => rate(Rate::ZeroWindow, limit.unwrap_or(0)),
            ("time-squeeze", "") => rate(Rate::TimeSqueeze, limit.unwrap_or(0)),
            ("counter", name) if !name.is_empty() => rate(Rate::Counter(name.to_owned()), needed()?),
            ("signal", "") if limit.is_none() => OnKind::Signal,
            ("drop", reason) if !reason.is_empty() && limit.is_none() => {
                let plain = reason.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
                if !plain {
                    return Err(bad("a reason is a word like SOCKET_RCVBUFF"));
                }
                let reason = reason.strip_prefix("SKB_DROP_REASON_").unwrap_or(reason);
                OnKind::Drop {
                    reason: reason.to_ascii_uppercase(),
                }
            }
            ("exit", "nonzero") if limit.is_none() => OnKind::Exit { code: None },
            ("exit", code) if limit.is_none() => OnKind::Exit {
                code: Some(
                    code.parse()
                        .map_err(|_| bad("an exit status is a number, or nonzero"))?,
                ),
            },
            _ => return Err(bad("no such trigger")),
        };
        let of_cpus = |of: &Rate| match of {
            Rate::TimeSqueeze => true,
            Rate::Counter(name) => name.starts_with("softnet."),
            _ => false,
        };
        if own && !matches!(&kind, OnKind::Rate { of, .. } if !of_cpus(of)) {
            return Err(bad("own: is of counters that network namespaces have"));
        }
        Ok(On {
            spec: spec.to_owned(),
            kind,
        })
    }
}

/// `100/s`, or the bare number.
fn per_second(text: &str) -> Option<u64> {
    let text = text.trim();
    text.strip_suffix("/s").unwrap_or(text).trim().parse().ok()
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rate::Retransmits => "retransmitted segments",
            Rate::Drops => "drops",
            Rate::Rto => "retransmission timeouts",
            Rate::ZeroWindow => "zero windows",
            Rate::TimeSqueeze => "time squeezes",
            Rate::Counter(name) => name,
        })
    }
}
