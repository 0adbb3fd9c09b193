//! What is kept beside the counters, for how long, and how a bundle tells it.

use std::sync::mpsc::channel;
use std::time::Duration;

use netmortem_formats::ClockPair;
use netmortem_formats::bundle::Second;
use zstd::bulk::Compressor;

use super::super::history::{Beside, History, MOST_KEPT};
use super::super::pack::{Reading, pack, unpack};
use super::super::telling::Telling;
use crate::aside::Aside;
use crate::snapshot::beside::{Fared, KINDS, Kind, Outcome};

const SECOND_NS: i64 = 1_000_000_000;

fn second(at_s: i64) -> Second {
    let clock = ClockPair {
        monotonic_ns: at_s * SECOND_NS,
        ..ClockPair::default()
    };
    Second {
        clock,
        texts: vec![("net/snmp".into(), b"Tcp: A\nTcp: 1\n".to_vec())],
    }
}

fn fared(kind: Kind, outcome: Outcome) -> Fared {
    Fared {
        kind,
        outcome,
        took: Duration::from_millis(3),
        many: false,
    }
}

fn read(kind: Kind, what: &str, text: &str) -> Fared {
    let texts = vec![(what.to_owned(), text.to_owned())];
    fared(
        kind,
        Outcome::Read(pack(&mut Compressor::new(1).unwrap(), texts).unwrap()),
    )
}

fn reading(at_s: i64, kinds: Vec<Fared>) -> Reading {
    Reading {
        at_ns: at_s * SECOND_NS,
        kinds,
    }
}

fn tell(history: &History) -> (Vec<Second>, Telling) {
    let mut telling = Telling::new();
    let told = history.moments().map(|m| telling.tell(m)).collect();
    (told, telling)
}

fn text(second: &Second, what: &str) -> String {
    let text = second.texts.iter().find(|(w, _)| w == what).map(|(_, t)| t.clone());
    String::from_utf8(text.unwrap_or_default()).unwrap()
}

#[test]
fn the_first_is_told_whole_and_then_what_changed() {
    let mut history = History::new(second(1), Duration::from_secs(100), MOST_KEPT);
    let card = |n: u64| format!("netns=7 ifindex=2 dev=eth0 group=stats rx=5 rx_drops={n}\n");
    let outcomes = [
        read(Kind::Nics, "nics", &card(0)),
        fared(Kind::Nics, Outcome::Rested),
        read(Kind::Nics, "nics", &card(3)),
        // A frame that is none says nothing, as a reading that failed does: the next builds upon the last before it.
        fared(Kind::Nics, Outcome::Read(b"none".to_vec())),
        fared(Kind::Nics, Outcome::Failed),
        read(Kind::Nics, "nics", &card(4)),
        read(Kind::Nics, "nics", &card(4)),
    ];
    for (at, nic) in (1..).zip(outcomes) {
        assert!(at == 1 || history.push(second(at)));
        let file = read(Kind::Counters, "netns/9/net/snmp", "Udp: A B\nUdp: 1 2\n");
        history.attach(reading(at, vec![nic, file]));
    }
    let (told, telling) = tell(&history);
    let nics: Vec<String> = told.iter().map(|s| text(s, "nics")).collect();
    let named = "netns=7 ifindex=2 dev=eth0 group=stats";
    let grew = |n: u64| format!("{named} rx_drops={n}\n");
    assert_eq!(
        nics,
        [card(0), "".into(), grew(3), "".into(), "".into(), grew(4), "".into()]
    );
    let readings: Vec<String> = told.iter().map(|s| text(s, "readings")).collect();
    assert_eq!(readings[0], "nics 1\ncounters 1\n");
    assert_eq!(readings[1], "counters 2 after 1\n");
    assert_eq!(readings[5], "nics 3 after 2\ncounters 6 after 5\n");
    assert_eq!(readings[6], "nics 4 after 3\ncounters 7 after 6\n");
    assert!(
        text(&told[0], "netns/9/net/snmp").starts_with("Udp: A B") && text(&told[1], "netns/9/net/snmp").is_empty()
    );
    // The counters stand before all that.
    assert!(told.iter().all(|s| s.texts[0].0 == "net/snmp"));
    let ends: Vec<_> = telling
        .end()
        .iter()
        .map(|r| (r.read, r.skipped, r.failed, r.longest_ns))
        .collect();
    assert_eq!(
        ends,
        [(4, 1, 2, 3_000_000), (0, 7, 0, 0), (0, 7, 0, 0), (7, 0, 0, 3_000_000)]
    );
    // Every 64th is whole again: what a damaged member held is then known.
    let mut history = History::new(second(0), Duration::from_secs(100), MOST_KEPT);
    for at in 0..70 {
        history.push(second(at));
        history.attach(reading(at, vec![read(Kind::Nics, "nics", &card(1))]));
    }
    let (told, _) = tell(&history);
    let whole: Vec<usize> = (0..told.len()).filter(|n| text(&told[*n], "nics") == card(1)).collect();
    assert_eq!(whole[1] - whole[0], 64, "{whole:?}");
}

