//! What was not recorded never makes a line good that was none: each event of the ledgers taken from a real recording, as
//! where nobody enabled it.

use crate::analyses::answer;
use crate::analyses::verdict::Tone;
use crate::testing::rewrite::{Fate, rewritten};

/// Events that the two lines stand on.
const EVENTS: [&str; 9] = [
    "tcp:tcp_probe",
    "sock:sock_send_length",
    "net:net_dev_queue",
    "net:net_dev_start_xmit",
    "net:netif_receive_skb",
    "sock:sk_data_ready",
    "sock:sock_recv_length",
    "skb:skb_copy_datagram_iovec",
    "sched:sched_switch",
];

#[test]
fn a_missing_event_makes_no_line_good() {
    let mut compared = 0;
    for path in ["rpc/rpc.nmb", "sawtooth/sawtooth.nmb"] {
        let c = crate::tests::sample(path);
        let lines = |c: &netmortem_formats::Capture| answer(&crate::analyze(c, &Default::default())).verdict;
        let whole = lines(&c);
        for key in EVENTS {
            let less = rewritten(&c, c.event_formats.clone(), |_, _, f, _| {
                match f.is_some_and(|f| f.key() == key) {
                    true => Fate::Absent,
                    false => Fate::Keep,
                }
            });
            for (was, now) in whole.iter().zip(lines(&less)) {
                let ledger = was.subject == "receive" || was.subject == "transmit";
                if ledger && was.tone != Tone::Ok {
                    assert_ne!(now.tone, Tone::Ok, "{path} without {key}: {}", now.sentence);
                    compared += 1;
                }
            }
        }
    }
    assert_eq!(compared, 3 * EVENTS.len());
}

/// Nothing is good of which it is not known whether events of it were lost.
#[test]
fn losses_without_a_time_acquit_nobody() {
    use crate::analyses::verdict::minding::minding_the;
    let slice = crate::ingest::CaptureInfo {
        lost_at_unknown_time: 2,
        ..Default::default()
    };
    let why = "Among what was recorded: No packet was dropped; but of 2 events that the kernel counted as lost it is not known whether they are of this time, and what they would have told is not known.";
    let said = (Tone::Ok, "No packet was dropped.".to_owned());
    assert_eq!(minding_the(said, &slice, false), (Tone::Notice, why.to_owned()));
}
