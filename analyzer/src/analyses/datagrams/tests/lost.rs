//! Questions whose packets were dropped, of a thread that waits for many answers at once.

use super::line;
use crate::Confidence;
use crate::analyses::verdict::Tone;
use crate::analyses::{answer, datagrams};
use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::datagrams::sockets::SocketRow;
use crate::reconstruct::datagrams::tables::{Awaited, TurnEnd, TurnRow};
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};
use crate::reconstruct::whose::{Carries, Owner};

const MS: i64 = 1_000_000;

/// wlc/7 asks on one socket: every 100 ms a question of 200 bytes that is answered; each 1.5 s one of 2500 bytes and up, asked 3 times 2 s apart, whose
/// packets are dropped; `served`: whether what came there is answered.
fn facts(answers: bool) -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(40_000 * MS));
    for key in ["sock:sock_send_length", "sock:sock_recv_length", "sock:sk_data_ready"] {
        f.capture.events.insert(key.into(), 1);
    }
    for (pid, local, remote) in [(7, "10.0.0.1:4000", "10.0.0.2:1812"), (9, "10.0.0.2:1812", "")] {
        let mut s = SocketRow::begin(0xff00 + pid as u64, 0);
        (s.pid, s.task, s.served) = (pid, Name::new(b"wlc"), pid == 9);
        (s.local, s.remote) = (local.into(), remote.into());
        f.udp_sockets.push(s);
    }
    let small = (0..100i64).map(|n| (n * 100 * MS, 200u64, false));
    let large = (0..4i64)
        .flat_map(|n| (0..3i64).map(move |k| (n * 1_500 * MS + k * 2_000 * MS + 40 * MS + 1, 2_500 + n as u64, true)));
    let mut all: Vec<(i64, u64, bool)> = small.chain(large).collect();
    all.sort_unstable();
    for (nth, (at, bytes, lost)) in all.into_iter().enumerate() {
        let mut t = TurnRow::begin(0, 7, at);
        (t.task, t.sends, t.bytes, t.skb_id) = (Name::new(b"wlc"), 1, bytes, Some(SkbId(nth as u32)));
        (t.end, t.end_ns, t.awaited, t.waited_ns) = (TurnEnd::AskedAgain, at + 60 * MS, Awaited::Perhaps, 60 * MS);
        f.tx.push(TxRow {
            skb_id: SkbId(nth as u32),
            kind: TxKind::Udp,
            pid: 7,
            start_ns: at,
            ..crate::testing::sent()
        });
        if lost {
            f.drops.push(DropRow {
                skb_id: Some(SkbId(nth as u32)),
                owner: Some(Owner {
                    connection: None,
                    carries: Carries::Datagram,
                    task: Name::new(b"wlc"),
                    pid: 7,
                    confidence: Confidence::Strong,
                }),
                ..crate::testing::drop_at(at + 10)
            });
        } else {
            (t.there, t.landed) = (Some(1), 1);
            if answers {
                (t.end, t.ready_ns, t.read_ns) = (TurnEnd::Answered, Some(at + MS), Some(at + MS));
            }
        }
        f.udp_turns.push(t);
    }
    f
}

fn lost(f: &Facts) -> Vec<datagrams::Lost> {
    datagrams::answer(f).findings().unwrap().lost.clone()
}

#[test]
fn dropped_questions_of_an_event_loop_are_counted() {
    let f = facts(true);
    let found = lost(&f);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].task.as_str(), found[0].to.as_str()),
        ("wlc/7", "10.0.0.2:1812")
    );
    assert_eq!((found[0].sends, found[0].of, found[0].bytes), (12, 112, (2500, 2503)));
    assert_eq!((found[0].again, found[0].times), (Some((8, 2_000 * MS)), 3));
    let answers = answer(&f);
    let l = line(&answers);
    let says = "12 of 112 datagrams that wlc/7 sent to 10.0.0.2:1812 had no answer, as this host dropped packets of theirs (2500 to 2503 bytes), and 8 of them were asked again after p50 2.000 s, up to 3 times in all (inferred by their sizes)";
    assert!(l.sentence.starts_with(says), "{}", l.sentence);
    assert_eq!(l.tone, Tone::Bad);
}

/// A log that nobody answers; drops that came all the same to a socket (a copy); one alone that is not asked again is no more than a notice.
#[test]
fn what_is_no_question_is_none() {
    assert_eq!(lost(&facts(false)), []);
    let mut f = facts(true);
    for t in f.udp_turns.iter_mut() {
        t.landed = 1;
    }
    assert_eq!(lost(&f), []);
    let mut f = facts(true);
    f.drops.truncate(1);
    f.udp_turns.retain(|t| t.bytes == 200 || t.start_ns == 40 * MS + 1);
    assert_eq!((lost(&f)[0].sends, lost(&f)[0].again, lost(&f)[0].times), (1, None, 1));
    assert_eq!(line(&answer(&f)).tone, Tone::Notice);
}

/// A game sends at a beat, whatever is answered: the next of as many bytes is none that was asked again.
#[test]
fn what_is_sent_at_a_beat_is_not_asked_again() {
    let mut f = facts(true);
    // Each eighth of those sent each 100 ms is dropped, and none is in between.
    f.drops.clear();
    f.udp_turns.retain(|t| t.bytes == 200);
    f.tx.retain(|t| f.udp_turns.iter().any(|u| u.skb_id == Some(t.skb_id)));
    for n in (4..100).step_by(8) {
        let t = &mut f.udp_turns[n];
        (t.there, t.landed) = (None, 0);
        (t.end, t.ready_ns, t.read_ns) = (TurnEnd::AskedAgain, None, None);
        f.drops.push(DropRow {
            skb_id: t.skb_id,
            owner: Some(Owner {
                connection: None,
                carries: Carries::Datagram,
                task: Name::new(b"wlc"),
                pid: 7,
                confidence: Confidence::Strong,
            }),
            ..crate::testing::drop_at(t.start_ns + 10)
        });
    }
    let found = lost(&f);
    assert_eq!(
        (found[0].sends, found[0].of, found[0].again, found[0].times),
        (12, 100, None, 1)
    );
}
