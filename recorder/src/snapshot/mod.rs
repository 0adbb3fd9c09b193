//! The host around the events, at the start and at the end: counters whose difference is a cross-check, and settings that
//! explain them.
//!
//! In: /proc, /sys, rtnetlink, sock_diag, ethtool. Out: texts, each to be one member. It must not change anything, fail a
//! recording, or take long on a large host: what is cut or fails becomes a sentence. Kernel structures are followed by
//! their stated length, never by version (include/uapi/linux/{inet_diag,tcp,pkt_sched,gen_stats,ethtool}.h).
//!
//! ```text
//! proc, sysctl, queues, irq_affinity, cpu_topology, tasks, interfaces      the recorder's own network namespace
//! cgroups                    limits of CPU time, by the recorder's own mounts
//! namespaces -> inside each: links, addresses, routes, neighbours, groups, qdiscs, classes, nics, sockets
//!                            lines begin with netns=<inode>
//!                          net/snmp and its like of each, and the settings that differ from the recorder's own; of devices at the start only
//! ```

pub mod addresses;
pub mod beside;
mod cgroup_mount;
mod cgroups;
pub mod changes;
mod ethtool;
mod groups;
pub mod links;
pub mod netlink;
pub mod netns;
mod nics;
mod owners;
mod proc;
pub mod qdisc;
mod refusals;
pub mod second;
pub mod settings;
mod sockets;
mod tasks;
mod tcp_info;
#[cfg(test)]
mod tests;
pub mod told;
mod visits;

use std::io;
use std::time::{Duration, Instant};

use netmortem_formats::SnapshotWhen;
use netmortem_formats::bundle::TASKS;

use netlink::Dumped;
use netns::Netns;
use owners::Owners;

/// No more than so many namespaces are entered, and no more sockets listed: a snapshot is bounded on any host.
pub const MAX_NETNS: usize = 64;
const MAX_SOCKETS: usize = addresses::MOST;
/// Nor more devices asked for their settings, about a millisecond each.
const MAX_DEVICES: usize = 64;
const DEVICES: &str = "sysctl_devices";
/// Nor are namespaces entered when all this took so long.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// Takes all texts and hands them to `append(what, text)`. What a kernel does not have is left out; what failed or
/// was cut is returned in sentences.
pub fn take(when: SnapshotWhen, append: &mut dyn FnMut(&str, &[u8]) -> io::Result<()>) -> io::Result<Vec<String>> {
    let started = Instant::now();
    let mut put = |what: &str, text: &[u8]| match text.is_empty() {
        true => Ok(()),
        false => append(what, text),
    };
    proc::take(when, &mut put)?;
    put("interfaces", tasks::interfaces().as_bytes())?;
    put(TASKS, &tasks::tasks())?;
    put("queues", settings::queues().as_bytes())?;
    let mut texts = Texts {
        device_room: MAX_DEVICES,
        ..Texts::default()
    };
    let limits = cgroups::limits();
    put("cgroups", limits.text.as_bytes())?;
    if let Some(why) = limits.cut {
        texts.problem(format!(
            "CPU limits of cgroups: not all cgroups were looked at or told, {why}"
        ));
    }
    // At the end again: what was switched meanwhile is news.
    let sysctl = settings::sysctl();
    put("sysctl", sysctl.as_bytes())?;
    if when == SnapshotWhen::Start {
        put(DEVICES, settings::sysctl_devices(&mut texts.device_room).as_bytes())?;
        put("irq_affinity", settings::irq_affinity().as_bytes())?;
        put("cpu_topology", settings::cpu_topology().as_bytes())?;
    }
    let namespaces = netns::list();
    put("namespaces", netns::text(&namespaces).as_bytes())?;
    let owners = Owners::read();
    if owners.cut {
        texts.problem("processes of sockets: not all were read in time".to_owned());
    }
    let before = modules();
    for (n, space) in namespaces.iter().enumerate() {
        if n >= MAX_NETNS || started.elapsed() > PATIENCE {
            let left = namespaces.len().saturating_sub(n);
            texts.problem(format!(
                "{left} network namespaces were not entered: too many, or too slow"
            ));
            break;
        }
        // What a namespace's thread fills is moved in and out: nothing is shared.
        let taken = std::mem::take(&mut texts);
        let (owners, sysctl) = (&owners, sysctl.as_str());
        match space.inside(move || visit(space, when, (owners, sysctl), taken)) {
            Ok(t) => texts = t,
            Err(e) => texts.problem(format!("network namespace {}: {e}", space.inode)),
        }
    }
    // At the end last: what is told of sockets and counters matters more where time is short.
    for space in namespaces
        .iter()
        .take(MAX_NETNS)
        .filter(|s| !s.own && when != SnapshotWhen::Start)
    {
        if started.elapsed() > PATIENCE {
            break;
        }
        let (netns, sysctl) = (space.inode, sysctl.as_str());
        texts
            .of_namespaces
            .extend(space.inside(move || sysctl_of(netns, sysctl)).ok());
    }
    for module in modules().iter().filter(|m| !before.contains(m)) {
        texts.problem(format!("the kernel loaded its module {module} to answer"));
    }
    for (what, text) in [
        ("links", &texts.links),
        ("addresses", &texts.addresses),
        ("routes", &texts.routes),
        ("neighbours", &texts.neighbours),
        ("groups", &texts.groups),
        ("qdiscs", &texts.qdiscs),
        ("classes", &texts.classes),
        ("nics", &texts.nics),
        ("sockets", &texts.sockets),
    ] {
        put(what, text.as_bytes())?;
    }
    for (what, text) in &texts.of_namespaces {
        put(what, text)?;
    }
    let time = if when == SnapshotWhen::Start { "start" } else { "end" };
    Ok(texts
        .problems
        .iter()
        .map(|p| format!("snapshot at the {time}: {p}"))
        .collect())
}

