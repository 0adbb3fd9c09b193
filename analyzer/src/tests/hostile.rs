//! Input made to hurt the ledgers: values and times of real recordings replaced by others; and recordings that grow in one
//! dimension only. Nothing panics, parts still sum, and ten times the input takes ten times as long.

use std::time::{Duration, Instant};

use netmortem_formats::{Capture, ClockConversion};

use crate::facts::Facts;
use crate::testing::rewrite::{Fate, repeated, rewritten};
use crate::testing::tcp::SOCK;
use crate::testing::{Ctx, FCLONE, N, S, Script};

/// Values that break arithmetic.
const VALUES: [u64; 8] = [
    0,
    1,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
];
/// How much longer ten times the input may take on a busy machine; what is quadratic takes a hundred times as long.
const TENFOLD: f64 = 30.0;

/// A number that depends on both, evenly spread (splitmix64, Steele et al. 2014).
fn mix(seed: u64, i: u64) -> u64 {
    let mut z = seed.wrapping_add(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn sums(f: &Facts, what: &str) {
    for r in &f.rx {
        assert_eq!(
            r.stages.sum().wrapping_add(r.unattributed_ns),
            r.total_ns,
            "{what}: {r:?}"
        );
    }
    for r in &f.tx {
        assert_eq!(
            r.stages.sum().wrapping_add(r.unattributed_ns),
            r.total_ns,
            "{what}: {r:?}"
        );
    }
    for r in &f.turnarounds {
        assert_eq!(r.split.sum(), r.total_ns(), "{what}: {r:?}");
    }
    for r in &f.xmits {
        let parts = r.parts().iter().filter_map(|p| p.1).fold(0i64, i64::wrapping_add);
        assert_eq!(parts.wrapping_add(r.unattributed_ns), r.total_ns, "{what}: {r:?}");
    }
}

/// One in `every` records has a word replaced, is moved in time or is lost.
fn damaged(c: &Capture, seed: u64, every: u64) -> Capture {
    let mut out = rewritten(c, c.event_formats.clone(), |i, _, _, bytes| {
        let r = mix(seed, i);
        if !r.is_multiple_of(every) || bytes.len() < 16 {
            return Fate::Keep;
        }
        let word = 8 + (r >> 20) as usize % ((bytes.len() - 8) / 4) * 4;
        let end = (word + 8).min(bytes.len());
        let value = match r >> 50 & 3 {
            0 => mix(r, 1),
            1 => u64::from_le_bytes(std::array::from_fn(|k| bytes.get(8 + k).copied().unwrap_or(0))),
            _ => VALUES[(r >> 40) as usize % VALUES.len()],
        };
        match r >> 52 & 7 {
            0 => return Fate::Lost,
            1 => return Fate::At(value >> 6),
            2 => return Fate::Sooner(r >> 44),
            _ => bytes[word..end].copy_from_slice(&value.to_le_bytes()[..end - word]),
        }
        Fate::Keep
    });
    let offset = VALUES[(seed % 8) as usize] as i64;
    if seed.is_multiple_of(3) {
        out.clock_conversions.push(ClockConversion::OffsetNs(offset));
    }
    out
}

#[test]
fn damaged_recordings_panic_nowhere_and_parts_sum() {
    for path in [super::SAMPLES[0], super::SAMPLES[1], "sawtooth/sawtooth.nmb"] {
        let capture = super::sample(path);
        for seed in 0..4 {
            let every = [3, 30, 300, 1][seed as usize % 4];
            let what = format!("{path} seed {seed}, one in {every}");
            let facts = crate::analyze(&damaged(&capture, seed, every), &Default::default());
            sums(&facts, &what);
            let answers = crate::analyses::answer(&facts);
            assert_eq!(answers.verdict.len(), 9, "{what}");
        }
    }
}

/// A socket that sends `n` segments; `more` adds what follows each.
fn sender(n: u64, probes: bool, more: impl Fn(&mut Script, u64, u64, u64)) -> Capture {
    let mut s = Script::new("6.18.44", &[]);
    let task = Ctx::Task(500);
    SOCK.state(&mut s, 10, 0, task, 2, 1);
    for i in 0..n {
        let (t, original) = (1_000 + i * 1_000, 0xffff_8881_2000_0000 + i * 512);
        let v = [("skbaddr", N(original + FCLONE)), ("len", N(1514)), ("name", S("va"))];
        s.ev(t, 0, task, "net:net_dev_queue", &v);
        s.ev(t + 1, 0, task, "net:net_dev_start_xmit", &v);
        s.ev(t + 2, 0, task, "net:net_dev_xmit", &v);
        let v = [
            ("sk", N(SOCK.sk)),
            ("family", N(2)),
            ("protocol", N(6)),
            ("ret", N(1448)),
        ];
        s.ev(t + 3, 0, task, "sock:sock_send_length", &v);
        if probes {
            let v = [
                ("snd_nxt", N((i + 1) * 1448)),
                ("snd_una", N(0)),
                ("snd_wnd", N(65_536)),
            ];
            SOCK.probe(&mut s, t + 4, 0, Ctx::Soft(0), &v);
        }
        more(&mut s, t, i, original);
    }
    s.capture()
}

fn time(c: &Capture) -> Duration {
    let run = || {
        let begun = Instant::now();
        sums(&crate::analyze(c, &Default::default()), "grown");
        begun.elapsed()
    };
    run().min(run())
}

/// Time for ten times the input over time for the input.
fn tenfold(what: &str, n: u64, of: impl Fn(u64) -> Capture) {
    let (one, ten) = (time(&of(n)), time(&of(10 * n)));
    let ratio = ten.as_secs_f64() / one.as_secs_f64().max(1e-3);
    assert!(ratio < TENFOLD, "{what}: {one:?}, tenfold {ten:?}, {ratio:.1} times");
}

#[test]
#[ignore = "compares times: run it on an idle machine, with --ignored"]
fn segments_never_acknowledged_take_linear_time() {
    tenfold("unacknowledged", 4_000, |n| sender(n, true, |_, _, _, _| {}));
}

/// Every segment is sent again in part, later the rest of it.
#[test]
#[ignore = "compares times: run it on an idle machine, with --ignored"]
fn fragments_sent_again_take_linear_time() {
    tenfold("fragments", 3_000, |n| {
        let mut s = sender(n, true, |_, _, _, _| {});
        let again = sender(n, false, |s, t, _, original| {
            let v = [("skbaddr", N(original + FCLONE)), ("len", N(200)), ("name", S("va"))];
            s.ev(t + 5, 0, Ctx::Soft(0), "net:net_dev_queue", &v);
            SOCK.retransmit(s, t + 6, 0, Ctx::Soft(0), original, &[]);
        });
        s = crate::testing::rewrite::joined(&s, &again);
        s
    });
}

/// Sockets and gaps grow together: neither looks at all of the other.
#[test]
#[ignore = "compares times: run it on an idle machine, with --ignored"]
fn gaps_do_not_look_at_every_socket() {
    tenfold("gaps", 60, |n| {
        let mut s = Script::new("6.18.44", &[]);
        for i in 0..n * 100 {
            let sock = crate::testing::tcp::Sock {
                sk: SOCK.sk + i * 4096,
                cookie: i,
                sport: i as u16,
                dport: (i >> 16) as u16,
            };
            sock.cong(&mut s, 1_000 + i, 0, Ctx::Soft(0), 3);
            if i % 100 == 0 {
                s.lost(0, None);
            }
        }
        s.capture()
    });
}

#[test]
#[ignore = "compares times: run it on an idle machine, with --ignored"]
fn many_cpus_take_linear_time() {
    tenfold("CPUs", 400, |n| {
        let mut s = Script::new("6.18.44", &[]);
        for i in 0..n * 20 {
            let cpu = (i % n) as usize;
            s.ev(i * 100, cpu, Ctx::Hard(0), "irq:softirq_raise", &[("vec", N(3))]);
            s.ev(i * 100 + 10, cpu, Ctx::Soft(0), "irq:softirq_entry", &[("vec", N(3))]);
            let v = [
                ("skbaddr", N(0xffff_8881_2000_0000 + i * 256)),
                ("len", N(60)),
                ("name", S("va")),
            ];
            s.ev(i * 100 + 20, cpu, Ctx::Soft(0), "net:netif_receive_skb", &v);
            s.ev(i * 100 + 30, cpu, Ctx::Soft(0), "irq:softirq_exit", &[("vec", N(3))]);
        }
        s.capture()
    });
}

/// A real recording after itself, again and again.
#[test]
#[ignore = "compares times: run it on an idle machine, with --ignored"]
fn a_recording_ten_times_as_long_takes_ten_times_as_long() {
    let capture = super::sample(super::SAMPLES[0]);
    tenfold("rpc", 1, |n| repeated(&capture, n));
}
