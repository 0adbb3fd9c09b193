use super::tables::{TxEnd, TxKind, TxRow, TxStart};
use super::{Stage, stages::StageTimes};
use crate::confidence::Confidence;
use crate::facts::Facts;
use crate::reconstruct::receive::tables::Censored;
use crate::testing::tcp::SOCK;
use crate::testing::{Ctx, FCLONE, N, S, Script};

mod again;
mod agree;
mod binding;
mod censored;
mod edges;
mod fair_queue;
mod last_send;
mod old_kernels;
mod overtaken;
mod refused;
mod same_host;
mod shifted;
mod udp;
mod waits;

/// The sender's thread.
pub(super) const PID: i32 = 500;
const TASK: Ctx = Ctx::Task(PID);
const SOFT: Ctx = Ctx::Soft(0);
/// Ethernet, IPv4, TCP with timestamps.
const HEADERS: u64 = 66;
const MSS: u64 = 1448;
/// First original; the next ones follow, a slab object apart.
const ORIGINAL: u64 = 0xffff_8881_2000_0000;
const BASE: u64 = 10_000_000;

/// A socket that sends.
pub(super) struct Sender {
    pub(super) s: Script,
    originals: u64,
    pub(super) nxt: u64,
    pub(super) una: u64,
}

impl Sender {
    /// Born in the recording; 64 frames of other hosts' making tell where head-cache skbs lie.
    pub(super) fn new(without: &[&str]) -> Sender {
        Sender::with(Script::new("6.18.44", without))
    }
    /// The same with another kernel's events.
    pub(super) fn with(mut s: Script) -> Sender {
        SOCK.state(&mut s, BASE, 0, TASK, 2, 1);
        let mut sender = Sender {
            s,
            originals: 0,
            nxt: 1000,
            una: 1000,
        };
        for i in 0..40 {
            sender.frame(BASE + 1000 + i * 10, SOFT, 0xffff_8881_3000_0000 + i * 512, 42);
        }
        sender
    }
    fn frame(&mut self, t: u64, ctx: Ctx, addr: u64, len: u64) {
        let v = [("skbaddr", N(addr)), ("len", N(len)), ("name", S("va"))];
        self.s.ev(t, 0, ctx, "net:net_dev_queue", &v);
        let mut v = v.to_vec();
        v.extend([
            ("protocol", N(0x0800)),
            ("transport_offset_valid", N(1)),
            ("transport_offset", N(34)),
        ]);
        self.s.ev(t + 1, 0, ctx, "net:net_dev_start_xmit", &v);
        self.s.ev(t + 3, 0, ctx, "net:net_dev_xmit", &v[..3]);
    }
    /// `write(fd, _, bytes)` begins.
    pub(super) fn enter(&mut self, t: u64) {
        self.s.ev(t, 0, TASK, "syscalls:sys_enter_write", &[]);
    }
    /// A round of the send with so much left.
    pub(super) fn round(&mut self, t: u64, left: u64) {
        // The tail is the segment that this call is filling.
        let tail = ORIGINAL + self.originals * 512;
        let v = [("skb_addr", N(tail)), ("msg_left", N(left)), ("size_goal", N(MSS))];
        self.s.ev(t, 0, TASK, "tcp:tcp_sendmsg_locked", &v);
    }
    /// The call returns.
    pub(super) fn leave(&mut self, t: u64, ret: u64) {
        let v = [
            ("sk", N(SOCK.sk)),
            ("family", N(2)),
            ("protocol", N(6)),
            ("ret", N(ret)),
        ];
        self.s.ev(t, 0, TASK, "sock:sock_send_length", &v);
        self.s.ev(t + 1, 0, TASK, "syscalls:sys_exit_write", &[("ret", N(ret))]);
    }
    /// A new segment is sent; `at` the time of its queue. Returns its original.
    pub(super) fn segment(&mut self, at: u64, ctx: Ctx, bytes: u64) -> u64 {
        let original = ORIGINAL + self.originals * 512;
        self.originals += 1;
        self.nxt += bytes;
        self.frame(at, ctx, original + FCLONE, bytes + HEADERS);
        original
    }
    /// It is sent again.
    pub(super) fn again(&mut self, at: u64, ctx: Ctx, original: u64, bytes: u64) {
        self.frame(at, ctx, original + FCLONE, bytes + HEADERS);
        SOCK.retransmit(&mut self.s, at + 5, 0, ctx, original, &[]);
    }
    /// A segment of the peer arrives: the state before it; then `acks` bytes are acknowledged.
    pub(super) fn probe(&mut self, t: u64, acks: u64, more: &[(&'static str, crate::testing::V)]) {
        self.s.ev(t - 1, 0, SOFT, "irq:softirq_entry", &[("vec", N(3))]);
        let mut v = vec![
            ("snd_nxt", N(self.nxt)),
            ("snd_una", N(self.una)),
            ("snd_wnd", N(65_536)),
        ];
        v.extend(more.iter().cloned());
        SOCK.probe(&mut self.s, t, 0, SOFT, &v);
        self.una += acks;
    }
    pub(super) fn softirq_exit(&mut self, t: u64) {
        self.s.ev(t, 0, SOFT, "irq:softirq_exit", &[("vec", N(3))]);
    }
    pub(super) fn facts(&self) -> Facts {
        self.s.facts()
    }
}

/// The TCP segments with payload.
pub(super) fn segments(f: &Facts) -> Vec<&TxRow> {
    for r in &f.tx {
        assert_eq!(r.stages.sum().wrapping_add(r.unattributed_ns), r.total_ns, "{r:?}");
    }
    f.tx.iter().filter(|r| r.kind == TxKind::Tcp).collect()
}

/// Four requests of one segment each, acknowledged by the answer.
pub(super) fn requests(s: &mut Sender, from: u64, n: u64) {
    for i in 0..n {
        let t = BASE + from + i * 100_000;
        s.enter(t);
        s.round(t + 100, 200);
        s.segment(t + 1000, TASK, 200);
        s.leave(t + 2000, 200);
        s.probe(t + 40_000, 200, &[]);
        s.softirq_exit(t + 41_000);
    }
}

#[test]
fn a_request_is_a_call_a_packet_and_an_ack() {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 4);
    let f = s.facts();
    let rows = segments(&f);
    assert_eq!(rows.len(), 4);
    let r = rows[1];
    let t = (BASE + 200_000) as i64;
    assert_eq!((r.start, r.start_ns, r.end), (TxStart::Sendmsg, t, TxEnd::Acked));
    assert_eq!((r.bytes, r.pid), (Some(200), PID));
    assert_eq!((r.t_sched_ns, r.t_snd_ns), (t + 1000, Some(t + 1001)));
    // The next probe shows it acknowledged: by the segment before.
    assert_eq!((r.t_ack_ns, r.total_ns), (Some(t + 40_000), 40_000));
    assert_eq!(r.stage(Stage::Driver), Some(2));
    assert_eq!(r.stage(Stage::Network), Some(40_000 - 1003));
    assert_eq!(r.stage(Stage::Cwnd), None);
    // The last one has no later probe: only the peer's word after it.
    assert_eq!((rows[3].end, rows[3].confidence), (TxEnd::Acked, Confidence::Weak));
}

#[test]
fn bytes_come_from_what_snd_nxt_advanced() {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 4);
    // A frame of the socket is missing here: the next window does not sum.
    s.nxt += 77;
    requests(&mut s, 600_000, 4);
    let f = s.facts();
    let rows = segments(&f);
    assert!(rows.iter().all(|r| r.bytes == Some(200)));
    let weak: Vec<bool> = rows.iter().map(|r| r.confidence == Confidence::Weak).collect();
    assert_eq!(weak, [false, false, false, false, true, false, false, false]);
}

