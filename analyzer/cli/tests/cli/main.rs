//! The program as its users run it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)] // helpers of tests are not under #[test], where clippy.toml allows these

mod batch;
mod behaviour;
mod browser;
mod contract;
mod diff;
mod evidence;
mod exports;
mod flows;
mod manual;
mod packed;
mod parts;
mod record;
mod schema;
mod shown;
mod streams;

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn sample(path: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../sample-data");
    root.join(path).to_str().unwrap().to_owned()
}

fn rpc() -> String {
    sample("rpc/rpc.nmb")
}

fn netmortem(args: &[&str]) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_netmortem"));
    c.args(args).env_remove("NO_COLOR").stdin(Stdio::null());
    c
}

fn run(args: &[&str]) -> Output {
    netmortem(args).output().unwrap()
}

/// Standard output of a command that must succeed and say nothing on standard error.
fn stdout(args: &[&str]) -> String {
    let out = run(args);
    let told = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(
        out.status.success() && told.is_empty(),
        "{args:?}: {} {told}",
        out.status
    );
    String::from_utf8(out.stdout).unwrap()
}

/// Exit code and standard error.
fn failed(args: &[&str]) -> (i32, String) {
    let out = run(args);
    assert!(out.stdout.is_empty(), "{args:?} printed a result");
    (out.status.code().unwrap(), String::from_utf8(out.stderr).unwrap())
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(args)).unwrap()
}

/// A folder of this test's own.
fn tempdir(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("netmortem-cli-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    dir
}
