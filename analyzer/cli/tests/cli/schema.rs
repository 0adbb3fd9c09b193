//! `report --json` against `docs/report.schema.json`. The words of JSON Schema that this schema uses are checked here; a schema with
//! another word fails, so that no rule is taken for checked that is not.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{run, sample, tempdir};

/// Words that say nothing of a value.
const SAYINGS: [&str; 4] = ["$schema", "$defs", "title", "description"];

fn schema() -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/report.schema.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// What is wrong with `value`, each with its place.
fn faults(root: &Value, schema: &Value, value: &Value, place: &str, out: &mut Vec<String>) {
    let Some(rules) = schema.as_object() else {
        assert_eq!(*schema, Value::Bool(true), "{place}: a schema is an object or true");
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
                assert!(!rules.contains_key("properties"), "{place}: only of maps here");
                for (name, found) in value.as_object().into_iter().flatten() {
                    faults(root, rule, found, &format!("{place}/{name}"), out);
                }
                true
            }
            "items" => {
                for (at, found) in value.as_array().into_iter().flatten().enumerate() {
                    faults(root, rule, found, &format!("{place}/{at}"), out);
                }
                true
            }
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

fn check(value: &Value) -> Vec<String> {
    let schema = schema();
    let mut out = Vec::new();
    faults(&schema, &schema, value, "", &mut out);
    out
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
        let mut json: Value = serde_json::from_slice(&std::fs::read(&facts).unwrap()).unwrap();
        let wrong = check(&json);
        assert!(wrong.is_empty(), "{input}: {:#?}", &wrong[..wrong.len().min(10)]);
        let bytes = std::fs::metadata(&page).unwrap().len();
        assert!(bytes < 3_000_000, "{input}: a page of {bytes} bytes");
        // And the schema would have noticed.
        json["verdict"][0]["tone"] = "splendid".into();
        json["over_time"]["bin_ns"] = "long".into();
        json.as_object_mut().unwrap().remove("exemplars");
        let wrong = check(&json);
        assert_eq!(wrong.len(), 3, "{wrong:?}");
    }
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
    assert!(done.status.success() && done.stdout.is_empty());
    assert_eq!(std::fs::read_to_string(&out).unwrap(), text);
    std::fs::remove_dir_all(&dir).unwrap();
}
