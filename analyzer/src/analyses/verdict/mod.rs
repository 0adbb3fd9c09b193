//! Six lines a tired engineer reads first: trust, receive and transmit latency, drops, TCP, CPU. Sentences from a fixed list.

use crate::analyses::Outcome;
use crate::analyses::drops::Drops;
use crate::analyses::napi::Napi;
use crate::analyses::quality::{Level, Quality};
use crate::analyses::receive::Receive;
use crate::analyses::tcp::Tcp;
use crate::analyses::transmit::Transmit;
use crate::facts::Reason;

mod received;
mod sent;
mod sentences;
#[cfg(test)]
mod tests;

pub use sentences::{counted, duration};

/// How a line is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// Nothing to do.
    Ok,
    /// Look here.
    Notice,
    /// Something is wrong.
    Bad,
    /// No answer.
    Unknown,
}

/// One line of the verdict.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Line {
    /// `quality`, `receive`, `transmit`, `drops`, `tcp`, `napi`: the section it leads to.
    pub subject: &'static str,
    /// How it is coloured.
    pub tone: Tone,
    /// The sentence.
    pub sentence: String,
}

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
/// Time for which a segment at least had no ACK when the recording ended, worth a look, ns.
pub const OPEN_NOTICE_NS: i64 = 1_000_000_000;
/// NET_RX share of a CPU from which it is worth a look.
pub const SOFTIRQ_NOTICE_SHARE: f64 = 0.30;
/// NET_RX delay (p99) from which it is worth a look, ns.
pub const SOFTIRQ_WAIT_NOTICE_NS: i64 = 500_000;

/// Writes the six lines.
pub fn answer(
    quality: &Quality,
    receive: &Outcome<Receive>,
    transmit: &Outcome<Transmit>,
    napi: &Outcome<Napi>,
    drops: &Outcome<Drops>,
    tcp: &Outcome<Tcp>,
) -> Vec<Line> {
    let tone = match quality.level {
        Level::Good => Tone::Ok,
        Level::Degraded => Tone::Notice,
        Level::Bad => Tone::Bad,
    };
    let trust = Line {
        subject: "quality",
        tone,
        sentence: quality.sentence.clone(),
    };
    let line = |subject, of: Result<(Tone, String), &Vec<Reason>>| match of {
        Ok((tone, sentence)) => Line {
            subject,
            tone,
            sentence,
        },
        Err(why) => Line {
            subject,
            tone: Tone::Unknown,
            sentence: sentences::unknown(subject, why),
        },
    };
    fn get<T>(o: &Outcome<T>) -> Result<&T, &Vec<Reason>> {
        match o {
            Outcome::Findings(t) => Ok(t),
            Outcome::Unknown(r) => Err(r),
        }
    }
    vec![
        trust,
        line("receive", get(receive).map(received::receive)),
        line("transmit", get(transmit).map(sent::transmit)),
        line("drops", get(drops).map(sentences::drops)),
        line("tcp", get(tcp).map(sentences::tcp)),
        line("napi", get(napi).map(sentences::napi)),
    ]
}
