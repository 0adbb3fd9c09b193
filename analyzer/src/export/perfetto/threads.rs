//! Tracks of threads that sent and read. Gathered first: slices of a track must nest, so overlapping ones need lanes.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::track::{Arg, Packets, What};
use crate::name::Name;

struct Slice {
    span: (i64, i64),
    name: &'static str,
    flow: u64,
    id: String,
}

/// Threads by id.
#[derive(Default)]
pub struct Threads(BTreeMap<i32, (Name, Vec<Slice>)>);

impl Threads {
    /// Adds what a thread did with an skb.
    pub fn add(&mut self, pid: i32, name: Name, span: (i64, i64), what: &'static str, flow: u64, id: &str) {
        let of = self.0.entry(pid).or_default();
        if !name.is_empty() {
            of.0 = name;
        }
        of.1.push(Slice {
            span,
            name: what,
            flow,
            id: id.to_owned(),
        });
    }

    /// Writes all, each thread one lane, or as many as overlap.
    pub fn write<W: Write>(self, p: &mut Packets<W>, base: u64) -> io::Result<()> {
        p.track(base, None, "threads", 1_000)?;
        let mut next = base + 1;
        for (pid, (name, mut slices)) in self.0 {
            slices.sort_by_key(|s| s.span);
            let label = match pid {
                0 => "reader not known".to_owned(),
                _ => format!("{} ({pid})", name.text()),
            };
            // (end of its last slice, track)
            let mut lanes: Vec<(i64, u64)> = vec![];
            for s in slices {
                let free = lanes.iter_mut().find(|l| l.0 <= s.span.0);
                let track = match free {
                    Some(lane) => {
                        lane.0 = s.span.1.max(s.span.0);
                        lane.1
                    }
                    None => {
                        let track = next;
                        next += 1;
                        p.track(track, Some(base), &label, 0)?;
                        lanes.push((s.span.1.max(s.span.0), track));
                        track
                    }
                };
                let what = What {
                    name: s.name,
                    category: "thread",
                    flows: vec![s.flow],
                    args: vec![("id", Arg::Text(&s.id))],
                };
                p.slice(track, s.span, &what)?;
            }
        }
        Ok(())
    }
}
