//! Which queue a frame comes out of: several devices have one name, in network namespaces, and a device has several queues; a packet's segments
//! leave by the queue that cut it.
//!
//! In: `qdisc_enqueue`, `qdisc_dequeue`, which name the root queueing discipline by its address, and frames in the order of the CPU. Out: a
//! [`Queue`], which has no address where no event tells it. Must not guess one from a name that several devices have.
//!
//! ```text
//! queue(P, eth0) consume(P, tbf_..) qdisc_enqueue(Q, P)           P's segments lie in Q
//! qdisc_dequeue(Q, X, packets=3) xmit(X, eth0) xmit(Y) xmit(Z)    X, Y and Z come out of Q; what was queued after that dequeue (by a
//!                                                                 device below) does not
//! ```

use netmortem_formats::Capture;
use rustc_hash::{FxHashMap, FxHashSet};

use super::split::{Splits, Way};
use crate::facts::SkbId;
use crate::name::Name;
use crate::reconstruct::xmits::NOQUEUE;
use crate::snapshots::{field, lines};

/// Dequeues of a CPU whose frames have not all left, at most: of more, some never do.
const ASKED: usize = 16;

/// A queue of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Queue {
    /// Device.
    pub dev: Name,
    /// Address of its root queueing discipline; 0: no event tells.
    pub qdisc: u64,
}

impl Queue {
    /// Of a device of which the name is all that is known.
    pub fn unnamed(dev: Name) -> Queue {
        Queue { dev, qdisc: 0 }
    }
    /// Whether it may be that one.
    pub fn may_be(&self, other: Queue) -> bool {
        self.dev == other.dev && (self.qdisc == other.qdisc || self.qdisc == 0 || other.qdisc == 0)
    }
}

/// A packet that a queue has cut up, before an event tells which.
#[derive(Debug, Clone, Copy)]
pub struct Taken {
    /// When.
    pub ts: i64,
    /// Life.
    pub parent: SkbId,
    /// Its address.
    pub addr: u64,
    /// Device.
    pub dev: Name,
    /// Bytes with link header, and payload of each segment.
    pub len: (u32, u16),
}

impl Taken {
    /// With its life and address, its length and each segment's payload.
    pub fn new(ts: i64, (parent, addr): (SkbId, u64), dev: Name, len: (u32, u16)) -> Taken {
        Taken {
            ts,
            parent,
            addr,
            dev,
            len,
        }
    }
}

/// What a queue gave, as its event names it: the first frame, and how many.
#[derive(Debug, Clone, Copy)]
struct Asked {
    ts: i64,
    qdisc: u64,
    addr: u64,
    packets: i32,
}

/// What of it has not left.
#[derive(Debug, Clone, Copy)]
struct Bulk {
    ts: i64,
    queue: Queue,
    left: i32,
}

#[derive(Debug, Default)]
struct OfCpu {
    asked: Option<Asked>,
    bulks: Vec<Bulk>,
    taken: Option<Taken>,
}

/// Of all CPUs.
#[derive(Debug, Default)]
pub struct Queues {
    /// Both events are in the recording.
    told: bool,
    cpus: Vec<OfCpu>,
    /// The one queue that events named for a device's name; `None`: several.
    by_name: FxHashMap<Name, Option<u64>>,
}

impl Queues {
    /// Events were lost.
    pub fn forget(&mut self) {
        self.cpus.clear();
    }

    /// CPUs seen so far.
    pub(super) fn cpus(&self) -> u16 {
        self.cpus.len() as u16
    }

    fn cpu(&mut self, cpu: u16) -> &mut OfCpu {
        let at = usize::from(cpu);
        if self.cpus.len() <= at {
            self.cpus.resize_with(at + 1, OfCpu::default);
        }
        &mut self.cpus[at]
    }

    /// A queue cut a packet up: back comes that packet, where no event will tell which queue that was.
    pub fn took(&mut self, cpu: u16, what: Taken) -> Option<Taken> {
        if !self.told {
            return Some(what);
        }
        self.cpu(cpu).taken = Some(what);
        None
    }

    /// The packet that was cut up last on a CPU, which goes on to something else: no event told its queue. With the one that its device's name has, if any.
    pub fn untold(&mut self, cpu: u16) -> Option<(Taken, Queue)> {
        let taken = self.cpus.get_mut(usize::from(cpu))?.taken.take()?;
        let qdisc = self.by_name.get(&taken.dev).copied().flatten().unwrap_or(0);
        Some((taken, Queue { dev: taken.dev, qdisc }))
    }

