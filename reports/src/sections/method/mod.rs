//! How the report was computed, with its limits and thresholds, and what could not be answered. In: constants of the analyses, `Answers::unknown`.
//! Every threshold is read from where it is used, so that this text cannot say another one.

use netmortem_analyzer::analyses::{quality, tcp, verdict};
use netmortem_analyzer::reconstruct::observer::tables::MARKED_SHARE;

use crate::clean::Text;
use crate::document::{Block, Cell, Column, Section, Table};
use crate::format;
use crate::sections::Input;

/// Builds the section.
#[must_use]
pub fn section(input: &Input<'_>) -> Section {
    let mut blocks = vec![
        Block::List(method().into_iter().map(Text::from).collect()),
        Block::Table(confidence()),
        Block::Table(thresholds()),
    ];
    let unknown = &input.answers.unknown;
    if unknown.is_empty() {
        blocks.push(Block::Paragraph(
            "Every tracker found what it needs in this recording.".into(),
        ));
    } else {
        let row = |reason: &netmortem_analyzer::Reason| {
            vec![Cell::Code(reason.subject.into()), Cell::Text((&reason.because).into())]
        };
        blocks.push(Block::Table(Table {
            caption: "What could not be answered".into(),
            columns: vec![Column::text("subject"), Column::text("because")],
            rows: unknown.iter().map(row).collect(),
            note: None,
        }));
    }
    blocks.push(Block::Code(vec![
        "netmortem show --list".into(),
        "netmortem report INPUT --json facts.json".into(),
    ]));
    Section {
        id: "method",
        title: "How it was computed".into(),
        lead: "From the recording alone: no symbol, name or setting of the machine that made this page was asked."
            .into(),
        blocks,
    }
}

fn method() -> Vec<&'static str> {
    vec![
        "Times are the trace clock's, in whole nanoseconds; they are shown since the first event of the recording. No timestamp was moved.",
        "Events of all CPUs are merged by (time, stream, position). Lost events are placed in time; what they could change carries a lower confidence or is unknown.",
        "An skb address is not an identity: a life is one use of an address, from an event that only a new skb causes to its end. Most TCP skbs are freed without an event; then the end is inferred from another event, or unknown.",
        "The stages of the receive path and the unattributed rest of a unit sum to its whole time, to the nanosecond; so do those of the transmit path. What no event explains is unattributed, never spread over stages.",
        "A sent TCP segment is followed from the system call that wrote its first byte to the ACK that covers its last one; its retransmissions belong to it. Waits of segments queued together overlap.",
        "The cost of recording is an estimate: the events written in a stage's time, times what one event cost. It is shown, not subtracted.",
        "Quantiles are nearest-rank: every quantile printed is a value that occurred. Histograms have four bins an octave. ECDFs are drawn through at most 129 of their points.",
        "tcp_probe fires before its segment is processed, so a value is drawn from the sample before it on. A retransmit event follows the transmission.",
        "The length of a NAPI poll starts at the end of the poll before it, or at the softirq's entry: napi_poll marks only the end.",
        "Not every kfree_skb is a loss: the rule that judged each free is in the table of drops.",
        "A dash (–) stands for a value that is not known. It is never counted as 0.",
    ]
}

fn confidence() -> Table {
    let row = |word: &str, meaning: &str| vec![Cell::Code(word.into()), Cell::Text(meaning.into())];
    Table {
        caption: "Confidence of a link".into(),
        columns: vec![Column::text("word"), Column::text("meaning")],
        rows: vec![
            row(
                "certain",
                "a single event, or a pointer identity with a unique successor",
            ),
            row("strong", "a structural invariant of the kernel holds"),
            row("weak", "timing or order only"),
            row("unknown", "no claim"),
        ],
        note: Some("A chain of links has the least of their confidences.".into()),
    }
}

fn thresholds() -> Table {
    let row = |what: &str, value: String| vec![Cell::Text(what.into()), Cell::Text(value.into())];
    Table {
        caption: "Thresholds".into(),
        columns: vec![Column::text("of"), Column::text("value")],
        rows: vec![
            row(
                "the capture is called bad: share of events lost",
                format::percent(quality::BAD_LOSS_SHARE),
            ),
            row(
                "the reader is named as the wait: p99 in the receive queue",
                format::duration(verdict::RCVQ_NOTICE_NS),
            ),
            row(
                "NET_RX share of a CPU worth a look",
                format::percent(verdict::SOFTIRQ_NOTICE_SHARE),
            ),
            row(
                "NET_RX delay (p99) worth a look",
                format::duration(verdict::SOFTIRQ_WAIT_NOTICE_NS),
            ),
            row(
                "share of sent segments' time in waits of this host and for the peer's window worth a look",
                format!(
                    "{}, if p99 of these waits is {} or more; any share from {} on",
                    format::percent(verdict::SENDER_NOTICE_SHARE),
                    format::duration(verdict::SENDER_FLOOR_NS),
                    format::duration(verdict::SENDER_NOTICE_NS)
                ),
            ),
            row(
                "unexplained share of a byte balance worth a look",
                format::percent(quality::UNEXPLAINED_SHARE),
            ),
            row(
                "a stage is marked as the recording's own: share of it that recording cost",
                format::percent(MARKED_SHARE),
            ),
            row(
                "silence that breaks a TCP line",
                format!(
                    "the longer of {} and {} smoothed RTTs",
                    format::duration(tcp::SILENCE_NS),
                    tcp::SILENCE_SRTTS
                ),
            ),
            row(
                "points of a TCP line, above which only the extremes of time bins are kept",
                format::count(tcp::POINTS as u64),
            ),
        ],
        note: None,
    }
}

#[cfg(test)]
mod tests;
