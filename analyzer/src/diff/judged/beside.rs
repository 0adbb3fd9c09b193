//! Which settings that differ stand beside which metric: a qdisc beside waits in it and times of requests that pass it, offloads
//! beside sizes of frames, sysctls of TCP beside TCP. That they differ, too, is all that is said: a cause it is not.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::analyses::application::sockets;
use crate::diff::SettingChange;
use crate::diff::servers::{Servers, answers::server, clients::server_of};
use crate::diff::sides::options::Recording;
use crate::diff::values::{metrics::Which, service};
use crate::facts::{ConnectionId, SkbId};
use crate::settings::cgroups::as_in_settings;

/// Names of one device's features that are told one by one.
const NAMED: usize = 2;
/// Settings told in one place.
const CLAUSES: usize = 4;
/// Characters of a value told at most.
const VALUE: usize = 90;

/// What a setting is of.
enum Of<'s> {
    /// The queueing of a device.
    Qdisc(&'s str),
    /// An offload.
    Feature(&'s str),
    /// Of TCP, or of buffers.
    Sysctl,
    /// Of CPU time.
    Cpu,
    Other,
}

fn of(name: &str) -> Of<'_> {
    match name.split_once(' ') {
        Some((dev, rest)) if rest.starts_with("qdisc") => Of::Qdisc(dev),
        Some((dev, rest)) if rest.starts_with("features ") || rest.contains("gro_") => Of::Feature(dev),
        None if name.starts_with("net.") => Of::Sysctl,
        None if name.starts_with("cpu.") => Of::Cpu,
        _ => Of::Other,
    }
}

