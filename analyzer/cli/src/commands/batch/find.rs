//! Which files a batch is about, and what each is called.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::UNIX_EPOCH;

use crate::failure::failure;

/// Folders deeper than this are not searched: a loop of mounts has no bottom.
const DEPTH: usize = 64;

/// A file to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Where it is.
    pub path: PathBuf,
    /// What it is called in the batch: its path below the named folder.
    pub name: String,
    /// Bytes.
    pub bytes: u64,
    /// Last change, ns since 1970.
    pub modified_ns: u64,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// By name.
    pub files: Vec<File>,
    /// Folders that could not be read, and why.
    pub problems: Vec<String>,
}

/// One part of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub part: u64,
    /// How many there are.
    pub of: u64,
}

impl FromStr for Shard {
    type Err = String;
    fn from_str(s: &str) -> Result<Shard, String> {
        let parts = s
            .split_once('/')
            .and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parts {
            Some((part, of)) if (1..=of).contains(&part) => Ok(Shard { part, of }),
            _ => Err("give the part and how many there are, as 2/4".to_owned()),
        }
    }
}

impl Shard {
    /// Whether a recording of this name is in the part. By name alone, so that machines need not agree on what others have.
    pub fn has(self, name: &str) -> bool {
        number(name) % self.of == self.part - 1
    }
}

/// A number of a name: FNV-1a, the same on every machine and in every version.
pub fn number(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// All files of `inputs`, without what lies in `out`.
pub fn all(inputs: &[PathBuf], out: &Path, shard: Option<Shard>) -> anyhow::Result<Found> {
    let out = out.canonicalize().ok();
    let mut found = Found::default();
    for input in inputs {
        let meta = std::fs::metadata(input).map_err(|e| {
            failure(
                format!("cannot read {}: {e}", input.display()),
                "check the path: name folders with recordings",
            )
        })?;
        // Of several folders, files of the same name are told apart by the folder's.
        let prefix = (inputs.len() > 1 && meta.is_dir()).then(|| shown(input));
        if meta.is_dir() {
            folder(input, prefix.as_deref().unwrap_or(""), out.as_deref(), 0, &mut found);
        } else {
            let name = input
                .file_name()
                .map_or_else(|| shown(input), |n| n.to_string_lossy().into_owned());
            found.files.extend(file(input, name));
        }
    }
    found.files.sort_by(|a, b| (&a.name, &a.path).cmp(&(&b.name, &b.path)));
    found.files.dedup_by(|a, b| a.path == b.path);
    tell_apart(&mut found.files);
    found.files.retain(|f| shard.is_none_or(|s| s.has(&f.name)));
    Ok(found)
}

/// Two files of one name would be one recording: their paths as given tell them apart, and a number where these cannot.
fn tell_apart(files: &mut [File]) {
    let shared = |files: &[File]| -> Vec<bool> {
        let mut n: BTreeMap<&str, usize> = BTreeMap::new();
        for f in files {
            *n.entry(&f.name).or_default() += 1;
        }
        files
            .iter()
            .map(|f| n.get(f.name.as_str()).is_some_and(|n| *n > 1))
            .collect()
    };
    let twins = shared(files);
    for (f, shared) in files.iter_mut().zip(twins) {
        if shared {
            f.name = shown(&f.path);
        }
    }
    // Names that are not UTF-8 may still look alike.
    let twins = shared(files);
    for (i, (f, shared)) in files.iter_mut().zip(twins).enumerate() {
        if shared {
            f.name = format!("{} ({i})", f.name);
        }
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().trim_matches('/').to_owned()
}

fn file(path: &Path, name: String) -> Option<File> {
    let meta = std::fs::metadata(path).ok()?;
    let modified = meta.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
    meta.is_file().then(|| File {
        path: path.to_owned(),
        name,
        bytes: meta.len(),
        modified_ns: modified.map_or(0, |d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)),
    })
}

fn folder(dir: &Path, prefix: &str, out: Option<&Path>, depth: usize, found: &mut Found) {
    if depth > DEPTH || out.is_some_and(|o| dir.canonicalize().is_ok_and(|d| d == o)) {
        return;
    }
    let entries = match std::fs::read_dir(dir) {
        Ok(e) => e,
        Err(e) => return found.problems.push(format!("{}: {e}", dir.display())),
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = if prefix.is_empty() {
            name.to_string_lossy().into_owned()
        } else {
            format!("{prefix}/{}", name.to_string_lossy())
        };
        // A link to a folder may lead back up; a link to a file is the file.
        match entry.file_type() {
            Ok(t) if t.is_dir() => folder(&entry.path(), &name, out, depth + 1, found),
            _ => found.files.extend(file(&entry.path(), name)),
        }
    }
}
