//! What this process may do, what a refusal of the kernel means, and what is missing from a recording without full root.
//!
//! Tracefs asks for no capability: its files belong to root, so CAP_DAC_OVERRIDE opens them, and kernel lockdown
//! (security/security.c `LOCKDOWN_TRACEFS`, of its confidentiality mode) closes them for everybody.

use std::fs;

use rustix::thread::{CapabilitySet, capabilities};

/// Which root has no say outside of its namespace.
const USER_NAMESPACE: &str =
    "this is a user namespace (a container without privileges), whose capabilities do not hold for the host's";

/// What a file of tracefs says when it cannot be opened for this reason. `by_perf`: it is to be read only.
pub fn why_refused(by_perf: bool) -> String {
    let lockdown = fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
    if let Some(mode) = locked_down(&lockdown) {
        return format!("the kernel is locked down ({mode}) and shows its traces to nobody, root included");
    }
    if !is_the_hosts() {
        return format!("{USER_NAMESPACE} tracefs; recording needs the host's root");
    }
    let reads = has(CapabilitySet::DAC_OVERRIDE) || has(CapabilitySet::DAC_READ_SEARCH);
    match by_perf {
        false if !has(CapabilitySet::DAC_OVERRIDE) => "recording needs root (try sudo), or CAP_DAC_OVERRIDE at least: tracefs belongs to root".to_owned(),
        true if !reads => {
            "recording by perf needs root (try sudo), or CAP_PERFMON (CAP_SYS_ADMIN before 5.8) and, as tracefs belongs to root, \
             CAP_DAC_READ_SEARCH"
                .to_owned()
        }
        _ => "not for want of a capability; a security module (SELinux, AppArmor) may say more in the kernel's log"
            .to_owned(),
    }
}

/// Why perf events are refused to what is root, as it seems.
pub fn of_a_user_namespace() -> Option<String> {
    (!is_the_hosts())
        .then(|| format!("{USER_NAMESPACE} events; perf needs the host's CAP_PERFMON (CAP_SYS_ADMIN before 5.8)"))
}

/// The mode of lockdown that hides traces, when it is on: the text is like `none [integrity] confidentiality`.
pub fn locked_down(text: &str) -> Option<&'static str> {
    text.contains("[confidentiality]").then_some("confidentiality")
}

/// Whether a uid_map is that of the host: all ids, each itself.
pub fn is_whole(map: &str) -> bool {
    let words: Vec<&str> = map.split_ascii_whitespace().collect();
    words.is_empty() || words == ["0", "0", "4294967295"]
}

/// Whether this process is in no user namespace but the first: capabilities in another say nothing about the host.
fn is_the_hosts() -> bool {
    is_whole(&fs::read_to_string("/proc/self/uid_map").unwrap_or_default())
}

/// What a recording lacks because this process is not wholly root, in sentences.
pub fn notes(addresses_hidden: bool) -> Vec<String> {
    let of_host = is_the_hosts();
    sentences(addresses_hidden, of_host, &|capability| of_host && has(capability))
}

/// The same, of a process for which `has` says which capabilities it has on the host.
pub fn sentences(addresses_hidden: bool, of_host: bool, has: &dyn Fn(CapabilitySet) -> bool) -> Vec<String> {
    let missing = match of_host {
        true => "is missing",
        false => "of the host is missing (this is a user namespace)",
    };
    let mut out = Vec::new();
    if addresses_hidden {
        let why = match has(CapabilitySet::SYSLOG) {
            true => "kernel.kptr_restrict hides them".to_owned(),
            false => format!("CAP_SYSLOG {missing}"),
        };
        out.push(format!(
            "addresses of the kernel's functions are hidden ({why}): no symbols are recorded"
        ));
    }
    for (capability, name, what) in [
        (
            CapabilitySet::SYS_ADMIN,
            "CAP_SYS_ADMIN",
            "no other network namespace is looked into",
        ),
        (
            CapabilitySet::SYS_PTRACE,
            "CAP_SYS_PTRACE",
            "processes of sockets are not known",
        ),
        (
            CapabilitySet::NET_ADMIN,
            "CAP_NET_ADMIN",
            "what network cards and sockets show to administrators only is not recorded",
        ),
    ] {
        if !has(capability) {
            out.push(format!("{name} {missing}: {what}"));
        }
    }
    out
}

fn has(capability: CapabilitySet) -> bool {
    // Where it cannot be asked, nothing is claimed to be missing.
    capabilities(None).map_or(true, |c| c.effective.contains(capability))
}
