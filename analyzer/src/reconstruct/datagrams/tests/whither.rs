//! Where datagrams go to, by look-ups of routes. The order of events is that of 6.18: `sendto` not connected, connected, over vxlan.

use super::*;
use crate::testing::B;

impl Asker {
    fn looked_up(&mut self, t: u64, ctx: Ctx, to: [u8; 4], ports: [u64; 2]) {
        let v = [
            ("proto", N(17)),
            ("dst", B(to.to_vec())),
            ("sport", N(ports[0])),
            ("dport", N(ports[1])),
        ];
        self.0.ev(T + t, 0, ctx, "fib:fib_table_lookup", &v);
    }
    fn sends(&mut self, t: u64, sk: u64, between: impl Fn(&mut Asker)) {
        self.0.ev(T + t, 0, TASK, "syscalls:sys_enter_sendto", &[("fd", N(5))]);
        between(self);
        let sent = Self::socket(sk, 30);
        self.0.ev(T + t + 90, 0, TASK, "sock:sock_send_length", &sent);
        let ret = [("ret", N(30))];
        self.0.ev(T + t + 91, 0, TASK, "syscalls:sys_exit_sendto", &ret);
    }
    fn connects(&mut self, t: u64, fd: u64, to: [u8; 4], ports: [u64; 2]) {
        self.0
            .ev(T + t, 0, TASK, "syscalls:sys_enter_connect", &[("fd", N(fd))]);
        self.looked_up(t + 1, TASK, to, ports);
        self.0.ev(T + t + 9, 0, TASK, "syscalls:sys_exit_connect", &[]);
    }
}

/// Destination of each turn; peer of each socket.
fn told(f: &Facts) -> (Vec<String>, Vec<String>) {
    let turns = f.udp_turns.iter();
    let turns = turns.map(|t| t.to.map_or_else(String::new, |to| to.to_string()));
    (
        turns.collect(),
        f.udp_sockets.iter().map(|s| s.remote.clone()).collect(),
    )
}

const A: [u8; 4] = [10, 9, 0, 53];
const B53: [u8; 4] = [10, 9, 0, 54];

#[test]
fn each_send_of_a_socket_that_is_not_connected_has_its_own() {
    for (second, remote) in [(A, "10.9.0.53:53"), (B53, "")] {
        let mut a = Asker::new();
        a.sends(0, ONE, |a| a.looked_up(1, TASK, A, [4000, 53]));
        a.poll(200, 1000 * MS, 1, 0);
        let t = 1001 * MS;
        a.sends(t, ONE, |a| a.looked_up(t + 1, TASK, second, [4000, 53]));
        let [x, y, z, w] = second;
        let turns = vec!["10.9.0.53:53".to_owned(), format!("{x}.{y}.{z}.{w}:53")];
        assert_eq!(told(&a.facts()), (turns, vec![remote.to_owned()]));
    }
}

#[test]
fn a_run_of_sends_to_two_addresses_has_none() {
    let mut a = Asker::new();
    a.sends(0, ONE, |a| a.looked_up(1, TASK, A, [4000, 53]));
    a.sends(100, ONE, |a| a.looked_up(101, TASK, B53, [4000, 53]));
    assert_eq!(told(&a.facts()), (vec![String::new()], vec![String::new()]));
    // Nor one of which a send says nothing.
    let mut a = Asker::new();
    a.sends(0, ONE, |a| a.looked_up(1, TASK, A, [4000, 53]));
    a.sends(100, ONE, |_| {});
    assert_eq!(told(&a.facts()), (vec![String::new()], vec![String::new()]));
}

