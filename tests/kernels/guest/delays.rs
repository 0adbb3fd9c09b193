//! Flights that wait for delays which the kernel measures itself, each with its plant.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, ensure};

use super::play::{TRACING, record};
use super::traffic::loopback;

const BUDGET: &str = "/proc/sys/net/core/netdev_budget";

/// Everything about delays.
pub fn delays(dir: &Path) -> anyhow::Result<()> {
    // Kernels before 4.17 keep no times in histograms, and some are built without any.
    if !std::fs::read_to_string(format!("{TRACING}/README"))?.contains("onmax(") {
        let words = [
            "--profile",
            "drops",
            "--flight",
            "--on",
            "softirq-delay=1ms",
            "-d",
            "1s",
        ];
        let refused = record(dir, "softirq.nmb", &words).output()?;
        ensure!(
            !refused.status.success(),
            "a delay that cannot be measured was not refused"
        );
        return Ok(std::fs::write(dir.join("softirq.said"), refused.stderr)?);
    }
    softirq(dir)?;
    late_reads(dir)?;
    killed(dir)
}

/// Where the recorder of a child sets the last of its triggers.
fn trigger(child: &Child, event: &str) -> String {
    let pid = child.id();
    format!("{TRACING}/instances/netmortem-{pid}-1/events/{event}/trigger")
}

