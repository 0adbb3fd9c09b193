//! The traffic: each scene is played at a pace that does not depend on how fast the answers are, so that a planted wait does not
//! change the load.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::Duration;

use rustix::net::{SendFlags, send};

use crate::actors::{Place, burn, join, readable, spawn, tcp_pair};
use crate::net::{Netns, veth};
use crate::sys::now_ns;

/// Two namespaces, `va` 10.99.1.1 and `vb` 10.99.1.2.
pub struct Two {
    /// Senders.
    pub a: Netns,
    /// Readers.
    pub b: Netns,
}

impl Two {
    /// Makes them.
    pub fn new() -> anyhow::Result<Two> {
        let (a, b) = (Netns::new("a")?, Netns::new("b")?);
        veth((&a, "va", "10.99.1.1/24"), (&b, "vb", "10.99.1.2/24"))?;
        Ok(Two { a, b })
    }
    /// A TCP connection from a to b.
    pub fn connect(&self, port: u16) -> anyhow::Result<(TcpStream, TcpStream)> {
        tcp_pair(&self.a, &self.b, std::net::SocketAddr::from(([10, 99, 1, 2], port)))
    }
}

/// Sleeps until a moment, not for a time: a late wake-up does not shift those after it.
fn until(ns: i64) {
    let left = ns - now_ns();
    if let Ok(left @ 1..) = u64::try_from(left) {
        std::thread::sleep(Duration::from_nanos(left));
    }
}

/// Requests of 1,200 bytes every 600 us, each answered with 200 bytes; the server computes `late` before it reads.
pub fn rpc(two: &Two, count: usize, late: Duration) -> anyhow::Result<()> {
    let (client, server) = two.connect(7100)?;
    std::thread::scope(|s| {
        let serving = spawn(s, "lab-server", &two.b, Place::ahead(1), || {
            let mut buffer = [0u8; 1_200];
            for _ in 0..count {
                readable(&server)?;
                if !late.is_zero() {
                    burn(late);
                }
                (&server).read_exact(&mut buffer)?;
                (&server).write_all(&[2; 200])?;
            }
            Ok(())
        })?;
        let asking = spawn(s, "lab-client", &two.a, Place::ahead(0), || {
            let mut answer = [0u8; 200];
            let start = now_ns();
            for n in 0..count as i64 {
                until(start + n * 600_000);
                (&client).write_all(&[1; 1_200])?;
                (&client).read_exact(&mut answer)?;
            }
            Ok(())
        })?;
        join(asking)?;
        join(serving)
    })
}

/// Bursts of four datagrams of 1,000 bytes every 2 ms.
pub fn datagrams(two: &Two, bursts: usize) -> anyhow::Result<()> {
    let reader = two.b.inside(|| Ok(UdpSocket::bind("10.99.1.2:7101")?))?;
    reader.set_read_timeout(Some(Duration::from_millis(500)))?;
    std::thread::scope(|s| {
        let reading = spawn(s, "lab-reader", &two.b, Place::ahead(1), || {
            let mut buffer = [0u8; 2_000];
            // Ends half a second after the last datagram.
            while reader.recv(&mut buffer).is_ok() {}
            Ok(())
        })?;
        let sending = spawn(s, "lab-sender", &two.a, Place::ahead(0), || {
            let socket = UdpSocket::bind("10.99.1.1:0")?;
            let start = now_ns();
            for n in 0..bursts as i64 {
                until(start + n * 2_000_000);
                for _ in 0..4 {
                    socket.send_to(&[3; 1_000], "10.99.1.2:7101")?;
                }
            }
            Ok(())
        })?;
        join(sending)?;
        join(reading)
    })
}

/// `count` messages of `bytes` every `every` over one TCP connection, one way.
pub fn stream(two: &Two, count: usize, bytes: usize, every: Duration) -> anyhow::Result<()> {
    let (client, server) = two.connect(7102)?;
    flow(two, &client, &server, (count, bytes, every), SendFlags::empty())
}

/// `count` full segments, one every millisecond, without PSH: GRO may hold each.
pub fn unpushed(two: &Two, client: &TcpStream, server: &TcpStream, count: usize) -> anyhow::Result<()> {
    flow(
        two,
        client,
        server,
        (count, 1_448, Duration::from_millis(1)),
        SendFlags::MORE,
    )
}

fn flow(
    two: &Two,
    client: &TcpStream,
    server: &TcpStream,
    (count, bytes, every): (usize, usize, Duration),
    flags: SendFlags,
) -> anyhow::Result<()> {
    std::thread::scope(|s| {
        let reading = spawn(s, "lab-reader", &two.b, Place::ahead(1), || {
            let (mut buffer, mut left) = (vec![0u8; 1 << 16], count * bytes);
            let mut server = server;
            while left > 0 {
                let n = server.read(&mut buffer)?;
                anyhow::ensure!(n > 0, "the stream ended early");
                left -= n;
            }
            Ok(())
        })?;
        let sending = spawn(s, "lab-sender", &two.a, Place::ahead(0), || {
            let (message, start) = (vec![4u8; bytes], now_ns());
            for n in 0..count as i64 {
                until(start + n * every.as_nanos() as i64);
                let mut at = 0;
                while let Some(rest) = message.get(at..).filter(|r| !r.is_empty()) {
                    at += send(client, rest, flags)?;
                }
            }
            Ok(())
        })?;
        join(sending)?;
        join(reading)
    })
}
