//! From a number to its bytes, and the recording in other forms.

use serde_json::Value;

use crate::{failed, json, rpc, run, sample, stdout, tempdir};

/// Every event that an exemplar is explained by is the record that `inspect` prints at that place.
#[test]
fn explained_events_are_inspected_records() {
    let ids = [
        "rx:45",
        "skb:45",
        "response:12",
        "turnaround:12",
        "open:0",
        "xmit:3",
        "neighbour:2",
    ];
    let rpc_file = rpc();
    let told = json(&[&["explain", "--json", rpc_file.as_str()], ids.as_slice()].concat());
    let inspected: Vec<Value> = stdout(&["inspect", "--json", &rpc()])
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let mut compared = 0;
    for e in told
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|x| x["events"].as_array().unwrap())
    {
        let there = inspected.iter().find(|r| {
            r["cpu"] == e["cpu"] && r["chunk_at"] == e["place"]["chunk_at"] && r["offset"] == e["place"]["offset"]
        });
        let there = there.unwrap_or_else(|| panic!("{e}"));
        assert_eq!((&there["time_ns"], &there["event"]), (&e["time_ns"], &e["event"]));
        assert_eq!(there["member"], e["place"]["member"]);
        compared += 1;
    }
    assert!(compared >= 20, "{compared}");
    let text = stdout(&["explain", &rpc(), "rx:45"]);
    assert!(
        text.starts_with("rx:45: ") && text.contains("\nwaits of rx:45: ") && text.contains("net:netif_receive_skb")
    );
    let text = stdout(&["explain", &rpc(), "response:12"]);
    let parts = [
        "\nwaits of response:12: ",
        "\n  peer ",
        "\nresponses row 12\n",
        "\nturnarounds row ",
    ];
    assert!(
        text.starts_with("response:12: ") && parts.iter().all(|p| text.contains(p)),
        "{text}"
    );
    let help = stdout(&["explain", "--help"]);
    for kind in netmortem_analyzer::explain::Kind::ALL {
        assert!(help.contains(&format!("{}:N", kind.word())), "{}", kind.word());
    }
}

#[test]
fn wrong_ids_and_forms_are_told() {
    assert!(
        failed(&["explain", &rpc(), "packet:1"])
            .1
            .contains("for example skb:123")
    );
    assert!(failed(&["explain", &rpc(), "conn:99"]).1.contains("conn:0 to conn:1"));
    assert!(
        failed(&["convert", &rpc(), "-o", "x.txt"])
            .1
            .contains("does not say what to write")
    );
    let dir = tempdir("convert-wrong");
    let out = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    assert!(
        failed(&["convert", &rpc(), "-o", &out("p.pcapng")])
            .1
            .contains("--pcap")
    );
    let cut = failed(&["convert", &rpc(), "--time", "900s..", "-o", &out("c.nmb")]);
    assert!(cut.1.contains("no event"), "{}", cut.1);
    // What was there stays when there is nothing to write, and no time is named that nobody asked for.
    let keep = dir.join("keep.nmb");
    std::fs::write(&keep, "what was there").unwrap();
    let begin = std::fs::read(sample("tracedat-loopback/trace.dat")).unwrap();
    let cut = dir.join("cut.dat");
    std::fs::write(&cut, &begin[..100_000]).unwrap();
    let (cut, to) = (cut.to_str().unwrap(), keep.to_str().unwrap());
    let (code, told) = failed(&["convert", cut, "-o", to]);
    assert_eq!(code, 1, "{told}");
    assert!(!told.contains("that time"), "{told}");
    assert_eq!(failed(&["convert", &rpc(), "--time", "900s..", "-o", to]).0, 1);
    assert_eq!(std::fs::read(&keep).unwrap(), b"what was there");
    let both = failed(&["convert", &rpc(), "--redact", "-o", &out("t.pftrace")]);
    assert!(both.1.contains("another bundle"), "{}", both.1);
    std::fs::remove_dir_all(dir).unwrap();
}

/// A slice is a bundle like any other, of the time that was asked for.
#[test]
fn a_slice_can_be_checked_and_reported() {
    let dir = tempdir("convert-slice");
    let slice = dir.join("slice.nmb").to_str().unwrap().to_owned();
    assert!(
        run(&["convert", &rpc(), "--time", "100ms..600ms", "--redact", "-o", &slice])
            .status
            .success()
    );
    let check = json(&["check", "--json", &slice]);
    let ns = check["duration_ns"].as_i64().unwrap();
    assert!((400_000_000..=500_000_000).contains(&ns), "{ns}");
    assert_eq!(check["complete"], true);
    assert_eq!(check["hostname"], "host");
    let connections = json(&["show", "connections", &slice, "--format", "json"]);
    assert!(
        connections
            .as_array()
            .unwrap()
            .iter()
            .all(|c| c["saddr"].as_str().unwrap().starts_with("240."))
    );
    std::fs::remove_dir_all(dir).unwrap();
}

/// Standard output of a command that must succeed.
fn stdout_of(args: &[&str]) -> String {
    let out = run(args);
    assert!(out.status.success(), "{args:?}");
    String::from_utf8(out.stdout).unwrap()
}

