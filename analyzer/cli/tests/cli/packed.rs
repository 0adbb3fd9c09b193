//! Recordings that were compressed afterwards are read as they are: the same answers, a limit, and what a cut leaves. What packs and
//! unpacks is gzip and zstd themselves.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use super::{failed, json, run, sample, tempdir};

/// The file, packed by a program as that does it; `None` where it is not installed.
fn packed(file: &str, program: &str, to: &Path) -> Option<String> {
    let done = Command::new(program)
        .args(["-c", file])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    assert!(done.status.success() && done.stdout.len() > 1000, "{program} {file}");
    std::fs::write(to, done.stdout).unwrap();
    Some(to.to_str().unwrap().to_owned())
}

fn report(input: &str, to: &Path) -> (Value, String) {
    let (page, facts) = (to.join("r.html"), to.join("r.json"));
    let (p, f) = (page.to_str().unwrap(), facts.to_str().unwrap());
    let done = run(&["report", input, "-o", p, "--json", f]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let facts = serde_json::from_slice(&std::fs::read(&facts).unwrap()).unwrap();
    (facts, std::fs::read_to_string(&page).unwrap())
}

#[test]
fn the_report_of_a_compressed_recording_is_that_of_the_recording() {
    let dir = tempdir("packed");
    for (file, name) in [
        ("rpc/rpc.nmb", "rpc.nmb"),
        ("tracedat-loopback/trace.dat", "trace.dat"),
        ("perf-loopback/perf.data", "perf.data"),
    ] {
        let plain = sample(file);
        let (facts, page) = report(&plain, &dir);
        for (program, ext) in [("zstd", "zst"), ("gzip", "gz")] {
            let to = dir.join(format!("{name}.{ext}"));
            let Some(input) = packed(&plain, program, &to) else {
                println!("skipped: no {program} to pack a recording with");
                continue;
            };
            let (of_packed, page_of_packed) = report(&input, &dir);
            assert!(
                facts.to_string().replace(&plain, "it") == of_packed.to_string().replace(&input, "it"),
                "{input}: other facts"
            );
            let of_packed = page_of_packed
                .replace(&input, "it")
                .replace(&format!("{name}.{ext}"), name);
            let of = (page.replace(&plain, "it"), of_packed);
            assert!(of.0 == of.1, "{input}: another page");
            // As a pipe, too; and never in the place of it.
            let piped = |file: &str| {
                let file = std::fs::File::open(file).unwrap();
                super::netmortem(&["check", "-"]).stdin(file).output().unwrap().stdout
            };
            assert!(piped(&input) == piped(&plain) && piped(&plain).len() > 1000);
            let (_, told) = failed(&["report", &plain, "-o", &input]);
            assert!(told.contains("is a recording: it would be overwritten"), "{told}");
        }
    }
    std::fs::remove_dir_all(dir).unwrap();
}

/// What a batch finds among files of a ticket system.
#[test]
fn a_batch_reads_what_is_compressed_and_counts_what_it_unpacks_to() {
    let dir = tempdir("packed-batch");
    let (inside, out) = (dir.join("in"), dir.join("out"));
    std::fs::create_dir_all(&inside).unwrap();
    let named = sample("named/named.nmb.zst");
    std::fs::copy(&named, inside.join("a.nmb.zst")).unwrap();
    std::fs::write(
        inside.join("notes.txt.zst"),
        zstd::encode_all(&b"what we saw"[..], 3).unwrap(),
    )
    .unwrap();
    std::fs::write(inside.join("x.nmb.xz"), b"\xfd7zXZ\0 and more").unwrap();
    std::fs::write(inside.join("bomb.nmb.zst"), bomb()).unwrap();
    let (inside, out) = (inside.to_str().unwrap(), out.to_str().unwrap());
    let done = run(&["batch", inside, "-o", out]);
    let told = String::from_utf8(done.stderr).unwrap();
    assert!(
        told.starts_with("1 analyzed, 0 already done, 2 that cannot be read, 1 that are no recordings"),
        "{told}"
    );
    assert!(
        told.contains("x.nmb.xz: it is compressed with xz")
            && told.contains("bomb.nmb.zst: it is compressed, and unpacks to more than"),
        "{told}"
    );
    let index: Value = serde_json::from_slice(&std::fs::read(format!("{out}/index.json")).unwrap()).unwrap();
    assert_eq!(index["no_recordings"], serde_json::json!(["notes.txt.zst"]));
    // What zstd itself unpacks it to is the same recording.
    let plain = dir.join("plain");
    std::fs::create_dir_all(&plain).unwrap();
    let to = std::fs::File::create(plain.join("a.nmb")).unwrap();
    zstd::stream::copy_decode(std::fs::File::open(&named).unwrap(), to).unwrap();
    let of_plain = dir.join("of-plain");
    let of_plain = of_plain.to_str().unwrap();
    assert!(
        run(&["batch", plain.to_str().unwrap(), "-o", of_plain])
            .status
            .success()
    );
    let other: Value = serde_json::from_slice(&std::fs::read(format!("{of_plain}/index.json")).unwrap()).unwrap();
    let mut row = index["ranked"][0].clone();
    row["name"] = other["ranked"][0]["name"].clone();
    assert_eq!(row, other["ranked"][0]);
    // The memory of all that is unpacked is counted: with what the analysis of the plain file just needs, a part is left.
    let bytes = std::fs::metadata(plain.join("a.nmb")).unwrap().len();
    let fits = |of: &str, memory: u64| {
        let to = dir.join("fits");
        let _ = std::fs::remove_dir_all(&to);
        let memory = memory.to_string();
        run(&[
            "batch",
            of,
            "-o",
            to.to_str().unwrap(),
            "--memory",
            &memory,
            "--no-reports",
            "--no-dataset",
        ]);
        let index: Value = serde_json::from_slice(&std::fs::read(to.join("index.json")).unwrap()).unwrap();
        let row = index["ranked"].as_array().unwrap().first().cloned();
        row.is_some_and(|row| row.get("part").is_none())
    };
    let (mut least, mut enough) = (48 << 20, 2 << 30);
    while enough - least > bytes / 4 {
        let middle: u64 = u64::midpoint(least, enough);
        match fits(plain.to_str().unwrap(), middle) {
            true => enough = middle,
            false => least = middle,
        }
    }
    assert!(!fits(inside, enough), "nothing was counted for {bytes} bytes");
    assert!(fits(inside, enough + bytes + bytes / 2));
    std::fs::remove_dir_all(dir).unwrap();
}

/// 2 GiB of zeros in 70 kB.
fn bomb() -> Vec<u8> {
    let mut e = zstd::Encoder::new(vec![], 1).unwrap();
    std::io::copy(&mut std::io::Read::take(std::io::repeat(0), 2 << 30), &mut e).unwrap();
    e.finish().unwrap()
}

#[test]
fn a_bomb_is_refused_soon_and_of_a_cut_file_the_beginning_is_read() {
    let dir = tempdir("packed-cut");
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    std::fs::write(path("bomb.nmb.zst"), bomb()).unwrap();
    let began = Instant::now();
    let (code, told) = failed(&["check", &path("bomb.nmb.zst")]);
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    assert!(
        code == 1
            && told.contains("unpacks to more than 64 MiB")
            && told.contains("next: if it is a recording, unpack it: zstd -dc "),
        "{told}"
    );

    // Cut at nine tenths, gzip gives nine tenths of what is in it, and check what a file cut there itself does.
    let plain = std::fs::read(sample("rpc/rpc.nmb")).unwrap();
    std::fs::write(path("rpc.nmb"), &plain).unwrap();
    for (program, ext) in [("zstd", "zst"), ("gzip", "gz")] {
        let cut = path(&format!("cut.nmb.{ext}"));
        let Some(_) = packed(&path("rpc.nmb"), program, Path::new(&cut)) else {
            println!("skipped: no {program} to pack a recording with");
            continue;
        };
        let whole = std::fs::read(&cut).unwrap();
        std::fs::write(&cut, &whole[..whole.len() / 10 * 9]).unwrap();
        let told = json(&["check", &cut, "--json"]);
        let problems: Vec<&str> = told["problems"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let of_it = problems
            .iter()
            .find_map(|p| p.strip_prefix("the compressed file is cut: "));
        let came: usize = of_it.unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!(came > plain.len() * 3 / 5 && came < plain.len(), "{problems:?}");
        std::fs::write(path("cut.nmb"), &plain[..came]).unwrap();
        let of_plain = json(&["check", &path("cut.nmb"), "--json"]);
        assert!(
            told["total_events"] == of_plain["total_events"] && told["total_events"].as_u64() > Some(0),
            "{told}"
        );
        assert_eq!(told["complete"], false);
        let (_, page) = report(&cut, &dir);
        assert!(page.contains("the compressed file is cut: "));
    }
    std::fs::remove_dir_all(dir).unwrap();
}
