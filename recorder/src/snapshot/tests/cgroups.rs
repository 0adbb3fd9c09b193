//! Against cpu.stat of a cgroup whose busy loop is stopped; and trees of files that are many, deep, hostile or not to be read.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::super::cgroup_mount::{self, Mount, Version};
use super::super::cgroups::{BOUNDS, Bounds, limits, of};
use super::{lines, while_steady};

/// A tree of plain files where kernfs has a hierarchy; removed when dropped.
struct Tree(Mount);

impl Tree {
    fn new(label: &str, version: Version) -> Tree {
        // In tmpfs a folder's links are its children and 2, as in kernfs.
        let shm = Path::new("/dev/shm");
        let place = if shm.is_dir() { shm.into() } else { std::env::temp_dir() };
        let at = place.join(format!("netmortem-cgroups-{label}-{}", std::process::id()));
        fs::create_dir_all(&at).unwrap();
        Tree(Mount {
            version,
            at,
            root: "/".into(),
            part: false,
        })
    }

    fn put(&self, path: &str, files: &[(&str, &str)]) {
        let at = self.0.at.join(path);
        fs::create_dir_all(&at).unwrap();
        for (name, text) in files {
            fs::write(at.join(name), text).unwrap();
        }
    }

    fn said(&self) -> String {
        of(&self.0, BOUNDS).text
    }

    fn id(&self, path: &str) -> u64 {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(self.0.at.join(path)).unwrap().ino()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0.at);
    }
}

const V2: &str = "usage_usec 1990000\nuser_usec 1\nnr_periods 100\nnr_throttled 87\nthrottled_usec 4300000\nnr_bursts 0\nburst_usec 0\n";

#[test]
fn limits_of_version_2() {
    let tree = Tree::new("v2", Version::V2);
    let cpu = ("cgroup.subtree_control", "cpuset cpu memory\n");
    tree.put("", &[cpu]);
    tree.put("pods", &[cpu, ("cpu.max", "max 100000\n")]);
    let limited = [
        ("cpu.max", "20000 100000\n"),
        ("cpu.stat", V2),
        ("cgroup.procs", "812\n0\n813\n"),
    ];
    tree.put("pods/web", &limited);
    // Below a limit: the processes of one without a limit are of it, another limit is told with it.
    tree.put("pods/web", &[cpu]);
    tree.put(
        "pods/web/inner",
        &[("cpu.max", "max 100000\n"), ("cgroup.procs", "900\n")],
    );
    let burst = [
        ("cpu.max", "5000 100000\n"),
        ("cpu.max.burst", "1000\n"),
        ("cgroup.threads", "901\n"),
    ];
    tree.put("pods/web/tight", &burst);
    // No controller below: nothing there can have a limit.
    tree.put("user", &[("cgroup.subtree_control", "memory\n")]);
    tree.put("user/x", &[("cpu.max", "1 2\n")]);
    let said = tree.said();
    let (web, tight) = (tree.id("pods/web"), tree.id("pods/web/tight"));
    let line = format!(
        "id={web} path=/pods/web quota_us=20000 period_us=100000 usage_usec=1990000 nr_periods=100 nr_throttled=87 throttled_usec=4300000 nr_bursts=0 burst_usec=0"
    );
    let mut all: Vec<&str> = said.lines().collect();
    assert_eq!(all.remove(0), "hierarchy=v2 visited=6 limited=2 whole=yes");
    all.sort_unstable();
    let mut expected = [
        line,
        format!("id={web} pids=812,813"),
        format!("id={web} pids=900"),
        format!("id={tight} path=/pods/web/tight quota_us=5000 period_us=100000 within={web} burst_us=1000"),
        format!("id={tight} pids=901"),
    ];
    expected.sort_unstable();
    assert_eq!(all, expected);
}