/// A slice of a flow: a bundle like any other, with a note of what was cut; the program says whether the flow's rows are the same.
#[test]
fn a_slice_of_a_flow_says_what_was_cut() {
    let dir = tempdir("convert-flow");
    let (slice, input) = (dir.join("slice.nmb"), sample("kernel-6.1/netem.nmb"));
    let slice = slice.to_str().unwrap();
    let out = run(&["convert", &input, "--flow", "10.5.0.2:5201-10.5.0.1:51818", "-o", slice]);
    let told = String::from_utf8(out.stderr).unwrap();
    assert!(out.status.success() && out.stdout.is_empty(), "{told}");
    assert!(
        told.contains("its 25 rows of rx and 23 of tx are the same in the slice, but for ids and observer_ns"),
        "{told}"
    );
    let events = |path: &str| {
        let check = json(&["check", "--json", path]);
        assert_eq!((&check["complete"], &check["lost_events"]), (&true.into(), &0.into()));
        check["total_events"].as_u64().unwrap()
    };
    let cut = events(&input) - events(slice);
    assert!(cut > 1_500, "{cut}");
    assert!(
        told.contains(&format!(
            "than flow 10.5.0.2:5201-10.5.0.1:51818: {cut} events cut; packets: "
        )),
        "{told}"
    );
    // Every form of the report says on its first page that it is one, and so does `check`.
    let kept = format!(
        "to flow 10.5.0.2:5201-10.5.0.1:51818: {} of {} events kept",
        events(slice),
        events(&input)
    );
    let (page, facts) = (dir.join("r.html"), dir.join("r.json"));
    let (page, facts) = (page.to_str().unwrap(), facts.to_str().unwrap());
    let out = run(&["report", slice, "-o", page, "--json", facts]);
    let terminal = String::from_utf8(out.stdout).unwrap();
    let summary = stdout_of(&["report", slice, "--format", "md"]);
    let first = std::fs::read_to_string(page).unwrap();
    let first = first.split_once("id=\"over-time\"").unwrap().0.to_owned();
    let check = stdout(&["check", slice]);
    for text in [&terminal, &summary, &first, &check] {
        assert!(text.contains(&kept), "{text}");
    }
    for text in [&terminal, &summary, &first] {
        assert!(text.contains("A slice of a recording, not all of it"), "{text}");
    }
    let facts: Value = serde_json::from_slice(&std::fs::read(facts).unwrap()).unwrap();
    assert!(facts["quality"]["told"]["slice"][0].as_str().unwrap().contains(&kept));
    assert_eq!(json(&["check", "--json", slice])["told"], facts["quality"]["told"]);
    assert_eq!(
        json(&["check", "--json", &input])["told"]["slice"],
        Value::Array(vec![])
    );
    // By a device and with pseudonyms: what was asked for is not in the note.
    let hidden = dir.join("hidden.nmb");
    let hidden = hidden.to_str().unwrap();
    let args = ["--flow", "conn:0", "--dev", "va,vb", "--redact", "--time", "..1s"];
    assert!(
        run(&[&["convert", &input, "-o", hidden][..], &args].concat())
            .status
            .success()
    );
    let bytes = std::fs::read(hidden).unwrap();
    let note = b"to the flow or device that was asked for: ";
    assert!(bytes.windows(note.len()).any(|w| w == note));
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn what_cannot_be_sliced_is_told() {
    let dir = tempdir("convert-flow-wrong");
    let to = dir.join("x.nmb").to_str().unwrap().to_owned();
    let wrong = |input: &str, args: &[&str]| {
        let out = run(&[&["convert", input, "-o", &to][..], args].concat());
        (out.status.code().unwrap(), String::from_utf8(out.stderr).unwrap())
    };
    for (args, code, what) in [
        (&["--flow", "bad"][..], 2, "`bad` is no flow: conn:3, a port like :443"),
        (
            &["--flow", "conn:7"],
            1,
            "there is no conn:7: connections are conn:0 to conn:1",
        ),
        (
            &["--flow", ":1"],
            1,
            "no connection is :1; there are: conn:0 10.78.1.1:41276-10.78.1.2:7000",
        ),
        (&["--dev", "eth9"], 1, "no packet passed a device eth9; devices are: "),
    ] {
        let (got, told) = wrong(&rpc(), args);
        assert!(got == code && told.contains(what), "{args:?}: {got} {told}");
    }
    assert!(!std::fs::exists(&to).unwrap(), "nothing was cut, and something written");
    std::fs::remove_dir_all(dir).unwrap();
}

/// Commands that are printed can be typed again.
#[test]
fn explain_prints_commands_with_the_name_of_the_file() {
    let dir = tempdir("explain name");
    let file = dir.join("my incident.nmb");
    std::fs::copy(rpc(), &file).unwrap();
    let file = file.to_str().unwrap();
    let told = stdout(&["explain", file, "conn:0", "--limit", "3"]);
    let more = told.lines().find_map(|l| l.split_once(" more: ")).unwrap().1;
    let words: Vec<&str> = more.split(' ').collect();
    assert!(
        more.starts_with(&format!("netmortem explain '{file}' conn:0 --limit ")),
        "{more}"
    );
    let all = stdout(&["explain", file, "conn:0", "--limit", words.last().unwrap()]);
    assert!(all.contains(&format!("\nevents ({})\n", words.last().unwrap())) && !all.contains(" more: "));
    assert!(told.contains(&format!("\nsee also: netmortem explain '{file}' ")));
    let (code, told) = failed(&["explain", file, "drop:99999"]);
    assert!(code == 1 && told.contains(&format!("'{file}'")), "{told}");
    std::fs::remove_dir_all(dir).unwrap();
}

/// What trace-cmd and perf recorded becomes a bundle with the same tables.
#[test]
fn a_foreign_recording_becomes_a_bundle_with_the_same_tables() {
    let dir = tempdir("convert-foreign");
    for (name, input) in [("t", "tracedat-loopback/trace.dat"), ("p", "perf-loopback/perf.data")] {
        let (input, to) = (sample(input), dir.join(name).with_extension("nmb"));
        let to = to.to_str().unwrap();
        let out = run(&["convert", &input, "-o", to]);
        let told = String::from_utf8(out.stderr).unwrap();
        let check = json(&["check", "--json", to]);
        assert!(
            out.status.success() && told.starts_with(&format!("{} events, ", check["total_events"])),
            "{told}"
        );
        assert_eq!(check["format"], "bundle");
        for view in ["skbs", "rx", "tx", "softirqs", "gaps", "connections"] {
            let of = |path: &str| stdout(&["show", view, path, "--format", "csv"]);
            assert_eq!(of(&input), of(to), "{input} {view}");
        }
        let slice = dir.join("slice.nmb").to_str().unwrap().to_owned();
        assert!(
            run(&["convert", &input, "--time", "..500ms", "--force", "-o", &slice])
                .status
                .success()
        );
        assert!(json(&["check", "--json", &slice])["total_events"].as_u64() <= check["total_events"].as_u64());
    }
    std::fs::remove_dir_all(dir).unwrap();
}

/// Packets of another program, as an input beside the bundle.
#[test]
fn packets_of_another_program_are_joined_to_a_bundle() {
    let dir = tempdir("join");
    let pcap = dir.join("sender.pcap");
    let out = std::process::Command::new("zstd")
        .args(["-qdc", &sample("sawtooth/sender.pcap.zst")])
        .output();
    let Ok(out) = out else {
        println!("skipped: no zstd here");
        return;
    };
    std::fs::write(&pcap, out.stdout).unwrap();
    let (bundle, pcap) = (sample("sawtooth/sawtooth.nmb"), pcap.to_str().unwrap());
    let named = format!("va={pcap}");
    let check = json(&["check", "--json", &named, &bundle]);
    assert_eq!(
        (&check["packets"][0]["name"], &check["format"]),
        (&"va".into(), &"bundle".into())
    );
    assert_eq!(
        check["total_events"],
        json(&["check", "--json", &bundle])["total_events"]
    );
    let to = dir.join("out.pcapng");
    let out = run(&["convert", &bundle, &named, "-o", to.to_str().unwrap()]);
    let told = String::from_utf8(out.stderr).unwrap();
    let packets = check["packets"][0]["packets"].as_u64().unwrap();
    assert!(
        out.status.success() && told.starts_with(&format!("{packets} packets: ")),
        "{told}"
    );
    let page = dir.join("r.html");
    let page = page.to_str().unwrap();
    let out = run(&["report", &bundle, &named, "-o", page]);
    let shown = String::from_utf8(out.stdout).unwrap();
    let line = format!("sender.pcap (device va) was joined: {packets} packets, ");
    assert!(out.status.success() && shown.contains(&line), "{shown}");
    assert!(stdout(&["check", &bundle, &named]).contains(&line));
    assert!(std::fs::read_to_string(page).unwrap().contains(&line));
    // A name that no device has.
    let wrong = format!("eth7={pcap}");
    for command in [&["check"][..], &["report", "-o", page]] {
        let (code, told) = failed(&[command, &[&bundle, &wrong]].concat());
        let why = "knows no device eth7; its devices are: ra, rb, va, vb";
        assert!(code == 2 && told.contains(why), "{told}");
    }
    for (other, why) in [
        (sample("kernel-6.1/netem.nmb"), "different boots"),
        (sample("rpc/rpc.nmb"), "is of another time"),
        (bundle.clone(), "are the same recording"),
        (
            sample("tracedat-loopback/trace.dat"),
            "only packets (pcap, pcapng) and bundles",
        ),
    ] {
        let (code, told) = failed(&["check", &bundle, &other]);
        assert!(code == 1 && told.contains(why) && told.contains("\n  next: "), "{told}");
    }
    let (code, told) = failed(&["check", &named, &sample("rpc/rpc.nmb")]);
    assert!(code == 1 && told.contains("is of another time"), "{told}");
    let (_, told) = failed(&["report", &bundle, &named, "-o", pcap]);
    assert!(told.contains("is the recording"), "{told}");
    std::fs::remove_dir_all(dir).unwrap();
}