#[test]
fn what_is_too_old_goes_and_one_that_comes_late_is_of_no_use() {
    let mut history = History::new(second(1), Duration::from_secs(3), MOST_KEPT);
    for at in 2..=8 {
        assert!(history.push(second(at)));
    }
    history.attach(reading(3, vec![fared(Kind::Nics, Outcome::Failed)]));
    history.attach(reading(6, vec![fared(Kind::Nics, Outcome::Failed)]));
    let at = |h: &History| {
        h.moments()
            .map(|m| m.second.clock.monotonic_ns / SECOND_NS)
            .collect::<Vec<_>>()
    };
    // The one that is as old as the window is its beginning.
    assert_eq!(at(&history), [5, 6, 7, 8]);
    assert_eq!(history.start().map(|c| c.monotonic_ns), Some(5 * SECOND_NS));
    let waits: Vec<bool> = history.moments().map(|m| m.beside == Beside::Waited).collect();
    assert_eq!(waits, [true, false, true, true]);
    let said = tell(&history).1.sentences();
    assert!(said[0].contains("3 of 4 have nothing beside the counters"), "{said:?}");
    // Armed again.
    history.begin(second(9));
    history.attach(reading(8, vec![fared(Kind::Nics, Outcome::Failed)]));
    assert_eq!((at(&history), history.first()), (vec![9], Some(&second(9))));
    // A long window has 120 of them.
    let mut history = History::new(second(0), Duration::from_secs(600), MOST_KEPT);
    let taken = (1..=1_200).filter(|s| history.push(second(*s))).count();
    assert_eq!((taken, history.moments().count()), (240, 121));
}

/// 2,000 sockets whose numbers change at random: no more than a part of two minutes has room.
#[test]
fn many_sockets_make_the_oldest_go_and_that_is_said() {
    let mut history = History::new(second(0), Duration::from_secs(120), MOST_KEPT);
    let mut n = 1u64;
    let mut next = move || {
        n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        n >> 33
    };
    let mut packer = Compressor::new(1).unwrap();
    for at in 0..100 {
        history.push(second(at));
        let lines: String = (0..2_000)
            .map(|s| {
                let numbers: String = (0..12).map(|k| format!(" tcp.n{k}={}", next())).collect();
                format!("netns=7 proto=tcp family=inet cookie={s:#x}{numbers}\n")
            })
            .collect();
        let frame = pack(&mut packer, vec![("sockets".into(), lines)]).unwrap();
        assert_eq!(unpack(&frame).unwrap()[0].1.lines().count(), 2_000);
        let kept = Outcome::Read(frame);
        history.attach(reading(
            at,
            vec![fared(Kind::Nics, Outcome::Rested), fared(Kind::Sockets, kept)],
        ));
        let bytes = |m: &super::super::history::Moment| match &m.beside {
            Beside::Here(kinds) => kinds
                .iter()
                .map(|f| if let Outcome::Read(f) = &f.outcome { f.len() } else { 0 })
                .sum(),
            _ => 0usize,
        };
        assert!(history.moments().map(bytes).sum::<usize>() <= MOST_KEPT);
    }
    let gone = history.moments().take_while(|m| m.beside == Beside::Gone).count();
    let all = history.moments().count();
    let here = history
        .moments()
        .filter(|m| matches!(m.beside, Beside::Here(_)))
        .count();
    assert!(
        gone > 20 && here > 5 && gone + here == all && all == 100,
        "{gone} {here}"
    );
    let (told, telling) = tell(&history);
    let said = telling.sentences();
    let sentence = format!(
        "readings of every second: of {gone} of {all} seconds, the oldest, they were left out, as a flight keeps no more than 8 MiB of them"
    );
    assert!(said[0].starts_with(&sentence), "{said:?}");
    let sockets = telling.end().into_iter().find(|r| r.what == "sockets").unwrap();
    assert_eq!((sockets.read, sockets.skipped), (here as u64, gone as u64));
    // The first that is left is whole.
    assert_eq!(text(&told[gone], "readings"), "sockets 1\n");
    assert_eq!(text(&told[gone], "sockets").lines().count(), 2_000);
    assert!(told[..gone].iter().all(|s| s.texts.len() == 1));
}

#[test]
fn what_hangs_in_the_kernel_hangs_nobody_else() {
    let (go, gate) = channel::<()>();
    let (mut aside, failed) = Aside::start("hangs", move |at_ns| {
        let _ = gate.recv();
        Reading { at_ns, kinds: vec![] }
    });
    assert!(failed.is_none());
    let mut history = History::new(second(1), Duration::from_secs(9), MOST_KEPT);
    for at in 1..=4 {
        history.push(second(at));
        aside.ask(at * SECOND_NS);
        assert!(aside.take().is_none() && aside.is_out());
    }
    assert_eq!(aside.late(), 3);
    assert!(aside.wait(Duration::from_millis(10)).is_none());
    let said = tell(&history).1.sentences();
    assert!(said[0].contains("something in the kernel holds a lock"), "{said:?}");
    go.send(()).unwrap();
    let came = aside.wait(Duration::from_secs(60)).unwrap();
    assert_eq!((came.at_ns, aside.is_out()), (SECOND_NS, false));
    assert_eq!(KINDS.map(Kind::what), ["nics", "qdiscs", "sockets", "counters"]);
}
