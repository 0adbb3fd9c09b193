//! Real format texts: the committed ones, and those of the machine the test runs on.

use std::path::{Path, PathBuf};

use crate::event_format::EventFormat;

/// The newest kernel whose texts are committed.
pub const RELEASE: &str = "6.18.44";

/// System and text.
pub type Text = (String, Vec<u8>);

/// All texts of a folder of `testdata/format`: `<system>.<event>.txt`.
pub fn recorded(folder: &str) -> Vec<Text> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("testdata/format")
        .join(folder);
    let mut names: Vec<PathBuf> = std::fs::read_dir(&root).unwrap().map(|e| e.unwrap().path()).collect();
    names.sort();
    names
        .iter()
        .map(|n| {
            (
                file_name(n).split_once('.').unwrap().0.to_owned(),
                std::fs::read(n).unwrap(),
            )
        })
        .collect()
}

/// One recorded text, parsed.
pub fn recorded_event(folder: &str, system: &str, name: &str) -> EventFormat {
    let all = recorded(folder);
    let mut parsed = all.iter().map(|(s, t)| EventFormat::parse(s, t).unwrap());
    parsed.find(|f| f.system == system && f.name == name).unwrap()
}

/// All texts of the running kernel; the reason when tracefs cannot be read.
pub fn live() -> Result<Vec<Text>, String> {
    let root = Path::new("/sys/kernel/tracing/events");
    if let Err(e) = std::fs::read_dir(root) {
        return Err(format!("{}: {e}", root.display()));
    }
    let mut out = Vec::new();
    for system in folders(root) {
        for event in folders(&system) {
            let path = event.join("format");
            match std::fs::read(&path) {
                Ok(text) => out.push((file_name(&system), text)),
                // Probes of other processes come and go.
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                Err(e) => return Err(format!("{}: {e}", path.display())),
            }
        }
    }
    Ok(out)
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let mut out: Vec<PathBuf> = entries.map(|e| e.path()).filter(|p| p.is_dir()).collect();
    out.sort();
    out
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}
