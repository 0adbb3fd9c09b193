//! `--port`, `--dev` and `--cpu`, handed to the kernel: events that hold a port or an interface are filtered by it, others
//! are recorded whole. CPUs are a mask of the whole instance, so that they hold for every event.

use std::fs;

use netmortem_formats::bundle::PlannedEvent;

use crate::error::RecordError;
use crate::snapshot::interface_elsewhere;

/// `icmp_send` fills its ports for UDP alone (include/trace/events/icmp.h): an error about TCP has none, and may be about any port.
const UNFILLED: &str = "(sport == 0 && dport == 0)";

/// What of the events is wanted; empty means everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filters {
    /// Source or destination ports.
    pub ports: Vec<u16>,
    /// Names of interfaces.
    pub devs: Vec<String>,
    /// CPUs.
    pub cpus: Vec<u32>,
}

impl Filters {
    /// Whether no event needs a filter.
    pub fn is_empty(&self) -> bool {
        self.ports.is_empty() && self.devs.is_empty()
    }

    /// As in the manifest: `port 80`, `dev eth0`, `cpu 0,1`.
    pub fn texts(&self) -> Vec<String> {
        let mut out: Vec<String> = self.ports.iter().map(|p| format!("port {p}")).collect();
        out.extend(self.devs.iter().map(|d| format!("dev {d}")));
        if !self.cpus.is_empty() {
            let cpus: Vec<String> = self.cpus.iter().map(u32::to_string).collect();
            out.push(format!("cpu {}", cpus.join(",")));
        }
        out
    }

    /// Which events a filter holds for, and which are recorded whole, in sentences.
    pub fn notes(&self, events: &[PlannedEvent]) -> Vec<String> {
        let mut out = Vec::new();
        let fields = |e: &PlannedEvent, names: &[&str]| names.iter().any(|n| e.filter.contains(&format!("{n} == ")));
        for (asked, option, what, names) in [
            (!self.ports.is_empty(), "--port", "a port", &["sport", "lport"][..]),
            (
                !self.devs.is_empty(),
                "--dev",
                "an interface",
                &["name", "dev", "ifindex"][..],
            ),
        ] {
            if asked {
                let (yes, no): (Vec<_>, Vec<_>) = events.iter().partition(|e| fields(e, names));
                let list = yes.iter().map(|e| e.name.as_str()).collect::<Vec<_>>().join(" ");
                out.push(format!(
                    "{option}: the {} kinds of events that hold {what} are filtered ({list}); the other {} are recorded whole",
                    yes.len(),
                    no.len()
                ));
            }
        }
        if !self.cpus.is_empty() {
            out.push("--cpu: events of the other CPUs are not recorded".to_owned());
        }
        out
    }

    /// Numbers and names of the interfaces, here or else in other network namespaces, whose events are recorded, too. One that
    /// is nowhere is an error: a recording of nothing helps nobody.
    pub fn interfaces(&self) -> Result<Vec<(u32, String)>, RecordError> {
        let numbers = |name: &String| {
            // A name goes into a path and into the kernel's filter language.
            let plain = name
                .chars()
                .all(|c| c.is_ascii_graphic() && !matches!(c, '/' | '"' | '\\'))
                && !name.starts_with('.');
            let text = plain.then(|| fs::read_to_string(format!("/sys/class/net/{name}/ifindex")).ok());
            let here: Option<u32> = text.flatten().and_then(|t| t.trim().parse().ok());
            let mut all: Vec<u32> = match here {
                Some(index) => vec![index],
                None if plain => interface_elsewhere(name).iter().map(|(_, index)| *index).collect(),
                None => Vec::new(),
            };
            all.sort_unstable();
            all.dedup();
            match all.is_empty() {
                true => Err(RecordError::NoInterface { name: name.clone() }),
                false => Ok(all.into_iter().map(|i| (i, name.clone())).collect::<Vec<_>>()),
            }
        };
        let all: Result<Vec<_>, _> = self.devs.iter().map(numbers).collect();
        Ok(all?.concat())
    }

    /// The filter for an event of this system with this format text; `None` when it holds neither.
    pub fn of_event(&self, system: &str, format: &str, interfaces: &[(u32, String)]) -> Option<String> {
        let port = self.port(format).map(|f| match system {
            "icmp" => format!("{f} || {UNFILLED}"),
            _ => f,
        });
        let all = [port, dev(system, format, interfaces)];
        let all: Vec<String> = all.into_iter().flatten().collect();
        match all.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            several => Some(
                several
                    .iter()
                    .map(|f| format!("({f})"))
                    .collect::<Vec<_>>()
                    .join(" && "),
            ),
        }
    }

    fn port(&self, format: &str) -> Option<String> {
        // `lport` is all that udp_fail_queue_rcv_skb had before 6.10.
        let fields = ["sport", "dport", "lport"].map(|f| field_type(format, f).map(|t| (f, t)));
        let mut any = Vec::new();
        for port in &self.ports {
            for (field, kind) in fields.iter().flatten() {
                let value = if kind.contains("be16") { port.to_be() } else { *port };
                any.push(format!("{field} == {value}"));
            }
        }
        (!any.is_empty()).then(|| any.join(" || "))
    }
}

/// Only events of the network name an interface by these fields: `name` is an irq's or a protocol's elsewhere.
fn dev(system: &str, format: &str, interfaces: &[(u32, String)]) -> Option<String> {
    let field = match system {
        "net" => "name",
        "napi" => "dev_name",
        "neigh" | "qdisc" if field_type(format, "dev").is_some() => "dev",
        "qdisc" => "ifindex",
        _ => return None,
    };
    field_type(format, field)?;
    let mut any: Vec<String> = interfaces
        .iter()
        .map(|(index, name)| match field {
            "ifindex" => format!("ifindex == {index}"),
            _ => format!("{field} == \"{name}\""),
        })
        .collect();
    // One name may have several numbers.
    any.dedup();
    if system == "napi" && !any.is_empty() {
        // The backlog of a CPU is a NAPI of all interfaces, and has no name.
        any.push("dev_name == \"(no_device)\"".into());
    }
    (!any.is_empty()).then(|| any.join(" || "))
}

/// The declared type of a field of a format text: `field:__u16 sport;` has `__u16`.
pub fn field_type<'a>(format: &'a str, field: &str) -> Option<&'a str> {
    format.lines().find_map(|l| {
        let declared = l.trim().strip_prefix("field:")?.split(';').next()?;
        let (kind, name) = declared.rsplit_once(' ')?;
        (name.split('[').next() == Some(field)).then_some(kind)
    })
}

/// `tracing_cpumask`: hex, in groups of 32 CPUs, the highest first.
pub fn cpu_mask(cpus: &[u32]) -> String {
    let groups = cpus.iter().max().map_or(0, |c| c / 32) + 1;
    let group = |g: u32| {
        let bits = cpus
            .iter()
            .filter(|c| **c / 32 == g)
            .fold(0u32, |m, c| m | 1 << (c % 32));
        format!("{bits:08x}")
    };
    (0..groups).rev().map(group).collect::<Vec<_>>().join(",")
}
