//! A real recording written anew, changed in a stated way: events lost, kinds of events or fields that an older kernel lacks,
//! pointers hashed as text captures have them. What the analysis says of it is compared with what it says of the original.

use netmortem_formats::{Capture, EventFormat};

use super::{Item, Script};

/// What is done to a record.
pub enum Fate {
    /// It stays, perhaps changed.
    Keep,
    /// It was never recorded.
    Absent,
    /// It is declared lost where it was.
    Lost,
    /// It stays in its place, with another time.
    At(u64),
    /// The same, so many ns sooner.
    Sooner(u64),
}

/// Writes the used streams anew: formats as given, and of each record (by number in the merged order) what `fate` says.
pub fn rewritten(
    c: &Capture,
    formats: Vec<EventFormat>,
    fate: impl Fn(u64, u16, Option<&EventFormat>, &mut Vec<u8>) -> Fate,
) -> Capture {
    let trace = crate::ingest::Trace::read(c, &Default::default());
    let mut by_id: Vec<Option<&EventFormat>> = vec![];
    for f in &c.event_formats {
        let at = usize::from(f.id);
        by_id.resize(by_id.len().max(at + 1), None);
        by_id[at] = Some(f);
    }
    let mut s = Script {
        formats,
        symbols: String::from_utf8_lossy(c.kallsyms.text()).into_owned(),
        ..Default::default()
    };
    let mut lost: Vec<u64> = vec![];
    for (i, r) in trace.recs.iter().enumerate() {
        let cpu = usize::from(r.cpu);
        lost.resize(lost.len().max(cpu + 1), 0);
        let mut bytes = trace.payload(r).to_vec();
        let format = by_id.get(usize::from(r.kind)).copied().flatten();
        match fate(i as u64, r.cpu, format, &mut bytes) {
            Fate::Absent => {}
            Fate::Lost => lost[cpu] += 1,
            kept => {
                let ts = match kept {
                    Fate::At(ts) => ts,
                    Fate::Sooner(ns) => (r.ts as u64).saturating_sub(ns),
                    _ => r.ts as u64,
                };
                if lost[cpu] > 0 {
                    let n = std::mem::take(&mut lost[cpu]);
                    s.lost(cpu, Some(n));
                }
                s.item(cpu, Item::Event { ts, bytes });
            }
        }
    }
    for (cpu, n) in lost.into_iter().enumerate().filter(|x| x.1 > 0) {
        s.lost(cpu, Some(n));
    }
    let mut out = s.capture();
    out.comms = c.comms.clone();
    out
}

/// The recording `times` after itself, a second apart. What it says of addresses and sockets goes on.
pub fn repeated(c: &Capture, times: u64) -> Capture {
    let trace = crate::ingest::Trace::read(c, &Default::default());
    let of = |r: Option<i64>| r.unwrap_or(0);
    let first = of(trace.recs.iter().map(|r| r.ts).min());
    let span = of(trace.recs.iter().map(|r| r.ts).max()) - first + 1_000_000_000;
    let mut s = Script {
        formats: c.event_formats.clone(),
        symbols: String::from_utf8_lossy(c.kallsyms.text()).into_owned(),
        ..Default::default()
    };
    for k in 0..times {
        for r in trace.recs.iter() {
            let (ts, bytes) = (r.ts as u64 + k * span as u64, trace.payload(r).to_vec());
            s.item(usize::from(r.cpu), Item::Event { ts, bytes });
        }
    }
    let mut out = s.capture();
    out.comms = c.comms.clone();
    out
}

/// A script's capture and behind it another's, of the same formats.
pub fn joined(a: &Capture, b: &Capture) -> Capture {
    let mut s = Script {
        formats: a.event_formats.clone(),
        ..Default::default()
    };
    let mut after = 0;
    for c in [a, b] {
        let trace = crate::ingest::Trace::read(c, &Default::default());
        let mut last = after;
        for r in trace.recs.iter() {
            let (ts, bytes) = (after + r.ts as u64, trace.payload(r).to_vec());
            last = ts;
            s.item(usize::from(r.cpu), Item::Event { ts, bytes });
        }
        after = last;
    }
    s.capture()
}

/// An event is kept when `keep` says so of its number in the merged order; what is left out is declared lost, with its count.
pub fn thinned(c: &Capture, keep: impl Fn(u64) -> bool) -> Capture {
    rewritten(c, c.event_formats.clone(), |i, _, _, _| match keep(i) {
        true => Fate::Keep,
        false => Fate::Lost,
    })
}

/// The recording without one kind of event, as where it was not enabled.
pub fn without_events(c: &Capture, key: &str) -> Capture {
    only(c, |k| k != key, &[])
}

/// The recording with the events whose `system:name` `has`, less the fields named (`system:name.field`): as an older kernel's.
pub fn only(c: &Capture, has: impl Fn(&str) -> bool, without: &[&str]) -> Capture {
    let mut formats: Vec<EventFormat> = c.event_formats.iter().filter(|f| has(&f.key())).cloned().collect();
    for f in &mut formats {
        let key = f.key();
        f.fields
            .retain(|x| !without.contains(&format!("{key}.{}", x.name).as_str()));
    }
    // Kernels without the result of a retransmission tell only those that were made.
    let failed = |f: &EventFormat, bytes: &[u8]| {
        let err = without.contains(&"tcp:tcp_retransmit_skb.err") && f.key() == "tcp:tcp_retransmit_skb";
        let at = f.field("err").filter(|_| err).map(|x| x.offset as usize);
        at.and_then(|at| bytes.get(at..at + 4)).is_some_and(|err| err != [0; 4])
    };
    rewritten(c, formats, |_, _, f, bytes| {
        match f.is_some_and(|f| has(&f.key()) && !failed(f, bytes)) {
            true => Fate::Keep,
            false => Fate::Absent,
        }
    })
}

/// The recording without what one CPU recorded after the event of a number, declared lost.
pub fn cut_cpu(c: &Capture, cpu: u16, after: u64) -> Capture {
    rewritten(c, c.event_formats.clone(), |i, of, _, _| {
        match of == cpu && i >= after {
            true => Fate::Lost,
            false => Fate::Keep,
        }
    })
}

/// Fields that a text capture prints with `%p`, hashed to 32 bits; kernel text addresses are printed as symbols.
const HASHED: [&str; 13] = [
    "skbaddr", "skb_addr", "skaddr", "sk", "rx_sk", "napi", "qdisc", "txq", "timer", "hrtimer", "ptr", "req", "dev",
];

/// A pointer as `%p` prints it: 32 bits, NULL as it is.
pub fn hash(v: u64) -> u64 {
    match v {
        0 => 0,
        v => (v.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32).max(1),
    }
}

/// The recording with its pointers hashed, as in text captures: equal stays equal, distances mean nothing.
pub fn hashed(c: &Capture) -> Capture {
    rewritten(c, c.event_formats.clone(), |_, _, format, bytes| {
        let fields = format.iter().flat_map(|f| &f.fields);
        for x in fields.filter(|x| x.size == 8 && HASHED.contains(&x.name.as_str())) {
            if let (true, Some(slot)) = (
                x.declaration.contains('*'),
                bytes
                    .get_mut(x.offset as usize..)
                    .and_then(|b| b.first_chunk_mut::<8>()),
            ) {
                *slot = hash(u64::from_le_bytes(*slot)).to_le_bytes();
            }
        }
        Fate::Keep
    })
}
