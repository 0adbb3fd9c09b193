//! Hosts that refuse: no root, some capabilities only, a read-only tracefs, none at all.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};

use super::child::ARGS;
use super::harness::{open, tracefs_or_skip, transfer};
use super::kernel_state::{assert_restored, kernel_state};
use crate::options::DEFAULT_BUFFER_KIB;
use crate::permissions::{is_whole, locked_down};

/// Says that it is over, also when a test panics: else the scope waits for its thread for ever.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A folder in which everybody may write.
fn open_folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("netmortem-refused-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o777)).unwrap();
    path
}

/// A recorder as a child, of half a second, after `before` was done in a mount namespace of its own.
fn recorded(before: &str, out: &Path, capabilities: Option<&str>) -> Output {
    let script = format!("{before} exec \"$0\" \"$@\"");
    let mut c = Command::new("unshare");
    c.args(["-m", "sh", "-c", &script])
        .arg(std::env::current_exe().unwrap())
        .args(ARGS);
    c.env("NETMORTEM_TEST_OUT", out).env("NETMORTEM_TEST_SECONDS", "0.5");
    if let Some(list) = capabilities {
        c.env("NETMORTEM_TEST_CAPABILITIES", list);
    }
    c.output().unwrap()
}

#[test]
fn what_is_refused_is_said_and_what_to_do() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let state = kernel_state(&root);
    let folder = open_folder("said");
    let out = folder.join("x.nmb");
    let hide = "mount -t tmpfs none /sys/kernel/tracing && { mount -t tmpfs none /sys/kernel/debug || true; } &&";
    let seal =
        "mount --bind /sys/kernel/tracing /sys/kernel/tracing && mount -o remount,bind,ro /sys/kernel/tracing &&";
    for (before, capabilities, expected) in [
        (
            "",
            Some(""),
            "recording needs root (try sudo), or CAP_DAC_OVERRIDE at least",
        ),
        // To look is not enough.
        (
            "",
            Some("DAC_READ_SEARCH"),
            "recording needs root (try sudo), or CAP_DAC_OVERRIDE at least",
        ),
        (seal, None, "tracefs is mounted read-only here"),
        (
            hide,
            None,
            "no tracefs at /sys/kernel/tracing or /sys/kernel/debug/tracing; mount it first",
        ),
    ] {
        let done = recorded(before, &out, capabilities);
        let said = String::from_utf8_lossy(&done.stderr);
        // Where tracefs refuses, perf events may still do.
        if before == seal && done.status.success() {
            let (c, manifest, _) = open(&out);
            let fallback = "recorded by perf: no tracing instance can be made";
            assert!(c.complete && manifest.plan.perf.is_some(), "{:?}", c.problems);
            assert!(
                manifest
                    .notes
                    .iter()
                    .any(|n| n.starts_with(fallback) && n.contains(expected)),
                "{:?}",
                manifest.notes
            );
            std::fs::remove_file(&out).unwrap();
            continue;
        }
        assert!(
            done.status.code() == Some(1) && said.contains(expected),
            "{expected:?}: {said}"
        );
        assert!(!out.exists());
    }
    assert_restored(&root, &state);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn capabilities_without_root_record_and_say_what_is_missing() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let state = kernel_state(&root);
    let folder = open_folder("caps");
    for (capabilities, missing) in [
        (
            "DAC_OVERRIDE",
            &["CAP_SYSLOG", "CAP_SYS_ADMIN", "CAP_SYS_PTRACE", "CAP_NET_ADMIN"][..],
        ),
        (
            "DAC_OVERRIDE,SYSLOG,SYS_ADMIN,SYS_PTRACE,NET_ADMIN,DAC_READ_SEARCH",
            &[],
        ),
    ] {
        let out = folder.join("x.nmb");
        // All the time: when its events are on nobody is told.
        let over = AtomicBool::new(false);
        let done = std::thread::scope(|s| {
            s.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    transfer(100_000);
                }
            });
            let _over = Over(&over);
            recorded("", &out, Some(capabilities))
        });
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let (c, manifest, end) = open(&out);
        assert!(c.complete, "{:?}", c.problems);
        assert!(
            end.cpu_stats.iter().map(|s| s.read_events).sum::<u64>() > 20,
            "{:?}",
            end.cpu_stats
        );
        let said = |name: &str| manifest.notes.iter().any(|n| n.contains(&format!("{name} is missing")));
        for name in ["CAP_SYSLOG", "CAP_SYS_ADMIN", "CAP_SYS_PTRACE", "CAP_NET_ADMIN"] {
            assert_eq!(said(name), missing.contains(&name), "{name}: {:?}", manifest.notes);
        }
        // Symbols are there with their addresses, or not at all.
        assert_eq!(c.members.iter().any(|m| m.name == "symbols.zst"), missing.is_empty());
        // Without addresses timers are filtered by the names of their functions, where the kernel can (6.6).
        let timers = manifest
            .plan
            .events
            .iter()
            .filter(|e| e.name.starts_with("timer:"))
            .count();
        let told = manifest
            .plan
            .absent
            .iter()
            .filter(|e| e.name.starts_with("timer:"))
            .count();
        assert_eq!(timers + told, 4);
        std::fs::remove_file(out).unwrap();
    }
    assert_restored(&root, &state);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn perf_takes_the_ring_that_it_may_lock() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let state = kernel_state(&root);
    let folder = open_folder("locked");
    let out = folder.join("x.nmb");
    // No limit but that of the kernel's setting.
    let done = recorded("ulimit -l 64 &&", &out, Some("PERFMON,DAC_READ_SEARCH"));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let (c, manifest, _) = open(&out);
    assert!(c.complete && manifest.plan.perf.is_some(), "{:?}", c.problems);
    let setting = std::fs::read_to_string("/proc/sys/kernel/perf_event_mlock_kb").unwrap();
    let may_kib = (setting.trim().parse::<u64>().unwrap() + 64) * manifest.plan.cpus.len() as u64;
    let (each, all_kib) = (
        manifest.plan.buffer_bytes_per_cpu,
        (manifest.plan.buffer_bytes_per_cpu >> 10) * manifest.plan.cpus.len() as u64,
    );
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap();
    let limited = paranoid.trim() != "-1" && may_kib < DEFAULT_BUFFER_KIB * manifest.plan.cpus.len() as u64;
    let said = manifest.notes.iter().any(|n| n.contains("may lock no more memory"));
    assert_eq!(said, limited, "{each}: {:?}", manifest.notes);
    assert!(!limited || all_kib <= may_kib, "{each}");
    assert_restored(&root, &state);
    std::fs::remove_dir_all(folder).unwrap();
}

