//! What the analysis answers of a redacted bundle: the same, of others.

use serde_json::Value;

use super::*;
use crate::analyses;
use crate::analyses::breakdown::WAYS;

const SAMPLES: [&str; 18] = [
    "rpc/rpc.nmb",
    "kernel-6.1/netem.nmb",
    "sawtooth/sawtooth.nmb",
    "cpu/cpu.nmb",
    "mtu/mtu.nmb",
    "neighbour/neighbour.nmb",
    "opens/opens.nmb",
    "datagrams/datagrams.nmb.zst",
    "lookups/lookups.nmb.zst",
    "named/named.nmb.zst",
    "seconds/seconds.nmb.zst",
    "changes/changes.nmb.zst",
    "one-side/delay.nmb.zst",
    "one-side/loss.nmb.zst",
    "containers/same-mac.nmb.zst",
    "perf-rings/flows.nmb.zst",
    "perf-rings/lossy.nmb.zst",
    "tracedat-loopback/trace.dat",
];

fn opened(path: &str) -> Option<Capture> {
    // Only a bundle can be redacted.
    Some(crate::tests::sample(path)).filter(|c| c.format == "bundle")
}

/// Whether all tables are equal but for a one-to-one change of texts.
pub(super) fn difference(a: &Facts, b: &Facts) -> Result<(), String> {
    let (mut to, mut back) = (BTreeMap::<String, String>::new(), BTreeMap::<String, String>::new());
    for (x, y) in a.tables().iter().zip(b.tables()) {
        // Texts of the host that cannot be redacted are left out, and others are changed within.
        // Those of clients are in the order of their names, which are replaced; what they are made of is compared.
        if x.name() == "snapshots" || x.name().starts_with("clients") {
            continue;
        }
        if x.len() != y.len() {
            return Err(format!("{}: {} rows, then {}", x.name(), x.len(), y.len()));
        }
        // Words of ours, and there are programs of these names.
        let ours = |c: &crate::table::ColumnInfo| x.name() == "changes" && c.name == "what";
        for (i, c) in x.columns().iter().enumerate().filter(|(_, c)| !ours(c)) {
            for row in 0..x.len() {
                let place = || format!("{} {} row {row}", x.name(), c.name);
                match (x.cell(row, i), y.cell(row, i)) {
                    // A word of ours, or a name that stays; a pseudonym may be the same word.
                    (Cell::Str(p), Cell::Str(q)) if p == q && !to.contains_key(p.as_ref()) => {}
                    (Cell::Str(p), Cell::Str(q)) => {
                        let known = to.entry(p.to_string()).or_insert_with(|| q.to_string());
                        let again = back.entry(q.to_string()).or_insert_with(|| p.to_string());
                        if known != q.as_ref() || again != p.as_ref() {
                            return Err(format!("{}: {p:?} is {q:?}, and {known:?} elsewhere", place()));
                        }
                    }
                    (p, q) if p == q => {}
                    (p, q) => return Err(format!("{}: {p:?}, then {q:?}", place())),
                }
            }
        }
    }
    Ok(())
}

/// Lists of the host with names and addresses that are in no table of events.
const LISTS: [&str; 3] = ["neighbours", "addresses", "links"];

/// Names and addresses of the tables, of tasks and of lists that are others now, the longest first.
fn names((a, x): (&Facts, &Capture), (b, y): (&Facts, &Capture)) -> Vec<(String, String)> {
    let mut out: BTreeMap<String, String> = BTreeMap::new();
    let mut put = |p: &str, q: &str| {
        if p != q {
            out.insert(p.to_owned(), q.to_owned());
        }
    };
    for ((_, p), (_, q)) in x.comms.iter().zip(&y.comms) {
        put(p, q);
    }
    for s in x.snapshots.iter().filter(|s| LISTS.contains(&s.what.as_str())) {
        let same = |t: &&netmortem_formats::capture::Snapshot| (&t.what, t.when) == (&s.what, s.when);
        let Some(t) = y.snapshots.iter().find(same) else {
            continue;
        };
        let (s, t) = (String::from_utf8_lossy(&s.text), String::from_utf8_lossy(&t.text));
        for (line, new) in s.lines().zip(t.lines()) {
            for (key, p) in crate::snapshots::words(line) {
                let bare = |of: &str| of.split('/').next().unwrap_or_default().to_owned();
                if let Some(q) = crate::snapshots::field(new, key) {
                    put(&bare(p), &bare(q));
                }
            }
        }
    }
    for (x, y) in a
        .tables()
        .iter()
        .zip(b.tables())
        .filter(|(x, _)| x.name() != "snapshots")
    {
        for column in 0..x.columns().len() {
            for row in 0..x.len() {
                if let (Cell::Str(p), Cell::Str(q)) = (x.cell(row, column), y.cell(row, column)) {
                    put(&p, &q);
                }
            }
        }
    }
    let mut out: Vec<_> = out.into_iter().collect();
    out.sort_by_key(|(p, _)| std::cmp::Reverse(p.len()));
    out
}