/// What all namespaces said.
#[derive(Debug, Default)]
struct Texts {
    links: String,
    addresses: String,
    routes: String,
    neighbours: String,
    groups: String,
    qdiscs: String,
    classes: String,
    nics: String,
    sockets: String,
    sockets_taken: usize,
    /// So many devices more may be asked for their settings.
    device_room: usize,
    /// (`netns/<inode>/net/netstat`, text).
    of_namespaces: Vec<(String, Vec<u8>)>,
    problems: Vec<String>,
}

impl Texts {
    fn problem(&mut self, sentence: String) {
        self.problems.push(sentence);
    }

    fn judge(&mut self, what: &str, netns: u64, done: io::Result<Dumped>) {
        match done {
            Err(e) => self.problem(format!("{what} of network namespace {netns}: {e}")),
            Ok(d) => {
                if d.changed {
                    self.problem(format!(
                        "{what} of network namespace {netns} changed while they were read"
                    ));
                }
                if d.cut {
                    self.problem(format!("{what}: only the first {MAX_SOCKETS} are listed"));
                }
            }
        }
    }
}

/// Inside a namespace; with the settings of the recorder's own.
fn visit(space: &Netns, when: SnapshotWhen, (owners, sysctl): (&Owners, &str), mut t: Texts) -> Texts {
    let netns = space.inode;
    let (done, links) = split(links::links(netns, &mut t.links));
    t.judge("interfaces", netns, done);
    let done = addresses::addresses(netns, &mut t.addresses);
    t.judge("addresses", netns, done);
    let done = addresses::routes(netns, &mut t.routes);
    t.judge("routes", netns, done);
    let done = addresses::neighbours(netns, &mut t.neighbours);
    t.judge("neighbours", netns, done);
    let done = groups::groups(netns, &mut t.groups);
    t.judge("multicast groups", netns, done);
    let (done, with_qdisc) = split(qdisc::qdiscs(netns, &mut t.qdiscs));
    t.judge("qdiscs", netns, done);
    let done = qdisc::classes(netns, &with_qdisc, &mut t.classes);
    t.judge("classes", netns, done);
    let done = nics::nics(netns, &links, when == SnapshotWhen::Start, &mut t.nics);
    t.judge("network cards", netns, done.map(|()| Dumped::default()));
    let mut room = MAX_SOCKETS.saturating_sub(t.sockets_taken);
    let before = room;
    let done = sockets::sockets(netns, owners, &mut room, &mut t.sockets);
    t.sockets_taken = t.sockets_taken.saturating_add(before.saturating_sub(room));
    t.judge("sockets", netns, done);
    if !space.own {
        t.of_namespaces.extend(proc::of_namespace(netns));
        if when == SnapshotWhen::Start {
            t.of_namespaces.push(sysctl_of(netns, sysctl));
            let devices = settings::sysctl_devices(&mut t.device_room);
            t.of_namespaces
                .push((format!("netns/{netns}/{DEVICES}"), devices.into_bytes()));
        }
    }
    t
}

/// The settings of the namespace that the calling thread is in, by its inode.
fn sysctl_of(netns: u64, own: &str) -> (String, Vec<u8>) {
    (
        format!("netns/{netns}/sysctl"),
        settings::sysctl_beside(own).into_bytes(),
    )
}

/// Where else an interface of this name is: namespaces, and its number there.
pub fn interface_elsewhere(name: &str) -> Vec<(Netns, u32)> {
    let others = netns::list().into_iter().filter(|n| !n.own).take(MAX_NETNS);
    let index = |space: &Netns| {
        let found = space.inside(|| links::links(space.inode, &mut String::new()));
        let (_, all) = found.ok()?.ok()?;
        all.into_iter().find(|(_, n)| n == name).map(|(index, _)| index)
    };
    others.filter_map(|n| Some((n.clone(), index(&n)?))).collect()
}

fn split<T: Default>(done: io::Result<(Dumped, T)>) -> (io::Result<Dumped>, T) {
    match done {
        Ok((d, t)) => (Ok(d), t),
        Err(e) => (Err(e), T::default()),
    }
}

/// Names of the loaded modules: sock_diag makes the kernel load its part for TCP when it is a module.
fn modules() -> Vec<String> {
    let text = std::fs::read_to_string("/proc/modules").unwrap_or_default();
    text.lines()
        .filter_map(|l| Some(l.split_once(' ')?.0.to_owned()))
        .collect()
}
