//! `netmortem-lab`: plays the truth rigs, and compares the ledger with the truth.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Parser, Subcommand};
use netmortem_lab::evaluate::{Figures, Report, Verdict, evaluate, print};
use netmortem_lab::recording::{self, Recorder};
use netmortem_lab::rigs::{self, Rig};
use netmortem_lab::runner::{self, NotHere, Played};
use netmortem_lab::{incidents, pairs};

/// Truth rigs: planted causes of known size, and what the ledger says of them.
#[derive(Debug, Parser)]
#[command(name = "netmortem-lab", version)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Names the rigs
    List,
    /// Plays rigs, each into a folder of its own with a bundle and its truth
    Run {
        #[command(flatten)]
        play: Play,
    },
    /// Compares what rigs left with their truth; exit code 3 when a figure is missed, 5 when too few plants succeeded to say
    Evaluate {
        /// Folders of rigs, or a folder of such folders
        dirs: Vec<PathBuf>,
        /// Show every wrong case
        #[arg(short, long)]
        verbose: bool,
    },
    /// Plays rigs and compares
    All {
        #[command(flatten)]
        play: Play,
        /// Show every wrong case
        #[arg(short, long)]
        verbose: bool,
    },
    /// Records pairs for diff, planted and not, and says what the comparison finds; what DIR holds already stays
    Pairs {
        /// Where the recordings go
        #[arg(long, default_value = "lab-pairs")]
        out: PathBuf,
        /// Show what is said of every pair
        #[arg(short, long)]
        verbose: bool,
        /// Record the large plants of the test instead, judge nothing
        #[arg(long)]
        large: bool,
        /// Pairs in all
        #[arg(default_value_t = 42)]
        pairs: usize,
    },
    /// Plants incidents, records them, and says whether the first page names their causes; what DIR holds already stays
    Incidents {
        /// Where the recordings go
        #[arg(long, default_value = "lab-incidents")]
        out: PathBuf,
        /// Show the words that are missing
        #[arg(short, long)]
        verbose: bool,
        /// Record nothing: judge what this older kernel would have recorded of what DIR holds
        #[arg(long = "as", value_name = "KERNEL")]
        older: Option<String>,
        /// Write what each page says to FOLDER/SCENE.txt
        #[arg(long, value_name = "FOLDER")]
        pages: Option<PathBuf>,
        /// Scenes [default: all in tests/lab/incidents/scenes]
        scenes: Vec<String>,
    },
    /// One rig in this process (used by run)
    #[command(hide = true)]
    Rig {
        name: String,
        #[arg(long)]
        out: PathBuf,
        #[arg(long)]
        recorder: Option<PathBuf>,
    },
    /// The recorded command (used by rigs)
    #[command(hide = true)]
    Hold,
    /// The recorder, as netmortem-record
    #[command(hide = true)]
    Record {
        #[command(flatten)]
        record: Box<netmortem_recorder::cli::RecordArgs>,
    },
}

#[derive(Debug, clap::Args)]
struct Play {
    /// netmortem-record to use [default: the copy in this program]
    #[arg(long)]
    recorder: Option<PathBuf>,
    /// Where the rigs' folders go
    #[arg(long, default_value = "lab-out")]
    out: PathBuf,
    /// How often a rig is played at most, where most of its plants fail by their own stamps
    #[arg(long, default_value_t = runner::TRIES)]
    tries: u32,
    /// Rigs [default: all]
    rigs: Vec<String>,
}

/// A figure is missed, or a rig failed.
const MISSED: u8 = 3;
/// The machine let too few plants succeed.
const INCONCLUSIVE: u8 = 5;

fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Rig>> {
    if names.is_empty() {
        return Ok(rigs::ALL.iter().collect());
    }
    let of = |n: &String| {
        rigs::ALL
            .iter()
            .find(|r| r.name == n)
            .with_context(|| format!("no rig {n}; see list"))
    };
    names.iter().map(of).collect()
}

fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Plays; the folders of those that were played, and whether one failed.
fn run(play: &Play) -> anyhow::Result<(Vec<PathBuf>, bool)> {
    if let Some(why) = runner::unable() {
        tell(&format!("skipped: {why}"));
        return Ok((vec![], false));
    }
    let recorder = Recorder(play.recorder.clone());
    let (mut dirs, mut failed) = (vec![], false);
    for rig in chosen(&play.rigs)? {
        let started = std::time::Instant::now();
        let played = runner::play(rig, &play.out, &recorder, play.tries, tell)?;
        let took = started.elapsed().as_secs_f64();
        match played {
            Played::Done(dir) => {
                tell(&format!("{}: played in {took:.1} s", rig.name));
                dirs.push(dir);
            }
            Played::Skipped(why) => tell(&format!("skipped: {}: {why}", rig.name)),
            Played::Failed(why) => {
                failed = true;
                tell(&format!("{}: FAILED after {took:.1} s: {why}", rig.name));
            }
        }
    }
    Ok((dirs, failed))
}

