//! `report --json`, `diff --json` and `batch --json` against their schemas in `docs`. The words of JSON Schema that these use are checked
//! here; a schema with another word fails, so that no rule is taken for checked that is not.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{rpc, run, sample, tempdir};

/// Words that say nothing of a value.
const SAYINGS: [&str; 4] = ["$schema", "$defs", "title", "description"];

fn schema(of: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/{of}.schema.json"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// What is wrong with `value`, each with its place.
fn faults(root: &Value, schema: &Value, value: &Value, place: &str, out: &mut Vec<String>) {
    let Some(rules) = schema.as_object() else {
        if !schema
            .as_bool()
            .unwrap_or_else(|| panic!("a schema is an object, true or false"))
        {
            out.push(format!("{place}: nothing may be here"));
        }
        return;
    };
    for (word, rule) in rules {
        let held = match word.as_str() {
            said if SAYINGS.contains(&said) => true,
            "$ref" => {
                let name = rule.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                let meant = root["$defs"]
                    .get(name)
                    .unwrap_or_else(|| panic!("no definition of {name}"));
                faults(root, meant, value, place, out);
                true
            }
            "type" => match rule.as_array() {
                Some(any) => any.iter().any(|one| is(one, value)),
                None => is(rule, value),
            },
            "const" => value == rule,
            "enum" => rule.as_array().unwrap().contains(value),
            "required" => {
                let Some(map) = value.as_object() else { continue };
                let missing = |name: &&Value| !map.contains_key(name.as_str().unwrap());
                out.extend(
                    rule.as_array()
                        .unwrap()
                        .iter()
                        .filter(missing)
                        .map(|n| format!("{place}: no {n}")),
                );
                true
            }
            "properties" => {
                let Some(map) = value.as_object() else { continue };
                for (name, inner) in rule.as_object().unwrap() {
                    if let Some(found) = map.get(name) {
                        faults(root, inner, found, &format!("{place}/{name}"), out);
                    }
                }
                true
            }
            "additionalProperties" => {
                let named = |name: &str| rules.get("properties").is_some_and(|p| p.get(name).is_some());
                for (name, found) in value.as_object().into_iter().flatten().filter(|(n, _)| !named(n)) {
                    faults(root, rule, found, &format!("{place}/{name}"), out);
                }
                true
            }
            "prefixItems" => {
                let each = rule.as_array().unwrap().iter();
                for (at, (rule, found)) in each.zip(value.as_array().into_iter().flatten()).enumerate() {
                    faults(root, rule, found, &format!("{place}/{at}"), out);
                }
                true
            }
            "items" => {
                let before = rules.get("prefixItems").map_or(0, |p| p.as_array().unwrap().len());
                for (at, found) in value.as_array().into_iter().flatten().enumerate().skip(before) {
                    faults(root, rule, found, &format!("{place}/{at}"), out);
                }
                true
            }
            "minimum" => value.as_f64().is_none_or(|n| n >= rule.as_f64().unwrap()),
            "minItems" => value
                .as_array()
                .is_none_or(|a| a.len() as u64 >= rule.as_u64().unwrap()),
            "maxItems" => value
                .as_array()
                .is_none_or(|a| a.len() as u64 <= rule.as_u64().unwrap()),
            "anyOf" => rule.as_array().unwrap().iter().any(|one| {
                let mut wrong = Vec::new();
                faults(root, one, value, place, &mut wrong);
                wrong.is_empty()
            }),
            other => panic!("{place}: the test does not know `{other}`"),
        };
        if !held {
            let shown: String = value.to_string().chars().take(80).collect();
            out.push(format!("{place}: {word} {rule} does not hold for {shown}"));
        }
    }
}

fn is(kind: &Value, value: &Value) -> bool {
    match kind.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type {other}"),
    }
}

fn check(of: &str, value: &Value) -> Vec<String> {
    let schema = schema(of);
    let mut out = Vec::new();
    faults(&schema, &schema, value, "", &mut out);
    out
}

/// That a document fits, and does not where it is changed: there are as many faults as changes.
fn fits(of: &str, told: &str, json: &Value, changes: &[fn(&mut Value)]) {
    let wrong = check(of, json);
    assert!(wrong.is_empty(), "{told}: {:#?}", &wrong[..wrong.len().min(10)]);
    let mut changed = json.clone();
    for change in changes {
        change(&mut changed);
    }
    let wrong = check(of, &changed);
    assert_eq!(wrong.len(), changes.len(), "{told}: {wrong:#?}");
}

