//! Network namespaces with unique names, and the links between them. Dropping one removes it; what a killed rig leaves is
//! removed by its parent, and by the next run.

use std::fs::File;
use std::process::Command;

use anyhow::{Context, bail};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// All our namespaces are named `nmlab-<pid>-<name>`.
pub const PREFIX: &str = "nmlab-";

/// Runs a program that must succeed.
pub fn run(argv: &[&str]) -> anyhow::Result<()> {
    let Some((program, args)) = argv.split_first() else {
        bail!("no program")
    };
    let out = Command::new(program).args(args).output();
    let out = out.with_context(|| format!("starting {program}"))?;
    if !out.status.success() {
        bail!("{}: {}", argv.join(" "), String::from_utf8_lossy(&out.stderr).trim());
    }
    Ok(())
}

/// A network namespace of ours.
#[derive(Debug)]
pub struct Netns {
    name: String,
    file: File,
}

impl Netns {
    /// Makes `nmlab-<pid>-<name>` with its loopback up and without IPv6 (its neighbour discovery is noise).
    pub fn new(name: &str) -> anyhow::Result<Netns> {
        let name = format!("{PREFIX}{}-{name}", std::process::id());
        run(&["ip", "netns", "add", &name])?;
        let path = format!("/var/run/netns/{name}");
        let file = File::open(&path).with_context(|| path.clone());
        let file = file.inspect_err(|_| remove(&name))?;
        let ns = Netns { name, file };
        for what in ["all", "default"] {
            // A kernel without IPv6 has no such file.
            let _ = ns.write(&format!("/proc/sys/net/ipv6/conf/{what}/disable_ipv6"), "1");
        }
        ns.ip("link set lo up")?;
        Ok(ns)
    }
    /// Its name for `ip -n`.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// `ip -n NAME words…`.
    pub fn ip(&self, words: &str) -> anyhow::Result<()> {
        let mut argv = vec!["ip", "-n", &self.name];
        argv.extend(words.split_whitespace());
        run(&argv)
    }
    /// `ip netns exec NAME words…`: with a /sys of this namespace.
    pub fn exec(&self, words: &str) -> anyhow::Result<()> {
        let mut argv = vec!["ip", "netns", "exec", &self.name];
        argv.extend(words.split_whitespace());
        run(&argv)
    }
    /// `tc` inside.
    pub fn tc(&self, words: &str) -> anyhow::Result<()> {
        let mut argv = vec!["tc", "-n", &self.name];
        argv.extend(words.split_whitespace());
        run(&argv)
    }
    /// Writes a file of /proc/sys/net as this namespace has it.
    pub fn write(&self, path: &str, text: &str) -> anyhow::Result<()> {
        self.inside(|| std::fs::write(path, text).with_context(|| path.to_owned()))
    }
    /// Writes a file of /sys/class/net as this namespace has it.
    pub fn sysfs(&self, path: &str, text: &str) -> anyhow::Result<()> {
        let script = format!("echo {text} > {path}");
        run(&["ip", "netns", "exec", &self.name, "sh", "-c", &script])
    }
    /// Switches offloads of a device: `tso off gso off`.
    pub fn offloads(&self, dev: &str, features: &str) -> anyhow::Result<()> {
        self.exec(&format!("ethtool -K {dev} {features}"))
    }
    /// Moves the calling thread into it; a thread stays where it is until it ends.
    pub fn enter(&self) -> anyhow::Result<()> {
        use std::os::fd::AsFd;
        move_into_link_name_space(self.file.as_fd(), Some(LinkNameSpaceType::Network)).context("setns")
    }
    /// Runs `f` on a thread of this namespace, and waits.
    pub fn inside<T: Send>(&self, f: impl FnOnce() -> anyhow::Result<T> + Send) -> anyhow::Result<T> {
        std::thread::scope(|s| {
            let worker = s.spawn(|| {
                self.enter()?;
                f()
            });
            worker
                .join()
                .unwrap_or_else(|_| bail!("a thread of {} panicked", self.name))
        })
    }
}

impl Drop for Netns {
    fn drop(&mut self) {
        remove(&self.name);
    }
}

fn remove(name: &str) {
    let _ = Command::new("ip").args(["netns", "del", name]).output();
}

/// A veth pair between two namespaces: `(namespace, device, address/length)` at each end.
pub fn veth(a: (&Netns, &str, &str), b: (&Netns, &str, &str)) -> anyhow::Result<()> {
    a.0.ip(&format!(
        "link add {} type veth peer name {} netns {}",
        a.1, b.1, b.0.name
    ))?;
    for (ns, dev, address) in [a, b] {
        if !address.is_empty() {
            ns.ip(&format!("addr add {address} dev {dev}"))?;
        }
        ns.ip(&format!("link set {dev} up"))?;
    }
    Ok(())
}

/// The NAPI thread of a device, `napi/<dev>-<id>`.
pub fn napi_thread(dev: &str) -> Option<i32> {
    let start = format!("napi/{dev}-");
    let pids = std::fs::read_dir("/proc")
        .ok()?
        .filter_map(|e| e.ok()?.file_name().into_string().ok()?.parse().ok());
    let mut named =
        pids.filter(|p: &i32| std::fs::read_to_string(format!("/proc/{p}/comm")).is_ok_and(|c| c.starts_with(&start)));
    named.next()
}

/// Removes the namespaces of rigs that are dead: those of `pid`, or of every process that no longer exists.
pub fn clean(pid: Option<u32>) {
    let Ok(entries) = std::fs::read_dir("/var/run/netns") else {
        return;
    };
    for name in entries.filter_map(|e| e.ok()?.file_name().into_string().ok()) {
        let of = name
            .strip_prefix(PREFIX)
            .and_then(|r| r.split('-').next()?.parse::<u32>().ok());
        let dead = of.is_some_and(|p| match pid {
            Some(mine) => p == mine,
            None => !std::path::Path::new(&format!("/proc/{p}")).exists(),
        });
        if dead {
            remove(&name);
        }
    }
}
