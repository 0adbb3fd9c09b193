//! A reader of a CPU on which nothing is recorded, on a kernel that wakes it for every event.

use std::path::Path;
use std::time::{Duration, Instant};

use netmortem_formats::bundle::BundleWriter;

use super::harness::{options, tracefs_or_skip};
use crate::drain::{CpuDrain, Drains, Shared, Sink};
use crate::instance::Instance;
use crate::output::Patience;
use crate::prepare::prepare;
use crate::record::open_drains;
use crate::symbols::Symbols;

/// How often threads of this process that are called so have gone to sleep.
fn sleeps(name: &str) -> u64 {
    let field = |text: &str, key: &str| text.lines().find_map(|l| Some(l.strip_prefix(key)?.trim().to_owned()));
    let mut all = 0;
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let text = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
        if field(&text, "Name:").as_deref() == Some(name) {
            all += field(&text, "voluntary_ctxt_switches:")
                .unwrap()
                .parse::<u64>()
                .unwrap();
        }
    }
    all
}

/// One event came, and was read with what is not full of its sub-buffer: then there is nothing to look for every 20 ms, for as long as
/// the recording lasts and on each CPU that idles. Before Linux 6.1 a reader is woken so, whatever `buffer_percent` says; since by 0.
#[test]
fn a_reader_of_a_cpu_that_idles_sleeps() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let (instance, _) = Instance::create(&root).unwrap();
    let manifest = prepare(&instance, &options(Path::new("unused")), &Symbols::default(), vec![]).unwrap();
    instance.write("set_event", "").unwrap();
    instance.write("buffer_percent", "0").unwrap();
    instance.write("tracing_on", "1").unwrap();
    let writer = BundleWriter::new(Box::new(std::io::sink()) as Sink, &manifest).unwrap();
    let shared = Shared::new(writer, Patience::default()).unwrap();
    let readers: Vec<CpuDrain> = open_drains(&instance, &manifest.plan).unwrap();
    let cpus: Vec<u32> = readers.iter().map(CpuDrain::cpu).collect();
    let drains = Drains::start(shared, readers, &cpus).unwrap();
    // On whichever CPU: its reader is woken, and finds no full sub-buffer.
    instance.write("trace_marker", "one").unwrap();
    std::thread::sleep(Duration::from_millis(1_600));
    let all = || cpus.iter().map(|cpu| sleeps(&format!("drain/{cpu}"))).sum::<u64>();
    let (before, began) = (all(), Instant::now());
    std::thread::sleep(Duration::from_secs(2));
    let slept = all() - before;
    let most = cpus.len() as u64 * (began.elapsed().as_millis() as u64 / 250 + 2);
    drop(drains);
    assert!(slept <= most, "{slept} sleeps, {most} at most");
}
