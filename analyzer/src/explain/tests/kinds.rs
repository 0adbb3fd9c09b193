//! The kinds that report sections are about: their parts sum, their events lie where they are said to, and what the programs of the samples
//! wrote down themselves says the same.

use super::{explained, open, records};
use crate::explain::{EventLine, Explainer, Explanation, Id, Kind, Why};
use crate::facts::Facts;
use crate::ingest::Options;

const SAMPLES: [&str; 7] = [
    "rpc/rpc.nmb",
    "opens/opens.nmb",
    "lookups/lookups.nmb.zst",
    "neighbour/neighbour.nmb",
    "datagrams/datagrams.nmb.zst",
    "sawtooth/sawtooth.nmb",
    "kernel-6.1/netem.nmb",
];
/// Rows of each kind that are explained in each sample.
const ROWS: usize = 60;

/// Whole of a row by its own columns; `None`: it is one event, or its time is not known.
fn whole(f: &Facts, id: Id) -> Option<i64> {
    let n = id.number as usize;
    match id.kind {
        Kind::Response => f.responses[n].response_ns().filter(|_| !f.responses[n].overlap),
        Kind::Turnaround => Some(f.turnarounds[n].total_ns()),
        Kind::Open => Some(f.opens[n].total_ns()),
        Kind::UdpTurn => {
            let t = &f.udp_turns[n];
            let read = t.ready_ns.and(t.read_ns).unwrap_or(t.end_ns);
            Some(read.max(t.ready_ns.unwrap_or(i64::MIN)) - t.start_ns)
        }
        Kind::Xmit => Some(f.xmits[n].total_ns),
        _ => None,
    }
}

/// Parts sum to the row's own whole, follow one another where they are exact, and no fact of these samples is without its event; each event
/// is the record that lies at its place.
#[test]
fn rows_are_explained_down_to_their_bytes() {
    let mut told = [0; 16];
    let mut placed = 0;
    for path in SAMPLES {
        let capture = open(path);
        let records = records(&capture);
        let facts = crate::analyze(&capture, &Default::default());
        let explainer = Explainer::new(&capture, &Options::default());
        for kind in Kind::ALL.into_iter().skip(8) {
            let tables = facts.tables();
            let n = tables.iter().find(|t| t.name() == kind.view()).unwrap().len();
            for at in (0..n).step_by(n / ROWS + 1) {
                let id = Id::new(kind, at as u32);
                let x = explained(&explainer, &facts, &id.to_string());
                assert_eq!((x.rows[0].view, x.rows[0].place), (kind.view(), at), "{path} {id}");
                match (whole(&facts, id), x.ledgers.as_slice()) {
                    (None, []) => {}
                    (Some(whole), [l]) => {
                        let sum: i64 = l.steps.iter().map(|s| s.ns).sum();
                        assert_eq!((sum, l.total_ns), (whole, whole), "{path} {id} {l:?}");
                        for s in l.steps.iter().filter(|s| s.exact) {
                            assert_eq!(s.to_ns - s.from_ns, s.ns, "{path} {id} {s:?}");
                        }
                    }
                    (whole, l) => panic!("{path} {id} {whole:?} {l:?}"),
                }
                let without = x.notes.iter().find(|n| n.contains("by itself: the row has it"));
                assert_eq!(without, None, "{path} {id}");
                assert!(
                    x.events.iter().any(|e| e.why == Why::Row || kind == Kind::UdpSocket),
                    "{path} {id}"
                );
                for e in &x.events {
                    let key = (u32::from(e.cpu), e.place.chunk_at, e.place.offset);
                    let (ts, of) = records[&key];
                    let name = capture.event_formats.iter().find(|f| f.id == of).unwrap().key();
                    assert_eq!((ts, &name), (e.time_ns, &e.event), "{path} {id}");
                    placed += 1;
                }
                told[kind as usize] += 1;
            }
        }
    }
    let few: Vec<_> = Kind::ALL
        .into_iter()
        .skip(8)
        .filter(|k| told[*k as usize] < 10)
        .collect();
    assert!(few.is_empty() && placed > 20_000, "{few:?} {told:?} {placed}");
}