/// Folders that hold a truth: those given, or their children.
fn folders(given: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let is_rig = |d: &Path| d.join("truth.json").is_file();
    let mut found = vec![];
    for d in given {
        if is_rig(d) {
            found.push(d.clone());
            continue;
        }
        let children = std::fs::read_dir(d).with_context(|| d.display().to_string())?;
        let mut children: Vec<PathBuf> = children
            .filter_map(|e| Some(e.ok()?.path()))
            .filter(|d| is_rig(d))
            .collect();
        children.sort();
        found.extend(children);
    }
    Ok(found)
}

/// Exit code of a judgement.
fn judge(dirs: &[PathBuf], verbose: bool) -> anyhow::Result<u8> {
    let mut reports: Vec<Report> = vec![];
    for d in dirs {
        reports.push(evaluate(d).with_context(|| d.display().to_string())?);
    }
    std::io::stdout().write_all(print(&reports, verbose).as_bytes())?;
    Ok(match Figures::of(&reports).verdict() {
        Verdict::Kept => 0,
        Verdict::Missed => MISSED,
        Verdict::Inconclusive => INCONCLUSIVE,
    })
}

fn one(name: &str, out: PathBuf, recorder: Option<PathBuf>) -> anyhow::Result<()> {
    let Some(rig) = rigs::ALL.iter().find(|r| r.name == name) else {
        bail!("no rig {name}")
    };
    rigs::play(rig, out, Recorder(recorder)).map(drop)
}

fn play_pairs(out: &Path, n: usize, verbose: bool) -> anyhow::Result<u8> {
    match runner::unable() {
        Some(why) => tell(&format!("skipped: {why}; what is recorded already is judged")),
        None => pairs::record(pairs::ALL, out, n, &Recorder::default(), &mut tell)?,
    }
    let table = pairs::judge(out);
    std::io::stdout().write_all(table.text(verbose).as_bytes())?;
    let ((n, found, _), alarms) = (table.detected(), table.false_alarms());
    // 95 of 100 found, and no more than 5 of 100 false alarms.
    let kept = found * 100 >= n * 95 && alarms.iter().all(|(n, wrong)| wrong * 100 <= n * 5);
    Ok(if kept { 0 } else { MISSED })
}

/// Of 100 causes so many must be on the first page, and so many in its first sentence.
const NAMED: (usize, usize) = (90, 75);

fn play_incidents(
    out: &Path,
    names: &[String],
    older: Option<&str>,
    pages: Option<&Path>,
    verbose: bool,
) -> anyhow::Result<u8> {
    let scenes = incidents::scenes(names)?;
    let older = older.map(incidents::Kernel::named).transpose()?;
    match runner::unable() {
        _ if older.is_some() => {}
        Some(why) => tell(&format!("skipped: {why}; what is recorded already is judged")),
        None => incidents::record(&scenes, out, &mut tell)?,
    }
    let table = incidents::judge(out, &scenes, older.as_ref());
    if let Some(folder) = pages {
        table.write(folder)?;
    }
    std::io::stdout().write_all(table.text(verbose).as_bytes())?;
    let ((all, first, page), (_, alarms)) = (table.named(), table.alarms());
    let kept = page * 100 >= all * NAMED.0 && first * 100 >= all * NAMED.1 && alarms == 0;
    Ok(if kept { 0 } else { MISSED })
}

fn main() -> ExitCode {
    let done = match Args::parse().command {
        Command::List => {
            for r in rigs::ALL {
                let _ = writeln!(std::io::stdout(), "{:<18} {}", r.name, r.what);
            }
            Ok(0)
        }
        Command::Run { play } => run(&play).map(|(_, failed)| if failed { MISSED } else { 0 }),
        Command::Evaluate { dirs, verbose } => folders(&dirs).and_then(|d| judge(&d, verbose)),
        Command::All { play, verbose } => run(&play).and_then(|(dirs, failed)| {
            let code = judge(&dirs, verbose)?;
            Ok(if failed { MISSED } else { code })
        }),
        Command::Pairs {
            out,
            pairs,
            large: true,
            ..
        } => pairs::record(pairs::LARGE, &out, pairs, &Recorder::default(), &mut tell).map(|()| 0),
        Command::Pairs {
            out, verbose, pairs, ..
        } => play_pairs(&out, pairs, verbose),
        Command::Incidents {
            out,
            verbose,
            older,
            pages,
            scenes,
        } => play_incidents(&out, &scenes, older.as_deref(), pages.as_deref(), verbose),
        Command::Rig { name, out, recorder } => one(&name, out, recorder).map(|()| 0),
        Command::Hold => recording::hold().map(|()| 0),
        Command::Record { record } => netmortem_recorder::cli::run(&record).map(|()| 0).map_err(Into::into),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(e) if e.is::<NotHere>() => {
            tell(&e.to_string());
            ExitCode::from(4)
        }
        Err(e) => {
            tell(&format!("netmortem-lab: {e:#}"));
            ExitCode::FAILURE
        }
    }
}
