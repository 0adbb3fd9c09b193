//! A cgroup with a CPU limit and one process that wants more: the recorder must tell the limit, how often the kernel stopped it, and who is in it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use super::play::record;

/// Name of the cgroup.
const NAME: &str = "netmortem-guest";

/// Only where cgroups of version 2 can be had, with the controller `cpu`: an emulated machine, which has none mounted. `limits.absent` says why not.
pub fn limits(dir: &Path) -> anyhow::Result<()> {
    let root = Path::new("/sys/fs/cgroup");
    let mounted = std::fs::exists(root.join("cgroup.controllers"))?
        || Command::new("mount")
            .args(["-t", "cgroup2", "none"])
            .arg(root)
            .status()?
            .success();
    let controllers = std::fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default();
    if !mounted || !controllers.split_whitespace().any(|c| c == "cpu") {
        return Ok(std::fs::write(
            dir.join("limits.absent"),
            "no cgroups of version 2 with the controller cpu",
        )?);
    }
    std::fs::write(root.join("cgroup.subtree_control"), "+cpu")?;
    let group = root.join(NAME);
    std::fs::create_dir_all(&group)?;
    let done = burnt(&group, dir);
    // A cgroup is gone when nothing is in it.
    std::fs::remove_dir(&group).with_context(|| format!("{}", group.display()))?;
    done
}

fn burnt(group: &Path, dir: &Path) -> anyhow::Result<()> {
    std::fs::write(group.join("cpu.max"), "20000 100000")?;
    let mut burner = Command::new(std::env::current_exe()?).arg("burn").spawn()?;
    // Whatever comes of it, the burner ends: a cgroup with a process in it stays.
    let done = recorded(group, dir, burner.id());
    burner.kill()?;
    burner.wait()?;
    done
}

fn recorded(group: &Path, dir: &Path, burner: u32) -> anyhow::Result<()> {
    std::fs::write(group.join("cgroup.procs"), burner.to_string())?;
    std::thread::sleep(std::time::Duration::from_millis(300));
    let stat = |when: &str| -> anyhow::Result<()> {
        std::fs::copy(group.join("cpu.stat"), dir.join(when))?;
        Ok(())
    };
    stat("limits.before")?;
    let recorded = record(dir, "limits.nmb", &["--profile", "lean", "-d", "2s"]).status()?;
    stat("limits.after")?;
    std::fs::write(dir.join("limits"), format!("pid {burner}\n"))?;
    ensure!(recorded.success(), "recording beside a CPU limit: {recorded}");
    Ok(())
}
