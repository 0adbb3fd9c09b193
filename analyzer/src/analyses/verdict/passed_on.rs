//! What is said of packets that were only passed on.

use super::Tone;
use crate::analyses::transmit::Transmit;

/// So many are worth a word.
const PASSED_ON: u64 = 100;

/// With what the line on sent segments says; who does nothing else has nothing else to go by.
pub(super) fn with(t: &Transmit, (tone, said): (Tone, String)) -> (Tone, String) {
    if t.passed_on < PASSED_ON {
        return (tone, said);
    }
    let said = format!(
        "{}; {} packets were only passed on for others: how those fared no event of this host tells, but what it drops and what waits in its queues (a pcap of the device would: `--pcap`).",
        said.strip_suffix('.').unwrap_or(&said),
        t.passed_on
    );
    let alone = tone == Tone::Ok && t.acked == 0;
    (if alone { Tone::Unknown } else { tone }, said)
}
