//! Track events as packets of a Perfetto trace. Field numbers: protos/perfetto/trace/{trace_packet,clock_snapshot}.proto,
//! track_event/{track_event,track_descriptor,counter_descriptor,debug_annotation}.proto.

use std::io::{self, Write};

use super::proto::Message;

/// BuiltinClock.
const REALTIME: u64 = 1;
const MONOTONIC: u64 = 3;
const BOOTTIME: u64 = 6;
/// TrackEvent.Type.
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;
/// All packets are of one writer.
const SEQUENCE: u64 = 1;

/// A value of an argument.
pub enum Arg<'a> {
    /// A number.
    Int(i64),
    /// A text.
    Text(&'a str),
}

/// What is said of an event.
#[derive(Default)]
pub struct What<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its category.
    pub category: &'a str,
    /// Arrows that go through it.
    pub flows: Vec<u64>,
    /// Arguments.
    pub args: Vec<(&'a str, Arg<'a>)>,
}

/// Writes packets.
pub struct Packets<W: Write> {
    out: W,
    /// Timestamps are CLOCK_MONOTONIC and a clock snapshot says what that is in the other clocks.
    clock: bool,
    written: u64,
}

impl<W: Write> Packets<W> {
    /// Begins. `clock`: CLOCK_MONOTONIC, CLOCK_REALTIME and CLOCK_BOOTTIME of one moment, when timestamps are of the first.
    pub fn new(out: W, clock: Option<(i64, i64, Option<i64>)>) -> io::Result<Packets<W>> {
        let mut this = Packets {
            out,
            clock: clock.is_some(),
            written: 0,
        };
        // SEQ_INCREMENTAL_STATE_CLEARED: nothing before this packet is needed to read those after it.
        let mut first = Message::new().number(10, SEQUENCE).number(13, 1);
        if let Some((monotonic, realtime, boottime)) = clock {
            let reading = |id, ns: i64| Message::new().number(1, id).number(2, ns.max(0) as u64);
            let mut snapshot = Message::new()
                .message(1, &reading(MONOTONIC, monotonic))
                .message(1, &reading(REALTIME, realtime));
            if let Some(b) = boottime {
                snapshot = snapshot.message(1, &reading(BOOTTIME, b));
            }
            first = first.message(6, &snapshot.number(2, MONOTONIC));
        }
        this.packet(&first)?;
        Ok(this)
    }

    fn packet(&mut self, packet: &Message) -> io::Result<()> {
        self.written += 1;
        // Trace.packet
        self.out.write_all(Message::new().message(1, packet).bytes())
    }

    /// A track: a lane of slices and instants. `rank` orders it among its siblings.
    pub fn track(&mut self, uuid: u64, parent: Option<u64>, name: &str, rank: i32) -> io::Result<()> {
        // ChildTracksOrdering EXPLICIT: the children's ranks decide.
        let d = Message::new()
            .number(1, uuid)
            .text(2, name)
            .number(11, 3)
            .int(12, rank.into());
        self.descriptor(d, parent)
    }

    /// A track of values.
    pub fn counter_track(&mut self, uuid: u64, parent: u64, name: &str, unit: &str) -> io::Result<()> {
        let d = Message::new().number(1, uuid).text(2, name);
        self.descriptor(d.message(8, &Message::new().text(6, unit)), Some(parent))
    }

    fn descriptor(&mut self, d: Message, parent: Option<u64>) -> io::Result<()> {
        let d = match parent {
            Some(p) => d.number(5, p),
            None => d,
        };
        self.packet(&Message::new().number(10, SEQUENCE).message(60, &d))
    }

    /// A slice.
    pub fn slice(&mut self, track: u64, (from, to): (i64, i64), what: &What<'_>) -> io::Result<()> {
        self.event(from, event(BEGIN, track, what))?;
        self.event(to.max(from), Message::new().number(9, END).number(11, track))
    }

    /// A moment.
    pub fn instant(&mut self, track: u64, at: i64, what: &What<'_>) -> io::Result<()> {
        self.event(at, event(INSTANT, track, what))
    }

    /// A value.
    pub fn value(&mut self, track: u64, at: i64, value: i64) -> io::Result<()> {
        self.event(at, Message::new().number(9, COUNTER).number(11, track).int(30, value))
    }

    fn event(&mut self, at: i64, event: Message) -> io::Result<()> {
        let mut p = Message::new().number(8, at.max(0) as u64);
        if self.clock {
            p = p.number(58, MONOTONIC);
        }
        self.packet(&p.number(10, SEQUENCE).message(11, &event))
    }

    /// Packets so far; flushes.
    pub fn finish(mut self) -> io::Result<u64> {
        self.out.flush()?;
        Ok(self.written)
    }
}

fn event(kind: u64, track: u64, what: &What<'_>) -> Message {
    let mut e = Message::new().number(9, kind).number(11, track);
    if !what.category.is_empty() {
        e = e.text(22, what.category);
    }
    e = e.text(23, what.name);
    for f in &what.flows {
        e = e.fixed(47, *f);
    }
    for (name, value) in &what.args {
        let a = Message::new().text(10, name);
        e = e.message(
            4,
            &match value {
                Arg::Int(v) => a.int(4, *v),
                Arg::Text(s) => a.text(6, s),
            },
        );
    }
    e
}
