//! Traffic of known size between two namespaces.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::thread::{CpuSet, LinkNameSpaceType, move_into_link_name_space, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

/// Of the server's end of the link.
pub const SERVER: &str = "10.96.1.2";
/// Nobody listens there.
const CLOSED: u16 = 9;
const CONNECTIONS: u64 = 6;
const BYTES_EACH: u64 = 60_000;
const TO_CLOSED_PORT: u32 = 25;
const TO_FULL_SOCKET: u32 = 2000;

/// This thread goes into a namespace by name.
fn enter(name: &str) -> anyhow::Result<()> {
    use std::os::fd::AsFd;
    let path = format!("/run/netns/{name}");
    let file = File::open(&path).context(path)?;
    Ok(move_into_link_name_space(
        file.as_fd(),
        Some(LinkNameSpaceType::Network),
    )?)
}

/// The counters of this thread's namespace, into `DIR/WHO.WHEN`.
fn counters(dir: &Path, who: &str, when: &str) -> anyhow::Result<()> {
    let mut text = String::new();
    for file in ["snmp", "netstat"] {
        text += &std::fs::read_to_string(format!("/proc/thread-self/net/{file}"))?;
    }
    Ok(std::fs::write(dir.join(format!("{who}.{when}")), text)?)
}

/// Sends, and writes what was sent as `name value` lines. The counters `first` and `last` are of a time that is recorded from
/// end to end, those `before` and `after` (`play.rs`) of one that has the whole recording in it.
pub fn traffic(client: &str, server: &str, dir: &Path) -> anyhow::Result<()> {
    let from = mono();
    let (ready, is_ready) = mpsc::channel();
    std::thread::scope(|s| {
        let served = s.spawn(move || -> anyhow::Result<u64> {
            enter(server)?;
            counters(dir, "server", "first")?;
            // Refused by a full socket: nobody reads it.
            let full = UdpSocket::bind("127.0.0.1:0")?;
            let from = UdpSocket::bind("127.0.0.1:0")?;
            for _ in 0..TO_FULL_SOCKET {
                from.send_to(&[7; 500], full.local_addr()?)?;
            }
            let listener = TcpListener::bind((SERVER, 0))?;
            ready.send(listener.local_addr()?.port())?;
            let mut read = 0;
            for _ in 0..CONNECTIONS {
                let (mut stream, _) = listener.accept()?;
                let mut got = Vec::new();
                read += stream.read_to_end(&mut got)? as u64;
                stream.write_all(&[1])?;
            }
            counters(dir, "server", "last")?;
            Ok(read)
        });
        enter(client)?;
        counters(dir, "client", "first")?;
        let port = is_ready.recv().context("the server did not start")?;
        let udp = UdpSocket::bind("0.0.0.0:0")?;
        for _ in 0..TO_CLOSED_PORT {
            // The answer to an earlier one may be reported here.
            while udp.send_to(&[7; 100], (SERVER, CLOSED)).is_err() {}
            std::thread::sleep(Duration::from_millis(3));
        }
        for _ in 0..CONNECTIONS {
            let mut stream = TcpStream::connect((SERVER, port))?;
            stream.write_all(&vec![7; BYTES_EACH as usize])?;
            stream.shutdown(std::net::Shutdown::Write)?;
            anyhow::ensure!(stream.read(&mut [0])? == 1, "no answer");
        }
        counters(dir, "client", "last")?;
        let read = served.join().map_err(|_| anyhow::anyhow!("the server died"))??;
        anyhow::ensure!(read == CONNECTIONS * BYTES_EACH, "{read} bytes read");
        let to = mono();
        let truth = format!(
            "port {port}\nconnections {CONNECTIONS}\nbytes_read {read}\nto_closed_port {TO_CLOSED_PORT}\nfrom {from}\nto {to}\n"
        );
        Ok(std::fs::write(dir.join("truth"), truth)?)
    })
}

/// CLOCK_MONOTONIC, ns.
fn mono() -> i64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec * 1_000_000_000 + t.tv_nsec
}

/// Sends over loopback for so long.
pub fn loopback(time: Duration) -> anyhow::Result<()> {
    let started = Instant::now();
    while started.elapsed() < time {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let mut client = TcpStream::connect(listener.local_addr()?)?;
        let (mut server, _) = listener.accept()?;
        client.write_all(&[7; 50_000])?;
        drop(client);
        server.read_to_end(&mut Vec::new())?;
    }
    Ok(())
}

/// The same, by a thread that only this CPU runs.
fn loopback_on(cpu: usize, time: Duration) -> anyhow::Result<()> {
    let pinned = std::thread::spawn(move || {
        let mut set = CpuSet::new();
        set.set(cpu);
        sched_setaffinity(None, &set)?;
        loopback(time)
    });
    pinned.join().map_err(|_| anyhow::anyhow!("the sender died"))?
}

/// CPU 1 goes and comes while there is traffic; writes `gone <ns>` and `back <ns>` (CLOCK_MONOTONIC).
pub fn hotplug(dir: &Path) -> anyhow::Result<()> {
    const SWITCH: &str = "/sys/devices/system/cpu/cpu1/online";
    let part = Duration::from_millis(500);
    for cpu in [0, 1] {
        loopback_on(cpu, part)?;
    }
    std::fs::write(SWITCH, "0")?;
    let gone = mono();
    loopback_on(0, part)?;
    let back = mono();
    std::fs::write(SWITCH, "1")?;
    for cpu in [0, 1] {
        loopback_on(cpu, part)?;
    }
    Ok(std::fs::write(
        dir.join("hotplug"),
        format!("gone {gone}\nback {back}\n"),
    )?)
}
