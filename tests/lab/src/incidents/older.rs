//! A recording as an older kernel would have made it: without the events, fields and drop reasons that this one lacks.
//!
//! In: a capture of this machine's kernel, and `incidents/kernels/<release>.txt`, what that kernel's tracefs has (its head says how it was
//! made). Out: the capture, whose descriptions of events no longer tell what that kernel does not tell. What else differs between
//! kernels (where a function's code lies, what is counted, how TCP behaves) stays this one's: the VM tells that.

use std::path::PathBuf;

use anyhow::{Context, ensure};
use netmortem_formats::Capture;

/// What a kernel's tracefs has.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// `uname -r`.
    release: String,
    /// `system:name` and the fields of each event.
    events: Vec<(String, Vec<String>)>,
    /// Names of the drop reasons.
    reasons: Vec<String>,
}

/// What fields were called before, and are now.
const RENAMED: [(&str, &str); 1] = [("lport", "dport")];
/// What events were called before, and are now: system and name.
const RENAMED_EVENTS: [[(&str, &str); 2]; 1] = [[("tcp", "tcp_set_state"), ("sock", "inet_sock_set_state")]];

fn folder() -> PathBuf {
    super::home().join("kernels")
}

/// The kernels that are described.
pub fn kernels() -> Vec<String> {
    let files = std::fs::read_dir(folder()).into_iter().flatten().flatten();
    let mut names: Vec<String> = files
        .map(|f| f.path())
        .filter(|p| p.extension().is_some_and(|e| e == "txt"))
        .filter_map(|p| Some(p.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    names
}

impl Kernel {
    /// The one of a name, which is its file's.
    pub fn named(name: &str) -> anyhow::Result<Kernel> {
        let path = folder().join(format!("{name}.txt"));
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("no kernel {name}: {}", kernels().join(", ")))?;
        let of = Kernel::parse(&text);
        ensure!(
            !of.release.is_empty() && !of.events.is_empty(),
            "{} describes no kernel",
            path.display()
        );
        Ok(of)
    }
    fn parse(text: &str) -> Kernel {
        let mut kernel = Kernel {
            release: String::new(),
            events: vec![],
            reasons: vec![],
        };
        for line in text.lines().filter(|l| !l.starts_with('#')) {
            let mut words = line.split_whitespace().map(str::to_owned);
            match words.next() {
                Some(key) if key == "release" => kernel.release = words.next().unwrap_or_default(),
                Some(key) if key == "reasons" => kernel.reasons = words.collect(),
                Some(event) => kernel.events.push((event, words.collect())),
                None => {}
            }
        }
        kernel
    }
    fn has(&self, event: &str) -> bool {
        self.events.iter().any(|e| e.0 == event)
    }
    /// Takes from a capture what this kernel would not have told. An event that it lacks is one that no analysis knows.
    pub fn made(&self, capture: &mut Capture) {
        capture.host.kernel_release.clone_from(&self.release);
        for [(system, name), now] in RENAMED_EVENTS {
            let (before, of_now) = (format!("{system}:{name}"), format!("{}:{}", now.0, now.1));
            if !self.has(&before) || self.has(&of_now) {
                continue;
            }
            for f in capture.event_formats.iter_mut().filter(|f| f.key() == of_now) {
                (f.system, f.name) = (system.to_owned(), name.to_owned());
            }
            if let Some(serde_json::Value::Array(enabled)) =
                capture.manifest.as_mut().and_then(|m| m.pointer_mut("/plan/events"))
            {
                let named = enabled.iter_mut().filter_map(|p| p.get_mut("name"));
                named
                    .filter(|n| **n == of_now.as_str())
                    .for_each(|n| *n = before.as_str().into());
            }
        }
        // Its recorder would not have enabled what is not there.
        let enabled = capture.manifest.as_mut().and_then(|m| m.pointer_mut("/plan/events"));
        if let Some(serde_json::Value::Array(enabled)) = enabled {
            enabled.retain(|p| p.get("name").and_then(|n| n.as_str()).is_some_and(|n| self.has(n)));
        }
        for format in &mut capture.event_formats {
            let key = format.key();
            match self.events.iter().find(|e| e.0 == key) {
                Some((_, fields)) => {
                    let has = |name: &str| fields.iter().any(|f| f == name);
                    for f in format.fields.iter_mut().filter(|f| !has(&f.name)) {
                        let old = RENAMED.iter().find(|r| r.1 == f.name && has(r.0));
                        f.name = old.map_or(std::mem::take(&mut f.name), |r| r.0.to_owned());
                    }
                    format.fields.retain(|f| has(&f.name));
                }
                None => format.system = format!("absent_{}", format.system),
            }
            if key == "skb:kfree_skb" {
                format.print_fmt = self.reasoned(&format.print_fmt);
            }
        }
    }
    /// A print fmt whose reasons this kernel does not have are NOT_SPECIFIED.
    fn reasoned(&self, print_fmt: &str) -> String {
        let name = |(i, part): (usize, &str)| match i % 2 == 1
            && part
                .chars()
                .all(|c| c.is_ascii_uppercase() || "_0123456789".contains(c))
        {
            true if !part.is_empty() && !self.reasons.iter().any(|r| r == part) => "NOT_SPECIFIED".to_owned(),
            _ => part.to_owned(),
        };
        print_fmt
            .split('"')
            .enumerate()
            .map(name)
            .collect::<Vec<_>>()
            .join("\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_and_fields_are_those_it_has() {
        let kernel =
            Kernel::parse("# how\nrelease 5.0\nskb:kfree_skb skbaddr location\nreasons NOT_SPECIFIED NO_SOCKET\n");
        assert_eq!(kernel.release, "5.0");
        assert_eq!(
            kernel.reasoned(r#""skbaddr=%p reason: %s", REC->skbaddr, __print_symbolic(REC->reason, { 2, "NOT_SPECIFIED" }, { 3, "NO_SOCKET" }, { 9, "QDISC_DROP" })"#),
            r#""skbaddr=%p reason: %s", REC->skbaddr, __print_symbolic(REC->reason, { 2, "NOT_SPECIFIED" }, { 3, "NO_SOCKET" }, { 9, "NOT_SPECIFIED" })"#
        );
    }

    #[test]
    fn each_kernel_has_what_every_recording_needs() {
        let all = kernels();
        assert!(all.len() >= 5, "{all:?}");
        for name in all {
            let kernel = Kernel::named(&name).unwrap();
            for event in [
                "skb:kfree_skb",
                "net:net_dev_queue",
                "tcp:tcp_retransmit_skb",
                "sched:sched_switch",
            ] {
                assert!(
                    kernel.events.iter().any(|e| e.0 == event && !e.1.is_empty()),
                    "{name}: {event}"
                );
            }
            let old = ["4.", "5."].iter().any(|of| kernel.release.starts_with(of));
            assert_eq!(kernel.reasons.is_empty(), old, "{name}: reasons came with 5.17");
            // One of both: the newer event took the other's place in 4.16.
            let states = ["tcp:tcp_set_state", "sock:inet_sock_set_state"].map(|e| kernel.has(e));
            assert_ne!(states[0], states[1], "{name}");
        }
    }
}
