//! One view on many calls, on the recorded format texts.

use super::SysEnter;
use crate::endian::Endian;
use crate::event_format::EventFormat;
use crate::tracepoints::testing::{KERNELS, format, payload, renamed, text, without, written};
use crate::tracepoints::{MissingField, Tracepoint};

fn read(format: &EventFormat, bytes: &[u8]) -> Option<SysEnter> {
    SysEnter::read(&SysEnter::bind(format, Endian::Little).unwrap(), bytes)
}

fn words(nr: u32, args: &[u64]) -> Vec<u8> {
    let mut bytes = payload("000000012a000000");
    bytes.extend(nr.to_le_bytes());
    bytes.extend([0xee; 4]);
    bytes.extend(args.iter().flat_map(|a| a.to_le_bytes()));
    bytes
}

#[test]
fn reads_calls_by_the_order_and_names_of_their_fields() {
    let buffer = 0x7ffd_0000_1000;
    for release in KERNELS {
        let sendto = words(44, &[7, buffer, 65_536, 0x4000, 0, 0]);
        let event = read(&format(release, "syscalls", "sys_enter_sendto"), &sendto).unwrap();
        assert_eq!(event.__syscall_nr, 44);
        assert_eq!(
            event.args,
            [Some(7), Some(buffer), Some(65_536), Some(0x4000), Some(0), Some(0)]
        );
        assert_eq!(
            (event.fd, event.len, event.flags),
            (Some(7), Some(65_536), Some(0x4000))
        );

        let write = words(1, &[8, buffer, 100]);
        let event = read(&format(release, "syscalls", "sys_enter_write"), &write).unwrap();
        assert_eq!(event.args, [Some(8), Some(buffer), Some(100), None, None, None]);
        assert_eq!((event.fd, event.len, event.flags), (Some(8), Some(100), None));

        let recvmsg = words(47, &[9, buffer, 0x40]);
        let event = read(&format(release, "syscalls", "sys_enter_recvmsg"), &recvmsg).unwrap();
        assert_eq!((event.fd, event.len, event.flags), (Some(9), None, Some(0x40)));

        let epoll_wait = words(232, &[4, buffer, 64, 0xffff_ffff]);
        let event = read(&format(release, "syscalls", "sys_enter_epoll_wait"), &epoll_wait).unwrap();
        assert_eq!((event.fd, event.len, event.args[3]), (Some(4), None, Some(0xffff_ffff)));
    }
}

#[test]
fn cuts_a_descriptor_to_its_type() {
    let event = read(
        &format("6.1.192", "syscalls", "sys_enter_close"),
        &words(3, &[0xdead_beef_ffff_ffff]),
    )
    .unwrap();
    assert_eq!(event.fd, Some(-1));
}

#[test]
fn needs_every_argument_that_the_format_has() {
    let format = format("6.18.44", "syscalls", "sys_enter_sendto");
    let bytes = words(44, &[1, 2, 3, 4, 5, 6]);
    for cut in 0..bytes.len() {
        assert_eq!(read(&format, &bytes[..cut]), None);
    }
    assert!(read(&format, &bytes).is_some());
}

#[test]
fn reads_the_number_under_its_old_name_and_leaves_copies_out() {
    let text = text("6.1.192", "syscalls", "sys_enter_close");
    let old = EventFormat::parse("syscalls", renamed(&text, "__syscall_nr", "nr").as_bytes()).unwrap();
    let event = read(&old, &words(3, &[5])).unwrap();
    assert_eq!((event.__syscall_nr, event.args[0], event.args[1]), (3, Some(5), None));

    let fields = [
        "int __syscall_nr 8 4 1",
        "int fd 16 8 0",
        "__data_loc char[] __fd_val 24 4 0",
        "int nr 32 8 0",
    ];
    let copied = EventFormat::parse("syscalls", written("sys_enter_x", &fields).as_bytes()).unwrap();
    let event = read(&copied, &words(9, &[5, 6, 7])).unwrap();
    assert_eq!(event.args, [Some(5), Some(7), None, None, None, None]);

    let none = EventFormat::parse("syscalls", without(&text, "__syscall_nr").as_bytes()).unwrap();
    assert_eq!(
        SysEnter::bind(&none, Endian::Little).err(),
        Some(MissingField("__syscall_nr"))
    );
}

#[test]
fn knows_its_events() {
    assert!(SysEnter::is_of(&format("6.1.192", "syscalls", "sys_enter_read")));
    assert!(!SysEnter::is_of(&format("6.1.192", "syscalls", "sys_exit_read")));
    assert!(!SysEnter::is_of(&format("6.1.192", "raw_syscalls", "sys_enter")));
}
