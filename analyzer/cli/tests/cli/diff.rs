//! `netmortem diff`: exit codes, outputs, rules.

use serde_json::Value;

use crate::{failed, netmortem, rpc, run, sample, tempdir};

#[test]
fn a_recording_is_no_worse_than_itself_and_all_outputs_are_written() {
    let dir = tempdir("diff");
    let of = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let (page, json, pics) = (of("d.html"), of("d.json"), of("pics"));
    let out = run(&["diff", &rpc(), &rpc(), "-o", &page, "--json", &json, "--png", &pics]);
    let told = String::from_utf8(out.stdout).unwrap();
    assert_eq!(out.status.code(), Some(0), "{told}");
    let talk = String::from_utf8(out.stderr).unwrap();
    assert!(
        talk.starts_with(&format!("wrote    {page}\nwrote    {json}\n")),
        "{talk}"
    );
    assert!(
        told.contains("No difference found\n") && told.contains("rx.total"),
        "{told}"
    );
    assert!(std::fs::read_to_string(&page).unwrap().contains("No difference found"));
    let d: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(d["netmortem_diff"], 1);
    assert_eq!(d["verdict"]["outcome"], "same");
    assert_eq!(d["failed"], Value::Array(vec![]));
    let first = &d["metrics"][0]["shifts"][0];
    for key in [
        "before",
        "after",
        "shift",
        "interval",
        "p_adjusted",
        "threshold",
        "minimum_detectable",
        "outcome",
    ] {
        assert!(!first[key].is_null(), "{key}");
    }
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn worse_is_exit_code_3_and_rules_choose() {
    // The same service, and much differs.
    let (a, b) = (rpc(), sample("neighbour/neighbour.nmb"));
    let code = |extra: &[&str]| {
        let out = run(&[&["diff", &a, &b, "-o", "/dev/null"], extra].concat());
        let all = [out.stdout, out.stderr].concat();
        (out.status.code().unwrap(), String::from_utf8(all).unwrap())
    };
    let (worse, told) = code(&[]);
    assert_eq!(worse, 3, "{told}");
    assert!(told.contains("failed   worse") && told.contains("tx.total"), "{told}");
    assert_eq!(code(&["--fail-on", "tx.total>10%"]).0, 3);
    assert_eq!(code(&["--fail-on", "incomparable"]).0, 0);
    let (usage, told) = code(&["--fail-on", "rx.p98>10%"]);
    assert!(usage == 2 && told.contains("p50, p90 and p99"), "{told}");
    // A word mistyped watches nothing.
    for (rule, near) in [
        ("tx.qdisk.p50>10us", "tx.qdisc, "),
        ("app.respons.p90>20%", "app.response, "),
    ] {
        let (usage, told) = code(&["--fail-on", rule]);
        assert!(
            usage == 2 && told.contains(&format!("the nearest first: {near}")),
            "{told}"
        );
    }
    // What only the recordings tell.
    let (none, told) = code(&["--fail-on", "device.qdisc[nodev]"]);
    let says = "failed   rule device.qdisc[nodev]: nothing of that was compared (";
    assert!(none == 3 && told.contains(says), "{told}");
    // What held says what it saw.
    let (held, told) = code(&["--fail-on", "tx.total.p50>10s"]);
    assert!(
        held == 0 && told.contains("\nheld     tx.total.p50>10s: tx.total p50 +"),
        "{told}"
    );
}

#[test]
fn wrong_use_is_explained() {
    for (args, says) in [
        (vec!["diff", "a"], "before"),
        (vec!["diff", "--before", "a"], "--after"),
        (vec!["diff", "a", "b", "--before-time", "3s..1s"], "before it begins"),
        (vec!["diff", "a", "b", "--level", "2"], "between 0 and 1"),
    ] {
        let out = netmortem(&args).output().unwrap();
        let told = String::from_utf8(out.stderr).unwrap();
        assert!(out.status.code() == Some(2) && told.contains(says), "{args:?}: {told}");
    }
    let out = run(&["diff", &rpc(), "/no/such.nmb"]);
    assert_eq!(out.status.code(), Some(1));
    // Packets alone, and what is cut before its first event, are no recordings to compare.
    let dir = tempdir("diff-empty");
    let at = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let (dump, cut, page) = (at("dump.pcap"), at("cut.nmb"), at("d.html"));
    let mut head = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
    head.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0]);
    std::fs::write(&dump, head).unwrap();
    std::fs::write(&cut, std::fs::read(rpc()).unwrap().get(..200_000).unwrap()).unwrap();
    for (file, what) in [(&dump, "no event of the kernel"), (&cut, "there is no event in")] {
        for sides in [[&rpc(), file], [file, &rpc()]] {
            let (code, told) = failed(&["diff", sides[0], sides[1], "-o", &page]);
            assert!(
                code == 1 && told.contains(what) && told.contains("\n  next: "),
                "{told}"
            );
            assert!(!std::fs::exists(&page).unwrap());
        }
    }
    std::fs::remove_dir_all(dir).unwrap();
    let over = run(&["diff", &rpc(), &rpc(), "-o", &rpc()]);
    assert!(String::from_utf8(over.stderr).unwrap().contains("would be overwritten"));
}

