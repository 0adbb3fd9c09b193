//! Whose the longest time to an ACK is, and what held most in sum: two connections, as often as not.

use super::limiter;
use super::sentences::duration;
use crate::analyses::transmit::Sender;

/// Behind the longest time: whose it is, and which connection was held longest in sum, where that is another.
pub(super) fn held(held: Option<(&Sender, &'static str)>, slowest: Option<&str>) -> String {
    match (held, slowest) {
        (None, None) => String::new(),
        (None, Some(of)) => format!(" ({of})"),
        // Of whom it is may not be known.
        (Some((c, by)), of) if of != Some(c.label.as_str()) => {
            let of = of.map_or_else(String::new, |of| format!(" ({of})"));
            format!(
                "{of}; in sum {} waited longest, held mostly by {}",
                c.label,
                limiter(by)
            )
        }
        (Some((c, by)), _) => format!(", {} held mostly by {}", c.label, limiter(by)),
    }
}

/// One that had no ACK when the recording ended.
pub(super) fn open(at_least_ns: i64, of: Option<&str>) -> String {
    let of = of.map_or_else(String::new, |of| format!(" of {of}"));
    format!(
        "; one{of} is still un-ACKed, {} or more after it was queued on its device",
        duration(at_least_ns)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_and_a_connection_in_one_sentence_are_of_one_another() {
        let facts = crate::analyze(&crate::tests::sample("sawtooth/sawtooth.nmb"), &Default::default());
        let senders = crate::analyses::transmit::senders_of(&facts);
        let most = &senders[0];
        let of = |slowest| held(Some((most, "cwnd")), slowest);
        let same = format!(", {} held mostly by its congestion window", most.label);
        assert_eq!(of(Some(&most.label)), same);
        let other = format!(
            "; in sum {} waited longest, held mostly by its congestion window",
            most.label
        );
        assert_eq!(of(None), other);
        assert_eq!(of(Some("a > b")), format!(" (a > b){other}"));
        assert_eq!(held(None, Some("a > b")), " (a > b)");
        assert_eq!(held(None, None), "");
        let said = open(7_000_000_000, Some("a > b"));
        assert_eq!(
            said,
            "; one of a > b is still un-ACKed, 7.000 s or more after it was queued on its device"
        );
    }
}