/// What perf is refused for, and that what is named suffices.
#[test]
fn perf_says_what_it_needs_and_no_more() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap();
    if paranoid.trim().starts_with('-') {
        println!("skipped: perf events are everybody's here (kernel.perf_event_paranoid)");
        return;
    }
    let state = kernel_state(&root);
    let folder = open_folder("perf");
    let out = folder.join("x.nmb");
    let by_perf = "NETMORTEM_TEST_BACKEND=perf; export NETMORTEM_TEST_BACKEND;";
    let both = "CAP_PERFMON (CAP_SYS_ADMIN before 5.8) and, as tracefs belongs to root, CAP_DAC_READ_SEARCH";
    for (capabilities, expected) in [
        ("", Some(both)),
        ("PERFMON", Some(both)),
        (
            "DAC_READ_SEARCH",
            Some("CAP_PERFMON (CAP_SYS_ADMIN before 5.8) is missing"),
        ),
        ("PERFMON,DAC_READ_SEARCH", None),
    ] {
        let done = recorded(by_perf, &out, Some(capabilities));
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.success(), expected.is_none(), "{capabilities}: {said}");
        assert!(
            said.contains(expected.unwrap_or("")) && !said.contains("CAP_DAC_OVERRIDE"),
            "{said}"
        );
    }
    assert_restored(&root, &state);
    std::fs::remove_dir_all(folder).unwrap();
}

/// Root of a user namespace has every capability there, and none here.
#[test]
fn what_root_of_a_user_namespace_lacks_is_said() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let state = kernel_state(&root);
    let folder = open_folder("userns");
    let out = folder.join("x.nmb");
    let in_a_namespace = |backend: &str| {
        let mut c = Command::new("unshare");
        c.args(["-U", "-r"]).arg(std::env::current_exe().unwrap()).args(ARGS);
        c.env("NETMORTEM_TEST_OUT", &out).env("NETMORTEM_TEST_SECONDS", "0.3");
        c.env("NETMORTEM_TEST_BACKEND", backend).output().unwrap()
    };
    if !Command::new("unshare")
        .args(["-U", "-r", "true"])
        .status()
        .is_ok_and(|s| s.success())
    {
        println!("skipped: no user namespace can be made here");
        return;
    }
    let done = in_a_namespace("ftrace");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let (c, manifest, _) = open(&out);
    let said = |what: &str| manifest.notes.iter().any(|n| n.contains(what));
    for name in ["CAP_SYS_ADMIN", "CAP_SYS_PTRACE", "CAP_NET_ADMIN"] {
        assert!(said(&format!("{name} of the host is missing")), "{:?}", manifest.notes);
    }
    let symbols = c.members.iter().any(|m| m.name == "symbols.zst");
    assert!(
        !said("kptr_restrict") && said("(CAP_SYSLOG of the host") != symbols,
        "{:?}",
        manifest.notes
    );
    let done = in_a_namespace("perf");
    let refused = String::from_utf8_lossy(&done.stderr);
    assert!(
        refused.contains("this is a user namespace") || done.status.success(),
        "{refused}"
    );
    assert_restored(&root, &state);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn lockdown_and_user_namespaces_are_told() {
    assert_eq!(
        locked_down("none integrity [confidentiality]\n"),
        Some("confidentiality")
    );
    assert_eq!(locked_down("none [integrity] confidentiality\n"), None);
    assert_eq!(locked_down(""), None);
    assert!(is_whole("         0          0 4294967295\n"));
    assert!(!is_whole("         0       1000          1\n"));
}