/// The rows of a CSV file behind its head.
fn csv(path: &str) -> Vec<Vec<String>> {
    let file = format!("{}/../sample-data/{path}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(file).unwrap();
    let rows = text
        .lines()
        .skip(1)
        .map(|l| l.split(',').map(ToOwned::to_owned).collect());
    rows.collect()
}

fn ns(of: &str) -> i64 {
    of.parse().unwrap()
}

/// The row's own events of a name.
fn own<'x>(x: &'x Explanation, name: &str) -> Vec<&'x EventLine> {
    let of = x.events.iter().filter(|e| e.why == Why::Row && e.event.ends_with(name));
    of.collect()
}

fn field<'e>(e: &'e EventLine, name: &str) -> &'e str {
    &e.fields.iter().find(|f| f.0 == name).unwrap().1
}

/// The program stamped every connect before and after; ends and errors are its own.
#[test]
fn attempts_are_those_that_the_program_made() {
    let capture = open("opens/opens.nmb");
    let facts = crate::analyze(&capture, &Default::default());
    let explainer = Explainer::new(&capture, &Options::default());
    let ends = |plan: &str| match plan {
        "refused" => "refused (ECONNREFUSED)",
        "no answer" => "given up",
        "no route" => "unreachable (ENETUNREACH)",
        "no port" => "no port (EADDRNOTAVAIL)",
        _ => "established",
    };
    let rows = csv("opens/truth.csv");
    assert_eq!(rows.len(), facts.opens.len());
    for (at, row) in rows.iter().enumerate() {
        let x = explained(&explainer, &facts, &format!("open:{at}"));
        let calls = own(&x, ":sys_enter_connect");
        let [call] = calls.as_slice() else {
            panic!("{row:?} {calls:?}")
        };
        let (before, after) = (ns(&row[3]), ns(&row[4]));
        assert!((before..=after).contains(&call.time_ns), "{row:?}");
        assert!(x.summary.contains(ends(&row[0])), "{row:?} {}", x.summary);
        let last = x.ledgers[0].steps.last().unwrap();
        // What gave up closed its socket some time behind its own stamp.
        assert!(last.to_ns <= after || row[0] == "no answer", "{row:?}");
        let again = own(&x, ":tcp_retransmit_skb").len();
        assert_eq!(again, usize::from(row[0] == "sent again"), "{row:?}");
        assert_eq!(
            x.ledgers[0].steps.iter().filter(|s| s.stage == "syn_again").count(),
            again
        );
        // Its socket's changes of state have its ports.
        for e in own(&x, ":inet_sock_set_state") {
            assert_eq!(field(e, "dport"), row[1], "{row:?}");
        }
        if row[0] == "refused" {
            let ids = x.related.iter().filter(|r| r.starts_with("reset:"));
            let ids: Vec<&String> = ids.collect();
            assert_eq!(ids.len(), 1, "{:?}", x.related);
            let r = explained(&explainer, &facts, ids[0]);
            let came = own(&r, ":tcp_receive_reset");
            assert!((before..=after).contains(&came[0].time_ns), "{row:?}");
            // And the one that the server's host sent is behind that.
            let sent = r.related.iter().find(|r| r.starts_with("reset:")).unwrap();
            let s = explained(&explainer, &facts, sent);
            assert!(own(&s, ":tcp_send_reset")[0].time_ns < came[0].time_ns, "{}", s.summary);
            assert!(s.notes.iter().any(|n| n.contains("by address")), "{:?}", s.notes);
        }
    }
}