#[test]
fn halves_of_one_recording_by_time() {
    let out = run(&[
        "diff",
        &rpc(),
        &rpc(),
        "--before-time",
        "..0.5s",
        "--after-time",
        "500ms..",
        "-o",
        "/dev/null",
    ]);
    let told = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.code() == Some(0) && told.contains("before: 500"), "{told}");
    // Both parts are of one recording, and its events are told as that.
    assert_eq!(
        told.matches(" of 954\u{202f}ms with 29\u{202f}117 events").count(),
        2,
        "{told}"
    );
}

/// Slices as convert writes them: said of each side, and compared only where what was cut does not matter.
#[test]
fn slices_are_told_and_compared_with_their_like() {
    let dir = tempdir("diff-slices");
    let of = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let (time, flow, both) = (of("time.nmb"), of("flow.nmb"), of("both.nmb"));
    for (to, args) in [
        (&time, &["--time", "200ms..800ms"][..]),
        (&flow, &["--flow", "7000"]),
        (&both, &["--flow", "7000", "--redact"]),
    ] {
        assert!(run(&[&["convert", &rpc(), "-o", to], args].concat()).status.success());
    }
    let json = of("d.json");
    let diff = |args: &[&str]| {
        let out = run(&[&["diff", "-o", "/dev/null", "--json", &json], args].concat());
        let told = String::from_utf8(out.stdout).unwrap();
        let d: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
        (out.status.code().unwrap(), told, d)
    };
    let cut = "This is a cut from another recording: ";
    let level = |d: &Value, what: &str| {
        let mut all = d["parity"].as_array().unwrap().iter();
        all.find(|c| c["what"] == what).unwrap()["level"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    // Time against the whole: compared.
    let (code, told, d) = diff(&[&rpc(), &time]);
    assert!(
        code == 0 && told.matches(cut).count() == 1 && told.contains("After, time.nmb: "),
        "{told}"
    );
    assert_eq!(level(&d, "slices"), "differs");
    assert_eq!(d["before"][0].get("told"), None);
    assert!(d["after"][0]["told"][0].as_str().unwrap().starts_with(cut), "{d}");
    // A flow against the whole, alone and in groups: not comparable.
    for args in [
        &[&*flow, &*rpc()][..],
        &["--before", &rpc(), &flow, "--after", &rpc(), &flow],
    ] {
        let (code, told, d) = diff(&[args, &["--fail-on", "incomparable"]].concat());
        assert_eq!((code, level(&d, "slices").as_str()), (3, "prevents"), "{told}");
        assert!(told.contains("cut to flows or devices and some are not"), "{told}");
        assert_eq!(told.matches(cut).count(), usize::from(args.len() > 2) + 1, "{told}");
    }
    // Flows of both: units are compared.
    let (code, told, d) = diff(&[&flow, &both]);
    assert!(code == 0 && told.contains("No difference found"), "{told}");
    assert_eq!(told.matches(cut).count(), 2, "{told}");
    assert_eq!(
        (level(&d, "slices"), level(&d, "pseudonyms")),
        ("differs".into(), "differs".into())
    );
    std::fs::remove_dir_all(dir).unwrap();
}
