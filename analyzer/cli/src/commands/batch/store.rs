//! The folder a batch writes to.
//!
//! ```text
//! OUT/index.html, index.json                                 of everything below
//! OUT/reports/<recording>.html
//! OUT/dataset/<table>/bundle=<recording>/part-0.parquet
//! OUT/state/<recording>.json                                 written last: this recording is done, and what it contributes
//! ```
//! `<recording>` is its name with every byte but letters, digits, `.`, `-` and `_` as %XX, which readers of Hive partitions undo.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use netmortem_analyzer::fleet::{self, Fleet, Summary};
use netmortem_reports::{batch, html};
use serde::{Deserialize, Serialize};

use super::find::{File, number};
use super::one::{Wanted, whole};

/// File names are at most 255 bytes on every file system in use; `.html.part` is added.
const MAX_NAME: usize = 240;

/// How it went with a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Analyzed.
    Read(Box<Summary>),
    /// A recording that cannot be read.
    Bad {
        /// Why.
        because: String,
    },
    /// Of no format that is known.
    NoRecording,
}

/// A state file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Entry {
    /// Of the program: another one may answer otherwise.
    netmortem: String,
    name: String,
    bytes: u64,
    modified_ns: u64,
    report: bool,
    dataset: bool,
    outcome: Outcome,
    /// Memory there was, bytes, where that was too little for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    too_little: Option<u64>,
}

/// A recording that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BadRecording {
    /// Its name.
    pub name: String,
    /// Why.
    pub because: String,
}

/// What `index.json` holds.
#[derive(Debug, Serialize)]
pub struct Index {
    /// Version of this layout.
    pub netmortem_batch: u32,
    /// All recordings.
    #[serde(flatten)]
    pub fleet: Fleet,
    /// Those that could not be read.
    pub bad: Vec<BadRecording>,
    /// Files that are no recordings.
    pub no_recordings: Vec<String>,
}

/// The folder.
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// Makes what is missing of it and will be written to.
    pub fn open(root: &Path, wanted: Wanted) -> anyhow::Result<Store> {
        let dirs = [("reports", wanted.report), ("dataset", wanted.dataset), ("state", true)];
        for (dir, _) in dirs.iter().filter(|d| d.1) {
            let dir = root.join(dir);
            std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        }
        Ok(Store { root: root.to_owned() })
    }
    /// The page of a recording.
    pub fn report(&self, name: &str) -> PathBuf {
        self.root.join("reports").join(format!("{}.html", encoded(name)))
    }
    /// A Parquet file; its folder is made.
    pub fn part(&self, table: &str, name: &str) -> anyhow::Result<PathBuf> {
        let dir = self
            .root
            .join("dataset")
            .join(table)
            .join(format!("bundle={}", encoded(name)));
        std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        Ok(dir.join("part-0.parquet"))
    }
    fn state(&self, name: &str) -> PathBuf {
        self.root.join("state").join(format!("{}.json", encoded(name)))
    }
    /// Whether the file was analyzed by this version as it is now, and everything wanted was written; in part, with no less memory.
    pub fn is_done(&self, file: &File, wanted: Wanted, memory: u64) -> bool {
        read(&self.state(&file.name)).is_some_and(|e| {
            let same = (e.bytes, e.modified_ns, e.netmortem.as_str()) == (file.bytes, file.modified_ns, VERSION);
            let all = (e.report || !wanted.report) && (e.dataset || !wanted.dataset);
            // Why it could not be read may have gone: a permission, too little memory.
            let read = matches!(&e.outcome, Outcome::Read(s) if s.version == fleet::VERSION);
            let fits = e.too_little.is_none_or(|had| memory <= had);
            same && (read && all && fits || e.outcome == Outcome::NoRecording)
        })
    }
    /// Remembers how it went.
    pub fn keep(&self, file: &File, outcome: &Outcome, wanted: Wanted, memory: u64) -> anyhow::Result<()> {
        let entry = Entry {
            netmortem: VERSION.to_owned(),
            name: file.name.clone(),
            bytes: file.bytes,
            modified_ns: file.modified_ns,
            report: wanted.report,
            dataset: wanted.dataset,
            outcome: outcome.clone(),
            too_little: match outcome {
                Outcome::Read(s) => s.part.as_ref().map(|_| memory),
                _ => None,
            },
        };
        let json = serde_json::to_vec(&entry)?;
        let path = self.state(&file.name);
        whole(&path, |out| Ok(out.write_all(&json)?)).with_context(|| format!("cannot write {}", path.display()))
    }
    /// Every recording that was ever kept here.
    pub fn entries(&self) -> anyhow::Result<Index> {
        let dir = self.root.join("state");
        let mut files: Vec<PathBuf> = std::fs::read_dir(&dir)
            .with_context(|| format!("cannot read {}", dir.display()))?
            .flatten()
            .map(|e| e.path())
            .filter(|p| p.extension().is_some_and(|e| e == "json"))
            .collect();
        files.sort();
        let (mut summaries, mut bad, mut no_recordings) = (vec![], vec![], vec![]);
        for path in files {
            let current = |e: &Entry| !matches!(&e.outcome, Outcome::Read(s) if s.version != fleet::VERSION);
            let Some(entry) = read(&path).filter(current) else {
                bad.push(BadRecording {
                    name: path.display().to_string(),
                    because: "this state file is of another version or damaged: analyze its recording again".to_owned(),
                });
                continue;
            };
            match entry.outcome {
                Outcome::Read(s) => summaries.push(*s),
                Outcome::Bad { because } => bad.push(BadRecording {
                    name: entry.name,
                    because,
                }),
                Outcome::NoRecording => no_recordings.push(entry.name),
            }
        }
        Ok(Index {
            netmortem_batch: 1,
            fleet: fleet::of(summaries),
            bad,
            no_recordings,
        })
    }
    /// Writes the two index files.
    pub fn write_index(&self, index: Index) -> anyhow::Result<Index> {
        let link = |name: &str| self.report(name).exists().then(|| href(name));
        let bad: Vec<(&str, &str)> = index
            .bad
            .iter()
            .map(|b| (b.name.as_str(), b.because.as_str()))
            .collect();
        let page = html(&batch::document(&index.fleet, &bad, &index.no_recordings, &link));
        let path = self.root.join("index.html");
        whole(&path, |out| Ok(out.write_all(page.as_bytes())?))
            .with_context(|| format!("cannot write {}", path.display()))?;
        let path = self.root.join("index.json");
        whole(&path, |out| Ok(serde_json::to_writer(out, &index)?))
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(index)
    }
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn read(path: &Path) -> Option<Entry> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// A name as a file name. Names that are too long keep their end, where the file's own name is, and a number of the whole.
pub fn encoded(name: &str) -> String {
    let mut out = String::new();
    for b in name.bytes() {
        if b.is_ascii_alphanumeric() || b"-_.".contains(&b) {
            out.push(char::from(b));
        } else {
            let _ = write!(out, "%{b:02X}");
        }
    }
    // No hidden files, no way up.
    if out.starts_with('.') {
        out.replace_range(..1, "%2E");
    }
    if out.len() > MAX_NAME {
        let end = out.split_off(out.len() - (MAX_NAME - 20));
        // Not in the middle of a %XX.
        let end = end.trim_start_matches(|c: char| c != '%' && c != '.' && c != '-' && c != '_');
        return format!("{:016x}-{end}", number(name));
    }
    out
}

/// The page of a recording as seen from the index.
fn href(name: &str) -> String {
    format!("reports/{}.html", encoded(name).replace('%', "%25"))
}