/// Waits until a child has set it. How long that takes is the machine's affair, which ends the guest when it is too long.
fn armed(child: &mut Child, event: &str, variable: &str) -> anyhow::Result<()> {
    let path = trigger(child, event);
    while !std::fs::read_to_string(&path).is_ok_and(|t| t.contains(variable)) {
        ensure!(child.try_wait()?.is_none(), "no trigger was set");
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Waits for a late receive softirq. Every one ends with work left, so that ksoftirqd has to take over, and a thread of the
/// first rank takes the CPU away from it for 4 ms at a time.
fn softirq(dir: &Path) -> anyhow::Result<()> {
    let budget = std::fs::read_to_string(BUDGET)?;
    let words =
        "--profile rx -b 32M --flight --on softirq-delay=1ms --max-bundles 1 --before 30s --after 100ms -d 100s";
    let words: Vec<&str> = words.split(' ').collect();
    let me = std::env::current_exe()?;
    let mut flight = record(dir, "softirq.nmb", &words).spawn()?;
    armed(&mut flight, "irq/softirq_entry", "nm_waited")?;
    std::fs::write(BUDGET, "1")?;
    let mut burner = Command::new("chrt")
        .args(["-f", "50", "taskset", "2"])
        .args([me.as_os_str(), "burn".as_ref()])
        .stderr(Stdio::null())
        .spawn()?;
    while flight.try_wait()?.is_none() {
        let mut c = Command::new("taskset");
        let done = c.args(["2".as_ref(), me.as_os_str(), "loopback".as_ref()]).status()?;
        ensure!(done.success(), "loopback: {done}");
    }
    burner.kill()?;
    burner.wait()?;
    std::fs::write(BUDGET, budget)?;
    ensure!(dir.join("softirq-000001.nmb").exists(), "no late softirq was seen");
    Ok(())
}

/// Takes its CPU half of the time.
pub fn burn() {
    loop {
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(4) {
            std::hint::spin_loop();
        }
        std::thread::sleep(Duration::from_millis(4));
    }
}

/// Some traffic.
pub fn some() -> anyhow::Result<()> {
    loopback(Duration::from_millis(500))
}

/// Waits for late reads: of the first data of a connection, then of later data. Writes `late-reads`: phase and the shortest and
/// longest that each planted wait can have been, us.
fn late_reads(dir: &Path) -> anyhow::Result<()> {
    let words = "--profile drops --flight --on read-wait=200ms --max-bundles 2 --every 0s --after 100ms -d 100s";
    let words: Vec<&str> = words.split(' ').collect();
    if !Path::new(TRACING).join("events/sock/sock_recv_length").exists() {
        let refused = record(dir, "read.nmb", &words).output()?;
        ensure!(!refused.status.success(), "a delay without its events was not refused");
        return Ok(std::fs::write(dir.join("read.said"), refused.stderr)?);
    }
    let mut flight = record(dir, "read.nmb", &words).spawn()?;
    let mut truth = format!("pid {}\n", std::process::id());
    let over = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&over);
    let prompt = std::thread::spawn(move || prompt_reads(&seen));
    for phase in [1, 2] {
        // From before it is armed on: what passes in the middle of that is measured right or not at all.
        let written = dir.join(format!("read-00000{phase}.nmb"));
        while !written.exists() && flight.try_wait()?.is_none() {
            let (low, high) = late_read(phase == 2)?;
            truth += &format!("{phase} {low} {high}\n");
        }
        ensure!(written.exists(), "no late read was seen");
    }
    over.store(true, Ordering::Relaxed);
    truth += &prompt.join().map_err(|_| anyhow!("prompt reads"))??;
    let done = flight.wait()?;
    ensure!(done.success(), "waiting for late reads: {done}");
    Ok(std::fs::write(dir.join("late-reads"), truth)?)
}

/// Connections whose first data is read at once, and their second data, which comes later, too: nobody waits long on them, also on
/// those that began while the kernel's triggers were set. Returns, as [`late_reads`] writes them, those waits that were long all the same.
fn prompt_reads(over: &AtomicBool) -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut idle = VecDeque::new();
    let mut truth = String::new();
    let mut byte = [0];
    let mut one = |(client, server): &mut (TcpStream, TcpStream)| -> anyhow::Result<()> {
        let sent = Instant::now();
        client.write_all(&[1])?;
        server.read_exact(&mut byte)?;
        let took = sent.elapsed();
        if took > Duration::from_millis(100) {
            truth += &format!("1 0 {}\n", took.as_micros());
        }
        Ok(())
    };
    while !over.load(Ordering::Relaxed) {
        let client = TcpStream::connect(listener.local_addr()?)?;
        let mut pair = (client, listener.accept()?.0);
        one(&mut pair)?;
        idle.push_back((Instant::now(), pair));
        while idle
            .front()
            .is_some_and(|(since, _)| since.elapsed() > Duration::from_millis(400))
        {
            let (_, mut pair) = idle.pop_front().context("it was there")?;
            one(&mut pair)?;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(truth)
}

/// A connection whose data waits for its reader for 300 ms; or the second data of one, after the first was read at once.
/// Returns how long it waited at least and at most, us.
fn late_read(second: bool) -> anyhow::Result<(u128, u128)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut client = TcpStream::connect(listener.local_addr()?)?;
    let (mut server, _) = listener.accept()?;
    let mut byte = [0];
    if second {
        client.write_all(&[1])?;
        server.read_exact(&mut byte)?;
    }
    let sent = Instant::now();
    client.write_all(&[2])?;
    // A look is no read.
    server.peek(&mut byte)?;
    let ready = Instant::now();
    std::thread::sleep(Duration::from_millis(300));
    let low = ready.elapsed();
    server.read_exact(&mut byte)?;
    Ok((low.as_micros(), sent.elapsed().as_micros()))
}

/// A flight that is killed leaves triggers that keep its instance busy: the next recorder removes both.
fn killed(dir: &Path) -> anyhow::Result<()> {
    let words = ["--profile", "drops", "--flight", "--on", "softirq-delay=1h"];
    let mut child = record(dir, "delay.nmb", &words).stderr(Stdio::null()).spawn()?;
    let trigger = trigger(&child, "irq/softirq_entry");
    armed(&mut child, "irq/softirq_entry", "onmax")?;
    child.kill()?;
    child.wait()?;
    let next = record(dir, "after-delay.nmb", &["-d", "200ms"]).output()?;
    ensure!(next.status.success(), "{}", String::from_utf8_lossy(&next.stderr));
    let left = Path::new(&trigger).exists();
    ensure!(!left, "the instance of a killed flight stays");
    Ok(())
}
