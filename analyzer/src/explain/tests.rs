use std::collections::BTreeMap;

use netmortem_formats::sub_buffer::sub_buffers;
use netmortem_formats::{Capture, Locus, StreamItem};

use super::{Explainer, Explanation, Id, Kind, Why};
use crate::analyses;
use crate::facts::Facts;
use crate::ingest::TraceClock;
use crate::reconstruct::lineage::tables::LineageRow;
use crate::reconstruct::skb::tables::SkbClass;
use crate::reconstruct::tcp::tables::RetransmitClass;
use crate::tests::sample as open;

mod kinds;
mod not_known;

/// (CPU, byte of the chunk in the file, offset in it) of every record, with its time and event id: read without the
/// explainer or the merge.
fn records(capture: &Capture) -> BTreeMap<(u32, u64, u32), (i64, u16)> {
    let clock = TraceClock::of(capture);
    let mut out = BTreeMap::new();
    for s in &capture.streams {
        for c in &s.chunks {
            let bytes = capture.chunk_bytes(c).unwrap();
            for sub in sub_buffers(s.page, &bytes, Locus::default()) {
                for item in sub.unwrap().records(s.page, Locus::default()) {
                    if let Ok(StreamItem::Record(r)) = item {
                        let id = s.page.endian.u16(r.payload, 0).unwrap();
                        out.insert((s.cpu, c.range.start, r.offset), (clock.ns(r.ts), id));
                    }
                }
            }
        }
    }
    out
}

fn explained(e: &Explainer<'_>, f: &Facts, id: &str) -> Explanation {
    e.explain(f, id.parse().unwrap(), super::EVENTS).unwrap()
}

#[test]
fn ids_are_read_as_they_are_written() {
    for kind in Kind::ALL {
        let id = Id::new(kind, 45);
        assert_eq!(id.to_string().parse(), Ok(id));
    }
    let wrong = |s: &str| s.parse::<Id>().unwrap_err();
    assert!(wrong("45").contains("for example skb:123"));
    assert!(wrong("packet:1").contains("`packet` is no kind of id"));
    for s in ["skb:", "skb:+1", "skb:-1", "skb:1x", "skb:4294967296"] {
        assert!(wrong(s).contains("no number"), "{s}");
    }
}

/// As the view `lineage` has it, edge by edge.
#[test]
fn a_lineage_says_why_its_bytes_are_not_compared() {
    let capture = open("rpc/rpc.nmb");
    let f = crate::analyze(&capture, &Default::default());
    let e = Explainer::new(&capture, &Default::default());
    let mut why = 0;
    let (with, without): (Vec<&_>, Vec<&_>) = f.lineage.iter().partition(|l: &&LineageRow| !l.because().is_empty());
    for l in with.iter().take(50).chain(without.iter().take(20)) {
        let (of, other) = (
            explained(&e, &f, &format!("skb:{}", l.child.0)),
            format!("skb:{}", l.parent.0),
        );
        let told = of.lineage.iter().filter(|t| t.is == "parent" && t.skb == other);
        let told: Vec<&str> = told.filter(|t| t.kind == l.kind.word()).map(|t| t.because).collect();
        assert!(told.contains(&l.because()), "{l:?}: {told:?}");
        why += usize::from(!l.because().is_empty());
    }
    assert!(why > 0, "no edge of the sample has a reason");
}

/// Each of many rows has an id; one that is not of the view has none.
#[test]
fn ids_of_rows_are_their_places() {
    let rows: Vec<[u64; 3]> = (0..300_000).map(|n| [n; 3]).collect();
    let started = std::time::Instant::now();
    for (at, row) in rows.iter().enumerate() {
        assert_eq!(Id::of_row(Kind::Open, &rows, row), Id::at(Kind::Open, at));
    }
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    assert_eq!(Id::of_row(Kind::Open, &rows, &[7; 3]), None);
    assert_eq!(Id::of_row(Kind::Open, &rows[1..], &rows[0]), None);
}

