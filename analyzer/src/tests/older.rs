//! Metamorphic: a real recording of a new kernel, less the events and fields that older kernels lack, or with its pointers
//! hashed as text captures have them. Answers get weaker or are missing; none becomes another confident claim.
//! What each kernel has: the kernel's own include/trace/events at that release.

use netmortem_formats::Capture;
use rustc_hash::FxHashMap;

use super::loss::check_invariants;
use crate::facts::Facts;
use crate::reconstruct::receive::tables::{RxEnd, RxRow, Stage};
use crate::reconstruct::skb::tables::SkbRow;
use crate::reconstruct::tcp::tables::RetransmitClass;
use crate::testing::rewrite::{cut_cpu, hashed, only};

/// Requests, a queue that drops, GRO with RPS, a VXLAN overlay, netem on 6.1, containers, tap devices of virtual machines, a tunnel in
/// user space recorded without receive events, and the rest.
pub(super) const SAMPLES: [&str; 14] = [
    "rpc/rpc.nmb",
    "sawtooth/sawtooth.nmb",
    "gro/gro.nmb.zst",
    "overlay/overlay.nmb",
    "kernel-6.1/netem.nmb",
    "containers/same-mac.nmb.zst",
    "one-side/delay.nmb.zst",
    "one-side/loss.nmb.zst",
    "named/named.nmb.zst",
    "cpu/cpu.nmb",
    "mtu/mtu.nmb",
    "opens/opens.nmb",
    "neighbour/neighbour.nmb",
    "datagrams/datagrams.nmb.zst",
];

/// Those whose softirqs are blamed to the nanosecond, whatever is left out.
const EXACT: [&str; 2] = [SAMPLES[0], SAMPLES[1]];

/// A kernel as a list of what it lacks against 6.18.
struct Kernel {
    release: &'static str,
    events: &'static [&'static str],
    fields: &'static [&'static str],
}

const SINCE_6_3: [&str; 4] = [
    "sock:sk_data_ready",
    "sock:sock_send_length",
    "sock:sock_recv_length",
    "tcp:tcp_sendmsg_locked",
];
const KERNELS: [Kernel; 4] = [
    Kernel {
        release: "5.15",
        events: &["tcp:tcp_cong_state_set", "tcp:tcp_rcvbuf_grow"],
        fields: &[
            "skb:kfree_skb.reason",
            "skb:kfree_skb.rx_sk",
            "skb:consume_skb.location",
            "tcp:tcp_probe.skbaddr",
            "tcp:tcp_probe.skaddr",
            "tcp:tcp_retransmit_skb.err",
        ],
    },
    Kernel {
        release: "5.4",
        events: &[
            "tcp:tcp_cong_state_set",
            "tcp:tcp_rcvbuf_grow",
            "qdisc:qdisc_enqueue",
            "tcp:tcp_bad_csum",
        ],
        fields: &[
            "skb:kfree_skb.reason",
            "skb:kfree_skb.rx_sk",
            "skb:consume_skb.location",
            "tcp:tcp_probe.skbaddr",
            "tcp:tcp_probe.skaddr",
            "tcp:tcp_probe.family",
            "tcp:tcp_retransmit_skb.err",
            "tcp:tcp_retransmit_skb.family",
        ],
    },
    Kernel {
        release: "4.15",
        events: &[
            "tcp:tcp_cong_state_set",
            "tcp:tcp_rcvbuf_grow",
            "tcp:tcp_probe",
            "tcp:tcp_rcv_space_adjust",
            "tcp:tcp_bad_csum",
            "qdisc:qdisc_enqueue",
            "sock:inet_sock_set_state",
            "net:napi_gro_receive_exit",
            "net:napi_gro_frags_exit",
            "net:netif_receive_skb_exit",
            "net:netif_receive_skb_list_entry",
            "net:netif_receive_skb_list_exit",
            "net:netif_rx_exit",
        ],
        fields: &[
            "skb:kfree_skb.reason",
            "skb:kfree_skb.rx_sk",
            "skb:consume_skb.location",
            "tcp:tcp_retransmit_skb.err",
            "tcp:tcp_retransmit_skb.family",
            "tcp:tcp_retransmit_skb.state",
        ],
    },
    Kernel {
        release: "3.10",
        events: &[
            "qdisc:",
            "tcp:",
            "neigh:",
            "sched:sched_waking",
            "net:netif_rx_",
            "net:netif_receive_skb_",
            "net:napi_gro",
            "net:net_dev_start_xmit",
            "sock:inet",
            "icmp:",
        ],
        fields: &[
            "skb:kfree_skb.reason",
            "skb:kfree_skb.rx_sk",
            "skb:consume_skb.location",
            "napi:napi_poll.work",
            "napi:napi_poll.budget",
        ],
    },
];

