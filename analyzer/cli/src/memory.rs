//! How much memory an analysis may take: what the host, and the cgroups that this process is in, have left.

use std::path::Path;

/// Free memory, bytes; `None`: nothing here says.
pub fn free() -> Option<u64> {
    let host = meminfo(&std::fs::read_to_string("/proc/meminfo").ok()?);
    let cgroups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    [host, of_cgroups(Path::new("/sys/fs/cgroup"), &cgroups)]
        .into_iter()
        .flatten()
        .min()
}

/// MemAvailable, bytes.
fn meminfo(text: &str) -> Option<u64> {
    let value = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let kib: u64 = value.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// The least that one of the cgroups (version 2) above this process leaves.
fn of_cgroups(root: &Path, own: &str) -> Option<u64> {
    let path = own.lines().find_map(|l| l.strip_prefix("0::/"))?;
    let folder = root.join(path);
    let above = folder.ancestors().take_while(|f| f.starts_with(root));
    above.filter_map(of_cgroup).min()
}

/// What a cgroup leaves below its limit: pages of files that nobody used for long are given back for more.
fn of_cgroup(folder: &Path) -> Option<u64> {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let most: u64 = read("memory.max")?.trim().parse().ok()?;
    let used: u64 = read("memory.current")?.trim().parse().ok()?;
    let stat = read("memory.stat").unwrap_or_default();
    let idle = stat.lines().find_map(|l| l.strip_prefix("inactive_file "));
    let idle: u64 = idle.and_then(|n| n.trim().parse().ok()).unwrap_or(0);
    Some(most.saturating_sub(used.saturating_sub(idle)))
}

/// A size as 500M or 2G.
pub fn size(s: &str) -> Result<u64, String> {
    let (digits, shift) = match s.trim_end_matches(['i', 'B']).as_bytes() {
        [d @ .., b'K' | b'k'] => (d, 10),
        [d @ .., b'M' | b'm'] => (d, 20),
        [d @ .., b'G' | b'g'] => (d, 30),
        d => (d, 0),
    };
    let n = std::str::from_utf8(digits).ok().and_then(|d| d.parse::<u64>().ok());
    n.and_then(|n| n.checked_mul(1 << shift))
        .filter(|n| *n > 0)
        .ok_or_else(|| "give a size as 500M or 2G".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_of_all_limits_counts() {
        assert_eq!(meminfo("MemTotal: 8 kB\nMemAvailable:    5 kB\n"), Some(5 << 10));
        assert_eq!(meminfo("MemTotal: 8 kB\n"), None);
        let root = std::env::temp_dir().join(format!("netmortem-cgroups-{}", std::process::id()));
        let inner = root.join("slice/unit");
        std::fs::create_dir_all(&inner).unwrap();
        let write = |at: &Path, name: &str, text: &str| std::fs::write(at.join(name), text).unwrap();
        write(&root.join("slice"), "memory.max", "1000\n");
        write(&root.join("slice"), "memory.current", "900\n");
        write(&root.join("slice"), "memory.stat", "anon 5\ninactive_file 300\n");
        write(&inner, "memory.max", "max\n");
        write(&inner, "memory.current", "900\n");
        // The one above it has a limit: 100 below it, and 300 of files.
        assert_eq!(of_cgroups(&root, "1:x:/y\n0::/slice/unit\n"), Some(400));
        write(&inner, "memory.max", "950\n");
        assert_eq!(of_cgroups(&root, "0::/slice/unit\n"), Some(50));
        // More in use than there may be, as while a limit is being lowered.
        write(&inner, "memory.max", "10\n");
        assert_eq!(of_cgroups(&root, "0::/slice/unit\n"), Some(0));
        assert_eq!(of_cgroups(&root, "0::/\n"), None);
        assert_eq!(of_cgroups(&root, "1:memory:/v1\n"), None);
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn this_host_has_some() {
        let kib = std::fs::read_to_string("/proc/meminfo").unwrap();
        assert!(free().unwrap() <= meminfo(&kib).unwrap().max(1 << 20) * 2);
        assert_eq!(size("2G"), Ok(2 << 30));
        assert_eq!(size("500MiB"), Ok(500 << 20));
        assert!(size("much").unwrap_err().contains("500M"));
    }
}
