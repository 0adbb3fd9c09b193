//! The order of things under one kernel.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::traffic::SERVER;

/// The mount.
pub const TRACING: &str = "/sys/kernel/tracing";

/// Plays all; every file that it leaves in `dir` is read by `matrix.rs`.
pub fn play(dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir)?;
    let link = Link::new()?;
    std::fs::write(dir.join("before.state"), state())?;
    recorded(&link, dir)?;
    by_both(&link, &dir.join("both"))?;
    killed(dir)?;
    if std::env::var_os("NETMORTEM_GUEST_HOTPLUG").is_some() && std::fs::exists("/sys/devices/system/cpu/cpu1/online")?
    {
        let me = std::env::current_exe()?;
        let words = [me.as_os_str(), "hotplug".as_ref(), dir.as_os_str()];
        let done = record(dir, "hotplug.nmb", &["-b", "16M", "--"]).args(words).status()?;
        ensure!(done.success(), "recording while a CPU goes: {done}");
    }
    if std::env::var_os("NETMORTEM_GUEST_HOTPLUG").is_some() {
        squeezed(dir)?;
        super::delays::delays(dir)?;
        super::limits::limits(dir)?;
    }
    // Others of this machine may use the global trace, or change a setting, for a moment.
    let (before, started) = (std::fs::read_to_string(dir.join("before.state"))?, Instant::now());
    while state() != before && started.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(std::fs::write(dir.join("after.state"), state())?)
}

/// A flight that waits for a time squeeze, and a budget so small that every receive softirq ends with work left.
fn squeezed(dir: &Path) -> anyhow::Result<()> {
    const BUDGET: &str = "/proc/sys/net/core/netdev_budget";
    let budget = std::fs::read_to_string(BUDGET)?;
    let flight = [
        "--profile",
        "drops",
        "--flight",
        "--on",
        "time-squeeze",
        "--max-bundles",
        "1",
        "--after",
        "100ms",
        "-d",
        "60s",
    ];
    let mut child = record(dir, "squeeze.nmb", &flight).spawn()?;
    let started = Instant::now();
    let written = dir.join("squeeze-000001.nmb");
    std::fs::write(BUDGET, "1")?;
    while child.try_wait()?.is_none() && !written.exists() && started.elapsed() < Duration::from_secs(60) {
        super::traffic::loopback(Duration::from_millis(200))?;
    }
    std::fs::write(BUDGET, budget)?;
    // It ends by itself, when its bundle is complete or its time is over.
    let status = child.wait()?;
    ensure!(
        status.success() && written.exists(),
        "no time squeeze was seen: {status}"
    );
    Ok(())
}

/// A recorder of ours, as a program of its own.
pub fn record(dir: &Path, name: &str, args: &[&str]) -> Command {
    // Where it cannot be told what this program is, starting it says so.
    let mut c = Command::new(std::env::current_exe().unwrap_or_default());
    c.arg("record").arg("-o").arg(dir.join(name)).args(args);
    c
}

/// Traffic of known size, and the kernel's counters around it.
fn recorded(link: &Link, dir: &Path) -> anyhow::Result<()> {
    let counters = |when: &str| -> anyhow::Result<()> {
        for (ns, who) in link.0.iter().zip(["client", "server"]) {
            let cat = ["cat", "/proc/net/snmp", "/proc/net/netstat"];
            let out = Command::new("ip").args(["netns", "exec", ns]).args(cat).output()?;
            ensure!(
                out.status.success(),
                "counters of {ns}: {}",
                String::from_utf8_lossy(&out.stderr)
            );
            std::fs::write(dir.join(format!("{who}.{when}")), out.stdout)?;
        }
        Ok(())
    };
    let me = std::env::current_exe()?;
    let [client, server, _] = &link.0;
    // A machine that is too slow for the short queue, or the socket, to overflow has planted nothing.
    for _ in 0..5 {
        counters("before")?;
        let mut recorder = record(dir, "traffic.nmb", &["-b", "32M", "--extra", "kprobes", "--"]);
        recorder.arg(&me).args(["traffic", client, server]).arg(dir);
        let done = recorder.status()?;
        ensure!(
            done.success() && dir.join("truth").exists(),
            "recording traffic: {done}"
        );
        counters("after")?;
        let grown = |who, name| super::counters::growth(dir, who, name, ["before", "after"]);
        let again = grown("client", "TcpRetransSegs")? + grown("server", "TcpRetransSegs")?;
        if again > 0 && grown("server", "UdpRcvbufErrors")? > 500 {
            return Ok(());
        }
    }
    anyhow::bail!("five times nothing was dropped")
}

