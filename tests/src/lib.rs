//! What the tests over the whole of netmortem share: where the samples are, and how to read the oracles beside them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use netmortem_analyzer::table::{Cell, FactTable};
use netmortem_analyzer::{Facts, ingest};
use netmortem_formats::Capture;

/// The root of the project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A file of `sample-data`.
pub fn sample(path: &str) -> PathBuf {
    root().join("sample-data").join(path)
}

/// Every sample capture with the folder of its oracles.
pub const SAMPLES: [&str; 9] = [
    "sawtooth/sawtooth.nmb",
    "rpc/rpc.nmb",
    "neighbour/neighbour.nmb",
    "mtu/mtu.nmb",
    "cpu/cpu.nmb",
    "opens/opens.nmb",
    "overlay/overlay.nmb",
    "kernel-6.1/netem.nmb",
    "tracedat-loopback/trace.dat",
];

/// Opens a capture that must open.
pub fn open(path: &Path) -> Result<Capture, String> {
    match netmortem_formats::open_path(path) {
        Ok(Ok(c)) => Ok(c),
        Ok(Err(e)) => Err(format!("{}: {e}", path.display())),
        Err(e) => Err(format!("{}: {e}", path.display())),
    }
}

/// The facts of a sample.
pub fn facts(path: &str) -> Result<Facts, String> {
    Ok(netmortem_analyzer::analyze(
        &open(&sample(path))?,
        &ingest::Options::default(),
    ))
}

/// `nstat` lines in a PROVENANCE.md: `TcpRetransSegs   36`.
pub fn nstat(provenance: &str, name: &str) -> Option<u64> {
    let line = provenance.lines().find(|l| l.split_whitespace().next() == Some(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// A counter before and after in a PROVENANCE.md: `otherhost_dropped   0 2`.
pub fn nstat_pair(provenance: &str, name: &str) -> Option<(u64, u64)> {
    let line = provenance.lines().find(|l| l.split_whitespace().next() == Some(name))?;
    let mut words = line.split_whitespace().skip(1).map(|w| w.parse().ok());
    Some((words.next()??, words.next()??))
}

/// Rows of a comma-separated file by column name.
pub fn csv(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = text.lines();
    let head: Vec<String> = lines
        .next()
        .unwrap_or("")
        .trim()
        .split(',')
        .map(str::to_string)
        .collect();
    lines
        .map(|l| {
            head.iter()
                .cloned()
                .zip(l.trim().split(',').map(str::to_string))
                .collect()
        })
        .collect()
}

/// A table as text, cell by cell: what must not depend on the number of threads.
pub fn dump(t: &dyn FactTable) -> String {
    let mut out = format!("{}\n", t.name());
    for row in 0..t.len() {
        for column in 0..t.columns().len() {
            let cell = match t.cell(row, column) {
                Cell::Null => String::new(),
                Cell::I64(v) => v.to_string(),
                Cell::U64(v) => v.to_string(),
                Cell::F64(v) => v.to_string(),
                Cell::Bool(v) => v.to_string(),
                Cell::Str(s) => s.into_owned(),
            };
            out += &cell;
            out.push(',');
        }
        out.push('\n');
    }
    out
}
