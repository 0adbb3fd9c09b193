//! The plant of flights: a UDP socket that refuses, and whether a bundle has every refusal.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use netmortem_formats::Capture;
use netmortem_formats::bundle::Flight;
use rustix::net::sockopt::set_socket_recv_buffer_size;

use super::flight::mono;
use super::harness::refused_by;
use super::reading::each_record;

/// A UDP socket that was sent more than it holds.
#[derive(Debug, Clone, Copy)]
pub struct Overflow {
    /// Before the first datagram, CLOCK_MONOTONIC ns.
    pub from: i64,
    /// After the kernel has counted the last.
    pub to: i64,
    /// What the socket refused, by its own count.
    pub refused: u64,
}

/// Overflows a UDP socket, and waits until each datagram is in it or refused.
pub fn overflow() -> Overflow {
    const SENT: u64 = 2000;
    let to = UdpSocket::bind("127.0.0.1:0").unwrap();
    // Whatever this host gives by default (net.core.rmem_default).
    set_socket_recv_buffer_size(&to, 64 << 10).unwrap();
    let from = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = mono();
    for _ in 0..SENT {
        from.send_to(&[7; 500], to.local_addr().unwrap()).unwrap();
    }
    to.set_nonblocking(true).unwrap();
    let (mut read, mut refused, mut moved) = (0, 0, Instant::now());
    // A full backlog may have dropped some before: then nothing more comes.
    while read + refused < SENT && moved.elapsed() < Duration::from_secs(3) {
        let before = read + refused;
        while to.recv(&mut [0; 500]).is_ok() {
            read += 1;
        }
        refused = refused_by(&to);
        if read + refused > before {
            moved = Instant::now();
        }
    }
    assert!(refused >= 500, "the socket held {read} and refused {refused}");
    Overflow {
        from: at,
        to: mono(),
        refused,
    }
}

impl Overflow {
    /// Whether all of it lies in the window of a flight.
    pub fn is_in(&self, f: &Flight) -> bool {
        let end = f.trigger.clock.monotonic_ns + i64::try_from(f.after_ns).unwrap();
        f.window_start_ns <= self.from && self.to <= end
    }

    /// Asserts that every refusal is in a bundle.
    pub fn assert_recorded(&self, c: &Capture) {
        let format = c.event_formats.iter().find(|e| e.name == "kfree_skb").unwrap();
        let mut dropped = 0u64;
        each_record(c, |ts, p| {
            let at = i64::try_from(ts).unwrap();
            let mine = c.endian.u16(p, 0) == Some(format.id) && (self.from..=self.to).contains(&at);
            dropped += u64::from(mine);
        });
        // Others may drop, too.
        assert!(dropped >= self.refused, "{dropped} {self:?}");
    }
}