/// Every exemplar of the sample: waits sum, exact ones follow each other, and each event lies where it is said to.
#[test]
fn exemplars_are_explained_down_to_their_bytes() {
    let (mut exact, mut within, mut placed) = (0, 0, 0);
    for path in ["rpc/rpc.nmb", "tracedat-loopback/trace.dat"] {
        let capture = open(path);
        let records = records(&capture);
        let facts = crate::analyze(&capture, &Default::default());
        let explainer = Explainer::new(&capture, &Default::default());
        let answers = analyses::answer(&facts);
        let all = answers.exemplars.receive.iter().chain(&answers.exemplars.transmit);
        let mut ids: Vec<&str> = all
            .flat_map(|s| [&s.worst, &s.p99, &s.median])
            .map(|x| x.id.as_str())
            .collect();
        ids.sort_unstable();
        ids.dedup();
        assert!(ids.len() >= 20, "{path} {}", ids.len());
        for id in ids {
            let x = explained(&explainer, &facts, id);
            let [ledger] = x.ledgers.as_slice() else {
                panic!("{id} {:?}", x.ledgers)
            };
            let sum: i64 = ledger.steps.iter().map(|s| s.ns).sum();
            assert_eq!(sum, ledger.total_ns, "{path} {id}");
            let end = ledger.start_ns + ledger.total_ns;
            for s in &ledger.steps {
                assert!(
                    ledger.start_ns <= s.from_ns && s.from_ns <= s.to_ns && s.to_ns <= end,
                    "{id} {s:?}"
                );
                assert!(s.ns <= s.to_ns - s.from_ns, "{id} {s:?}");
                if s.exact {
                    assert_eq!(s.to_ns - s.from_ns, s.ns, "{id} {s:?}");
                    exact += 1;
                } else {
                    within += 1;
                }
            }
            // Both ends of the row, and of each exact stage, are events that are listed.
            let at = |t: i64| x.events.iter().any(|e| e.time_ns == t);
            assert!(at(ledger.start_ns) && at(end), "{path} {id}");
            for s in ledger.steps.iter().filter(|s| s.exact && s.stage != "unattributed") {
                assert!(at(s.from_ns) && at(s.to_ns), "{path} {id} {s:?}");
            }
            for e in &x.events {
                let key = (u32::from(e.cpu), e.place.chunk_at, e.place.offset);
                let (ts, kind) = records[&key];
                let name = capture.event_formats.iter().find(|f| f.id == kind).unwrap().key();
                assert_eq!((ts, &name), (e.time_ns, &e.event), "{path} {id}");
                placed += 1;
            }
        }
    }
    assert!(exact > 300 && placed > 1_000, "{exact} {within} {placed}");
}

/// What an skb is told to be the subject of names its address, wherever the event has one, and covers its life.
#[test]
fn events_of_an_skb_name_its_address() {
    let capture = open("rpc/rpc.nmb");
    let facts = crate::analyze(&capture, &Default::default());
    let explainer = Explainer::new(&capture, &Default::default());
    let mut named = 0;
    for r in facts.skbs.iter().step_by(7) {
        let x = explained(&explainer, &facts, &format!("skb:{}", r.skb_id.0));
        let id = x.id.as_str();
        let own: Vec<_> = x
            .events
            .iter()
            .filter(|e| e.why == Why::Skb && e.skb.as_deref() == Some(id))
            .collect();
        // An original may be told by its companion's event alone, which then names the companion.
        assert!(x.events.iter().any(|e| e.time_ns == r.birth_ns), "{id}");
        if r.class != SkbClass::TxOriginal {
            assert_eq!(own.first().map(|e| e.time_ns), Some(r.birth_ns), "{id}");
        }
        // A driver's call and a GRO entry end after what they were given may have been freed.
        // The memory of what was read may be returned later (deferred free).
        let ends = [
            "skb:consume_skb",
            "skb:kfree_skb",
            "net:net_dev_xmit",
            "net:napi_gro_receive_exit",
            "net:napi_gro_frags_exit",
        ];
        let late = own.iter().filter(|e| e.time_ns > r.last_ns);
        assert!(late.into_iter().all(|e| ends.contains(&e.event.as_str())), "{id}");
        for e in own {
            let field = |n: &str| e.fields.iter().find(|f| f.0 == n).map(|f| f.1.as_str());
            let address = field("skbaddr").or(field("skb_addr"));
            // The clone of an original is queued at another address than the one that is told.
            if let Some(a) = address {
                assert_eq!(a, format!("{:#x}", r.skbaddr), "{id} {}", e.event);
                named += 1;
            }
        }
    }
    assert!(named > 500, "{named}");
}