#[test]
fn what_a_connected_socket_sends_goes_where_it_was_connected() {
    let mut a = Asker::new();
    a.connects(0, 5, A, [4000, 53]);
    a.sends(100, ONE, |_| {});
    // With an address of its own it goes there; a look-up from another port is a tunnel's, unless it came before the packet: then the descriptor is another socket's.
    a.poll(300, 1000 * MS, 1, 0);
    let t = 1001 * MS;
    a.sends(t, ONE, |a| a.looked_up(t + 1, TASK, B53, [4000, 53]));
    a.poll(t + 300, 2000 * MS, 1, 0);
    let t = 2001 * MS;
    a.sends(t, ONE, |a| a.looked_up(t + 1, TASK, [192, 0, 2, 9], [50_123, 4789]));
    a.poll(t + 300, 3000 * MS, 1, 0);
    let t = 3001 * MS;
    a.sends(t, ONE, |a| {
        a.looked_up(t + 1, TASK, [10, 9, 0, 55], [50_123, 53]);
        let v = [
            ("skbaddr", N(0xffff_8881_0000_0000)),
            ("len", N(72)),
            ("name", S("vx0")),
        ];
        a.0.ev(T + t + 10, 0, TASK, "net:net_dev_queue", &v);
        a.0.ev(T + t + 11, 0, TASK, "net:net_dev_start_xmit", &v);
    });
    let turns = ["10.9.0.53:53", "10.9.0.54:53", "10.9.0.53:53", "10.9.0.55:53"].map(str::to_owned);
    assert_eq!(told(&a.facts()), (turns.to_vec(), vec![String::new()]));
    // The descriptor of another socket.
    let mut a = Asker::new();
    a.connects(0, 5, A, [4000, 53]);
    a.sends(100, ONE, |_| {});
    a.close(300, 5);
    a.sends(400, TWO, |_| {});
    let sockets = vec!["10.9.0.53:53".to_owned(), String::new()];
    assert_eq!(told(&a.facts()).1, sockets);
}

#[test]
fn look_ups_of_others_are_not_the_datagram_s() {
    // In a softirq inside of the call: an answer by ICMP.
    let mut a = Asker::new();
    a.sends(0, ONE, |a| a.looked_up(50, SOFT, A, [53, 4000]));
    assert_eq!(told(&a.facts()).0, [""]);
    // Behind the packet's own way to a device: a tunnel's.
    for (queued, turn) in [(true, ""), (false, "192.0.2.9:4789")] {
        let mut a = Asker::new();
        a.sends(0, ONE, |a| {
            if queued {
                let v = [
                    ("skbaddr", N(0xffff_8881_0000_0000)),
                    ("len", N(72)),
                    ("name", S("vx0")),
                ];
                a.0.ev(T + 10, 0, TASK, "net:net_dev_queue", &v);
                a.0.ev(T + 11, 0, TASK, "net:net_dev_start_xmit", &v);
            }
            a.looked_up(20, TASK, [192, 0, 2, 9], [50_123, 4789]);
        });
        assert_eq!(told(&a.facts()).0, [turn]);
    }
    // TCP's, and those of no port.
    let mut a = Asker::new();
    a.sends(0, ONE, |a| {
        let v = [("proto", N(6)), ("dst", B(A.to_vec())), ("dport", N(80))];
        a.0.ev(T + 1, 0, TASK, "fib:fib_table_lookup", &v);
        a.looked_up(2, TASK, A, [4000, 0]);
    });
    assert_eq!(told(&a.facts()).0, [""]);
}

#[test]
fn by_ipv6_too() {
    let mut a = Asker::new();
    a.sends(0, ONE, |a| {
        let to = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x53];
        let v = [
            ("proto", N(17)),
            ("dst", B(to.to_vec())),
            ("sport", N(4000)),
            ("dport", N(53)),
        ];
        a.0.ev(T + 1, 0, TASK, "fib6:fib6_table_lookup", &v);
    });
    assert_eq!(told(&a.facts()).0, ["[fd00::53]:53"]);
}

/// Whom a server answers is not whom its socket belongs to.
#[test]
fn a_server_has_no_peer() {
    let mut a = Asker::new();
    a.arrives(0, ONE);
    a.sends(100, ONE, |a| a.looked_up(101, TASK, A, [53, 4000]));
    let (turns, sockets) = told(&a.facts());
    assert_eq!((turns, sockets), (vec!["10.9.0.53:4000".into()], vec![String::new()]));
}
