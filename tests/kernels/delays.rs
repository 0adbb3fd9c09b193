//! What the flights of `guest/delays.rs` noticed, against what was planted.

use std::collections::BTreeMap;
use std::path::Path;

use netmortem_formats::Capture;

use super::open;
use super::records::each_item;

/// `... 1234 us ...` of a line of evidence.
fn us(line: &str) -> u64 {
    let words: Vec<&str> = line.split(' ').collect();
    let at = words.iter().position(|w| *w == "us").unwrap();
    words[at - 1].parse().unwrap()
}

/// From the last raise of NET_RX to its entry.
struct Delay {
    cpu: u32,
    /// By the stamps in the ring, ns.
    ns: i64,
    /// What it was at least and at most by the stamps of the events before and after, ns: the instance that measures stamps the
    /// same two events a little before or after the ring does, and an emulated CPU may stop between.
    bounds: (i64, i64),
}

/// All of a bundle, from its events.
fn delays(c: &Capture) -> Vec<Delay> {
    // `common_flags`, behind the event's id.
    const FLAGS: usize = 2;
    const HARDIRQ: u8 = 0x08;
    let event = |name: &str| c.event_formats.iter().find(|f| f.name == name).unwrap();
    let offset = |of: &str, name: &str| {
        let field = event(of).fields.iter().find(|f| f.name == name).unwrap();
        field.offset as usize
    };
    let [raise, entry] = ["softirq_raise", "softirq_entry"].map(|name| (event(name).id, offset(name, "vec")));
    // By CPU: the events outside of interrupts, with what they are.
    let mut cpus: BTreeMap<u32, Vec<(i64, Option<bool>)>> = BTreeMap::new();
    each_item(c, |cpu, record| {
        let of_cpu = cpus.entry(cpu).or_default();
        // A ring that was written over begins with what is missing.
        let Some((at, payload)) = record else {
            return of_cpu.clear();
        };
        let is = |of: (u16, usize)| c.endian.u16(payload, 0) == Some(of.0) && c.endian.u32(payload, of.1) == Some(3);
        // Interrupts come between the two stamps.
        let raised = is(raise);
        if raised || payload.get(FLAGS).is_some_and(|f| f & HARDIRQ == 0) {
            of_cpu.push((at, raised.then_some(true).or(is(entry).then_some(false))));
        }
    });
    let mut out = Vec::new();
    for (cpu, events) in cpus {
        let mut raised = None;
        for (i, (at, what)) in events.iter().enumerate() {
            let beside = |by: usize| {
                i.checked_add_signed(by as isize - 1)
                    .and_then(|n| events.get(n))
                    .map(|e| e.0)
            };
            let (before, after) = (beside(0).unwrap_or(i64::MIN / 2), beside(2).unwrap_or(i64::MAX / 2));
            match what {
                Some(true) => raised = Some((*at, before, after)),
                Some(false) => out.extend(raised.take().map(|(r, first, last)| Delay {
                    cpu,
                    ns: at - r,
                    bounds: (before - last, after - first),
                })),
                None => {}
            }
        }
    }
    out
}

/// One in so many delays.
const FEW: usize = 100;

/// The delay that the kernel measured is one of those between the recorded events of that CPU; `emulated`: of a CPU that may stand still at any time.
pub fn late_softirq(dir: &Path, emulated: bool) {
    let (c, manifest, end) = open(&dir.join("softirq-000001.nmb"));
    let trigger = manifest.flight.unwrap().trigger;
    assert_eq!(trigger.on, "softirq-delay=1ms");
    let all = delays(&c);
    for line in &trigger.evidence {
        let rest = line.strip_prefix("irq:softirq_entry CPU ").unwrap();
        let cpu: u32 = rest.split(':').next().unwrap().parse().unwrap();
        let said = us(line);
        assert!(said >= 1_000, "{line}");
        let flown = end.flight.as_ref().unwrap();
        if !flown.cpus.iter().any(|c| c.cpu == cpu && c.reaches_back) {
            println!("  {line}: its ring does not reach back");
            continue;
        }
        let of_cpu = || all.iter().filter(|d| d.cpu == cpu);
        // Both stamps are cut to us.
        let within = |d: &Delay| (d.bounds.0 / 1_000 - 1..=d.bounds.1 / 1_000 + 1).contains(&(said as i64));
        let fits = |d: &Delay| {
            let wide = (d.bounds.1 - d.bounds.0) / 1_000 + 2;
            // Bounds tell something where they are near to each other; else the recorded time itself has to be near.
            let near = (d.ns / 1_000 - said as i64).abs() <= 300 + said as i64 / 4;
            within(d) && (near || wide <= said as i64)
        };
        let fitting: Vec<i64> = of_cpu()
            .filter(|d| d.ns > 500_000 && fits(d))
            .map(|d| d.ns / 1_000)
            .collect();
        let most = of_cpu().map(|d| d.ns).max().unwrap_or(0) / 1_000;
        let (widely, of_all) = (of_cpu().filter(|d| within(d)).count(), of_cpu().count());
        // That it lies within bounds says something where it does in those of few.
        let few = (1..=of_all / FEW).contains(&widely);
        if fitting.is_empty() && emulated && few {
            // Two instances stamp an event one after the other. Emulated CPUs take turns: what lies between may be a turn of the other one.
            println!(
                "skipped: {line}: no recorded delay is near it, {widely} of {of_all} may have been it (emulated CPUs stand still between two stamps)"
            );
            continue;
        }
        assert!(
            !fitting.is_empty(),
            "{line}: longest recorded {most} us, {widely} of {of_all} may have been it"
        );
        println!("  {line}; recorded {fitting:?} us, {most} us at most");
    }
    assert!(!trigger.evidence.is_empty());
}

/// By how much a wait may be beside what its own process measured, us.
const APART: u64 = 10;

/// Each wait is one of those planted in its phase, and the reader is who read.
pub fn late_reads(dir: &Path) {
    if let Ok(said) = std::fs::read_to_string(dir.join("read.said")) {
        assert!(
            said.contains("--on read-wait=200ms: this kernel has no event sock:sk_data_ready, sock:sock_recv_length"),
            "{said}"
        );
        return;
    }
    let truth = std::fs::read_to_string(dir.join("late-reads")).unwrap();
    let (first, rounds) = truth.split_once('\n').unwrap();
    let pid = first.strip_prefix("pid ").unwrap();
    for phase in [1u64, 2] {
        let (_, manifest, _) = open(&dir.join(format!("read-00000{phase}.nmb")));
        let trigger = manifest.flight.unwrap().trigger;
        assert_eq!(trigger.on, "read-wait=200ms");
        assert!(!trigger.evidence.is_empty());
        for line in &trigger.evidence {
            let said = us(line);
            let planted = rounds.lines().filter_map(|l| {
                let n: Vec<u64> = l.split(' ').map(|n| n.parse().unwrap()).collect();
                (n[0] <= phase).then_some((n[1], n[2]))
            });
            let planted: Vec<_> = planted.collect();
            // Both are cut to us, and the clocks that measured tick at rates that are apart by some millionths.
            assert!(
                planted
                    .iter()
                    .any(|(low, high)| (low - APART..=high + APART).contains(&said)),
                "{line}: planted {planted:?}"
            );
            let by = format!("by task {pid} (");
            assert!(
                line.contains(&by) && line.starts_with("sock:sock_recv_length sk 0x"),
                "{line}"
            );
        }
        println!("  {}", trigger.evidence[0]);
    }
}
