//! Context decoding on the recorded layouts.

use super::{Bound, Common, Context};
use crate::endian::Endian;
use crate::event_format::EventFormat;
use crate::tracepoints::testing::{KERNELS, format, payload, text, without};

fn read(bytes: &str) -> Common {
    let bound = Bound::bind(&format("6.18.44", "irq", "softirq_entry"), Endian::Little).unwrap();
    bound.read(&payload(bytes)).unwrap()
}

#[test]
fn reads_all_kernels_and_both_byte_orders() {
    let expected = Common {
        id: 0x0915,
        flags: Some(0x91),
        preempt_count: Some(0x12),
        pid: Some(1234),
    };
    for release in KERNELS {
        let format = format(release, "net", "net_dev_queue");
        let little = Bound::bind(&format, Endian::Little).unwrap();
        assert_eq!(little.read(&payload("15099112d2040000")), Some(expected));
        assert_eq!(little.read(&payload("15099112d20400")), None);
        let big = Bound::bind(&format, Endian::Big).unwrap();
        assert_eq!(big.read(&payload("09159112000004d2")), Some(expected));
    }
}

#[test]
fn tells_the_innermost_context() {
    for (flags, context) in [
        ("00", Context::Task),
        ("80", Context::Task), // bottom halves off in a task is no softirq
        ("05", Context::Task),
        ("10", Context::SoftIrq),
        ("91", Context::SoftIrq),
        ("08", Context::HardIrq),
        ("19", Context::HardIrq),
        ("59", Context::Nmi),
    ] {
        assert_eq!(
            read(&format!("0000{flags}0000000000")).context(),
            Some(context),
            "{flags}"
        );
    }
}

#[test]
fn tells_each_bit() {
    let common = read("0000d912ffffffff");
    assert_eq!((common.in_hardirq(), common.in_softirq()), (Some(true), Some(true)));
    assert_eq!((common.in_nmi(), common.bh_off()), (Some(true), Some(true)));
    assert_eq!((common.preempt_depth(), common.pid), (Some(2), Some(-1)));
    let common = read("0000260000000000");
    assert_eq!((common.in_hardirq(), common.in_softirq()), (Some(false), Some(false)));
    assert_eq!((common.in_nmi(), common.bh_off()), (Some(false), Some(false)));
}

#[test]
fn says_unknown_when_the_format_has_no_flags() {
    let text = without(&text("6.1.192", "irq", "softirq_entry"), "common_flags");
    let format = EventFormat::parse("irq", text.as_bytes()).unwrap();
    let common = Bound::bind(&format, Endian::Little)
        .unwrap()
        .read(&payload("0000190000000000"))
        .unwrap();
    assert_eq!(
        (common.flags, common.context(), common.in_softirq()),
        (None, None, None)
    );
    let text = without(&text, "common_type");
    assert!(Bound::bind(&EventFormat::parse("irq", text.as_bytes()).unwrap(), Endian::Little).is_none());
}
