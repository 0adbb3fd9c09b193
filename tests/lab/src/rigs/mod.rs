//! The rigs, one file each. Each makes its namespaces, records, plays traffic, plants its cause and states what the ledger
//! must say of it. A new one is a file, a `mod` line and a line in [`ALL`].
//!
//! ```text
//! Bench (folder, recorder) -> namespaces -> Session (recording) -> actors stamp what they do -> cases -> truth.json
//! ```
//! Must not print, and must not look into the bundle.

use std::net::TcpStream;
use std::path::PathBuf;

use crate::counters::{self, Counters};
use crate::independent::kmem::Kmem;
use crate::independent::tap::Tap;
use crate::net::Netns;
use crate::recording::{Recorder, Recording};
use crate::truth::{Case, Socket, Truth};

mod backlog;
mod bridge_tap;
mod copy;
mod duplicates;
mod gro_hold;
pub mod late;
mod late_datagrams;
mod offloads;
mod out_of_order;
mod overlay;
mod preempted;
mod rpc_busy;
mod run_queue;
mod slow_reader;
mod softirq_task;
mod steered;
mod twins;
mod tx;
mod udp_overflow;
mod vpn;

/// A rig.
#[derive(Debug, Clone, Copy)]
pub struct Rig {
    /// Name, also of its folder.
    pub name: &'static str,
    /// What it plants and what the ledger must say, in a sentence.
    pub what: &'static str,
    /// CPUs it needs.
    pub cpus: usize,
    /// Plays it.
    pub run: fn(&mut Bench) -> anyhow::Result<()>,
}

/// Every rig, in the order of the path.
pub const ALL: &[Rig] = &[
    softirq_task::RIG,
    steered::POLL,
    steered::TASK,
    preempted::RIG,
    gro_hold::SOFTIRQ,
    gro_hold::THREADED,
    offloads::GRO,
    offloads::GSO,
    bridge_tap::RIG,
    overlay::RIG,
    vpn::RIG,
    backlog::RIG,
    out_of_order::RIG,
    duplicates::RIG,
    slow_reader::CALLS,
    slow_reader::URING,
    run_queue::RIG,
    copy::RIG,
    copy::BUSY_POLL,
    copy::URING,
    udp_overflow::RIG,
    late_datagrams::FRAGMENTS,
    late_datagrams::PING,
    twins::RIG,
    rpc_busy::RIG,
    tx::sndbuf::RIG,
    tx::nagle::RIG,
    tx::cork::RIG,
    tx::rwnd::RIG,
    tx::cwnd::RIG,
    tx::pacing::CUBIC,
    tx::pacing::BBR,
    tx::pacing::FQ,
    tx::tsq::RIG,
    tx::neighbour::RIG,
    tx::tbf::RIG,
    tx::netem::RIG,
    tx::stamps::TCP,
    tx::stamps::UDP,
    tx::ring_veth::RIG,
    tx::cards::RING,
    tx::cards::BQL,
    tx::network::RIG,
    tx::rto::RIG,
    tx::tlp::RIG,
    tx::fast::RIG,
    tx::tbf_loss::RIG,
    tx::refused::RIG,
    tx::untold::RIG,
];

/// What a rig works with.
#[derive(Debug)]
pub struct Bench {
    /// Where `bundle.nmb` and everything beside it go.
    pub dir: PathBuf,
    /// Records.
    pub recorder: Recorder,
    /// What is planted.
    pub truth: Truth,
    kmem: Option<Kmem>,
    taps: Vec<Tap>,
}

/// A recording and the counters at its start.
#[derive(Debug)]
pub struct Session<'n> {
    recording: Recording,
    of: &'n Netns,
    before: Counters,
}

impl Bench {
    /// Starts the recording; `of` is the namespace whose counters are compared.
    pub fn record<'n>(&mut self, of: &'n Netns) -> anyhow::Result<Session<'n>> {
        // Asked for every rig, also those whose cause is time.
        if self.kmem.is_none() && std::env::var_os("NETMORTEM_LAB_LINKS").is_some() {
            self.record_links()?;
        }
        let recording = self.recorder.start(&self.dir, "16M")?;
        let before = counters::read(of)?;
        Ok(Session { recording, of, before })
    }
    /// Records, from now to the end of the session, what the slab allocator does with sk_buffs (`kmem.txt`).
    pub fn record_links(&mut self) -> anyhow::Result<()> {
        self.kmem = Some(Kmem::start()?);
        Ok(())
    }
    /// Taps a device until the end of the session (`pcap.csv`); it changes what the recording shows, as every tap does.
    pub fn tap(&mut self, ns: &Netns, dev: &str) -> anyhow::Result<()> {
        self.taps.push(Tap::start(ns, dev)?);
        Ok(())
    }
    /// Ends it; counters go to the truth.
    pub fn finish(&mut self, session: Session<'_>) -> anyhow::Result<()> {
        let after = counters::read(session.of)?;
        self.truth.counters.extend(counters::delta(&session.before, &after));
        session.recording.finish()?;
        for tap in self.taps.drain(..) {
            tap.finish(&self.dir.join("pcap.csv"))?;
        }
        match self.kmem.take() {
            Some(kmem) => kmem.finish(&self.dir.join("kmem.txt")),
            None => Ok(()),
        }
    }
    /// Adds what TCP counted on a socket; before the session is finished.
    pub fn socket(&mut self, stream: &TcpStream) -> anyhow::Result<()> {
        let info = crate::sys::tcp_info(stream)?;
        self.truth.sockets.push(Socket {
            local: stream.local_addr()?.port(),
            remote: stream.peer_addr()?.port(),
            bytes_received: info.bytes_received,
            total_retrans: info.total_retrans,
        });
        Ok(())
    }
    /// Ends it, with what TCP counted on both ends of a connection.
    pub fn close(&mut self, session: Session<'_>, client: &TcpStream, server: &TcpStream) -> anyhow::Result<()> {
        self.socket(client)?;
        self.socket(server)?;
        self.finish(session)
    }
    /// Adds a planted wait.
    pub fn plant(&mut self, case: Case) {
        self.truth.cases.push(case);
    }
    /// Two namespaces `a` and `b` joined by `va` 10.99.1.1 and `vb` 10.99.1.2.
    pub fn pair(&self) -> anyhow::Result<(Netns, Netns)> {
        let (a, b) = (Netns::new("a")?, Netns::new("b")?);
        crate::net::veth((&a, "va", "10.99.1.1/24"), (&b, "vb", "10.99.1.2/24"))?;
        Ok((a, b))
    }
}

/// Plays one rig into `dir`, and writes its truth.
pub fn play(rig: &Rig, dir: PathBuf, recorder: Recorder) -> anyhow::Result<Truth> {
    let mut bench = Bench {
        dir,
        recorder,
        truth: Truth {
            rig: rig.name.to_owned(),
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            ..Truth::default()
        },
        kmem: None,
        taps: vec![],
    };
    (rig.run)(&mut bench)?;
    bench.truth.save(&bench.dir.join("truth.json"))?;
    Ok(bench.truth)
}
