//! What the lines of shipped recordings say of what their truth tells.

use crate::analyses::Answers;
use crate::analyses::verdict::{Line, Tone};

fn answers(path: &str) -> Answers {
    crate::analyses::answer(&crate::tests::facts(path))
}

fn line<'a>(of: &'a Answers, subject: &str) -> &'a Line {
    of.verdict.iter().find(|l| l.subject == subject).unwrap()
}

/// A rule drops all SYNs to :7003, whose two attempts a program gives up after 0.3 s; others fail for want of a port, and slow ones were to :7002.
#[test]
fn attempts_that_met_a_rule_are_named_and_were_missed() {
    let of = answers("opens/opens.nmb");
    let opens = line(&of, "opens");
    let said = "2 attempts to connect to 10.80.2.1:7003 by python3/11569 had no answer and were given up by the program after 300.61 ms at most, though a socket listens there: \
                2 SYNs were dropped by this host for NETFILTER_DROP at nft_do_chain on ra, an nftables rule or policy";
    assert!(opens.sentence.contains(said), "{}", opens.sentence);
    assert!(
        opens.sentence.contains("; 3 failed attempts more"),
        "{}",
        opens.sentence
    );
    let drops = line(&of, "drops");
    let more = "; so were 2 more: 2 for NETFILTER_DROP at nft_do_chain on ra (SYNs of attempts that were given up after a wait, see opens);";
    assert!(drops.sentence.contains(more), "{}", drops.sentence);
    assert!(
        !drops.sentence.contains("nobody is known to miss"),
        "{}",
        drops.sentence
    );
    // Nothing of what found no port slowed those to another end.
    let slow = "though a socket listens there. Connections took up to 1.024 s to open, 2 of them only when a SYN was retransmitted (the slowest to 10.80.2.1:7002)";
    assert!(opens.headline.ends_with(slow), "{}", opens.headline);
}

/// Copies that a rule makes are no effect of a server that answers nobody.
#[test]
fn copies_stand_for_themselves() {
    let of = answers("datagrams/datagrams.nmb.zst");
    let udp = line(&of, "datagrams");
    let apart = ", each time. 4 of 40 UDP datagrams came twice to the socket at 10.83.2.1:7004";
    assert!(udp.headline.contains(apart), "{}", udp.headline);
}

/// The one retransmission was a probe whose segment had arrived: nothing was held by a loss.
#[test]
fn what_was_sent_again_without_need_is_no_loss() {
    let of = answers("unread/unread.nmb.zst");
    let sent = line(&of, "transmit");
    assert!(
        !sent.sentence.contains("by loss") && !sent.headline.contains("by loss"),
        "{}",
        sent.sentence
    );
    let t = of.transmit.findings().unwrap();
    assert!(t.needless && t.held.all.p99_ns == Some(0), "{:?}", t.held.all);
    assert!(t.connections.iter().all(|c| c.held_by != Some("recovery")));
    let again = "1 TCP segment was retransmitted by 1 call, needlessly (the peer had it already, by DSACK: packets came late or in another order, or an ACK did not come), on 1 of 2 sockets";
    assert!(
        line(&of, "tcp").sentence.starts_with(again),
        "{}",
        line(&of, "tcp").sentence
    );
}

/// `ip neigh` sets a wrong address: which, by whom, and that one segment was sent again twice, as the line on retransmissions counts.
#[test]
fn a_wrong_neighbour_is_told_with_its_address() {
    let of = answers("neighbour/neighbour.nmb");
    let drops = line(&of, "drops");
    let said = "10.79.1.2 on va had another link-layer address for 407.90 ms, 02:00:00:00:00:99 (before: ae:af:d0:c8:eb:0b), set by ip (13852), over netlink: \
                meanwhile 2 frames came to a device that they were not addressed to, 1 segment was retransmitted 2 times, 1 of them after it";
    assert!(drops.headline.starts_with(said), "{}", drops.headline);
    assert_eq!(drops.tone, Tone::Bad);
    assert!(
        line(&of, "tcp")
            .sentence
            .starts_with("2 TCP segments were retransmitted by 2 calls")
    );
}

/// Of what is not named one by one its kinds are.
#[test]
fn changes_that_are_only_counted_have_their_kinds() {
    let of = answers("changes/changes.nmb.zst");
    let changed = line(&of, "settings");
    let rest = "; and changes at 2 more times of route default, route 10.99.0.0/16, routing rule 77, address 10.86.9.9/32, net.ipv4.tcp_sack, net.ipv4.conf.a0.rp_filter and device ra, \
                6 changes of devices or namespaces that came in the recording (`netmortem show changes INPUT`)";
    assert!(changed.sentence.contains(rest), "{}", changed.sentence);
}