/// The same traffic, recorded by both backends at the same time; where perf is refused, `refused` says so.
fn by_both(link: &Link, dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir)?;
    let me = std::env::current_exe()?;
    let [client, server, _] = &link.0;
    // Emulated machines are slow and small: the defaults would end a recording there, or shrink its buffers.
    let limits = ["-b", "32M", "--max-cpu", "10000", "--max-buffers", "1G"];
    let mut outer = record(dir, "ftrace.nmb", &limits);
    let (inner, file) = (["record", "--backend", "perf"], dir.join("perf.nmb"));
    outer.arg("--").arg(&me).args(inner).args(limits).arg("-o").arg(&file);
    outer.arg("--").arg(&me).args(["traffic", client, server]).arg(dir);
    let done = outer.output()?;
    let said = String::from_utf8_lossy(&done.stderr);
    if said.contains("perf_event_open") && !file.exists() {
        return Ok(std::fs::write(dir.join("refused"), said.as_bytes())?);
    }
    ensure!(
        done.status.success() && dir.join("truth").exists(),
        "recording by both: {}: {said}",
        done.status
    );
    Ok(())
}

/// A recorder is killed while it writes; what the next one says.
fn killed(dir: &Path) -> anyhow::Result<()> {
    let path = dir.join("killed.nmb");
    let mut child = record(dir, "killed.nmb", &["--extra", "kprobes"])
        .stderr(Stdio::null())
        .spawn()?;
    let name = format!("netmortem-{}-0", child.id());
    let written = || {
        netmortem_formats::open_path(&path)
            .is_ok_and(|c| c.is_ok_and(|c| c.streams.iter().any(|s| !s.chunks.is_empty())))
    };
    until(&mut child, "no events are written", written)?;
    child.kill()?;
    child.wait()?;
    std::fs::write(dir.join("killed.name"), name)?;
    let next = record(dir, "next.nmb", &["-d", "200ms"]).output()?;
    ensure!(next.status.success(), "{}", String::from_utf8_lossy(&next.stderr));
    Ok(std::fs::write(dir.join("next.said"), next.stderr)?)
}

