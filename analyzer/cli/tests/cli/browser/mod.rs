//! The page in a real browser: every section is there, the console has no error, nothing is asked of the network. Skipped, and
//! says so, where no Chromium is installed.

mod access;
mod devtools;
mod page;
mod pages;

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{run, sample, tempdir};

/// The names under which distributions install it.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Ids of the sections of every report.
const SECTIONS: [&str; 16] = [
    "quality",
    "verdict",
    "over-time",
    "changes",
    "opens",
    "datagrams",
    "application",
    "placement",
    "receive-path",
    "transmit-path",
    "skb-lifetimes",
    "napi",
    "drops",
    "tcp",
    "counters",
    "method",
];

/// What a browser made of a page.
struct Seen {
    /// The document after it was loaded.
    dom: String,
    /// Console messages of every level.
    console: Vec<String>,
    /// URLs that the page asked the network for; the browser's own requests (updates, time) are not the page's.
    requests: Vec<String>,
}

fn browser() -> Option<&'static str> {
    let answers = |b: &&str| {
        let mut c = Command::new(b);
        c.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        c.status().is_ok_and(|s| s.success())
    };
    let found = BROWSERS.iter().copied().find(answers);
    if found.is_none() {
        println!("skipped: no Chromium to open the page with (none of {BROWSERS:?} runs)");
    }
    found
}

fn open(browser: &str, page: &Path, dir: &Path) -> Seen {
    let log = dir.join("net-log.json");
    let _ = std::fs::remove_file(&log);
    let out = Command::new("timeout")
        .args(["120", browser, "--headless", "--no-sandbox", "--disable-gpu"])
        .args(["--disable-quic", "--no-first-run", "--disable-background-networking"])
        .args([
            "--disable-component-update",
            "--disable-sync",
            "--enable-logging=stderr",
        ])
        .arg("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1") // its own requests go nowhere
        .arg(format!("--user-data-dir={}", dir.join("profile").display()))
        .arg(format!("--log-net-log={}", log.display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success(), "{}: {told}", out.status);
    Seen {
        dom: String::from_utf8(out.stdout).unwrap(),
        console: told
            .lines()
            .filter(|l| l.contains(":CONSOLE:"))
            .map(str::to_owned)
            .collect(),
        requests: requests(&serde_json::from_slice(&std::fs::read(&log).unwrap()).unwrap()),
    }
}

/// URLs of the net log that a document asked for: what the browser asks for itself has `not an origin` as initiator.
fn requests(log: &Value) -> Vec<String> {
    let start = &log["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"];
    assert!(start.is_u64(), "the net log does not know its own events");
    let events = log["events"].as_array().unwrap().iter();
    events
        .filter(|e| e["type"] == *start)
        .map(|e| &e["params"])
        .filter(|p| p["initiator"].as_str().is_some_and(|i| i != "not an origin"))
        .filter_map(|p| p["url"].as_str())
        .filter(|u| !u.starts_with("file:") && !u.starts_with("data:"))
        .map(str::to_owned)
        .collect()
}

/// First that this test sees an error and a request where there are some; then that the reports have none.
#[test]
fn the_page_opens_whole_with_no_error_and_no_request() {
    let Some(browser) = browser() else { return };
    let dir = tempdir("browser");
    let page = dir.join("planted.html");
    let planted = "<!doctype html><img src='http://127.0.0.1:1/x.png'><script>console.error('planted')</script>";
    std::fs::write(&page, planted).unwrap();
    let seen = open(browser, &page, &dir);
    assert_eq!(seen.requests, ["http://127.0.0.1:1/x.png"]);
    assert!(seen.console.iter().any(|l| l.contains("planted")), "{:?}", seen.console);

    for input in ["sawtooth/sawtooth.nmb", "tracedat-loopback/trace.dat"] {
        let page = dir.join("report.html");
        let done = run(&["report", &sample(input), "-o", page.to_str().unwrap()]);
        assert!(done.status.success(), "{input}");
        let seen = open(browser, &page, &dir);
        for id in SECTIONS {
            let mark = format!("<section id=\"{id}\"");
            assert_eq!(seen.dom.matches(&mark).count(), 1, "{input}: section {id}");
        }
        assert_eq!(seen.dom.matches("<section ").count(), SECTIONS.len(), "{input}");
        assert!(seen.dom.contains("<svg"), "{input}: no picture");
        assert!(seen.dom.trim_end().ends_with("</html>"), "{input}");
        assert_eq!(seen.console, [""; 0], "{input}");
        assert_eq!(seen.requests, [""; 0], "{input}");
    }
    std::fs::remove_dir_all(&dir).unwrap();
}
