//! One view on many calls, on the recorded format texts.

use super::SysExit;
use crate::endian::Endian;
use crate::event_format::EventFormat;
use crate::tracepoints::testing::{KERNELS, format, payload, renamed, text, without};
use crate::tracepoints::{MissingField, Tracepoint};

/// recvfrom that returns -EAGAIN.
const PAYLOAD: &str = "
000000012a000000 common
2d000000 __syscall_nr
eeeeeeee -
f5ffffffffffffff ret
";

#[test]
fn reads_every_call() {
    let bytes = payload(PAYLOAD);
    for release in KERNELS {
        for call in ["recvfrom", "sendto", "read", "write", "sendmsg", "recvmsg"] {
            let format = format(release, "syscalls", &format!("sys_exit_{call}"));
            assert!(SysExit::is_of(&format));
            let bound = SysExit::bind(&format, Endian::Little).unwrap();
            assert_eq!(
                SysExit::read(&bound, &bytes),
                Some(SysExit {
                    __syscall_nr: 45,
                    ret: -11
                })
            );
            assert_eq!(SysExit::read(&bound, &bytes[..23]), None);
        }
    }
}

#[test]
fn binds_the_old_name_and_says_what_is_missing() {
    let text = text("6.1.192", "syscalls", "sys_exit_read");
    let old = EventFormat::parse("syscalls", renamed(&text, "__syscall_nr", "nr").as_bytes()).unwrap();
    let bound = SysExit::bind(&old, Endian::Little).unwrap();
    assert_eq!(SysExit::read(&bound, &payload(PAYLOAD)).unwrap().__syscall_nr, 45);
    let none = EventFormat::parse("syscalls", without(&text, "ret").as_bytes()).unwrap();
    assert_eq!(SysExit::bind(&none, Endian::Little).err(), Some(MissingField("ret")));
}
