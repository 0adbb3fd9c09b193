//! What the flights of `guest/delays.rs` noticed, against what was planted.

use std::path::Path;

use netmortem_formats::Capture;

use super::{each_item, open};

/// `... 1234 us ...` of a line of evidence.
fn us(line: &str) -> u64 {
    let words: Vec<&str> = line.split(' ').collect();
    let at = words.iter().position(|w| *w == "us").unwrap();
    words[at - 1].parse().unwrap()
}

/// CPU, from the last raise of NET_RX to its entry, ns: from the events in the bundle.
fn delays(c: &Capture) -> Vec<(u32, i64)> {
    let field = |name: &str| {
        let f = c.event_formats.iter().find(|f| f.name == name).unwrap();
        let vec = f.fields.iter().find(|f| f.name == "vec").unwrap();
        (f.id, vec.offset as usize)
    };
    let (raise, entry) = (field("softirq_raise"), field("softirq_entry"));
    let mut raised = std::collections::BTreeMap::new();
    let mut out = Vec::new();
    each_item(c, |cpu, record| {
        // A ring that was written over begins with what is missing.
        let Some((at, payload)) = record else {
            raised.remove(&cpu);
            return;
        };
        let is = |of: (u16, usize)| c.endian.u16(payload, 0) == Some(of.0) && c.endian.u32(payload, of.1) == Some(3);
        if is(raise) {
            raised.insert(cpu, at);
        } else if is(entry) {
            out.extend(raised.remove(&cpu).map(|r| (cpu, at - r)));
        }
    });
    out
}

/// The delay that the kernel measured is one of those between the recorded events of that CPU.
pub fn late_softirq(dir: &Path) {
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
        // The two instances stamp one after the other, and an emulated CPU may stop between them.
        let near = |ns: i64| (ns / 1_000 - said as i64).abs() <= 300 + said as i64 / 4;
        let of_cpu = || all.iter().filter(|d| d.0 == cpu).map(|d| d.1);
        assert!(of_cpu().any(near), "{line}: longest recorded {:?} ns", of_cpu().max());
        println!("  {line}; recorded {} us at most", of_cpu().max().unwrap_or(0) / 1_000);
    }
    assert!(!trigger.evidence.is_empty());
}

/// By how much a wait may be beside what its own process measured, us.
const APART: u64 = 50;

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
            // The clocks of emulated CPUs are apart by some us: 14 us too much were seen once on a busy machine.
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
