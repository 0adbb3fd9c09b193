//! What this process may do, what a refusal of the kernel means, and what is missing from a recording without full root.
//!
//! Tracefs asks for no capability: its files belong to root, so CAP_DAC_OVERRIDE opens them, and kernel lockdown
//! (security/security.c `LOCKDOWN_TRACEFS`, of its confidentiality mode) closes them for everybody.

use std::fs;

use rustix::thread::{CapabilitySet, capabilities};

/// What a file of tracefs says when it cannot be opened for this reason.
pub fn why_refused() -> String {
    let lockdown = fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
    if let Some(mode) = locked_down(&lockdown) {
        return format!("the kernel is locked down ({mode}) and shows its traces to nobody, root included");
    }
    if !has(CapabilitySet::DAC_OVERRIDE) {
        return "recording needs root (try sudo), or CAP_DAC_OVERRIDE at least: tracefs belongs to root".to_owned();
    }
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    match is_whole(&map) {
        false => "this root is one of a user namespace (a container without privileges); recording needs the host's"
            .to_owned(),
        true => "not for want of a capability; a security module (SELinux, AppArmor) may say more in the kernel's log"
            .to_owned(),
    }
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

/// What a recording lacks because this process is not wholly root, in sentences.
pub fn notes(addresses_hidden: bool) -> Vec<String> {
    let mut out = Vec::new();
    if addresses_hidden {
        let why = match has(CapabilitySet::SYSLOG) {
            true => "kernel.kptr_restrict hides them",
            false => "CAP_SYSLOG is missing",
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
            out.push(format!("{name} is missing: {what}"));
        }
    }
    out
}

fn has(capability: CapabilitySet) -> bool {
    // Where it cannot be asked, nothing is claimed to be missing.
    capabilities(None).map_or(true, |c| c.effective.contains(capability))
}