/// The server stamped its sleeps before it read: each lies in one turnaround, unread, and that one in a response of the client.
#[test]
fn answers_hold_the_sleeps_that_the_server_stamped() {
    let capture = open("rpc/rpc.nmb");
    let facts = crate::analyze(&capture, &Default::default());
    let explainer = Explainer::new(&capture, &Options::default());
    for row in csv("rpc/truth.csv") {
        let (from, to, read) = (ns(&row[2]), ns(&row[3]), ns(&row[4]));
        let over = |t: &&crate::reconstruct::application::tables::TurnaroundRow| {
            t.start_ns() <= from && to <= t.read_ns && t.read_ns <= read
        };
        let all: Vec<_> = facts.turnarounds.iter().filter(over).collect();
        let [t] = all.as_slice() else { panic!("{row:?} {all:?}") };
        let id = Id::of_row(Kind::Turnaround, &facts.turnarounds, *t)
            .unwrap()
            .to_string();
        let x = explained(&explainer, &facts, &id);
        let reads = own(&x, ":sock_recv_length");
        // What was read is the request, at a time between the server's stamps.
        assert!(
            (to..=read).contains(&reads[0].time_ns) && field(reads[0], "ret") == row[5],
            "{row:?}"
        );
        assert!(own(&x, ":sk_data_ready")[0].time_ns <= from, "{row:?}");
        let asleep = x.ledgers[0].steps.iter().find(|s| s.stage == "asleep").unwrap();
        assert!(asleep.ns >= to - from - 100_000, "{row:?} {asleep:?}");
        let response = x.related.iter().find(|r| r.starts_with("response:")).unwrap();
        let r = explained(&explainer, &facts, response);
        let steps: Vec<&str> = r.ledgers[0].steps.iter().map(|s| s.stage).collect();
        assert_eq!(steps, ["there", "peer", "back"]);
        assert!(r.related.contains(&id), "{:?}", r.related);
        let sends = own(&r, ":sys_enter_sendto");
        assert_eq!(sends.len(), 2, "the request's and the answer's");
        assert!(sends[0].time_ns < from && sends[1].time_ns > to, "{row:?}");
    }
}

/// The asker stamped its lookups, each of two questions, the server sleeps 12 ms before each answer.
#[test]
fn questions_are_those_of_the_program() {
    let capture = open("lookups/lookups.nmb.zst");
    let facts = crate::analyze(&capture, &Default::default());
    let explainer = Explainer::new(&capture, &Options::default());
    let lookups: Vec<_> = csv("lookups/truth.csv")
        .into_iter()
        .filter(|r| r[0] == "lookup")
        .collect();
    for row in &lookups {
        let (before, after) = (ns(&row[2]), ns(&row[3]));
        let of = |t: &crate::reconstruct::datagrams::tables::TurnRow| before <= t.start_ns && t.end_ns <= after;
        let asked = |t: &crate::reconstruct::datagrams::tables::TurnRow| {
            facts.udp_sockets.get(t.socket as usize).is_some_and(|s| !s.served)
        };
        let turns: Vec<_> = facts.udp_turns.iter().filter(|t| of(t) && asked(t)).collect();
        let [t] = turns.as_slice() else {
            panic!("{row:?} {turns:?}")
        };
        let id = Id::of_row(Kind::UdpTurn, &facts.udp_turns, *t).unwrap();
        let x = explained(&explainer, &facts, &id.to_string());
        let stages: Vec<(&str, i64)> = x.ledgers[0].steps.iter().map(|s| (s.stage, s.ns)).collect();
        let [("there", _), ("unread", _), ("work", work), ("back", _), ("queued", _)] = stages[..] else {
            panic!("{row:?} {stages:?}")
        };
        assert!((12_000_000..after - before).contains(&work), "{row:?} {work}");
        for name in [":sock_send_length", ":sk_data_ready", ":sock_recv_length"] {
            let all = own(&x, name);
            assert!(!all.is_empty(), "{row:?} {name}");
            assert!(
                all.iter().all(|e| (before..=after).contains(&e.time_ns)),
                "{row:?} {name}"
            );
        }
        // By the server, too: its socket's events are there.
        let theirs = x
            .events
            .iter()
            .filter(|e| e.why == Why::Socket && e.event.ends_with(":sock_recv_length"));
        assert!(theirs.count() >= 1, "{row:?}");
    }
    assert!(lookups.len() >= 40, "{}", lookups.len());
}

