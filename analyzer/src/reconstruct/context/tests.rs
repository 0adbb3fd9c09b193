use super::{Cpu, Cpus};
use crate::ingest::Event;

fn at(ts: i64, flags: u8) -> Event<'static> {
    Event {
        ts,
        index: 0,
        cpu: 0,
        kind: 0,
        flags,
        pid: 5,
        payload: &[],
    }
}
const HARD: u8 = 0x08;
const SOFT: u8 = 0x10;

/// 3c: the wait counts from the first raise; raises while one is pending change nothing.
#[test]
fn the_first_raise_since_the_run_before_counts() {
    let mut c = Cpu::default();
    c.irq_entry(&at(10, HARD), b"eth0-rx");
    c.raise(&at(12, HARD), 3);
    c.irq_exit(&at(13, HARD));
    c.raise(&at(14, 0), 3);
    c.softirq_entry(&at(20, SOFT), 3);
    let raise = c.run.unwrap().raise.unwrap();
    assert_eq!((raise.ts, raise.in_hardirq), (12, true));
    assert_eq!(raise.irq.unwrap().entry_ns, 10);
    // Raised again inside its own run: that is the next run's.
    c.raise(&at(25, SOFT), 3);
    assert_eq!(c.softirq_exit(3).unwrap().raise.unwrap().ts, 12);
    c.softirq_entry(&at(30, SOFT), 3);
    assert_eq!(c.run.unwrap().raise.unwrap().ts, 25);
}

#[test]
fn each_vector_has_its_own_raise() {
    let mut c = Cpu::default();
    c.raise(&at(1, 0), 1);
    c.raise(&at(2, 0), 3);
    c.softirq_entry(&at(5, SOFT), 3);
    assert_eq!(c.run.unwrap().raise.unwrap().ts, 2);
    c.softirq_exit(3);
    c.softirq_entry(&at(6, SOFT), 1);
    assert_eq!(c.run.unwrap().raise.unwrap().ts, 1);
}

/// A timer tick or an IPI raises in hard-interrupt context without `irq_handler_entry`.
#[test]
fn a_raise_in_a_nameless_interrupt_has_no_handler() {
    let mut c = Cpu::default();
    c.raise(&at(1, HARD), 1);
    c.softirq_entry(&at(2, SOFT), 1);
    let raise = c.run.unwrap().raise.unwrap();
    assert!(raise.in_hardirq && raise.irq.is_none());
}

/// A raise in a task while an interrupt's exit was lost does not belong to that interrupt.
#[test]
fn a_raise_outside_an_interrupt_has_none() {
    let mut c = Cpu::default();
    c.irq_entry(&at(1, HARD), b"eth0");
    c.raise(&at(9, 0), 3);
    c.softirq_entry(&at(10, SOFT), 3);
    assert_eq!(c.run.unwrap().raise.unwrap().irq, None);
}

/// Nested interrupts are counted once, and only from the start of the run.
#[test]
fn interrupt_time_inside_a_run_is_that_of_the_outermost() {
    let mut c = Cpu::default();
    c.softirq_entry(&at(100, SOFT), 3);
    c.irq_entry(&at(110, HARD), b"a");
    c.irq_entry(&at(115, HARD), b"b");
    c.irq_exit(&at(120, HARD));
    c.irq_exit(&at(130, HARD));
    c.irq_entry(&at(140, HARD), b"a");
    c.irq_exit(&at(145, HARD));
    assert_eq!(c.softirq_exit(3).unwrap().irq_ns, 25);
}

/// `napi_poll` is an END marker: a poll begins where the one before it ended.
#[test]
fn polls_of_a_run_share_it_out() {
    let mut c = Cpu::default();
    assert_eq!(c.poll_end(&at(5, SOFT)), None);
    c.softirq_entry(&at(10, SOFT), 3);
    assert_eq!(c.poll_end(&at(17, SOFT)), Some((10, 0)));
    assert_eq!(c.poll_end(&at(19, SOFT)), Some((17, 1)));
}

/// After a loss, what is pending is not known: the first raise seen may be a later one.
#[test]
fn after_a_loss_the_first_run_has_no_raise() {
    let mut c = Cpu::default();
    c.raise(&at(1, 0), 3);
    c.forget();
    assert_eq!(c.softirq_exit(3), None);
    c.raise(&at(50, 0), 3);
    c.softirq_entry(&at(60, SOFT), 3);
    assert_eq!(c.run.unwrap().raise, None);
    c.softirq_exit(3);
    c.raise(&at(70, 0), 3);
    c.softirq_entry(&at(80, SOFT), 3);
    assert_eq!(c.run.unwrap().raise.unwrap().ts, 70);
}

#[test]
fn cpus_and_vectors_out_of_range_are_harmless() {
    let mut cpus = Cpus::default();
    cpus.at(700).raise(&at(1, 0), u32::MAX);
    cpus.at(700).softirq_entry(&at(2, SOFT), u32::MAX);
    assert_eq!(cpus.at(700).run.unwrap().raise, None);
    for k in 0..100 {
        cpus.at(3).irq_entry(&at(k, HARD), b"x");
    }
    assert_eq!(cpus.at(3).softirq_exit(3), None);
}