fn remove(of: &mut Value, key: &str) {
    assert!(of.as_object_mut().unwrap().remove(key).is_some(), "no {key}");
}

/// Every recording of `sample-data`, unpacked into `dir` where it is packed.
fn samples(dir: &Path) -> Vec<PathBuf> {
    let mut all = vec![];
    for folder in std::fs::read_dir(sample("")).unwrap() {
        for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if let Some(inside) = name.strip_suffix(".zst").filter(|n| n.ends_with(".nmb")) {
                let to = dir.join(inside);
                let packed = std::fs::File::open(&path).unwrap();
                zstd::stream::copy_decode(packed, std::fs::File::create(&to).unwrap()).unwrap();
                all.push(to);
            } else if name.ends_with(".nmb") || ["trace.dat", "perf.data"].contains(&name) {
                all.push(path);
            }
        }
    }
    all.sort();
    all
}

#[test]
fn the_json_of_every_sample_is_as_the_schema_says() {
    let dir = tempdir("schema");
    let all = samples(&dir);
    assert!(all.len() > 18, "{all:?}");
    for input in all.iter().map(|p| p.to_str().unwrap()) {
        let (page, facts) = (dir.join("r.html"), dir.join("r.json"));
        let done = run(&[
            "report",
            input,
            "-o",
            page.to_str().unwrap(),
            "--json",
            facts.to_str().unwrap(),
        ]);
        assert!(done.status.success(), "{input}");
        let json: Value = serde_json::from_slice(&std::fs::read(&facts).unwrap()).unwrap();
        fits(
            "report",
            input,
            &json,
            &[
                |j| j["verdict"][0]["tone"] = "splendid".into(),
                |j| j["over_time"]["bin_ns"] = "long".into(),
                |j| j["quality"]["clocks"]["mended"] = 1.into(),
                |j| j["quality"]["costly_stages"] = serde_json::json!([["rx copy", 0.5, 0.5]]),
                |j| j["lifetimes"]["answer"]["more"] = 1.into(),
                |j| remove(j, "exemplars"),
            ],
        );
        let bytes = std::fs::metadata(&page).unwrap().len();
        assert!(bytes < 3_000_000, "{input}: a page of {bytes} bytes");
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

/// Better and worse, not comparable, parts, groups, slices, redacted ones.
#[test]
fn the_json_of_diff_is_as_its_schema_says() {
    let dir = tempdir("schema-diff");
    let at = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let all = samples(&dir);
    let of = |name: &str| {
        let is = |p: &&PathBuf| p.file_name().unwrap() == name;
        all.iter().find(is).unwrap().to_str().unwrap().to_owned()
    };
    let (rpc, near) = (rpc(), of("neighbour.nmb"));
    let (cut, hidden, other) = (at("cut.nmb"), at("hidden.nmb"), at("other.nmb"));
    for (from, to, args) in [
        (&rpc, &cut, &["--flow", "7000"][..]),
        (&rpc, &hidden, &["--redact"]),
        (&near, &other, &["--redact"]),
    ] {
        assert!(run(&[&["convert", from, "-o", to], args].concat()).status.success());
    }
    let json = at("d.json");
    let mut seen = std::collections::BTreeSet::new();
    for args in [
        &[&*rpc, &*rpc][..],
        &["--fail-on", "worse,incomparable,tx.total>1%", &rpc, &near],
        &["--dev", "vb", &near, &rpc],
        &[&rpc, &of("mtu.nmb")],
        &[&rpc, &of("trace.dat")],
        &[&of("loss.nmb"), &of("delay.nmb")],
        &[&cut, &rpc],
        &[&hidden, &other],
        &["--before-time", "..0.5s", "--after-time", "500ms..", &rpc, &rpc],
        &["--before-time", "100ms..400ms", "--after-time", "400ms..", &near, &near],
        &["--before", &rpc, &near, "--after", &near, &rpc],
    ] {
        let out = run(&[&["diff", "-o", "/dev/null", "--json", &json], args].concat());
        assert!([Some(0), Some(3)].contains(&out.status.code()), "{args:?}: {out:?}");
        let json: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
        let always: [fn(&mut Value); 8] = [
            |j| j["netmortem_diff"] = 2.into(),
            |j| j["options"]["draws"] = "many".into(),
            |j| j["before"][0]["colour"] = "green".into(),
            |j| j["parity"][0]["level"] = "splendid".into(),
            |j| j["verdict"]["lines"] = serde_json::json!([["worse"]]),
            |j| remove(j, "failed"),
            |j| j["rules"][0]["state"] = "splendid".into(),
            |j| j["settings_of_one_side"] = serde_json::json!([1]),
        ];
        let of_metrics: [fn(&mut Value); 3] = [
            |j| j["metrics"][0]["which"]["stage"] = Value::Null,
            |j| j["metrics"][0]["clusters"] = serde_json::json!([1, "2"]),
            |j| remove(&mut j["metrics"][0]["before"], "p90_ns"),
        ];
        let some = if json["metrics"].get(0).is_some() { 3 } else { 0 };
        let changes = [&always[..], &of_metrics[..some]].concat();
        fits("diff", &format!("{args:?}"), &json, &changes);
        seen.insert(json["verdict"]["outcome"].as_str().unwrap().to_owned());
        let lists = json.as_object().unwrap().iter();
        seen.extend(lists.filter(|(_, v)| v.get(0).is_some()).map(|(k, _)| k.clone()));
    }
    // What the schema says of lists that are empty in all of these is not checked here.
    let words = "same worse better changed not_comparable withheld stopped few counters settings failed";
    for there in words.split(' ') {
        assert!(seen.contains(there), "{there}: {seen:?}");
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn the_json_of_batch_is_as_its_schema_says() {
    let dir = tempdir("schema-batch");
    let at = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let (input, out) = (at("in"), at("out"));
    std::fs::create_dir_all(&input).unwrap();
    for path in samples(&dir) {
        std::fs::copy(&path, Path::new(&input).join(path.file_name().unwrap())).unwrap();
    }
    std::fs::write(format!("{input}/garbage.nmb"), "not at all").unwrap();
    std::fs::write(format!("{input}/notes.txt"), "what we saw").unwrap();
    let done = run(&["batch", &input, "-o", &out, "--json", "--no-reports", "--no-dataset"]);
    assert!(done.status.success(), "{done:?}");
    let json: Value = serde_json::from_slice(&done.stdout).unwrap();
    let kept: Value = serde_json::from_slice(&std::fs::read(format!("{out}/index.json")).unwrap()).unwrap();
    assert_eq!(json, kept);
    for list in ["ranked", "rx", "tx", "drops", "bad", "no_recordings"] {
        assert!(json[list].get(0).is_some(), "no {list}");
    }
    fits(
        "batch",
        "samples",
        &json,
        &[
            |j| j["ranked"][0]["verdict"][0]["tone"] = "splendid".into(),
            |j| j["ranked"][1]["trouble"] = serde_json::json!([0, 0, 0]),
            |j| j["ranked"][2]["colour"] = "green".into(),
            |j| j["rx"][0]["bins"][0][2] = "many".into(),
            |j| j["tones"]["quality"]["splendid"] = 1.into(),
            |j| j["without_drops"] = Value::Null,
            |j| remove(&mut j["bad"][0], "because"),
        ],
    );
    // Of nothing.
    std::fs::remove_dir_all(&input).unwrap();
    std::fs::create_dir_all(&input).unwrap();
    std::fs::write(format!("{input}/notes.txt"), "what we saw").unwrap();
    let none = run(&["batch", &input, "-o", &at("none"), "--json"]);
    fits("batch", "nothing", &serde_json::from_slice(&none.stdout).unwrap(), &[]);
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn markdown_goes_to_standard_output_or_where_asked() {
    let dir = tempdir("markdown");
    let done = run(&["report", &sample("rpc/rpc.nmb"), "--format", "md"]);
    assert!(done.status.success());
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.starts_with("## Postmortem of rpc.nmb\n"), "{text}");
    assert!(
        text.contains("reader asleep") && text.contains("| stage | n |"),
        "{text}"
    );
    let out = dir.join("ticket.md");
    let done = run(&[
        "report",
        &sample("rpc/rpc.nmb"),
        "--format",
        "md",
        "-o",
        out.to_str().unwrap(),
    ]);
    // What is in the file is summed up.
    assert!(done.status.success() && done.stdout.starts_with(b"Postmortem of rpc.nmb\n"));
    assert_eq!(std::fs::read_to_string(&out).unwrap(), text);
    std::fs::remove_dir_all(&dir).unwrap();
}