    /// `qdisc_enqueue`: the packet that was cut up right before, if it is that.
    pub fn enqueued(&mut self, cpu: u16, qdisc: u64, addr: u64) -> Option<(Taken, Queue)> {
        let of = &mut self.cpus.get_mut(usize::from(cpu))?.taken;
        let taken = of.take_if(|t| t.addr == addr)?;
        Some((taken, self.named(taken.dev, qdisc)))
    }

    /// `qdisc_dequeue`.
    pub fn dequeued(&mut self, (ts, cpu): (i64, u16), qdisc: u64, addr: u64, packets: i32) {
        if self.told {
            self.cpu(cpu).asked = (packets > 0).then_some(Asked {
                ts,
                qdisc,
                addr,
                packets,
            });
        }
    }

    fn named(&mut self, dev: Name, qdisc: u64) -> Queue {
        let known = self.by_name.entry(dev).or_insert(Some(qdisc));
        *known = known.filter(|k| *k == qdisc);
        Queue { dev, qdisc }
    }

    /// A frame goes to the driver, or is cut up on its way there. `since`: when it was queued, where an event told that.
    pub fn leaves(&mut self, cpu: u16, addr: u64, dev: Name, since: Option<i64>) -> Queue {
        let Some(of) = self.cpus.get_mut(usize::from(cpu)) else {
            return Queue::unnamed(dev);
        };
        if let Some(a) = of.asked.take_if(|a| a.addr == addr) {
            // What a queue gave before has left, or is given again.
            of.bulks.retain(|b| b.left > 0 && b.queue.qdisc != a.qdisc);
            if of.bulks.len() >= ASKED {
                of.bulks.remove(0);
            }
            let (ts, left) = (a.ts, a.packets.saturating_sub(1));
            let queue = Queue { dev, qdisc: a.qdisc };
            of.bulks.push(Bulk { ts, queue, left });
            return self.named(dev, a.qdisc);
        }
        let given = |b: &&mut Bulk| b.queue.dev == dev && b.left > 0 && since.is_none_or(|s| s <= b.ts);
        let Some(bulk) = of.bulks.iter_mut().rev().find(given) else {
            return Queue::unnamed(dev);
        };
        bulk.left -= 1;
        bulk.queue
    }
}

impl Splits {
    /// `several`: names that several devices have; `told`: whatever a queue took and gave is in the recording.
    pub fn new(several: FxHashSet<Name>, told: bool) -> Splits {
        let queues = Queues {
            told,
            ..Queues::default()
        };
        Splits {
            several,
            queues,
            ..Splits::default()
        }
    }

    /// A queue cut a packet up and freed it; which one, the event that follows tells.
    pub fn taken(&mut self, cpu: u16, what: Taken) {
        self.settle(cpu);
        if let Some(t) = self.queues.took(cpu, what) {
            self.cut((t.ts, cpu), t.parent, Way::of(Queue::unnamed(t.dev)), t.len);
        }
    }

    /// A CPU goes on to something else: of what a queue cut up there no event has told which it was.
    pub fn settle(&mut self, cpu: u16) {
        if let Some((t, queue)) = self.queues.untold(cpu) {
            if self.several.contains(&t.dev) {
                self.unalign(Queue::unnamed(t.dev));
            }
            self.cut((t.ts, cpu), t.parent, Way::of(queue), t.len);
        }
    }

    /// `qdisc_enqueue`.
    pub fn enqueued(&mut self, cpu: u16, qdisc: u64, addr: u64) {
        if let Some((t, queue)) = self.queues.enqueued(cpu, qdisc, addr) {
            self.cut((t.ts, cpu), t.parent, Way::of(queue), t.len);
        }
    }

    /// `qdisc_dequeue`.
    pub fn dequeued(&mut self, at: (i64, u16), qdisc: u64, addr: u64, packets: i32) {
        self.settle(at.1);
        self.queues.dequeued(at, qdisc, addr, packets);
    }
}

/// Names that several devices with a queue have: where no event tells queues apart, order says nothing of their segments.
pub fn of_several(capture: &Capture) -> FxHashSet<Name> {
    let mut first: FxHashMap<Name, (&str, &str)> = FxHashMap::default();
    let mut several = FxHashSet::default();
    for line in lines(capture, "links", |_| true) {
        let device = field(line, "netns").zip(field(line, "ifindex"));
        let (Some(name), Some(device)) = (field(line, "name"), device) else {
            continue;
        };
        if field(line, "qdisc") == Some(NOQUEUE) {
            continue;
        }
        let name = Name::new(name.as_bytes());
        if *first.entry(name).or_insert(device) != device {
            several.insert(name);
        }
    }
    several
}