/// Waits shorter than this are not claims that anybody acts upon.
const CLAIM_NS: i64 = 50_000;

/// The largest wait of a row.
fn top(r: &RxRow) -> Option<(Stage, i64)> {
    let of = Stage::ALL.into_iter().filter_map(|s| Some((s, r.stage(s)?)));
    of.max_by_key(|x| x.1).filter(|x| x.1 > r.unattributed_ns)
}

/// What `was` says of a stage of `now`, with the neighbours that are in it where their border is not recorded.
fn containing(now: &RxRow, was: &RxRow, stage: Stage) -> i64 {
    let with: &[Stage] = match stage {
        Stage::Copy => &[Stage::Return],
        Stage::ReaderAsleep | Stage::ReaderRunning => &[Stage::Ready],
        _ => &[],
    };
    let absent = with.iter().filter(|s| now.stage(**s).is_none());
    let own = was.stage(stage).unwrap_or(0);
    own + absent.filter_map(|s| was.stage(*s)).sum::<i64>()
}

/// Solid answers of `less` that contradict solid answers of `whole`; and how many were compared.
fn contradictions(whole: &Facts, less: &Facts, address: impl Fn(u64) -> u64) -> (Vec<String>, usize) {
    let mut wrong = vec![];
    let mut compared = 0;
    let mut rows: FxHashMap<u64, Vec<(&SkbRow, &RxRow)>> = FxHashMap::default();
    for r in &whole.rx {
        let life = &whole.skbs[r.skb_id.0 as usize];
        rows.entry(address(life.skbaddr)).or_default().push((life, r));
    }
    for r in less.rx.iter().filter(|r| r.confidence.is_solid()) {
        let life = &less.skbs[r.skb_id.0 as usize];
        let of = rows.get(&life.skbaddr).into_iter().flatten();
        let Some((_, was)) = of
            .clone()
            .find(|(l, _)| l.birth_ns <= r.start_ns && r.start_ns <= l.last_ns)
        else {
            wrong.push(format!("a unit that was none: {r:?}"));
            continue;
        };
        // Also where the whole recording left doubt: less of it may not claim what that does not say.
        compared += 1;
        let fewer =
            r.end == was.end || r.end == RxEnd::Queued || (r.end, was.end) == (RxEnd::Protocol, RxEnd::Protocol);
        if !fewer {
            wrong.push(format!("another end: {was:?}\n  now {r:?}"));
        }
        if r.end == RxEnd::Read && was.end == RxEnd::Read {
            if r.pid != 0 && r.pid != was.pid {
                wrong.push(format!("another reader: {was:?}\n  now {r:?}"));
            }
            // What was seen of the time before the queue may be in it now.
            let least = was.rcvq_ns.unwrap_or(0);
            if r.rcvq_ns.is_some_and(|q| q < least) {
                wrong.push(format!("a shorter queue: {was:?}\n  now {r:?}"));
            }
        }
        if let Some((stage, ns)) = top(r).filter(|t| t.1 > CLAIM_NS)
            && containing(r, was, stage) < ns / 2
        {
            wrong.push(format!("another wait, {stage:?}: {was:?}\n  now {r:?}"));
        }
    }
    // A life may be seen later than before, where its first events are missing: it is the one alive then.
    let mut lives: FxHashMap<u64, Vec<&SkbRow>> = FxHashMap::default();
    for s in &whole.skbs {
        lives.entry(address(s.skbaddr)).or_default().push(s);
    }
    for s in less.skbs.iter().filter(|s| s.confidence.is_solid()) {
        let of = lives.get(&s.skbaddr).map_or(&[][..], |v| v.as_slice());
        let at = of.partition_point(|w| w.birth_ns <= s.birth_ns);
        let Some(was) = at.checked_sub(1).map(|i| of[i]).filter(|w| w.confidence.is_solid()) else {
            continue;
        };
        if let (Some(now), Some(then)) = (s.death_ns, was.death_ns) {
            compared += 1;
            if now != then {
                wrong.push(format!("another death: {was:?}\n  now {s:?}"));
            }
        }
    }
    let classes: FxHashMap<i64, RetransmitClass> = whole.retransmits.iter().map(|r| (r.time_ns, r.class)).collect();
    for r in less.retransmits.iter().filter(|r| r.confidence.is_solid()) {
        let was = classes[&r.time_ns];
        compared += 1;
        if r.class != was {
            wrong.push(format!("another class, was {was:?}: {r:?}"));
        }
    }
    (wrong, compared)
}