fn until(child: &mut Child, what: &str, mut done: impl FnMut() -> bool) -> anyhow::Result<()> {
    let started = Instant::now();
    while !done() {
        if started.elapsed() > Duration::from_secs(40) || child.try_wait()?.is_some() {
            child.kill()?;
            anyhow::bail!("{what}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// What of tracing and of the network's settings a recording must leave as it was.
fn state() -> String {
    let mut out = String::new();
    for file in [
        "set_event",
        "trace_clock",
        "tracing_on",
        "buffer_size_kb",
        "buffer_percent",
        "tracing_cpumask",
        "current_tracer",
        "trace_options",
        "kprobe_events",
        "uprobe_events",
        "events/enable",
    ] {
        let text = std::fs::read_to_string(Path::new(TRACING).join(file));
        let text = text.unwrap_or_else(|e| e.to_string());
        // Of other recorders, which may be at work: `p:netmortem_<pid>/name ...`.
        let of_others = |l: &&str| l.split_once(":netmortem_").is_some_and(|(_, l)| lives(l));
        // 6.1 forgets after the first instance since boot that the global buffer is to grow when it is used.
        let plain = |l| str::split(l, " (expanded:").next().unwrap_or_default();
        let kept: Vec<&str> = text.lines().filter(|l| !of_others(l)).map(plain).collect();
        out += &format!("{file}: {}\n", kept.join("\n"));
    }
    // What recorders left that are gone is left for good.
    let left = |name: &String| name.strip_prefix("netmortem-").is_some_and(|n| !lives(n));
    out += &format!("instances: {:?}\n", names(&Path::new(TRACING).join("instances"), left));
    for folder in ["core", "ipv4"] {
        let root = Path::new("/proc/sys/net").join(folder);
        // Sockets that wait to be forgotten come and go.
        for name in names(&root, |n| !n.contains("orphan") && !n.contains("ehash")) {
            if let Ok(text) = std::fs::read_to_string(root.join(&name)) {
                out += &format!("{folder}/{name}: {text}");
            }
        }
    }
    out
}

/// Whether there is a process with the number that a name begins with.
fn lives(name: &str) -> bool {
    let pid: String = name.chars().take_while(char::is_ascii_digit).collect();
    !pid.is_empty() && Path::new("/proc").join(pid).exists()
}

fn names(folder: &Path, wanted: impl Fn(&String) -> bool) -> Vec<String> {
    let all = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<String> = all
        .filter_map(|e| e.file_name().into_string().ok())
        .filter(|n| wanted(n))
        .collect();
    all.sort();
    all
}

/// Client and server, and between them a router that sends 8 Mbit/s out of a short queue, one segment in each skb: some
/// segments are dropped and sent again, and each is an event of its own. Removed when dropped.
struct Link([String; 3]);

impl Link {
    fn new() -> anyhow::Result<Link> {
        let link = Link(["c", "s", "r"].map(|s| format!("nmkernels-{}-{s}", std::process::id())));
        let [c, s, r] = &link.0;
        for ns in &link.0 {
            ip(&["netns", "add", ns])?;
            // A kernel without IPv6 has no such files.
            let off = "for i in all default; do echo 1 > /proc/sys/net/ipv6/conf/$i/disable_ipv6; done";
            let _ = exec(ns, off);
            ip(&["-n", ns, "link", "set", "lo", "up"])?;
        }
        for (ns, end, of_router, net) in [(c, "k0", "r0", 0), (s, "k1", "r1", 1)] {
            let [mac, mac_of_router] = [1, 2].map(|n| format!("02:96:00:00:0{net}:0{n}"));
            let words = format!(
                "link add {end} address {mac} netns {ns} type veth peer name {of_router} address {mac_of_router} netns {r}"
            );
            ip(&words.split(' ').collect::<Vec<_>>())?;
            let host = if net == 0 { "10.96.0.1" } else { SERVER };
            let gateway = format!("10.96.{net}.254");
            for (ns, dev, address, other, mac) in [
                (ns, end, host, gateway.as_str(), &mac_of_router),
                (r, of_router, &gateway, host, &mac),
            ] {
                ip(&["-n", ns, "addr", "add", &format!("{address}/24"), "dev", dev])?;
                ip(&["-n", ns, "link", "set", dev, "gso_max_segs", "1", "up"])?;
                // Nothing is lost while an address is resolved.
                let known = ["neigh", "add", other, "lladdr", mac, "dev", dev, "nud", "permanent"];
                ip(&[&["-n", ns], &known[..]].concat())?;
            }
            // Until the kernel has noticed the carrier, what is sent is dropped.
            for (ns, dev) in [(ns, end), (r, of_router)] {
                let up = || {
                    let shown = Command::new("ip").args(["-n", ns, "link", "show", dev]).output();
                    shown.is_ok_and(|s| String::from_utf8_lossy(&s.stdout).contains(" state UP "))
                };
                let started = Instant::now();
                while !up() {
                    ensure!(started.elapsed() < Duration::from_secs(40), "{dev} is not up");
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
            ip(&["-n", ns, "route", "add", "default", "via", &gateway])?;
        }
        exec(r, "echo 1 > /proc/sys/net/ipv4/ip_forward").context("forwarding")?;
        let tbf = [
            "qdisc", "add", "dev", "r1", "root", "tbf", "rate", "8mbit", "burst", "4kb", "limit", "9000",
        ];
        let done = Command::new("tc").args(["-n", r]).args(tbf).status().context("tc")?;
        ensure!(done.success(), "tc: {done}");
        Ok(link)
    }
}

fn exec(ns: &str, script: &str) -> anyhow::Result<()> {
    let done = Command::new("ip")
        .args(["netns", "exec", ns, "sh", "-c", script])
        .stderr(Stdio::null())
        .status()?;
    ensure!(done.success(), "{script}: {done}");
    Ok(())
}

impl Drop for Link {
    fn drop(&mut self) {
        for ns in &self.0 {
            let _ = Command::new("ip")
                .args(["netns", "del", ns])
                .stderr(Stdio::null())
                .status();
        }
    }
}

fn ip(words: &[&str]) -> anyhow::Result<()> {
    let out = Command::new("ip").args(words).output().context("ip")?;
    ensure!(
        out.status.success(),
        "ip {words:?}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    Ok(())
}
