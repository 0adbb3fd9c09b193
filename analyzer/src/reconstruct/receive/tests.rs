//! The receive ledger on recordings written by hand. Every test checks that every row sums.

mod aside;
mod fifo;
mod first;
mod old_kernels;
mod oracle;
mod order;
mod preempted;
mod progress;
mod readable;
mod reads;
mod starts;
mod udp;

use super::tables::{RxRow, Stage};
use crate::testing::tcp::SOCK;
use crate::testing::{Ctx, N, S, Script};

const T: u64 = 1_000_000_000;
const A: u64 = 0xffff_8881_0000_0000;
const SOFT: Ctx = Ctx::Soft(1);
/// The reading thread.
const PID: i32 = 7;
const TASK: Ctx = Ctx::Task(PID);

fn script() -> Script {
    let mut s = Script::new("6.18.44", &[]);
    s.ev(1, 0, Ctx::Task(1), "napi:napi_poll", &[]); // later first sights are not near the start
    s
}
/// The rows, each proved to sum.
fn rx(s: &Script) -> Vec<RxRow> {
    let rows = s.facts().rx;
    for r in &rows {
        assert_eq!(r.stages.sum() + r.unattributed_ns, r.total_ns, "{r:?}");
    }
    rows
}
/// The stages that a row has.
fn stages(r: &RxRow) -> Vec<(Stage, i64)> {
    Stage::ALL.iter().filter_map(|s| Some((*s, r.stage(*s)?))).collect()
}
fn soft(s: &mut Script, t: u64, cpu: usize, what: &str) {
    s.ev(T + t, cpu, SOFT, &format!("irq:softirq_{what}"), &[("vec", N(3))]);
}
fn skb(s: &mut Script, t: u64, cpu: usize, ctx: Ctx, event: &str, addr: u64, len: u64) {
    let v = [("skbaddr", N(addr)), ("len", N(len)), ("name", S("eth0"))];
    s.ev(T + t, cpu, ctx, event, &v);
}
fn recv(s: &mut Script, t: u64, addr: u64, payload: u64) {
    skb(s, t, 0, SOFT, "net:netif_receive_skb", addr, payload + 52);
}
fn probe(s: &mut Script, t: u64, ctx: Ctx, addr: u64, payload: u64) {
    SOCK.probe(s, T + t, 0, ctx, &[("skbaddr", N(addr)), ("data_len", N(payload))]);
}
fn ready(s: &mut Script, t: u64) {
    SOCK.ready(s, T + t, 0, SOFT);
}
/// A segment that arrives in order: received, processed, announced.
fn arrive(s: &mut Script, t: u64, addr: u64, payload: u64) {
    recv(s, t, addr, payload);
    probe(s, t + 10, SOFT, addr, payload);
    ready(s, t + 20);
}
fn copy(s: &mut Script, t: u64, addr: u64, len: u64) {
    let v = [("skbaddr", N(addr)), ("len", N(len))];
    s.ev(T + t, 1, TASK, "skb:skb_copy_datagram_iovec", &v);
}
fn length(s: &mut Script, t: u64, ret: i64, flags: u64) {
    SOCK.recv_length(s, T + t, 1, PID, ret, flags);
}
fn exit(s: &mut Script, t: u64, call: &str, ret: i64) {
    s.ev(
        T + t,
        1,
        TASK,
        &format!("syscalls:sys_exit_{call}"),
        &[("ret", N(ret as u64))],
    );
}
/// One read of one copy.
fn read(s: &mut Script, t: u64, addr: u64, len: u64) {
    copy(s, t, addr, len);
    length(s, t + 5, len as i64, 0);
    exit(s, t + 8, "recvfrom", len as i64);
}
