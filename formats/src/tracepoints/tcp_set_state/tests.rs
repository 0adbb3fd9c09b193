//! Binding and reading on a text written by hand after the 4.15 declaration: none of the recorded kernels has the event.

use std::marker::PhantomData;

use super::TcpSetState;
use crate::tracepoints::testing::{A4, A6, B4, B6, only_on, payload, reads_text, written};

const PAYLOAD: &str = "
000010012a000000 common
000605048188ffff skaddr
01000000 oldstate
08000000 newstate
5114 sport
409c dport
0a000001 saddr
0a000002 daddr
00000000000000000000ffff0a000001 saddr_v6
00000000000000000000ffff0a000002 daddr_v6
";

#[test]
fn reads_the_layout_of_4_15() {
    only_on::<TcpSetState>(&[]);
    let fields = [
        "const void * skaddr 8 8 0",
        "int oldstate 16 4 1",
        "int newstate 20 4 1",
        "__u16 sport 24 2 0",
        "__u16 dport 26 2 0",
        "__u8 saddr[4] 28 4 0",
        "__u8 daddr[4] 32 4 0",
        "__u8 saddr_v6[16] 36 16 0",
        "__u8 daddr_v6[16] 52 16 0",
    ];
    let bytes = payload(PAYLOAD);
    let event = TcpSetState {
        skaddr: 0xffff_8881_0405_0600,
        oldstate: 1,
        newstate: 8,
        sport: 5201,
        dport: 40_000,
        saddr: &A4,
        daddr: &B4,
        saddr_v6: &A6,
        daddr_v6: &B6,
        payload: PhantomData,
    };
    reads_text::<TcpSetState>(&written("tcp_set_state", &fields), &bytes, 68, &event);
}