#[test]
fn limits_of_version_1() {
    let tree = Tree::new("v1", Version::V1);
    tree.put("", &[("cpu.cfs_quota_us", "-1\n"), ("cpu.cfs_period_us", "100000\n")]);
    tree.put(
        "docker/web",
        &[
            ("cpu.cfs_quota_us", "50000\n"),
            ("cpu.cfs_period_us", "100000\n"),
            (
                "cpu.stat",
                "nr_periods 3\nnr_throttled 2\nthrottled_time 1234567\nwait_sum 9\nnr_bursts x\n",
            ),
            ("cgroup.procs", "7\n"),
        ],
    );
    let id = tree.id("docker/web");
    let said = format!(
        "hierarchy=v1 visited=3 limited=1 whole=yes\nid={id} path=/docker/web quota_us=50000 period_us=100000 nr_periods=3 nr_throttled=2 throttled_time=1234567\nid={id} pids=7\n"
    );
    assert_eq!(tree.said(), said);
    // What a container sees is its own part.
    let part = Mount {
        root: "/docker".into(),
        part: true,
        at: tree.0.at.join("docker"),
        ..tree.0.clone()
    };
    assert_eq!(
        of(&part, BOUNDS).text,
        said.replace("visited=3", "visited=2").replace("yes", "no")
    );
}

#[test]
fn what_is_too_much_is_cut_and_said() {
    let tree = Tree::new("cut", Version::V1);
    let limited = [
        ("cpu.cfs_quota_us", "5\n"),
        ("cpu.cfs_period_us", "9\n"),
        ("cgroup.procs", "1\n2\n3\n"),
    ];
    for path in ["a", "b", "c/d/e/f"] {
        tree.put(path, &limited);
    }
    let with = |b: Bounds| of(&tree.0, b);
    let whole = with(BOUNDS);
    assert_eq!(
        (whole.cut, whole.text.matches(" pids=").count()),
        (None, 3),
        "{}",
        whole.text
    );
    let tight = [
        (Bounds { visited: 2, ..BOUNDS }, "there are too many"),
        (Bounds { limited: 1, ..BOUNDS }, "there are too many with a limit"),
        (Bounds { depth: 2, ..BOUNDS }, "they are too deep"),
        (Bounds { pids: 4, ..BOUNDS }, "they have too many processes"),
        (
            Bounds {
                patience: Duration::ZERO,
                ..BOUNDS
            },
            "it took too long",
        ),
    ];
    for (bounds, why) in tight {
        let got = with(bounds);
        assert_eq!(got.cut, Some(why), "{}", got.text);
        let head = &lines(&got.text)[0];
        assert_eq!(head["whole"], "no");
        let n = got.text.lines().filter(|l| l.contains(" quota_us=")).count();
        assert_eq!(head["limited"], n.to_string());
        assert!(n <= bounds.limited && got.text.lines().skip(1).all(|l| whole.text.contains(l)));
    }
    // No more than are told.
    let pids = with(Bounds { pids: 4, ..BOUNDS }).text;
    let told: usize = pids
        .lines()
        .filter_map(|l| Some(l.split_once("pids=")?.1.split(',').count()))
        .sum();
    assert_eq!(told, 4);
}