/// All that is wrong of `less`, and how much was compared.
fn wrong(whole: &Facts, less: &Facts, address: impl Fn(u64) -> u64) -> (Vec<String>, usize) {
    check_invariants(less);
    let (mut wrong, compared) = contradictions(whole, less, &address);
    let more = super::claims::contradictions(whole, less, &address);
    wrong.extend(more.wrong);
    (wrong, compared + more.compared.values().sum::<usize>())
}

fn must_agree(whole: &Facts, less: &Facts, address: impl Fn(u64) -> u64, path: &str, how: &str) -> usize {
    let (mut wrong, compared) = wrong(whole, less, address);
    if EXACT.contains(&path) {
        wrong.extend(super::claims::other_blames(whole, less));
    }
    let shown = super::claims::summary(&wrong);
    assert!(
        wrong.is_empty(),
        "{path} {how}: {} of {compared} contradict\n{shown}",
        wrong.len()
    );
    compared
}

/// The recording as a kernel would have made it.
fn as_on(c: &Capture, k: &Kernel) -> Capture {
    let has = |key: &str| !k.events.iter().chain(&SINCE_6_3).any(|e| key.starts_with(e));
    only(c, has, k.fields)
}

/// The same of recordings that are not shipped: all that is wrong is printed.
#[test]
#[ignore = "compares recordings that are not shipped: name them in NETMORTEM_LESS, with a colon between"]
fn recordings_at_hand_say_less_never_otherwise() {
    let mut bad = 0;
    for path in std::env::var("NETMORTEM_LESS").unwrap().split(':') {
        let capture = netmortem_formats::open_path(std::path::Path::new(path))
            .unwrap()
            .unwrap();
        let whole = crate::analyze(&capture, &Default::default());
        let mut look = |less: &Capture, address: &dyn Fn(u64) -> u64, how: &str| {
            let (wrong, _) = wrong(&whole, &crate::analyze(less, &Default::default()), address);
            if !wrong.is_empty() {
                bad += 1;
                let said = format!("{path} {how}: {}\n{}", wrong.len(), super::claims::summary(&wrong));
                std::io::Write::write_all(&mut std::io::stderr(), said.as_bytes()).unwrap();
            }
        };
        for k in &KERNELS {
            look(&as_on(&capture, k), &|a| a, &format!("as on {}", k.release));
        }
        look(&hashed(&capture), &crate::testing::rewrite::hash, "hashed");
        for cpu in 0..2 {
            let cut = cut_cpu(&capture, cpu, whole.capture.total_events / 2);
            look(&cut, &|a| a, &format!("without the second half of CPU {cpu}"));
        }
    }
    assert_eq!(bad, 0);
}

#[test]
fn older_kernels_say_less_never_otherwise() {
    for path in SAMPLES {
        let capture = super::sample(path);
        let whole = crate::analyze(&capture, &Default::default());
        for k in &KERNELS {
            let less = crate::analyze(&as_on(&capture, k), &Default::default());
            let n = must_agree(&whole, &less, |a| a, path, &format!("as on {}", k.release));
            assert!(n > 100, "{path} as on {}: {n} compared", k.release);
        }
    }
}

#[test]
fn hashed_pointers_join_and_measure_nothing() {
    // Certain answers rest on addresses, and two may be hashed to one.
    let certain = |f: &Facts| {
        let of = f.skbs.iter().filter(|s| s.confidence == crate::Confidence::Certain);
        of.count()
    };
    let mut were = 0;
    for path in SAMPLES {
        let capture = super::sample(path);
        let whole = crate::analyze(&capture, &Default::default());
        let less = crate::analyze(&hashed(&capture), &Default::default());
        let n = must_agree(&whole, &less, crate::testing::rewrite::hash, path, "hashed");
        let least = if EXACT.contains(&path) { 1_000 } else { 900 };
        assert!(n > least, "{path}: {n} compared");
        assert_eq!(certain(&less), 0, "{path}");
        were += certain(&whole);
    }
    assert!(were > 1_000, "{were} certain lives before");
}

#[test]
fn a_cpu_cut_short_is_a_gap_and_no_news() {
    for path in SAMPLES {
        let capture = super::sample(path);
        let whole = crate::analyze(&capture, &Default::default());
        for cpu in 0..2 {
            let less = crate::analyze(
                &cut_cpu(&capture, cpu, whole.capture.total_events / 2),
                &Default::default(),
            );
            assert!(less.capture.lost_events > 1_000, "{path}");
            let n = must_agree(
                &whole,
                &less,
                |a| a,
                path,
                &format!("without the second half of CPU {cpu}"),
            );
            assert!(n > 100, "{path} CPU {cpu}: {n} compared");
        }
    }
}
