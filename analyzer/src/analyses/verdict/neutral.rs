//! Lines that are no news and no praise: nothing of their kind happened in the recording, or all CPUs were busy all the time, of which the line says no more.

use super::follows::Of;
use super::{Line, Tone};
use crate::analyses::cpus::Cpus;

/// Share of the time for which CPUs that are busy so long had hardly room for more.
const FULL: f64 = 0.9;

/// Says of each line whether it is neither good nor bad.
pub(super) fn marked(mut lines: Vec<Line>, of: &Of<'_>, cpus: Option<&Cpus>) -> Vec<Line> {
    for line in lines.iter_mut().filter(|l| l.tone == Tone::Ok) {
        line.neutral = match line.subject {
            "opens" => of.opens.is_some_and(|o| o.attempts == 0 && o.setup.n == 0),
            "datagrams" => of.udp.is_some_and(|u| u.sockets == 0),
            "application" => of
                .application
                .is_some_and(|a| a.answered.is_none() && a.awaited.is_none()),
            "transmit" => of.transmit.is_some_and(|t| t.acked == 0),
            "tcp" => of.tcp.is_some_and(|t| t.connections.is_empty()),
            "napi" => cpus.is_some_and(|c| c.all.busy() >= FULL),
            _ => false,
        };
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::Tone;

    /// Lines of a recording that are neither good nor bad.
    fn neutral(path: &str) -> Vec<&'static str> {
        let facts = crate::analyze(&crate::tests::sample(path), &Default::default());
        let lines = crate::analyses::answer(&facts).verdict;
        assert!(lines.iter().all(|l| l.tone == Tone::Ok || !l.neutral));
        lines.iter().filter(|l| l.neutral).map(|l| l.subject).collect()
    }

    #[test]
    fn what_did_not_happen_and_full_cpus_are_not_praised() {
        // No UDP; its machine compiled meanwhile.
        assert_eq!(neutral("sawtooth/sawtooth.nmb"), ["datagrams", "napi"]);
        // Nothing but UDP.
        let datagrams = neutral("datagrams/datagrams.nmb.zst");
        assert_eq!(datagrams, ["opens", "application", "transmit", "napi"]);
        // An idle machine.
        assert_eq!(neutral("rpc/rpc.nmb"), ["datagrams"]);
    }
}
