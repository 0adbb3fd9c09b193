//! A connection of whose data nothing was acknowledged, in words.

use super::evidence::from;
use super::sentences::{counted, moment, times};
use crate::analyses::transmit::{Transmit, Unacked};

/// `no data of 10.0.0.1:40000 > 10.0.0.2:80 was acknowledged from 0.147 s to 0.762 s, though it was retransmitted 2 times (from tx:50)`
fn words(u: &Unacked) -> String {
    let others = match u.others.len() as u64 {
        0 => String::new(),
        n => format!(", nor of {}", counted(n, "connection more", "connections more")),
    };
    format!(
        "no data of {} was acknowledged from {} to {}, though it was retransmitted {}{others}{}",
        u.label,
        moment(u.from_ns),
        moment(u.to_ns),
        times(u.timeouts),
        from(u.first)
    )
}

/// Unless a cause is named: what it does is said of that.
pub(super) fn unacked(t: &Transmit) -> Option<String> {
    let told = t.unacked.as_ref().filter(|_| super::named::causes(t).is_empty());
    told.map(words)
}

/// No segment with payload is known: of some that were sent it is not known what they carry.
pub(super) fn none_known(t: &Transmit) -> bool {
    t.acked == 0 && unacked(t).is_none() && t.open == 0 && t.dropped == 0
}

#[cfg(test)]
mod tests {
    use super::super::Tone;

    /// A firewall drops the messages that a packet was too big: of one connection nothing arrives. That is wrong, it is what the drops did, and no figure of the other one stands for it.
    #[test]
    fn what_was_never_acknowledged_has_no_time_and_no_rate() {
        let facts = crate::analyze(&crate::tests::sample("mtu/mtu.nmb"), &Default::default());
        let answers = crate::analyses::answer(&facts);
        let line = answers.verdict.iter().find(|l| l.subject == "transmit").unwrap();
        let said = "o data of 10.80.1.1:38814 > 10.80.2.1:7000 was acknowledged from 0.344 s to 0.959 s, though it was retransmitted 2 times (from tx:50)";
        assert_eq!(line.headline, format!("n{said}"));
        assert_eq!((line.tone, line.follows), (Tone::Bad, Some("drops")));
        assert!(
            line.sentence
                .starts_with(&format!("N{said}. Sent TCP segments were acknowledged p50")),
            "{}",
            line.sentence
        );
        // What held the other one is said of that.
        let other = line
            .sentence
            .contains("; most held of all 8: 10.80.1.1:38810 > 10.80.2.1:7000 by ");
        assert!(other && !line.sentence.contains("kbit/s"), "{}", line.sentence);
        let t = answers.transmit.findings().unwrap();
        let sender = |port: &str| t.connections.iter().find(|c| c.label.contains(port)).unwrap();
        assert_eq!(sender(":38814 >").mbit_per_s, None);
        assert!(sender(":38810 >").mbit_per_s > Some(100.0));
    }
}
