//! A TCP connection over a [`Wire`], for rigs that plant what a sender waits for.
//!
//! Messages have sizes of their own, by which the wire finds them again, and end records (MSG_EOR), so that the kernel never
//! puts two of them into one segment. The far end reads all and says nothing, but for acknowledgements.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use crate::actors::await_some;
use crate::net::Netns;
use crate::sys::{self, now_ns, tcp_info};
use crate::truth::Case;
use crate::wire::{Mode, Seen, Way, Wire};

/// One message: when the send call began and ended.
#[derive(Debug, Clone, Copy)]
pub struct Said {
    /// Before send(2).
    pub from_ns: i64,
    /// After it.
    pub to_ns: i64,
    /// Its size, which no other message has.
    pub bytes: usize,
}

/// Two namespaces and the wire between them, 10.66.1.1 and 10.66.1.2 on `wire0`.
#[derive(Debug)]
pub struct Line {
    /// Namespace of the senders.
    pub a: Netns,
    /// Namespace of the readers.
    pub b: Netns,
    /// Between them.
    pub wire: Wire,
}

/// A connection from a to b.
#[derive(Debug)]
pub struct Sender<'l> {
    line: &'l Line,
    /// The sending end: TCP_NODELAY, cubic, blocking.
    pub socket: TcpStream,
    /// While true the far end does not read.
    pub deaf: Arc<AtomicBool>,
    /// Ports of the data.
    pub sport: u16,
    /// Destination port.
    pub dport: u16,
    /// When everything before the last word was seen to be acknowledged.
    settled_ns: OnceLock<i64>,
}

impl Line {
    /// Makes it. Tail loss probes are off: one may send what the windows forbid. Autocorking is off: it is a wait of its own.
    pub fn new() -> anyhow::Result<Line> {
        let (a, b) = (Netns::new("a")?, Netns::new("b")?);
        let wire = Wire::new(&a, &b)?;
        a.write("/proc/sys/net/ipv4/tcp_early_retrans", "0")?;
        a.write("/proc/sys/net/ipv4/tcp_autocorking", "0")?;
        Ok(Line { a, b, wire })
    }
    /// A token bucket at the sender, of so many bytes a second, whose queue holds `limit` bytes. Made while recorded, its
    /// `qdisc_create` names its kind.
    pub fn shape(&self, rate: u32, limit: u32) -> anyhow::Result<()> {
        let bits = rate * 8;
        self.a.tc(&format!(
            "qdisc replace dev wire0 root tbf rate {bits}bit burst 1600 limit {limit}"
        ))
    }
    /// The wire holds one way while `say` is done and for `ms` more; when it went on.
    pub fn hold<T>(&self, way: Way, ms: u64, say: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<(T, i64)> {
        self.wire.set(way, Mode::Hold)?;
        let said = say()?;
        thread::sleep(Duration::from_millis(ms));
        Ok((said, self.wire.set(way, Mode::Pass)?))
    }
    /// Makes a connection.
    pub fn connect(&self) -> anyhow::Result<Sender<'_>> {
        let listener = self.b.inside(|| Ok(TcpListener::bind("10.66.1.2:0")?))?;
        let to = listener.local_addr()?;
        let socket = self.a.inside(|| Ok(TcpStream::connect(to)?))?;
        let peer = listener.accept()?.0;
        socket.set_nodelay(true)?;
        sys::set(&socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, *b"cubic")?;
        let deaf = Arc::new(AtomicBool::new(false));
        let ears = Arc::clone(&deaf);
        thread::Builder::new()
            .name("lab-reader".into())
            .spawn(move || read_all(peer, &ears))?;
        Ok(Sender {
            line: self,
            sport: socket.local_addr()?.port(),
            dport: to.port(),
            settled_ns: OnceLock::new(),
            socket,
            deaf,
        })
    }
}

impl Sender<'_> {
    /// Sends one message of its own size, blocking.
    pub fn say(&self, bytes: usize) -> anyhow::Result<Said> {
        let message = vec![b'x'; bytes];
        let from_ns = now_ns();
        let mut at = 0;
        while let Some(rest) = message.get(at..).filter(|r| !r.is_empty()) {
            at += sys::send(&self.socket, rest, libc::MSG_EOR)?;
        }
        Ok(Said {
            from_ns,
            to_ns: now_ns(),
            bytes,
        })
    }
    /// Waits until the `nth` (from 0) packet with this message's size comes off the sender's device.
    pub fn arrival(&self, said: Said, nth: usize) -> anyhow::Result<Seen> {
        let mine = |s: &&Seen| s.way == Way::There && s.payload as usize == said.bytes && s.at_ns >= said.from_ns;
        let what = format!("a message of {} bytes, {} times,", said.bytes, nth + 1);
        await_some(&what, || {
            Ok(self.line.wire.seen().iter().filter(mine).nth(nth).copied())
        })
    }
    /// Waits until everything sent was acknowledged.
    pub fn settle(&self) -> anyhow::Result<()> {
        await_some("the acknowledgement of what was sent", || {
            let i = tcp_info(&self.socket)?;
            Ok((i.unacked == 0 && i.notsent_bytes == 0).then_some(()))
        })
    }
    /// Says `words` small messages, each when the one before is acknowledged: the round trip is known then.
    pub fn warm(&self, words: usize) -> anyhow::Result<()> {
        for n in 0..words {
            self.say(20 + n)?;
            self.settle()?;
        }
        Ok(())
    }
    /// Settles, then says one more word: an ACK's effect shows in the next segment's event, so the last message of a
    /// connection never has a dated ACK, and that is not what is planted.
    pub fn last_word(&self) -> anyhow::Result<()> {
        self.settle()?;
        self.settled_ns.get_or_init(now_ns);
        self.say(3)?;
        self.settle()
    }
    /// The case of one message: `stage` held it for `ns`. Void when, until it was acknowledged, something else took more (the
    /// thread that plays the wire back did not run).
    pub fn case(&self, said: Said, until_ns: i64, stage: &str, ns: i64, why: &str) -> Case {
        let (ports, window) = ((self.sport, self.dport), (said.from_ns, until_ns));
        let case = Case::new("tx", ports, window, stage, ns, why);
        let case = match self.settled_ns.get() {
            Some(t) => case.unless_disturbed(None, t - said.from_ns),
            None => case,
        };
        // A send call is quick where it is not what waits: else the sender had no CPU.
        match stage {
            "sndbuf" => case,
            _ => case.unless_sending(said.to_ns - said.from_ns),
        }
    }
    /// The connection's end: `stage` held a message from its send call until it came off the device.
    pub fn held(&self, said: Said, stage: &str, why: &str) -> anyhow::Result<Case> {
        let left = self.arrival(said, 0)?.at_ns;
        self.last_word()?;
        Ok(self.case(said, left, stage, left - said.from_ns, why))
    }
    /// The connection's end: a message was lost, and repaired by its `copies`th copy (from 1).
    pub fn repaired(&self, said: Said, copies: usize, why: &str) -> anyhow::Result<Case> {
        let (first, last) = (self.arrival(said, 0)?.at_ns, self.arrival(said, copies)?.at_ns);
        self.last_word()?;
        Ok(self.case(said, said.to_ns, "recovery", last - first, why))
    }
}

fn read_all(mut peer: TcpStream, deaf: &AtomicBool) {
    let mut buffer = vec![0; 1 << 16];
    loop {
        while deaf.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_micros(200));
        }
        if !matches!(peer.read(&mut buffer), Ok(n) if n > 0) {
            return;
        }
    }
}