/// Whether one text is the other with its names replaced; those that are named in the order of their addresses may be in another order.
fn same_text(p: &str, q: &str, names: &[(String, String)]) -> bool {
    let mut left: Vec<&str> = q.split(' ').collect();
    alike(p, q, names)
        || p.split(' ').all(|word| {
            let at = left.iter().position(|other| alike(word, other, names));
            at.map(|at| left.swap_remove(at)).is_some()
        }) && left.is_empty()
}

/// A name may be a word of the sentence, too: then it stays.
fn alike(p: &str, q: &str, names: &[(String, String)]) -> bool {
    let (mut p, mut q) = (p, q);
    while let (Some(x), Some(y)) = (p.chars().next(), q.chars().next()) {
        let name = names
            .iter()
            .find_map(|(of, to)| p.strip_prefix(of.as_str()).zip(q.strip_prefix(to.as_str())));
        match name {
            Some(rest) => (p, q) = rest,
            None if x == y => (p, q) = (&p[x.len_utf8()..], &q[y.len_utf8()..]),
            None => return false,
        }
    }
    p.is_empty() && q.is_empty()
}

/// The first place at which they differ. What is ordered by names may be in another order.
fn differ(a: &Value, b: &Value, names: &[(String, String)], place: &str) -> Option<String> {
    match (a, b) {
        (Value::String(p), Value::String(q)) if same_text(p, q, names) => None,
        // Of more ways than are kept the last ones that are alike are chosen by name.
        (Value::Array(p), Value::Array(q)) if place.ends_with("/ways") && p.len() == WAYS && q.len() == WAYS => None,
        (Value::Array(p), Value::Array(q)) if p.len() == q.len() => {
            let in_order = || {
                p.iter()
                    .zip(q)
                    .enumerate()
                    .find_map(|(nth, (x, y))| differ(x, y, names, &format!("{place}/{nth}")))
            };
            let first = in_order()?;
            let mut left: Vec<&Value> = q.iter().collect();
            let all = p.iter().all(|x| {
                let at = left.iter().position(|y| differ(x, y, names, "").is_none());
                at.map(|at| left.swap_remove(at)).is_some()
            });
            (!all).then_some(first)
        }
        (Value::Object(p), Value::Object(q)) if p.len() == q.len() => p.iter().find_map(|(key, x)| {
            let place = format!("{place}/{key}");
            match q
                .get(key)
                .or_else(|| q.iter().find(|(k, _)| same_text(key, k, names)).map(|(_, y)| y))
            {
                Some(y) => differ(x, y, names, &place),
                None => Some(format!("{place}: gone")),
            }
        }),
        (p, q) if p == q => None,
        (p, q) => Some(format!("{place}: {p}, then {q}")),
    }
}

/// Answers, without what the recording says of itself: its command line and its host's name are gone, and its file is another, whose
/// sub-buffers are filled otherwise.
fn answers(facts: &Facts) -> Value {
    let mut answers = serde_json::to_value(analyses::answer(facts)).unwrap();
    let capture = answers
        .pointer_mut("/quality/capture")
        .and_then(Value::as_object_mut)
        .unwrap();
    for of_itself in ["source", "command", "hostname", "ring_bytes"] {
        assert!(capture.remove(of_itself).is_some());
    }
    for stream in capture["streams"].as_array_mut().unwrap() {
        stream["bytes"] = Value::Null;
    }
    answers
}

/// Tables, answers and verdicts of every sample, with names replaced.
#[test]
fn answers_and_verdicts_stay_but_for_names() {
    let mut wrong = vec![];
    for path in SAMPLES {
        let Some(capture) = opened(path) else { continue };
        let change = Change {
            redact: true,
            ..Change::default()
        };
        let new = changed(&capture, &change).0;
        let (before, after) = (facts(&capture), facts(&new));
        let names = names((&before, &capture), (&after, &new));
        assert!(names.len() > 3, "{path}: {names:?}");
        let (a, b) = (answers(&before), answers(&after));
        wrong.extend(difference(&before, &after).err().map(|what| format!("{path}: {what}")));
        for (key, x) in a.as_object().unwrap() {
            let place = format!("{path}: /{key}");
            wrong.extend(differ(x, &b[key], &names, &place));
        }
        // A name that stayed would be a difference.
        assert_ne!(a, b, "{path}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