#[test]
fn stages_not_set_are_not_zero() {
    let mut t = StageTimes::default();
    assert_eq!((t.get(Stage::Rwnd), t.sum()), (None, 0));
    t.add(Stage::Rwnd, Some(5));
    t.add(Stage::Rwnd, Some(6));
    t.set(Stage::Cwnd, Some(0));
    assert_eq!(
        (t.get(Stage::Rwnd), t.get(Stage::Cwnd), t.sum()),
        (Some(11), Some(0), 11)
    );
}

/// Nothing comes back (a path MTU black hole, a firewall): the socket has no probe, but its segments carry payload and are open.
#[test]
fn segments_of_a_socket_to_which_nothing_comes_are_open() {
    let mut s = Sender::new(&[]);
    // Probes are recorded: another socket has one.
    let other = crate::testing::tcp::Sock {
        sk: SOCK.sk + 8192,
        cookie: 78,
        sport: 99,
        ..SOCK
    };
    other.probe(&mut s.s, BASE + 50_000, 0, SOFT, &[]);
    for i in 0..3 {
        let t = BASE + 100_000 + i * 100_000;
        s.enter(t);
        s.round(t + 100, 200);
        s.segment(t + 1000, TASK, 200);
        s.leave(t + 2000, 200);
    }
    let f = s.facts();
    let rows = segments(&f);
    let told: Vec<_> = rows.iter().map(|r| (r.end, r.bytes, r.censored)).collect();
    assert_eq!(told, vec![(TxEnd::Open, None, Some(Censored::End)); 3]);
    assert!(rows.iter().all(|r| r.at_least_ns >= Some(r.total_ns)));
}
