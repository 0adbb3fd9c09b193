//! Whole batches: real recordings, damaged ones and files that are none.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{failed, netmortem, run, sample, stdout};

/// A folder that goes away.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("netmortem-batch-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
    fn at(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Two recordings, one cut near its end, one cut before any event, an empty file and a text.
fn incidents(f: &Folder) -> String {
    let dir = f.at("in");
    std::fs::create_dir_all(format!("{dir}/host a")).unwrap();
    let rpc = std::fs::read(sample("rpc/rpc.nmb")).unwrap();
    std::fs::write(format!("{dir}/host a/rpc.nmb"), &rpc).unwrap();
    std::fs::write(format!("{dir}/cut.nmb"), &rpc[..rpc.len() / 10 * 9]).unwrap();
    std::fs::write(format!("{dir}/stub.nmb"), &rpc[..600]).unwrap();
    std::fs::copy(sample("tracedat-loopback/trace.dat"), format!("{dir}/trace.dat")).unwrap();
    std::fs::write(format!("{dir}/empty.nmb"), "").unwrap();
    std::fs::write(format!("{dir}/notes.txt"), "what we saw").unwrap();
    std::os::unix::fs::symlink(&dir, format!("{dir}/loop")).unwrap();
    dir
}

fn told(args: &[&str]) -> String {
    let out = run(args);
    let told = String::from_utf8(out.stderr).unwrap();
    assert!(out.status.success(), "{told}");
    told
}

fn names(index: &Value, list: &str) -> Vec<String> {
    let mut names: Vec<String> = index[list]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["name"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

fn index(out: &str) -> Value {
    serde_json::from_slice(&std::fs::read(format!("{out}/index.json")).unwrap()).unwrap()
}

#[test]
fn every_file_is_accounted_for_and_a_second_run_does_nothing() {
    let f = Folder::new("all");
    let (dir, out) = (incidents(&f), f.at("out"));
    let done = run(&["batch", &dir, "-o", &out]);
    assert!(done.status.success());
    let first = String::from_utf8(done.stderr).unwrap();
    assert!(
        first.starts_with("3 analyzed, 0 already done, 2 that cannot be read, 1 that are no recordings;"),
        "{first}"
    );
    assert!(first.ends_with(&format!("wrote    {out}/index.html\n")), "{first}");
    // The worst of them are a result, a step a line.
    let ranked = String::from_utf8(done.stdout).unwrap();
    let heads = ranked.lines().filter(|l| !l.starts_with(' '));
    assert_eq!(heads.count(), 3, "{ranked}");
    assert!(
        ranked.contains("look     host a/rpc.nmb\n         39 of 400 answers"),
        "{ranked}"
    );
    assert!(ranked.lines().all(|l| l.chars().count() < 300), "{ranked}");
    // JSON is alone on standard output.
    let json = run(&["batch", "-o", &out, "--json"]);
    assert!(serde_json::from_slice::<Value>(&json.stdout).is_ok());
    assert!(String::from_utf8(json.stderr).unwrap().ends_with(&ranked));
    let i = index(&out);
    assert_eq!(names(&i, "ranked"), ["cut.nmb", "host a/rpc.nmb", "trace.dat"]);
    assert_eq!(names(&i, "bad"), ["empty.nmb", "stub.nmb"]);
    assert_eq!(i["no_recordings"], serde_json::json!(["notes.txt"]));
    let page = std::fs::read_to_string(format!("{out}/index.html")).unwrap();
    for there in ["reports/host%2520a%252Frpc.nmb.html", "stub.nmb", "notes.txt"] {
        assert!(page.contains(there), "{there}");
    }
    assert!(Path::new(&format!("{out}/reports/host%20a%2Frpc.nmb.html")).exists());
    // What could not be read is tried again, nothing else is.
    let again = told(&["batch", &dir, "-o", &out]);
    assert!(
        again.starts_with("0 analyzed, 4 already done, 2 that cannot be read, 0 that"),
        "{again}"
    );
    assert_eq!(index(&out), i);
    let changed = told(&["batch", &dir, "-o", &out, "--again"]);
    assert!(changed.starts_with("3 analyzed, 0 already done"), "{changed}");
    assert_eq!(index(&out), i, "the same recordings gave another index");
    let strict = run(&["batch", &dir, "-o", &out, "--strict"]);
    assert_eq!(strict.status.code(), Some(3));
}

/// A script that asks for the exit code alone must see it.
#[test]
fn a_batch_of_which_nothing_could_be_read_fails() {
    let f = Folder::new("none");
    let (dir, out) = (f.at("in"), f.at("out"));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(format!("{dir}/a.nmb"), "no recording").unwrap();
    std::fs::write(format!("{dir}/notes.txt"), "what we saw").unwrap();
    for _ in 0..2 {
        let (code, told) = failed(&["batch", &dir, "-o", &out]);
        assert!(
            code == 1 && told.contains("none of the 2 files that were named"),
            "{told}"
        );
        assert!(
            told.contains("\n  next: ") && told.contains("cannot be read: a.nmb"),
            "{told}"
        );
        assert_eq!(names(&index(&out), "bad"), ["a.nmb"]);
    }
    // What an earlier batch left there does not stand in for it; one that was read before does.
    let good = f.at("good");
    std::fs::create_dir_all(&good).unwrap();
    std::fs::copy(sample("rpc/rpc.nmb"), format!("{good}/rpc.nmb")).unwrap();
    told(&["batch", &good, "-o", &out]);
    assert_eq!(failed(&["batch", &dir, "-o", &out]).0, 1);
    told(&["batch", &dir, &good, "-o", &out]);
    told(&["batch", "-o", &out]);
}

#[test]
fn the_dataset_answers_as_the_recordings_do() {
    let f = Folder::new("dataset");
    let (dir, out) = (incidents(&f), f.at("out"));
    told(&["batch", &dir, "-o", &out, "--no-reports"]);
    let sql = "SELECT bundle, COUNT(*) AS n, SUM(total_ns) AS ns FROM rx GROUP BY bundle ORDER BY bundle";
    let all: Value = serde_json::from_str(&stdout(&["query", &out, sql, "--format", "json"])).unwrap();
    let rows = all.as_array().unwrap();
    let files = [
        ("cut.nmb", "cut.nmb"),
        ("host a/rpc.nmb", "host a/rpc.nmb"),
        ("trace.dat", "trace.dat"),
    ];
    assert_eq!(rows.len(), files.len());
    for (row, (name, file)) in rows.iter().zip(files) {
        assert_eq!(row["bundle"], name);
        let one = stdout(&[
            "query",
            &format!("{dir}/{file}"),
            "SELECT COUNT(*) AS n, SUM(total_ns) AS ns FROM rx",
            "--format",
            "json",
        ]);
        let one: Value = serde_json::from_str(&one).unwrap();
        assert_eq!((&row["n"], &row["ns"]), (&one[0]["n"], &one[0]["ns"]), "{name}");
    }
    let joined =
        "SELECT b.bundle FROM bundles AS b JOIN skbs AS s ON b.bundle = s.bundle GROUP BY b.bundle ORDER BY b.bundle";
    assert_eq!(stdout(&["query", &out, joined, "--format", "csv"]).lines().count(), 4);
    let (code, why) = failed(&["query", &out, "SELECT * FROM nothing"]);
    assert_eq!(code, 2);
    assert!(why.contains("bundles"), "{why}");
}

#[test]
fn parts_of_several_machines_make_the_same_index() {
    let f = Folder::new("shards");
    let (dir, whole, all) = (incidents(&f), f.at("whole"), f.at("all"));
    told(&["batch", &dir, "-o", &whole, "--no-dataset"]);
    std::fs::create_dir_all(format!("{all}/state")).unwrap();
    std::fs::create_dir_all(format!("{all}/reports")).unwrap();
    for part in 1..=3 {
        let out = f.at(&format!("part{part}"));
        told(&[
            "batch",
            &dir,
            "-o",
            &out,
            "--no-dataset",
            "--shard",
            &format!("{part}/3"),
        ]);
        for sub in ["state", "reports"] {
            for e in std::fs::read_dir(format!("{out}/{sub}")).unwrap().flatten() {
                std::fs::copy(e.path(), Path::new(&all).join(sub).join(e.file_name())).unwrap();
            }
        }
    }
    told(&["batch", "-o", &all]);
    assert_eq!(index(&all), index(&whole));
    let page = |out: &str| std::fs::read(format!("{out}/index.html")).unwrap();
    assert!(page(&all) == page(&whole));
}

#[test]
fn too_little_memory_and_wrong_words_are_told() {
    let f = Folder::new("limits");
    let (dir, out) = (incidents(&f), f.at("out"));
    // Less than any analysis needs.
    assert_eq!(failed(&["batch", &dir, "-o", &out, "--memory", "40M"]).0, 1);
    let bad = index(&out)["bad"].to_string();
    assert!(
        bad.contains("it needs more memory than --memory allows (40 MiB)"),
        "{bad}"
    );
    // Of what needs more than there is a part is analyzed, and its row says so.
    told(&["batch", &dir, "-o", &out, "--memory", "50M"]);
    let ranked = index(&out)["ranked"].clone();
    let parts: Vec<&str> = ranked
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|r| r["part"].as_str())
        .collect();
    assert!(
        !parts.is_empty() && parts.iter().all(|p| p.contains("and 50 MiB may be used:")),
        "{parts:?}"
    );
    assert!(
        std::fs::read_to_string(format!("{out}/index.html"))
            .unwrap()
            .contains(", a part")
    );
    // The same memory again: nothing to do. More: again.
    told(&["batch", &dir, "-o", &out, "--memory", "50M"]);
    assert_eq!(index(&out)["ranked"], ranked);
    told(&["batch", &dir, "-o", &out]);
    assert!(
        index(&out)["ranked"]
            .as_array()
            .unwrap()
            .iter()
            .all(|r| r.get("part").is_none())
    );
    // A name that promises a recording is told when it is none.
    std::fs::write(format!("{dir}/garbage.nmb"), "not at all").unwrap();
    // With enough of it they are analyzed: why they could not be read has gone.
    told(&["batch", &dir, "-o", &out]);
    assert_eq!(names(&index(&out), "ranked").len(), 3);
    assert_eq!(names(&index(&out), "bad"), ["empty.nmb", "garbage.nmb", "stub.nmb"]);
    let (code, why) = failed(&["batch", "/nonexistent", "-o", &out]);
    assert_eq!(code, 1);
    assert!(why.contains("/nonexistent") && why.contains("next:"), "{why}");
    assert_eq!(
        netmortem(&["batch", &dir, "-o", &out, "--shard", "5/4"])
            .output()
            .unwrap()
            .status
            .code(),
        Some(2)
    );
}

/// Every file below a folder, and its bytes.
fn contents(root: &str) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
    let mut all = std::collections::BTreeMap::new();
    let mut folders = vec![PathBuf::from(root)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten().map(|e| e.path()) {
            match entry.is_dir() {
                true => folders.push(entry),
                false => {
                    let name = entry.strip_prefix(root).unwrap().to_owned();
                    all.insert(name, std::fs::read(entry).unwrap());
                }
            }
        }
    }
    all
}

/// Killed at any moment, the same command goes on and leaves what one that was never killed leaves.
#[test]
fn a_batch_that_was_killed_goes_on() {
    let f = Folder::new("killed");
    let (dir, whole, broken) = (incidents(&f), f.at("whole"), f.at("broken"));
    for n in 0..4 {
        std::fs::copy(sample("rpc/rpc.nmb"), format!("{dir}/rpc-{n}.nmb")).unwrap();
    }
    told(&["batch", &dir, "-o", &whole]);
    let args = ["batch", &dir, "-o", &broken, "--jobs", "1"];
    let done = || std::fs::read_dir(format!("{broken}/state")).map_or(0, |d| d.flatten().count());
    // After the first and after the fourth of ten are done, with another under way.
    let mut cut = 0;
    for after in [1, 4] {
        let mut child = netmortem(&args).stderr(std::process::Stdio::null()).spawn().unwrap();
        let began = std::time::Instant::now();
        while done() < after && began.elapsed().as_secs() < 120 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
        child.kill().unwrap();
        cut += usize::from(child.wait().unwrap().code().is_none());
    }
    assert!(cut > 0, "the batch was too fast to be killed");
    let before = done();
    let again = told(&args);
    let kept = again
        .split(", ")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse::<usize>();
    assert!(kept.unwrap() > 0 && before >= 4, "{before}: {again}");
    let (a, b) = (contents(&whole), contents(&broken));
    let names = |of: &std::collections::BTreeMap<PathBuf, Vec<u8>>| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&a), names(&b), "a file too many or too few");
    for (name, bytes) in &a {
        assert!(*bytes == b[name], "{} differs", name.display());
    }
}