/// Who runs at either end of each server's connections, by the lists of tasks: whose CPU limits stand beside its times. Nothing where no cgroup has a limit.
pub(in crate::diff) fn programs(sides: [&[Recording<'_>]; 2]) -> BTreeMap<String, BTreeSet<String>> {
    let mut out: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut unknown: BTreeSet<String> = BTreeSet::new();
    for r in sides.into_iter().flatten() {
        let limits = &r.facts.cpu_limits;
        if limits.all().next().is_none() {
            continue;
        }
        for s in sockets(r.facts).iter().filter(|s| s.in_turns) {
            let Some(server) = server(r, s.connection, s.role) else {
                continue;
            };
            let answered = s.turnarounds.iter().flat_map(|t| [t.pid, t.sender_pid]);
            let answered: BTreeSet<i32> = answered.collect();
            // Of a server whose threads no list has any limit may be its.
            if !answered.iter().all(|tid| limits.lists(*tid)) {
                unknown.insert(server.clone());
            }
            let asked = s.responses.iter().map(|a| a.pid);
            let all = answered.into_iter().chain(asked);
            let names = all.filter_map(|tid| limits.name(limits.process(tid)));
            let names = names.map(as_in_settings);
            out.entry(server).or_default().extend(names);
        }
    }
    out.retain(|server, _| !unknown.contains(server));
    out
}

/// Which devices packets of each transfer left by, on the way through this host, too. It takes a walk over all of them: only where the queueing of a device differs.
pub(in crate::diff) fn left_by(
    sides: [&[Recording<'_>]; 2],
    settings: &[SettingChange],
) -> BTreeMap<String, BTreeSet<String>> {
    let mut out: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    if !settings.iter().any(|s| matches!(of(&s.name), Of::Qdisc(_))) {
        return out;
    }
    for r in sides.into_iter().flatten() {
        let mut services: FxHashMap<ConnectionId, Option<String>> = FxHashMap::default();
        let mut whose: FxHashMap<SkbId, ConnectionId> = FxHashMap::default();
        for row in r.facts.tx.iter().filter(|row| r.has(row.start_ns)) {
            if let Some(c) = row.connection {
                whose.insert(row.skb_id, c);
            }
        }
        for pass in &r.facts.xmits {
            let ids = [pass.skb_id, pass.parent];
            let Some(c) = ids.into_iter().flatten().find_map(|id| whose.get(&id)) else {
                continue;
            };
            let service = services.entry(*c);
            let service = service.or_insert_with(|| service::service(r.facts, *c).map(|s| service::name(&s)));
            if let Some(service) = service {
                let devices = out.entry(service.clone()).or_default();
                if !devices.contains(&*pass.dev.text()) {
                    devices.insert(pass.dev.text().to_string());
                }
            }
        }
    }
    out
}

/// `web` of `cpu.max[web]`.
fn program(name: &str) -> &str {
    let of = name.split_once('[').map_or("", |(_, of)| of);
    of.strip_suffix(']').unwrap_or(of)
}

/// Sysctls of `net.core` that packets and sockets meet, by the begin of their names; others (`bpf_jit_...`, what is printed, what
/// namespaces inherit) are no reason of a time.
const CORE: [&str; 17] = [
    "busy_",
    "default_qdisc",
    "dev_weight",
    "flow_limit_",
    "gro_normal_batch",
    "high_order_alloc_disable",
    "max_skb_frags",
    "mem_pcpu_rsv",
    "netdev_budget",
    "netdev_max_backlog",
    "netdev_tstamp_prequeue",
    "optmem_max",
    "rmem_",
    "rps_",
    "skb_defer_max",
    "somaxconn",
    "wmem_",
];

fn is_tcp(name: &str) -> bool {
    let core = |of: &str| CORE.iter().any(|first| of.starts_with(first));
    match (name.strip_prefix("net.ipv4.tcp_"), name.strip_prefix("net.core.")) {
        // Which modules are loaded.
        (Some(of), _) => !of.starts_with("available_"),
        (None, of) => of.is_some_and(core),
    }
}

/// Of a duration.
pub(in crate::diff) fn of_metric(settings: &[SettingChange], which: &Which, servers: &Servers) -> Vec<usize> {
    let passed = which.service.as_ref().and_then(|s| servers.devices.get(s));
    let on_the_way = |dev: &str| match (&which.dev, passed) {
        (Some(d), _) => d == dev,
        (None, Some(all)) => all.contains(dev),
        (None, None) => true,
    };
    let programs = which.service.as_ref().and_then(|s| servers.programs.get(server_of(s)));
    let runs = |name: &str| programs.is_none_or(|all| all.is_empty() || all.contains(program(name)));
    let stands = |s: &SettingChange| match (which.ledger, which.stage, of(&s.name)) {
        ("app", _, Of::Qdisc(dev)) => on_the_way(dev),
        ("app", "qdisc", _) => false,
        ("app", _, Of::Cpu) => runs(&s.name),
        ("rx", "run_queue" | "preempted", Of::Cpu) => true,
        ("app", _, Of::Sysctl) => is_tcp(&s.name),
        ("device" | "tx" | "tx_udp", "qdisc", Of::Qdisc(dev)) => on_the_way(dev),
        ("rx", "gro" | "poll_wait" | "batch_wait" | "protocol", Of::Feature(dev)) => on_the_way(dev),
        ("tx", _, Of::Sysctl) | ("tcp", _, Of::Sysctl) => is_tcp(&s.name),
        ("lifetime", _, Of::Feature(_)) => which.stage.starts_with("tx_"),
        _ => false,
    };
    at(settings, stands)
}

/// Of a rate.
pub(in crate::diff) fn of_rate(settings: &[SettingChange], metric: &str, servers: &Servers) -> Vec<usize> {
    let dev = metric.split_once('[').map(|(_, d)| d.trim_end_matches(']'));
    let first = metric.split(['.', '[']).next().unwrap_or("");
    let sizes = metric.starts_with("device.frame_bytes");
    let own = at(
        settings,
        |s| matches!(of(&s.name), Of::Feature(d) if sizes && Some(d) == dev),
    );
    if !own.is_empty() {
        return own;
    }
    // `tcp.speed[from 10.0.0.1:80]`.
    let transfers = ["tcp.speed", "tcp.retransmits"].iter().any(|m| metric.starts_with(m));
    let passed = dev.and_then(|service| servers.transfers.get(service));
    let on_the_way = |dev: &str| passed.is_none_or(|all| all.contains(dev));
    // Frames that a device passes on were made by another.
    let received = ["rx.unit_bytes", "poll.packets"].contains(&metric);
    at(settings, |s| match of(&s.name) {
        Of::Feature(_) => sizes || received,
        Of::Qdisc(dev) => transfers && on_the_way(dev) || first == "drops" && metric.contains("QDISC"),
        Of::Sysctl => is_tcp(&s.name) && matches!(first, "tcp" | "tx" | "drops"),
        Of::Cpu | Of::Other => false,
    })
}

fn at(settings: &[SettingChange], stands: impl Fn(&SettingChange) -> bool) -> Vec<usize> {
    let all = settings.iter().enumerate().filter(|(_, s)| stands(s));
    all.map(|(at, _)| at).collect()
}

/// `qdisc of rs: htb r2q=10 -> tbf rate=20000000bit/s`; one clause for each setting, offloads of one device together.
pub(in crate::diff) fn words(settings: &[SettingChange], which: &[usize]) -> Vec<String> {
    let mut of_these: Vec<&SettingChange> = which.iter().filter_map(|at| settings.get(*at)).collect();
    // Devices before what holds for all of the host.
    of_these.sort_by_key(|s| !matches!(of(&s.name), Of::Qdisc(_) | Of::Feature(_)));
    let mut out: Vec<String> = vec![];
    let mut told: BTreeSet<(&str, &str, &str)> = BTreeSet::new();
    for s in &of_these {
        let [b, a] = values(&s.before, &s.after);
        match of(&s.name) {
            Of::Qdisc(dev) => {
                let place = s.name.get(dev.len() + 1..).unwrap_or("qdisc");
                out.push(format!("{place} of {dev}: {b} -> {a}"));
            }
            Of::Feature(dev) => {
                if !told.insert((dev, &s.before, &s.after)) {
                    continue;
                }
                let alike = of_these.iter().filter(|o| {
                    matches!(of(&o.name), Of::Feature(d) if d == dev) && (&o.before, &o.after) == (&s.before, &s.after)
                });
                let mut names: Vec<&str> = alike.filter_map(|o| o.name.rsplit(' ').next()).collect();
                names.sort_by_key(|n| (n.len(), *n));
                let more = names.len().saturating_sub(NAMED);
                let list = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
                let list = if more > 0 {
                    format!("{list} and {more} more")
                } else {
                    list
                };
                out.push(format!("{list} of {dev}: {b} -> {a}"));
            }
            _ => out.push(format!("{}: {b} -> {a}", s.name)),
        }
    }
    let more = out.len().saturating_sub(CLAUSES);
    out.truncate(CLAUSES);
    if more > 0 {
        out.push(format!("{more} more"));
    }
    out
}

/// Of devices of one name in several namespaces, or of several recordings: those that the other side does not have.
fn values(before: &str, after: &str) -> [String; 2] {
    let [b, a] = [before, after].map(|text| text.split(" | ").collect::<Vec<&str>>());
    let others = |own: &[&str], other: &[&str]| own.iter().filter(|v| !other.contains(v)).count();
    // What one side has less of is not told by what the other has more of.
    if others(&b, &a) == 0 || others(&a, &b) == 0 {
        return [value(&b), value(&a)];
    }
    let own = |own: &[&str], other: &[&str]| -> String {
        let all: Vec<&str> = own.iter().copied().filter(|v| !other.contains(v)).collect();
        value(&all)
    };
    [own(&b, &a), own(&a, &b)]
}

/// Without what is said a second time with its options, and not too long.
fn value(all: &[&str]) -> String {
    let again = |v: &str| {
        all.iter()
            .any(|o| o.strip_prefix(v).is_some_and(|rest| rest.starts_with(' ')))
    };
    let kept: Vec<&str> = all.iter().copied().filter(|v| !again(v)).collect();
    let text = kept.join(" | ");
    match text.char_indices().nth(VALUE) {
        _ if text.is_empty() => "none".into(),
        Some((end, _)) => format!("{}\u{2026}", text.get(..end).unwrap_or("")),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_limit_stands_beside_times_of_those_who_run_under_it() {
        let max = |of: &str| SettingChange {
            name: format!("cpu.max[{of}]"),
            before: String::new(),
            after: "20 ms of CPU per 100 ms".into(),
            beside: vec![],
        };
        let settings = [max("web"), max("log?writer")];
        let mut servers = Servers::default();
        let at = |servers: &Servers, of: &str| {
            let which = Which::new("app", "response").of_service(of);
            of_metric(&settings, &which, servers)
        };
        // Of whom nothing is known it may have been any.
        assert_eq!(at(&servers, "10.0.0.1:80"), [0, 1]);
        let programs = BTreeSet::from(["web".to_owned(), "curl".to_owned()]);
        servers.programs.insert("10.0.0.1:80".into(), programs);
        assert_eq!(at(&servers, "10.0.0.1:80"), [0]);
        assert_eq!(at(&servers, "10.0.0.2:80"), [0, 1]);
        servers.programs.insert("10.0.0.2:80".into(), BTreeSet::new());
        assert_eq!(at(&servers, "10.0.0.2:80"), [0, 1]);
    }

    /// A queue on the router stands beside a transfer through it, and one that it does not pass does not.
    #[test]
    fn queues_on_the_way_of_a_transfer_stand_beside_it() {
        let facts = crate::diff::tests::samples::facts("sawtooth/sawtooth.nmb");
        let side = Recording::all(&[&facts], &[], None);
        let qdisc = |dev: &str, before: &str, after: &str| SettingChange {
            name: format!("{dev} qdisc"),
            before: before.into(),
            after: after.into(),
            beside: vec![],
        };
        let settings = [
            qdisc("rb", "noqueue | tbf limit=800000B", "noqueue | tbf limit=16000B"),
            qdisc("elsewhere", "fq", "tbf"),
        ];
        let transfers = left_by([&side, &side], &settings);
        let of = |service: &str| transfers[service].iter().map(String::as_str).collect::<Vec<_>>();
        // The last words of iperf3's own connection go the other way.
        assert_eq!(of("to 10.77.2.1:5201"), ["rb", "va"]);
        assert_eq!(of("from 10.77.2.1:5201"), ["ra", "vb"]);
        assert!(left_by([&side, &side], &[]).is_empty());
        let servers = Servers {
            transfers,
            ..Servers::default()
        };
        assert_eq!(of_rate(&settings, "tcp.speed[to 10.77.2.1:5201]", &servers), [0]);
        // Of a transfer of which nothing is known it may be any.
        assert_eq!(of_rate(&settings, "tcp.speed[to 10.0.0.9:80]", &servers), [0, 1]);
        assert_eq!(
            words(&settings, &[0, 1]),
            [
                "qdisc of rb: tbf limit=800000B -> tbf limit=16000B",
                "qdisc of elsewhere: fq -> tbf"
            ]
        );
    }

    /// Of `net.core` what packets meet, and nothing else, by the names that Linux 6.18 has.
    #[test]
    fn sysctls_that_no_packet_meets_stand_beside_no_time() {
        let setting = |name: &str| SettingChange {
            name: name.into(),
            before: "0".into(),
            after: "1".into(),
            beside: vec![],
        };
        let names = [
            "net.core.bpf_jit_enable",
            "net.core.rmem_max",
            "net.core.bpf_jit_limit",
            "net.core.message_burst",
            "net.core.netdev_budget_usecs",
            "net.core.devconf_inherit_init_net",
            "net.core.warnings",
            "net.core.xfrm_acq_expires",
            "net.ipv4.tcp_available_congestion_control",
            "net.ipv4.tcp_sack",
        ];
        let settings = names.map(setting);
        let none = Servers::default();
        for which in [Which::new("tx", "network"), Which::new("app", "response")] {
            assert_eq!(of_metric(&settings, &which, &none), [1, 4, 9]);
        }
        assert_eq!(of_rate(&settings, "tcp.retransmits", &none), [1, 4, 9]);
    }
}