#[test]
fn hostile_names_and_texts_are_one_line() {
    let tree = Tree::new("hostile", Version::V1);
    let limited = [("cpu.cfs_quota_us", "5\n"), ("cpu.cfs_period_us", "9\n")];
    let long = "x".repeat(250);
    let deep = [long.as_str(); 16].join("/");
    for path in ["a\nid=1 path=/b", "<script>", &deep] {
        tree.put(path, &limited);
    }
    tree.put("odd", &[("cpu.cfs_quota_us", "99999999999999999999\n")]);
    tree.put("none", &[("cpu.cfs_quota_us", "5\n")]);
    tree.put("words", &[("cpu.cfs_quota_us", "many\n"), ("cpu.cfs_period_us", "\n")]);
    // A link is no cgroup: it is not followed.
    std::os::unix::fs::symlink("/", tree.0.at.join("root")).unwrap();
    use std::os::unix::ffi::OsStrExt;
    fs::create_dir(tree.0.at.join(std::ffi::OsStr::from_bytes(b"\xff"))).unwrap();
    let said = tree.said();
    let all = lines(&said);
    let mut paths: Vec<&str> = all.iter().filter_map(|l| l.get("path").map(String::as_str)).collect();
    paths.sort_unstable();
    // Of the first its folders are two: a slash ends a name.
    assert_eq!(paths[..2], ["/<script>", "/a?id=1?path=/b"]);
    assert_eq!((paths.len(), paths[2].len()), (3, 4016));
    assert_eq!((all[0]["limited"].as_str(), all[0]["whole"].as_str()), ("3", "no"));
    // Nothing is there.
    let gone = Mount {
        at: "/nonexistent".into(),
        ..tree.0.clone()
    };
    assert_eq!(of(&gone, BOUNDS).text, "");
}

#[test]
fn the_hierarchy_with_the_controller_is_found() {
    let v2 = "25 31 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
    let found = cgroup_mount::of(v2.as_bytes(), "0::/user.slice\n").unwrap();
    assert_eq!(
        (found.version, found.at.as_path(), found.part),
        (Version::V2, Path::new("/sys/fs/cgroup"), false)
    );
    // v1 beside it: a bind mount of a part comes first, the whole is taken.
    let v1 = format!(
        "{v2}9 31 0:9 /docker/x /mnt/a\\040b rw - cgroup cgroup rw,cpuacct,cpu\n8 31 0:8 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n7 31 0:9 / /cpu rw - cgroup none rw,cpu\n"
    );
    let found = cgroup_mount::of(v1.as_bytes(), "").unwrap();
    assert_eq!(
        (found.version, found.at.as_path(), found.root.as_str()),
        (Version::V1, Path::new("/cpu"), "/")
    );
    let part: String = v1.lines().take(3).map(|l| format!("{l}\n")).collect();
    let found = cgroup_mount::of(part.as_bytes(), "").unwrap();
    assert_eq!(
        (found.at.as_path(), found.root.as_str(), found.part),
        (Path::new("/mnt/a b"), "/docker/x", true)
    );
    // The controller is in a hierarchy of version 1 that is mounted nowhere: nothing is known.
    assert_eq!(
        cgroup_mount::of(v2.as_bytes(), "3:cpu,cpuacct:/\n1:name=systemd:/\n"),
        None
    );
    for nonsense in ["", "\n\n", "a b", "1 2 3 - cgroup2", "1 2 3 / - cgroup2 x y", "- - -"] {
        assert_eq!(cgroup_mount::of(nonsense.as_bytes(), nonsense), None);
    }
    assert_eq!(cgroup_mount::of(b"\xff\xfe 1 2 3 4 - \xff", ""), None);
}

/// A cgroup of ours with a limit; its processes are killed and it is removed when dropped.
struct Limited(PathBuf, Child);

