//! The kernel's counters as they were written down.

use std::path::Path;

use anyhow::Context;

/// By how much a counter, named as `nstat` names it, grew between two files `DIR/WHO.WHEN` with the texts of /proc/net/snmp and
/// netstat.
pub fn growth(dir: &Path, who: &str, name: &str, [from, until]: [&str; 2]) -> anyhow::Result<u64> {
    let read = |when: &str| -> anyhow::Result<u64> {
        let path = dir.join(format!("{who}.{when}"));
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let mut lines = text.lines();
        while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
            let (group, names) = names.split_once(": ").context("no counters")?;
            let mut pairs = names.split(' ').zip(values.split(' ').skip(1));
            if let Some((_, v)) = pairs.find(|(n, _)| name.strip_prefix(group) == Some(*n)) {
                return Ok(v.parse()?);
            }
        }
        anyhow::bail!("no counter {name}")
    };
    Ok(read(until)?.saturating_sub(read(from)?))
}
