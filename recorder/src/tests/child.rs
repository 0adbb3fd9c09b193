//! This very test binary as a recorder of its own, so that it can be killed, starved and refused.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Gid, Uid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, set_capabilities, set_keep_capabilities, set_thread_groups, set_thread_res_gid,
    set_thread_res_uid,
};

use super::harness::{options, sh, wait_for};
use crate::options::Output;
use crate::record::record;

pub fn spawn_recorder(path: &Path) -> Child {
    spawn_recorder_to(path, Stdio::null())
}

pub fn spawn_recorder_to(path: &Path, stdout: Stdio) -> Child {
    let mut c = Command::new(std::env::current_exe().unwrap());
    c.args(ARGS).env("NETMORTEM_TEST_OUT", path);
    c.stdout(stdout).stderr(Stdio::null()).spawn().unwrap()
}

/// By this backend.
pub fn spawn_by(backend: &str, path: &Path) -> Child {
    let mut c = Command::new(std::env::current_exe().unwrap());
    c.args(ARGS)
        .env("NETMORTEM_TEST_OUT", path)
        .env("NETMORTEM_TEST_BACKEND", backend);
    c.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// What makes the test binary a recorder.
pub const ARGS: [&str; 4] = ["--exact", "tests::child::child_recorder", "--nocapture", "--ignored"];

#[test]
#[ignore = "runs only as a child of other tests"]
fn child_recorder() {
    let path = std::env::var_os("NETMORTEM_TEST_OUT").unwrap();
    let mut o = options(Path::new(&path));
    if path == "-" {
        o.output = Output::Stdout;
    }
    let seconds = std::env::var("NETMORTEM_TEST_SECONDS").ok();
    o.duration = seconds.map(|s| Duration::from_secs_f64(s.parse().unwrap()));
    if let Ok(capabilities) = std::env::var("NETMORTEM_TEST_CAPABILITIES") {
        become_nobody(&capabilities);
    }
    if let Ok(backend) = std::env::var("NETMORTEM_TEST_BACKEND") {
        o.perf.backend = crate::Backend::parse(&backend).unwrap();
    }
    if let Ok(script) = std::env::var("NETMORTEM_TEST_COMMAND") {
        o.command = sh(&script);
    }
    o.extra_kprobes = std::env::var_os("NETMORTEM_TEST_EXTRA").is_some();
    let eat = std::env::var_os("NETMORTEM_TEST_EAT");
    let mut eaten: Vec<Vec<u8>> = Vec::new();
    let done = record(&o, &mut |_| {
        while eat.as_ref().is_some_and(|flag| Path::new(flag).exists()) {
            eaten.push(vec![1; 1 << 20]);
        }
    });
    if let Err(e) = &done {
        let _ = writeln!(std::io::stderr(), "{e}");
    }
    // As one whose command outlives a limit.
    if let Some(flag) = std::env::var_os("NETMORTEM_TEST_LINGERS") {
        wait_for("nobody let it go", || !Path::new(&flag).exists());
    }
    // Not by a panic: the harness would tell of it on the standard output that nobody reads.
    std::process::exit(i32::from(done.is_err()));
}

/// This thread, and those that it starts, are of an ordinary user who has only these capabilities.
pub fn become_nobody(names: &str) {
    let of = |name: &str| CapabilitySet::from_name(name).unwrap();
    let wanted = names
        .split(',')
        .filter(|n| !n.is_empty())
        .fold(CapabilitySet::empty(), |all, n| all | of(n));
    set_keep_capabilities(true).unwrap();
    let (user, group) = (Uid::from_raw(65534), Gid::from_raw(65534));
    set_thread_groups(&[]).unwrap();
    set_thread_res_gid(group, group, group).unwrap();
    set_thread_res_uid(user, user, user).unwrap();
    let sets = CapabilitySets {
        effective: wanted,
        permitted: wanted,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, sets).unwrap();
}

pub fn signal(child: &Child, s: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, s).unwrap();
}