/// The program stamped the command that set a wrong address, and the one that deleted it.
#[test]
fn neighbour_events_are_those_of_the_commands() {
    let capture = open("neighbour/neighbour.nmb");
    let facts = crate::analyze(&capture, &Default::default());
    let explainer = Explainer::new(&capture, &Options::default());
    for row in csv("neighbour/truth.csv") {
        let during = (ns(&row[1])..=ns(&row[2]), row[0].as_str());
        let mine = |(_, n): &(usize, &crate::reconstruct::neighbours::tables::NeighbourRow)| {
            during.0.contains(&n.time_ns)
                && n.address.to_string() == "10.79.1.2"
                && n.netlink != 0
                && n.event == "update"
        };
        let all: Vec<_> = facts.neighbours.iter().enumerate().filter(mine).collect();
        let [(at, _)] = all.as_slice() else {
            panic!("{row:?} {all:?}")
        };
        let x = explained(&explainer, &facts, &format!("neighbour:{at}"));
        let (begin, done) = (own(&x, ":neigh_update"), own(&x, ":neigh_update_done"));
        assert_eq!((begin.len(), done.len()), (1, 1), "{row:?}");
        assert!(during.0.contains(&done[0].time_ns) && begin[0].time_ns < done[0].time_ns);
        let (state, lladdr) = (field(done[0], "nud_state"), field(done[0], "lladdr"));
        match during.1 {
            // NUD_PERMANENT
            "wrong" => assert!(state.starts_with("128") || state.contains("permanent"), "{state}"),
            _ => assert!(state.starts_with("32") || state.contains("failed"), "{state}"),
        }
        assert_eq!(
            lladdr.starts_with("020000000099"),
            during.1 == "wrong" || lladdr.starts_with("02"),
            "{lladdr}"
        );
        assert!(x.summary.contains("over netlink by ip"), "{}", x.summary);
        assert!(x.related.iter().any(|r| r.starts_with("neighbour:")));
    }
}

/// A wrong number is told with what there is; a fact whose event is not there is said to be without one.
#[test]
fn what_is_not_there_is_said() {
    let capture = open("rpc/rpc.nmb");
    let mut facts = crate::analyze(&capture, &Default::default());
    let explainer = Explainer::new(&capture, &Options::default());
    let wrong = |f: &Facts, id: &str| explainer.explain(f, id.parse().unwrap(), 10).unwrap_err();
    for kind in [
        Kind::Response,
        Kind::Turnaround,
        Kind::Open,
        Kind::Xmit,
        Kind::Neighbour,
    ] {
        let tables = facts.tables();
        let last = tables.iter().find(|t| t.name() == kind.view()).unwrap().len() - 1;
        let said = wrong(&facts, &format!("{}:99999999", kind.word()));
        let word = kind.word();
        assert!(
            said.what.contains(&format!("{word}:0 to {word}:{last}")),
            "{}",
            said.what
        );
        assert!(said.next.contains(&format!("show {}", kind.view())), "{}", said.next);
    }
    for id in ["reset:0", "udp_turn:0", "udp_socket:0"] {
        assert!(wrong(&facts, id).what.contains("has no row"), "{id}");
    }
    facts.responses[3].read_ns += 1;
    facts.xmits[3].started_ns = facts.xmits[3].started_ns.map(|t| t + 1);
    for (id, fact) in [("response:3", "its first read"), ("xmit:3", "that the driver got it")] {
        let x = explained(&explainer, &facts, id);
        let said = x.notes.iter().find(|n| n.contains("by itself: the row has it"));
        assert!(said.is_some_and(|n| n.contains(fact)), "{id} {:?}", x.notes);
    }
}