/// Rows that are one event: the event is listed as theirs, with the fields that the row was made from.
#[test]
fn drops_retransmits_and_runs_lead_to_their_events() {
    let capture = open("sawtooth/sawtooth.nmb");
    let facts = crate::analyze(&capture, &Default::default());
    let explainer = Explainer::new(&capture, &Default::default());
    let own = |id: &str, name: &str, at: i64| {
        let x = explained(&explainer, &facts, id);
        let found = x.events.iter().find(|e| e.time_ns == at && e.event == name);
        found.unwrap_or_else(|| panic!("{id}: no {name} at {at}")).clone()
    };
    for (i, d) in facts.drops.iter().enumerate().step_by(facts.drops.len() / 10 + 1) {
        let e = own(&format!("drop:{i}"), "skb:kfree_skb", d.time_ns);
        assert_eq!(e.skb, d.skb_id.map(|s| format!("skb:{}", s.0)));
    }
    for (i, r) in facts
        .retransmits
        .iter()
        .enumerate()
        .step_by(facts.retransmits.len() / 10 + 1)
    {
        own(&format!("retransmit:{i}"), "tcp:tcp_retransmit_skb", r.time_ns);
    }
    // What sent them again is a sentence, by class.
    for (i, r) in facts.retransmits.iter().enumerate() {
        let x = explained(&explainer, &facts, &format!("retransmit:{i}"));
        let expect = match r.class {
            RetransmitClass::Fast => "1 segment was retransmitted: a fast retransmit, as an ACK",
            RetransmitClass::Tlp => "1 segment was retransmitted: a tail loss probe, as no ACK",
            c => panic!("{c:?} is not in this sample"),
        };
        assert!(x.summary.starts_with(expect), "{}", x.summary);
        let mut once = x.related.clone();
        once.dedup();
        assert_eq!(once, x.related);
    }
    for (i, s) in facts.softirqs.iter().enumerate().step_by(facts.softirqs.len() / 10 + 1) {
        own(&format!("softirq:{i}"), "irq:softirq_entry", s.start_ns);
    }
    for (i, p) in facts.polls.iter().enumerate().step_by(facts.polls.len() / 10 + 1) {
        own(&format!("poll:{i}"), "napi:napi_poll", p.end_ns);
    }
    let c = explained(&explainer, &facts, "conn:0");
    let of = facts.tcp_samples.iter().filter(|s| s.connection.0 == 0).count();
    assert!(c.events.len() as u64 + c.events_left_out >= of as u64 && of > 0);
}

/// What repaired a drop and the drop lead to each other; a segment without a life, to the packet that it was cut from.
#[test]
fn a_drop_and_what_repaired_it_lead_to_each_other() {
    let (mut repaired, mut cut) = (0, 0);
    for path in ["sawtooth/sawtooth.nmb", "kernel-6.1/netem.nmb", "overlay/overlay.nmb"] {
        let capture = open(path);
        let facts = crate::analyze(&capture, &Default::default());
        let explainer = Explainer::new(&capture, &Default::default());
        for (at, d) in facts.drops.iter().enumerate() {
            let id = Id::new(Kind::Drop, at as u32).to_string();
            let of = |x: &Explanation, other: &str| x.related.iter().any(|r| r == other);
            if let Some(by) = d.repair {
                let by = Id::new(Kind::Retransmit, by.retransmit).to_string();
                let again = explained(&explainer, &facts, &by);
                assert!(of(&explained(&explainer, &facts, &id), &by), "{path} {id} {by}");
                assert!(of(&again, &id), "{path} {id} {by}");
                assert!(
                    again.summary.contains("was lost on this host (drop:"),
                    "{}",
                    again.summary
                );
                repaired += 1;
            }
            if let Some(packet) = d.cut_from.filter(|_| d.skb_id.is_none()) {
                let (x, packet) = (explained(&explainer, &facts, &id), format!("skb:{}", packet.0));
                assert!(
                    of(&x, &packet) && x.notes.iter().any(|n| n.contains(&packet)),
                    "{path} {id}"
                );
                assert!(x.notes.iter().all(|n| !n.contains("is not recorded")), "{path} {id}");
                assert!(of(&explained(&explainer, &facts, &packet), &id), "{path} {packet}");
                cut += 1;
            }
        }
    }
    assert!(repaired > 10 && cut > 10, "{repaired} {cut}");
}

#[test]
fn an_id_without_a_row_is_told_with_what_there_is() {
    let capture = open("rpc/rpc.nmb");
    let facts = crate::analyze(&capture, &Default::default());
    let explainer = Explainer::new(&capture, &Default::default());
    let wrong = |id: &str| explainer.explain(&facts, id.parse().unwrap(), 10).unwrap_err();
    let last = facts.skbs.len() - 1;
    assert!(wrong("skb:99999999").what.contains(&format!("skb:0 to skb:{last}")));
    let (rx, all) = (&facts.rx, &facts.skbs);
    let none = all.iter().find(|s| rx.iter().all(|r| r.skb_id != s.skb_id)).unwrap();
    let said = wrong(&format!("rx:{}", none.skb_id.0));
    assert!(said.what.contains("has no row in the view rx") && said.next.contains("show rx"));
    let nothing = Facts::empty();
    let said = explainer.explain(&nothing, "drop:0".parse().unwrap(), 10).unwrap_err();
    assert!(said.what.contains("has no row"));
}

