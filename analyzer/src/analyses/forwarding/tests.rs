use super::{Forwarding, answer};
use crate::Confidence;
use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::skb::Forwarded;
use crate::reconstruct::softirq::tables::{Preempted, SoftirqRow};

const START: i64 = 1_000_000_000;
const MS: i64 = 1_000_000;

fn run(start_ns: i64, ns: i64) -> SoftirqRow {
    SoftirqRow {
        irq_ns: Some(0),
        ..crate::testing::softirq(0, 3, start_ns, Some(start_ns + ns))
    }
}

/// A packet each 2 ms of 20 s, there and back in turn, each in a run of its own that takes 10 us more; `ns`: its time.
fn gateway(ns: impl Fn(i64) -> i64) -> Facts {
    let mut f = Facts::empty();
    f.capture.start_ns = Some(START);
    f.capture.duration_ns = 20_000 * MS;
    for nth in 0..10_000 {
        let at = START + nth * 2 * MS;
        let ns = ns(nth * 2);
        let (from, to): (&[u8], &[u8]) = if nth % 2 == 0 {
            (b"wan0", b"dmz0")
        } else {
            (b"dmz0", b"wan0")
        };
        f.softirqs.push(run(at, ns + 10_000));
        f.forwarded.push(Forwarded {
            skb: SkbId(nth as u32),
            cpu: 0,
            from: Name::new(from),
            to: Name::new(to),
            at_ns: at + 5_000 + ns,
            ns,
        });
    }
    f
}

fn line(f: &Facts) -> crate::analyses::verdict::Line {
    let lines = crate::analyses::answer(f).verdict;
    lines.into_iter().find(|l| l.subject == "napi").unwrap()
}

#[test]
fn what_each_packet_takes_by_devices() {
    let f = gateway(|_| 20_000);
    let a = answer(&f);
    let of: Vec<_> = a
        .pairs
        .iter()
        .map(|p| (p.from.as_str(), p.to.as_str(), p.time.n))
        .collect();
    assert_eq!(of, [("dmz0", "wan0", 5_000), ("wan0", "dmz0", 5_000)]);
    assert_eq!((a.pairs[0].time.p50_ns, a.left_out), (Some(20_000), 0));
    assert!((a.pairs[0].share - 1.0 / 3.0).abs() < 1e-9);
    // 1 % of a CPU, and 20 us: nothing to say.
    assert_eq!((a.pairs[0].step, a.costly), (None, None));
    assert!(!line(&f).sentence.contains("orwarding"));
}

/// Rules come at 8.3 s: 20 us before, 590 us from then on. Now and then the CPU's time is stolen.
#[test]
fn since_when_it_takes_long() {
    let f = gateway(|ms| match ms {
        ms if ms % 78 == 0 => 2_000_000,
        ms if ms < 8_300 => 20_000,
        _ => 590_000,
    });
    let c = answer(&f).costly.unwrap();
    let of: Vec<_> = c.pairs.iter().map(|p| (p.p50_ns, p.other_p50_ns)).collect();
    assert_eq!(of, [(590_000, Some(20_000)), (590_000, Some(20_000))]);
    let from = c.from_ns.unwrap();
    assert!((8_300 * MS..8_303 * MS).contains(&from), "{from}");
    // 38 of 39 packets of 590 us, each 2 ms; the runs of the others, whose end is behind the next one's begin, are in NET_RX's time alone.
    let near = |is: f64, expect: f64| (is - expect).abs() < 0.005;
    assert!(
        c.to_ns.is_none() && near(c.of_a_cpu, 0.2874) && near(c.share, 0.904),
        "{c:?}"
    );
    let l = line(&f);
    let begin = "forwarding took from dmz0 to wan0 p50 590.0 µs of CPU time a packet (n 2850; 20.0 µs at other times)";
    assert!(l.headline.starts_with(begin), "{}", l.headline);
    assert!(
        l.headline.contains(", from 8.301 s on: rules of a packet filter"),
        "{}",
        l.headline
    );
    assert!(l.names_cause && l.tone == crate::analyses::verdict::Tone::Notice);
}

#[test]
fn all_the_time_and_for_a_time() {
    let all = answer(&gateway(|_| 590_000)).costly.unwrap();
    assert_eq!((all.from_ns, all.to_ns, all.pairs[0].other_p50_ns), (None, None, None));
    let spell = |ms| if (5_000..9_000).contains(&ms) { 400_000 } else { 15_000 };
    let of = answer(&gateway(spell)).costly.unwrap();
    let ms = |ns: Option<i64>| ns.map(|ns| ns / MS);
    assert_eq!((ms(of.from_ns), ms(of.to_ns)), (Some(5_000), Some(9_002)));
    // A fifth of the packets takes long, here and there: no time in which they did, and no median.
    assert_eq!(
        answer(&gateway(|ms| if ms % 10 == 0 { 400_000 } else { 15_000 })).costly,
        None
    );
}

/// Rare packets, and such as take long and are few, are no news.
#[test]
fn it_takes_much_of_a_cpu() {
    let rare = |f: &mut Facts| f.forwarded.retain(|r| r.skb.0 % 20 < 2);
    let mut f = gateway(|_| 590_000);
    rare(&mut f);
    let a = answer(&f);
    assert_eq!((a.pairs[0].time.n, a.costly), (500, None));
}

#[test]
fn what_does_not_count() {
    let one = |change: fn(&mut SoftirqRow)| {
        let mut f = gateway(|_| 590_000);
        f.softirqs.iter_mut().for_each(change);
        answer(&f)
    };
    let none = Forwarding {
        left_out: 10_000,
        ..Forwarding::default()
    };
    assert_eq!(one(|r| r.end_ns = None), none);
    assert_eq!(one(|r| r.irq_ns = Some(61_000)), none);
    assert_eq!(one(|r| r.vec = 1), none);
    assert_eq!(one(|r| r.confidence = Confidence::Weak), none);
    let away = |r: &mut SoftirqRow| {
        r.preempted = Some(Box::new(Preempted {
            ns: 1,
            lock_ns: 0,
            pid: 7,
            by: Name::default(),
        }));
    };
    assert_eq!(one(away), none);
    // Begun before the run.
    assert_eq!(one(|r| r.start_ns += 6_000), none);
    assert_eq!(one(|r| r.irq_ns = Some(60_000)).left_out, 0);
}
