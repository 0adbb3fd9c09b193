//! The planted changes. A new one is an entry of [`ALL`] and its function.

use std::path::Path;
use std::time::Duration;

use super::Plant;
use super::scenes::{Two, datagrams, rpc, stream, unpushed};
use crate::burner::Burner;
use crate::recording::Recorder;

/// Every plant, in the order in which they take turns.
pub const ALL: &[Plant] = &[
    Plant {
        name: "reader_50us",
        what: "the server computes 50 us before it reads",
        names: &["rx.reader_running"],
        play: |dir, planted, recorder| {
            let two = Two::new()?;
            let session = recorder.start(dir, "16M")?;
            rpc(&two, 1_500, Duration::from_micros(if planted { 50 } else { 0 }))?;
            session.finish()
        },
    },
    Plant {
        name: "protocol_50us",
        what: "packet filters on the receiving device compute about 50 us for each request",
        names: &["rx.protocol", "rx.batch_wait"],
        play: filters,
    },
    Plant {
        name: "qdisc_doubled",
        what: "a token bucket of half the rate: packets wait twice as long in it",
        names: &["device.qdisc[va]", "tx_udp.qdisc"],
        play: |dir, planted, recorder| bucket(dir, if planted { 20 } else { 40 }, recorder),
    },
    Plant {
        name: "loss_1_percent",
        what: "one packet in a hundred is dropped in the receiving namespace",
        names: &["drops.NETFILTER_DROP", "tcp.retransmits", "tx.met_recovery"],
        play: |dir, planted, recorder| loss(dir, planted.then_some(100), 4_000, recorder),
    },
    Plant {
        name: "coalescing",
        what: "gro_flush_timeout of 200 us with deferred interrupts: GRO holds what is not pushed",
        names: &["rx.gro"],
        play: coalescing,
    },
    Plant {
        name: "offload_off",
        what: "the sender's device has no segmentation offload any more",
        names: &["device.frame_bytes[va]"],
        play: offload,
    },
];

/// Changes far above what a comparison can see, for a test on a busy machine. Not in the table of docs/diff.md.
pub const LARGE: &[Plant] = &[
    Plant {
        name: "qdisc_tenfold",
        what: "a token bucket of a tenth of the rate",
        names: &["device.qdisc[va]", "tx_udp.qdisc"],
        play: |dir, planted, recorder| bucket(dir, if planted { 20 } else { 200 }, recorder),
    },
    Plant {
        name: "loss_5_percent",
        what: "one packet in twenty is dropped in the receiving namespace",
        names: &["drops.NETFILTER_DROP"],
        // What meets so much loss is sent in few large segments: enough of them to tell it by.
        play: |dir, planted, recorder| loss(dir, planted.then_some(20), 12_000, recorder),
    },
];

fn filters(dir: &Path, planted: bool, recorder: &Recorder) -> anyhow::Result<()> {
    let two = Two::new()?;
    let burner = Burner::new(&two.b, "vb", if planted { filters_for(50_000)? } else { 0 })?;
    let session = recorder.start(dir, "16M")?;
    rpc(&two, 1_500, Duration::ZERO)?;
    session.finish()?;
    drop(burner);
    Ok(())
}

/// How many filters cost about `ns`: a filter's computing is 2,000 divisions, which take what they take on this machine.
/// Measured once: the same plant in every recording of a run.
fn filters_for(ns: i64) -> anyhow::Result<usize> {
    static FASTEST: std::sync::OnceLock<i64> = std::sync::OnceLock::new();
    let divide = |rounds: u64| {
        let start = crate::sys::now_ns();
        let mut x = 0u64;
        for n in 0..rounds {
            x = x.wrapping_add(std::hint::black_box(u64::from(u32::MAX) + n) / std::hint::black_box(3));
        }
        std::hint::black_box(x);
        (crate::sys::now_ns() - start).max(1)
    };
    let fastest = FASTEST.get_or_init(|| (0..200).map(|_| divide(2_000)).min().unwrap_or(1));
    Ok(usize::try_from(ns / fastest)?.clamp(2, 40))
}

/// A token bucket of `rate` Mbit/s.
fn bucket(dir: &Path, rate: u32, recorder: &Recorder) -> anyhow::Result<()> {
    let two = Two::new()?;
    two.a.tc(&format!(
        "qdisc replace dev va root tbf rate {rate}mbit burst 1600 limit 100000"
    ))?;
    let session = recorder.start(dir, "16M")?;
    datagrams(&two, 500)?;
    session.finish()
}

/// One packet in `every` is dropped.
fn loss(dir: &Path, every: Option<u32>, segments: usize, recorder: &Recorder) -> anyhow::Result<()> {
    let two = Two::new()?;
    if let Some(every) = every {
        two.b.exec("nft add table ip lab")?;
        two.b
            .exec("nft add chain ip lab in { type filter hook input priority 0 ; }")?;
        two.b
            .exec(&format!("nft add rule ip lab in numgen random mod {every} == 0 drop"))?;
    }
    let session = recorder.start(dir, "16M")?;
    stream(&two, segments, 1_000, Duration::from_micros(300))?;
    session.finish()
}

fn coalescing(dir: &Path, planted: bool, recorder: &Recorder) -> anyhow::Result<()> {
    let two = Two::new()?;
    two.a.offloads("va", "tso off gso off")?;
    two.b.offloads("vb", "gro on")?;
    let session = recorder.start(dir, "16M")?;
    let (client, server) = two.connect(7103)?;
    if planted {
        // After the handshake: it would be held, too.
        two.b.sysfs("/sys/class/net/vb/napi_defer_hard_irqs", "2")?;
        two.b.sysfs("/sys/class/net/vb/gro_flush_timeout", "200000")?;
    }
    // One full segment, not pushed: more is to come.
    unpushed(&two, &client, &server, 1_000)?;
    session.finish()
}

fn offload(dir: &Path, planted: bool, recorder: &Recorder) -> anyhow::Result<()> {
    let two = Two::new()?;
    if planted {
        two.a.offloads("va", "tso off gso off")?;
    }
    let session = recorder.start(dir, "16M")?;
    stream(&two, 800, 12_000, Duration::from_millis(1))?;
    session.finish()
}
