//! Flows by their ends: what a slice would have nothing of, which connection `explain` is asked for.

use crate::{failed, json, run, sample, stdout, tempdir};

/// No file of nothing, and what there is in its place.
#[test]
fn a_slice_of_nothing_is_not_made_and_says_what_there_is() {
    let overlay = sample("overlay/overlay.nmb");
    let dir = tempdir("nothing");
    let slice = dir.join("slice.nmb");
    let to = slice.to_str().unwrap();
    let convert = |args: &[&str]| failed(&[&["convert", &overlay, "-o", to], args].concat());
    let (code, told) = convert(&["--flow", "conn:0", "--dev", "ra", "--time", "..100us"]);
    assert_eq!(code, 1);
    for part in [
        "no packet in that time is known to be of flow conn:0, and device ra",
        "of the flow there are 0 rows of rx and tx in that time (39 from 0.351s to 0.955s)",
        "0 packets of any flow passed ra in that time",
        "nothing is written\n  next: ",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!slice.exists());
    let (code, told) = convert(&["--flow", "conn:0", "--time", "100s.."]);
    assert!(
        code == 1 && told.contains("of flow conn:0: of the flow there are 0"),
        "{told}"
    );
    assert!(!slice.exists());
    // What has something is written.
    let out = run(&[
        "convert", &overlay, "-o", to, "--flow", "conn:0", "--dev", "eth0", "--time", "300ms..",
    ]);
    assert!(out.status.success() && slice.exists(), "{out:?}");
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn explain_takes_the_ends_of_a_connection() {
    let overlay = sample("overlay/overlay.nmb");
    let by_id = stdout(&["explain", &overlay, "conn:0"]);
    assert!(by_id.starts_with("conn:0: "), "{by_id}");
    // Who is named first is whose socket is meant.
    let asked = |ends: &str| stdout(&["explain", &overlay, ends]);
    assert_eq!(asked("10.244.1.2:45306 > 10.244.2.2:7302"), by_id);
    assert!(asked("10.244.2.2:7302>10.244.1.2:45306").starts_with("conn:1: "));
    // Both ends are in this recording, so its two sockets are listed.
    for asked in ["10.244.1.2:45306", "10.244.1.2:45306-10.244.2.2:7302"] {
        let (code, told) = failed(&["explain", &overlay, asked]);
        assert_eq!(code, 1, "{told}");
        for part in [
            "2 connections are 10.244.",
            "\n  conn:0  10.244.1.2:45306 > 10.244.2.2:7302  ",
            "\n  conn:1  10.244.2.2:7302 > 10.244.1.2:45306  ",
            "s to 0.9",
            "  next: netmortem explain ",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
    let (code, told) = failed(&["explain", &overlay, "10.9.9.9:1"]);
    assert!(code == 1 && told.contains("no connection is 10.9.9.9:1"), "{told}");
    // One socket alone.
    let one = sample("one-side/loss.nmb.zst");
    let dir = tempdir("ends");
    let bundle = dir.join("loss.nmb");
    std::fs::write(&bundle, zstd_of(&one)).unwrap();
    let bundle = bundle.to_str().unwrap();
    let sql =
        "SELECT connection, saddr, sport FROM connections WHERE sport NOT IN (SELECT dport FROM connections) LIMIT 1";
    let row = &json(&["query", bundle, sql, "--format", "json"])[0];
    let asked = format!("{}:{}", row["saddr"].as_str().unwrap(), row["sport"]);
    let told = stdout(&["explain", bundle, &asked]);
    assert!(told.starts_with(&format!("conn:{}: ", row["connection"])), "{told}");
    // Its peer's socket is not recorded: asked for that, its own stands for it.
    let sql = format!(
        "SELECT daddr, dport FROM connections WHERE connection = {}",
        row["connection"]
    );
    let to = &json(&["query", bundle, &sql, "--format", "json"])[0];
    let asked = format!("{}:{} > {asked}", to["daddr"].as_str().unwrap(), to["dport"]);
    assert_eq!(stdout(&["explain", bundle, &asked]), told);
    assert!(told.contains("note: the other end is not in the recording"), "{told}");
    std::fs::remove_dir_all(dir).unwrap();
}

/// The request that the server left longest in its queue stands beside its answer, ahead of the events.
#[test]
fn explain_tells_the_dialogue_of_a_connection() {
    let told = stdout(&["explain", &sample("rpc/rpc.nmb"), "conn:0"]);
    let (dialogue, rest) = told.split_once("\nconnections row 0").unwrap();
    assert!(rest.contains("\nevents ("));
    assert!(dialogue.contains("lines: the first and the last, and those around the longest waits; all: --limit "));
    let lines: Vec<&str> = dialogue.lines().collect();
    let slow = lines
        .iter()
        .position(|l| l.contains(" client  sends ") && l.contains("; answered after 30."));
    let slow = slow.unwrap_or_else(|| panic!("{dialogue}"));
    assert!(
        lines[slow].contains(" (sendto); ") && lines[slow].contains("response:"),
        "{}",
        lines[slow]
    );
    let got = lines[slow + 1];
    assert!(
        got.contains(" server  gets ") && got.contains("; read after 30.") && got.contains("[rx:"),
        "{got}"
    );
    let bytes = |l: &str| l.split(" bytes").next().unwrap().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(bytes(lines[slow]), bytes(got));
    let answers = lines[slow + 2];
    assert!(
        answers.contains(" server  sends ") && answers.contains(" after what it had read was readable: "),
        "{answers}"
    );
}

fn zstd_of(path: &str) -> Vec<u8> {
    zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap()
}
