//! The two snapshots against a ledger written by hand, and a real recording.

use netmortem_formats::capture::{Snapshot, SnapshotWhen};

use super::tables::{LimiterRow, Times};
use crate::facts::ConnectionId;
use crate::testing::tcp::SOCK;
use crate::testing::{Ctx, N, Script};

fn row(kernel: Option<(i64, i64)>, busy: i64, rwnd: i64, because: &'static str) -> LimiterRow {
    LimiterRow {
        connection: ConnectionId(0),
        kernel: kernel.map(|(busy_ns, rwnd_ns)| Times {
            busy_ns,
            rwnd_ns,
            sndbuf_ns: 0,
        }),
        busy_ns: busy,
        // Of it 7 ms were paced, too: not the kernel's.
        rwnd_ns: rwnd + 7_000_000,
        rwnd_paced_ns: 7_000_000,
        cwnd_ns: 0,
        sndbuf_ns: 0,
        because,
    }
}

#[test]
fn apart_is_more_than_both_limits() {
    const MS: i64 = 1_000_000;
    let apart = |r: LimiterRow| r.apart();
    // 4 % of 3.6 s, then 6 %; 45 ms, then 51 ms of little.
    assert_eq!(apart(row(Some((0, 3_600 * MS)), 0, 3_744 * MS, "")), None);
    let far = (3_600 * MS, 3_816 * MS);
    assert_eq!(apart(row(Some((0, far.0)), 0, far.1, "")), Some(far));
    assert_eq!(apart(row(Some((0, 4 * MS)), 0, 49 * MS, "")), None);
    assert_eq!(apart(row(Some((0, 4 * MS)), 0, 55 * MS, "")), Some((4 * MS, 55 * MS)));
    // Busy is not judged; one-sided, or not told, nothing is claimed.
    assert_eq!(apart(row(Some((0, 0)), 900 * MS, 0, "")), None);
    assert_eq!(apart(row(Some((0, 4 * MS)), 0, 55 * MS, "open")), None);
    assert_eq!(apart(row(None, 9_000 * MS, 55 * MS, "")), None);
    let r = row(Some((10, 4)), 12, 3, "");
    assert_eq!((r.busy_diff_ns(), r.rwnd_diff_ns()), (Some(2), Some(-1)));
}

fn line(state: &str, port: u16, cookie: u64, us: [i64; 3]) -> String {
    let [busy, rwnd, sndbuf] = us;
    format!(
        "netns=1 proto=tcp family=inet state={state} src=10.0.0.1:{port} dst=10.0.0.2:{} if=0 cookie={cookie:#x} inode=9 tcp.busy_time={busy} tcp.rwnd_limited={rwnd} tcp.sndbuf_limited={sndbuf} tcp.delivered=1 cong=cubic\n",
        SOCK.dport
    )
}

/// One segment, acknowledged 40 us after it was queued.
fn sent(born: bool, texts: &[(SnapshotWhen, String)]) -> Vec<LimiterRow> {
    let t = 10_000_000;
    let mut s = Script::new("6.18.44", &[]);
    if born {
        SOCK.state(&mut s, t - 1_000_000, 0, Ctx::Task(7), 2, 1);
    }
    let una = |n: u64| [("snd_una", N(n)), ("snd_nxt", N(1_100))];
    for (i, addr) in [(0u64, 0x0u64), (1, 0x400)] {
        let at = t + i * 1_000_000;
        SOCK.probe(
            &mut s,
            at,
            0,
            Ctx::Soft(0),
            &[("snd_una", N(1_000 + i * 100)), ("snd_nxt", N(1_000 + i * 100))],
        );
        let v = [
            ("skbaddr", N(0xffff_8881_2000_0000 + addr)),
            ("len", N(166)),
            ("name", crate::testing::S("va")),
        ];
        s.ev(at + 1_000, 0, Ctx::Soft(0), "net:net_dev_queue", &v);
        s.ev(at + 2_000, 0, Ctx::Soft(0), "irq:softirq_exit", &[("vec", N(3))]);
    }
    SOCK.probe(&mut s, t + 1_041_000, 0, Ctx::Soft(0), &una(1_100));
    let mut capture = s.capture();
    capture.snapshots = texts
        .iter()
        .map(|(when, text)| Snapshot {
            what: "sockets".to_owned(),
            when: *when,
            text: text.clone().into_bytes(),
        })
        .collect();
    crate::analyze(&capture, &Default::default()).limiters
}

/// In both snapshots: the difference. In the last alone: all of it, if the socket was born in the recording. Else: not told,
/// and why. Another socket's line with the cookie of another boot, or port, is none.
#[test]
fn what_the_snapshots_tell() {
    use SnapshotWhen::{End, Start};
    let of = |born: bool, texts: &[(SnapshotWhen, String)]| {
        let rows = sent(born, texts);
        assert_eq!(rows.len(), 1, "{rows:?}");
        let k = rows[0].kernel.map(|k| [k.busy_ns, k.rwnd_ns, k.sndbuf_ns]);
        let why = rows[0].because;
        assert_eq!(
            k.is_none(),
            why.contains("socket") && !why.contains("before its first event"),
            "{rows:?}"
        );
        k
    };
    let at = |us| line("established", SOCK.sport, SOCK.cookie, us);
    let (first, last) = ((Start, at([1_000, 20, 3])), (End, at([5_000, 50, 7])));
    let both = Some([4_000_000, 30_000, 4_000]);
    assert_eq!(of(false, &[first.clone(), last.clone()]), both);
    assert_eq!(of(true, &[first.clone(), last.clone()]), both);
    assert_eq!(
        of(true, &[(Start, String::new()), last.clone()]),
        Some([5_000_000, 50_000, 7_000])
    );
    assert_eq!(of(false, &[(Start, String::new()), last]), None);
    assert_eq!(of(false, &[first.clone(), (End, String::new())]), None);
    assert_eq!(of(false, &[first]), None);
    assert_eq!(of(true, &[(End, line("established", 1, SOCK.cookie, [5, 5, 5]))]), None);
    assert_eq!(of(true, &[(End, line("established", SOCK.sport, 1, [5, 5, 5]))]), None);
    assert_eq!(of(true, &[]), None);
}