#[test]
fn three_files_of_one_name_are_three_recordings() {
    let f = Folder::new("names");
    let out = f.at("out");
    let files = ["a", "b", "c"].map(|d| {
        std::fs::create_dir_all(f.at(d)).unwrap();
        std::fs::copy(sample("rpc/rpc.nmb"), f.at(&format!("{d}/x.nmb"))).unwrap();
        f.at(&format!("{d}/x.nmb"))
    });
    let [a, b, c] = &files;
    told(&["batch", a, b, c, "-o", &out, "--no-dataset", "--no-reports"]);
    let names = names(&index(&out), "ranked");
    assert_eq!(names.len(), 3, "{names:?}");
    for file in &files {
        assert!(names.contains(&file.trim_start_matches('/').to_owned()), "{names:?}");
    }
}

#[test]
fn packets_alone_make_no_report() {
    let f = Folder::new("pcap");
    let pcap = f.at("x.pcap");
    std::fs::write(
        &pcap,
        [
            0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0,
        ],
    )
    .unwrap();
    for args in [vec!["report", &pcap, "-o", "/dev/null"], vec!["show", "rx", &pcap]] {
        let (code, why) = failed(&args);
        assert_eq!(code, 1);
        assert!(
            why.contains("no event of the kernel") && why.contains("the bundle of the same time"),
            "{why}"
        );
    }
}
