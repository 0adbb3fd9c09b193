//! `--extra kprobes` on this kernel: what it has is recorded, what it lacks is said, and nothing stays.

use std::path::Path;
use std::process::{Command, Stdio};

use super::child::{ARGS, signal};
use super::harness::{options, record_while, scratch, tracefs_or_skip, transfer, wait_for};
use super::kernel_state::{assert_restored, kernel_state};
use super::reading::payloads;
use crate::options::Profile;
use crate::record::record;

/// What this kernel has, by its own words.
#[derive(Debug)]
struct Has {
    /// Probes in the kernel, with fields by BTF, in functions that it has.
    fields: bool,
    /// Probes in programs, and a libc where Debian and Fedora have it.
    uprobes: bool,
}

fn told_by_the_kernel(root: &Path) -> Has {
    let text = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let symbols = text(Path::new("/proc/kallsyms"));
    let function = |name: &str| symbols.lines().any(|l| l.split_whitespace().nth(2) == Some(name));
    let functions = [
        "inet_csk_complete_hashdance",
        "tcp_add_backlog",
        "__tcp_push_pending_frames",
    ];
    let libc = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6"];
    Has {
        fields: root.join("kprobe_events").exists()
            && text(&root.join("README")).contains("<argname>[->")
            && functions.into_iter().all(function),
        uprobes: root.join("uprobe_events").exists() && libc.iter().any(|l| Path::new(l).exists()),
    }
}

#[test]
fn probes_are_recorded_where_the_kernel_has_them() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let state = kernel_state(&root);
    let path = scratch("probes");
    let mut o = options(&path);
    o.profile = Profile::Drops;
    o.extra_kprobes = true;
    let mut resolved = 0;
    let (c, _) = record_while(&mut o, || {
        transfer(100_000);
        for _ in 0..3 {
            let done = Command::new("getent")
                .args(["ahosts", "127.0.0.1"])
                .stdout(Stdio::null())
                .status();
            resolved += usize::from(done.is_ok_and(|s| s.success()));
        }
    });
    assert_restored(&root, &state);
    let manifest: netmortem_formats::bundle::Manifest = serde_json::from_value(c.manifest.clone().unwrap()).unwrap();
    let group = format!("netmortem_{}", std::process::id());
    let count = |name: &str| {
        let full = format!("{group}:{name}");
        let Some(absent) = manifest.plan.absent.iter().find(|a| a.name == full) else {
            assert!(
                manifest.plan.events.iter().any(|e| e.name == full),
                "{name} is neither recorded nor absent"
            );
            let format = c.event_formats.iter().find(|f| f.key() == full).unwrap();
            return Some(payloads(&c, format.id).len());
        };
        println!("not here: {full}: {}", absent.because);
        assert!(!absent.because.is_empty());
        None
    };
    let kernel = told_by_the_kernel(&root);
    // One connection; others of this machine may connect, too.
    for name in ["accept_queue", "push"] {
        let n = count(name);
        assert!(n.map_or(!kernel.fields, |n| n >= 1), "{name}: {n:?} {kernel:?}");
    }
    let backlog = count("backlog");
    assert!(backlog.is_some() || !kernel.fields, "{kernel:?}");
    for name in ["getaddrinfo", "getaddrinfo_return"] {
        let n = count(name);
        assert!(
            n.map_or(!kernel.uprobes, |n| n >= resolved),
            "{name}: {n:?} of {resolved} {kernel:?}"
        );
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn probes_of_a_killed_recorder_are_removed_by_the_next() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let state = kernel_state(&root);
    let list = root.join("uprobe_events");
    if !list.exists() {
        println!("skipped: this kernel has no uprobe_events");
        return;
    }
    let path = scratch("probes-killed");
    let mut c = Command::new(std::env::current_exe().unwrap());
    c.args(ARGS)
        .env("NETMORTEM_TEST_OUT", &path)
        .env("NETMORTEM_TEST_EXTRA", "1");
    let mut child = c.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let ours = format!("netmortem_{}/", child.id());
    let listed = || std::fs::read_to_string(&list).unwrap().contains(&ours);
    wait_for("no probe was defined", listed);
    signal(&child, rustix::process::Signal::KILL);
    child.wait().unwrap();
    let mut o = options(&path);
    o.duration = Some(std::time::Duration::from_millis(100));
    record(&o, &mut |_| {}).unwrap();
    assert!(!listed());
    assert_restored(&root, &state);
    std::fs::remove_file(path).unwrap();
}