/// An event of an IPv6 socket has no IPv4 address: the zeros that the kernel writes there are none. Of a mapped one it has.
#[test]
fn an_event_of_an_ipv6_socket_shows_no_ipv4_address() {
    use crate::testing::tcp::SOCK;
    use crate::testing::{B, Ctx, N, Script};
    let v6 = |begin: [u8; 12], end: [u8; 4]| B([&begin[..], &end].concat());
    let real = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0];
    let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
    let none = || B(vec![0; 4]);
    for (begin, end, shown) in [
        (real, [0, 0, 0, 1], false),
        (mapped, [10, 0, 0, 1], true),
        ([0; 12], [0; 4], true),
    ] {
        let mut s = Script::new("6.18.44", &[]);
        s.ev(1, 0, Ctx::Task(1), "napi:napi_poll", &[]);
        let of = [
            ("family", N(10)),
            ("saddr", none()),
            ("daddr", none()),
            ("saddr_v6", v6(begin, end)),
            ("daddr_v6", v6(begin, end)),
        ];
        SOCK.retransmit(&mut s, 1_000, 0, Ctx::Soft(7), 0xffff_8881_0000_0000, &of);
        let capture = s.capture();
        let facts = crate::analyze(&capture, &Default::default());
        let x = explained(&Explainer::new(&capture, &Default::default()), &facts, "retransmit:0");
        let event = x.events.iter().find(|e| e.event == "tcp:tcp_retransmit_skb").unwrap();
        let names: Vec<&str> = event.fields.iter().map(|f| f.0.as_str()).collect();
        for name in ["saddr", "daddr"] {
            assert_eq!(names.contains(&name), shown, "{:?}", event.fields);
        }
        assert!(names.contains(&"saddr_v6") && names.contains(&"daddr_v6"), "{names:?}");
    }
}

/// A tail loss probe says that nothing need have been lost only where nothing is known to be: what a wrong neighbour entry sent
/// to nobody is named.
#[test]
fn a_probe_names_the_loss_that_it_repairs() {
    use crate::testing::tcp::SOCK;
    use crate::testing::{Ctx, FCLONE, N, S, Script};
    const A: u64 = 0xffff_8881_0000_0000;
    const T: u64 = 1_000_000_000;
    let soft = Ctx::Soft(7);
    for reason in [13, 0] {
        let mut s = Script::new("6.18.44", &[]);
        s.ev(1, 0, Ctx::Task(1), "napi:napi_poll", &[]);
        SOCK.cong(&mut s, 2, 0, soft, 0);
        for k in 1..5u64 {
            let o = A + k * 0x10000;
            let other = [("skbaddr", N(o + FCLONE)), ("len", N(366)), ("name", S("s0"))];
            s.ev(k * 10, 0, Ctx::Task(1), "tcp:tcp_sendmsg_locked", &[("skb_addr", N(o))]);
            s.ev(k * 10 + 1, 0, Ctx::Task(1), "net:net_dev_queue", &other);
        }
        let written = [("skb_addr", N(A)), ("skb_len", N(300)), ("size_goal", N(1448))];
        s.ev(T - 9, 0, Ctx::Task(1), "tcp:tcp_sendmsg_locked", &written);
        let frame = [("skbaddr", N(A + FCLONE)), ("len", N(366)), ("name", S("s0"))];
        let packet = [("skbaddr", N(A + FCLONE)), ("len", N(352)), ("name", S("rs"))];
        let freed = [
            ("skbaddr", N(A + FCLONE)),
            ("protocol", N(0x0800)),
            ("reason", N(reason)),
        ];
        for t in [0, 200_000_000] {
            if t > 0 {
                s.ev(T + t - 5, 0, soft, "irq:softirq_entry", &[("vec", N(1))]);
            }
            s.ev(T + t, 0, soft, "net:net_dev_queue", &frame);
            s.ev(T + t + 1, 0, soft, "net:net_dev_start_xmit", &frame);
            s.ev(T + t + 2, 0, soft, "net:netif_rx", &packet);
            if t > 0 {
                SOCK.retransmit(&mut s, T + t + 3, 0, soft, A, &[]);
            } else if reason > 0 {
                s.ev(T + t + 4, 0, soft, "skb:kfree_skb", &freed);
            }
        }
        let capture = s.capture();
        let facts = crate::analyze(&capture, &Default::default());
        let x = explained(&Explainer::new(&capture, &Default::default()), &facts, "retransmit:0");
        assert!(x.summary.contains("a tail loss probe"), "{}", x.summary);
        let named = x.summary.contains("was lost on this host (drop:0: ");
        assert_eq!(
            (named, x.summary.contains("need not have been lost")),
            (reason > 0, reason == 0),
            "{}",
            x.summary
        );
        let first = Id::new(Kind::Drop, 0).to_string();
        assert_eq!(x.related.contains(&first), reason > 0);
    }
}
