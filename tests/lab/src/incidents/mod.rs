//! Incidents: a cause as it happens to people, planted between network namespaces, and whether the first page names it.
//!
//! In: `incidents/scenes/*.sh` (each says in its head what is planted and which words must be said), a recorder, root, tracefs, and the
//! programs that `incidents/play.sh` names. Out: `DIR/<scene>/<side>/bundle.nmb` and `evidence.txt` (what the programs, tc, nft and
//! nstat saw), and a table. Must not: take the words that are asked for from what the report says today; they are those of the cause.
//!
//! ```text
//! Scene::load() -> record(): play.sh plants and records -> judge(): words looked for in the first sentence, then in the first page
//! ```

mod judge;
mod older;
mod scene;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;

pub use judge::{Judged, Said, Table, judge, page};
pub use older::{Kernel, kernels};
pub use scene::{Kind, Scene, scenes};

/// What `play.sh` ends with where this machine cannot plant a scene.
const CANNOT: i32 = 4;

/// Where the scenes and their scripts are.
fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("incidents")
}

/// The recording of one side of a scene.
pub fn bundle(out: &Path, scene: &str, side: &str) -> PathBuf {
    out.join(scene).join(side).join("bundle.nmb")
}

/// Plants and records what `out` lacks. A line for each is told.
pub fn record(scenes: &[Scene], out: &Path, tell: &mut dyn FnMut(&str)) -> anyhow::Result<()> {
    for scene in scenes {
        for side in scene.kind.sides() {
            let path = bundle(out, &scene.name, side);
            if path.exists() {
                continue;
            }
            // Other scenes and rigs would have their share of the CPUs.
            let lock = std::fs::File::create(std::env::temp_dir().join("netmortem-lab.lock"))?;
            rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive)?;
            let played = play(scene, side, &path);
            drop(lock);
            match played {
                Ok(()) => tell(&format!("{} {side}: recorded", scene.name)),
                // What is left of it is no recording.
                Err(e) => {
                    let _ = std::fs::remove_file(&path);
                    tell(&format!("{} {side}: not recorded: {e:#}", scene.name));
                }
            }
        }
    }
    Ok(())
}

fn play(scene: &Scene, side: &str, path: &Path) -> anyhow::Result<()> {
    let dir = path.parent().context("a folder")?;
    std::fs::create_dir_all(dir)?;
    let dir = dir.canonicalize()?;
    let mut script = Command::new("bash");
    script
        .arg(home().join("play.sh"))
        .args([scene.name.as_str(), side])
        .arg(&dir)
        .env("LAB", std::env::current_exe()?)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    crate::sys::die_with_parent(&mut script);
    let status = script.status().context("starting bash")?;
    let evidence = || std::fs::read_to_string(dir.join("evidence.txt")).unwrap_or_default();
    match status.code() {
        Some(0) => Ok(()),
        Some(CANNOT) => anyhow::bail!("{}", evidence().lines().last().unwrap_or("not on this machine").trim()),
        _ => anyhow::bail!("play.sh failed ({status}): {}", evidence().trim()),
    }
}