impl Limited {
    /// None, and the reason printed, where none can be made.
    fn new() -> Option<Limited> {
        let Some(mount) = cgroup_mount::find().filter(|_| rustix::process::geteuid().is_root()) else {
            println!("skipped: no cgroups, or not root");
            return None;
        };
        let at = mount.at.join(format!("netmortem-test-{}", std::process::id()));
        let set = match mount.version {
            Version::V1 => vec![("cpu.cfs_period_us", "50000"), ("cpu.cfs_quota_us", "10000")],
            Version::V2 => vec![("cpu.max", "10000 50000")],
        };
        let _ = fs::write(mount.at.join("cgroup.subtree_control"), "+cpu");
        let made = fs::create_dir(&at).and_then(|()| set.iter().try_for_each(|(n, v)| fs::write(at.join(n), v)));
        if let Err(e) = made {
            println!("skipped: no limit of CPU: {e}");
            let _ = fs::remove_dir(&at);
            return None;
        }
        let busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let limited = Limited(at, busy);
        fs::write(limited.0.join("cgroup.procs"), limited.1.id().to_string()).unwrap();
        Some(limited)
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _ = self.1.kill();
        let _ = self.1.wait();
        for _ in 0..50 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn counters_are_what_cpu_stat_says() {
    let Some(limited) = Limited::new() else { return };
    let began = Instant::now();
    let stat = || fs::read_to_string(limited.0.join("cpu.stat")).unwrap();
    let path = format!("/{}", limited.0.file_name().unwrap().to_str().unwrap());
    let ours = || {
        let text = limits().text;
        let all = lines(&text);
        let of = all
            .iter()
            .find(|l| l.get("path").is_some_and(|p| p.ends_with(&path)))
            .cloned();
        (all, of.unwrap_or_default())
    };
    std::thread::sleep(Duration::from_millis(600));
    // It is stopped for most of the time: the counters stand still between two periods.
    let (theirs, (all, line)) = while_steady(stat, ours);
    let of = |name: &str| {
        let value = theirs.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(' '));
        value.map(str::to_owned)
    };
    assert_eq!(
        (line["quota_us"].as_str(), line["period_us"].as_str()),
        ("10000", "50000")
    );
    let time = if line.contains_key("throttled_usec") {
        "throttled_usec"
    } else {
        "throttled_time"
    };
    for name in ["nr_periods", "nr_throttled", time] {
        assert_eq!(line.get(name), of(name).as_ref(), "{name} of {theirs}");
    }
    let n = |name: &str| line[name].parse::<u64>().unwrap();
    // Limited to a fifth: stopped in most periods.
    let periods = began.elapsed().as_millis() as u64 / 50;
    assert!(
        n("nr_periods") <= periods + 1 && n("nr_throttled") * 2 > n("nr_periods"),
        "{theirs}"
    );
    let pids: Vec<&str> = all
        .iter()
        .filter(|l| l.get("id") == line.get("id") && l.contains_key("pids"))
        .map(|l| l["pids"].as_str())
        .collect();
    assert_eq!(pids, [limited.1.id().to_string()]);
    assert!(all[0]["limited"].parse::<u64>().unwrap() >= 1);
}

/// `cargo test -p netmortem-recorder --release -- --ignored --show-output cost_of_5000`
#[test]
#[ignore = "makes 5,000 cgroups of this machine; prints what docs/recording.md says"]
fn cost_of_5000_cgroups() {
    let mount = cgroup_mount::find().unwrap();
    let all: Vec<PathBuf> = (0..5_050)
        .map(|n| {
            let pod = mount
                .at
                .join(format!("netmortem-cost-{}-{}", std::process::id(), n / 101));
            if n % 101 == 0 { pod } else { pod.join(n.to_string()) }
        })
        .collect();
    for at in &all {
        fs::create_dir(at).unwrap();
    }
    let measure = |what: &str| {
        let mut took: Vec<(Duration, usize)> = (0..20)
            .map(|_| {
                let began = Instant::now();
                let text = limits().text;
                (began.elapsed(), text.len())
            })
            .collect();
        let first = took[0].0;
        took.sort_unstable();
        println!("{what}: first {first:?}, p50 {:?}, {} bytes", took[10].0, took[10].1);
    };
    measure("no limits");
    let quota = |of: &Path| match mount.version {
        Version::V1 => fs::write(of.join("cpu.cfs_quota_us"), "50000").unwrap(),
        Version::V2 => fs::write(of.join("cpu.max"), "50000 100000").unwrap(),
    };
    all.iter().skip(1).step_by(50).for_each(|at| quota(at));
    measure("one in 50 limited");
    for at in all.iter().rev() {
        fs::remove_dir(at).unwrap();
    }
}
