//! What a screen reader is told: the browser's own accessibility tree of the pages. Every chart, link, button and field has a name, every
//! heading of a column is one, and headings leave no level out.

use std::path::Path;

use serde_json::{Value, json};

use super::super::{rpc, run, sample, tempdir};
use super::browser;
use super::devtools::Browser;

/// What has to have a name.
const NAMED: [&str; 8] = [
    "image",
    "img",
    "link",
    "button",
    "textbox",
    "searchbox",
    "search",
    "columnheader",
];

/// Role, name and level (0: it has none) of everything that is not left out of the tree.
fn tree(b: &mut Browser) -> Vec<(String, String, u64)> {
    b.call("Accessibility.enable", json!({}));
    let tree = b.call("Accessibility.getFullAXTree", json!({}));
    let word = |of: &Value| of["value"].as_str().unwrap_or_default().to_owned();
    let level = |node: &Value| {
        let of = node["properties"].as_array()?.iter().find(|p| p["name"] == "level")?;
        of["value"]["value"].as_u64()
    };
    let nodes = tree["nodes"].as_array().unwrap().iter();
    let told = nodes.filter(|node| node["ignored"] != true);
    told.map(|node| (word(&node["role"]), word(&node["name"]), level(node).unwrap_or(0)))
        .collect()
}

/// What is wrong with a page.
fn wrong(b: &mut Browser, page: &Path) -> Vec<String> {
    b.open(page, "");
    let all = tree(b);
    let mut wrong: Vec<String> = all
        .iter()
        .filter(|(role, name, _)| NAMED.contains(&role.as_str()) && name.trim().is_empty())
        .map(|(role, ..)| format!("a {role} without a name"))
        .collect();
    let mut before = 0;
    for (_, name, level) in all.iter().filter(|(role, ..)| role == "heading") {
        if *level > before + 1 {
            wrong.push(format!("{name:?} is of level {level}, behind one of {before}"));
        }
        before = *level;
    }
    let n = |role: &str| all.iter().filter(|(r, ..)| r == role).count();
    let first = all
        .iter()
        .filter(|(role, _, level)| role == "heading" && *level == 1)
        .count();
    // What the page has of each, by its own elements.
    let own = b.eval(
        "(() => { const n = s => [...document.querySelectorAll(s)].filter(e => e.checkVisibility()).length; \
         return [n('svg:not([role=group])'), n('thead th'), n('thead td'), n('main h2'), document.documentElement.lang ? 1 : 0, \
         n('[role=group]:not([aria-label]), [role=group][aria-label=\"\"]')]; })()",
    );
    let own: Vec<usize> = serde_json::from_value(own).unwrap();
    let charts = n("image") + n("img");
    if charts < own[0]
        || n("columnheader") < own[1]
        || own[2] > 0
        || own[3] == 0
        || own[4] == 0
        || own[5] > 0
        || first != 1
    {
        wrong.push(format!(
            "{charts} charts, {} headings of columns, {first} titles; {own:?}",
            n("columnheader")
        ));
    }
    wrong
}

#[test]
fn a_screen_reader_is_told_what_everything_is() {
    let Some(program) = browser() else { return };
    let dir = tempdir("access");
    let mut b = Browser::start(program, &dir);
    // First that this sees what is wrong where something is.
    let planted = dir.join("planted.html");
    let page = "<!doctype html><html><title>x</title><h1>a</h1><h3>b</h3><svg role=img></svg><a href=#x></a><button></button>\
                <main><h2>c</h2><div role=group>e</div></main><table><thead><tr><td>d</td></tr></thead><tbody><tr><td>1</td></tr></tbody></table>";
    std::fs::write(&planted, page).unwrap();
    let seen = wrong(&mut b, &planted);
    for there in [
        "link without",
        "button without",
        "level 3, behind one of 1",
        "[1, 0, 1, 1, 0, 1]",
    ] {
        assert!(seen.iter().any(|w| w.contains(there)), "{there} in {seen:?}");
    }

    let (report, diff, out) = (dir.join("report.html"), dir.join("diff.html"), dir.join("batch"));
    let told = run(&[
        "report",
        &sample("sawtooth/sawtooth.nmb"),
        "-o",
        report.to_str().unwrap(),
    ]);
    assert!(told.status.success());
    let other = sample("neighbour/neighbour.nmb");
    assert_eq!(
        run(&["diff", &rpc(), &other, "-o", diff.to_str().unwrap()])
            .status
            .code(),
        Some(3)
    );
    assert!(
        run(&["batch", &sample("rpc"), &sample("opens"), "-o", out.to_str().unwrap()])
            .status
            .success()
    );
    for page in [report, diff, out.join("index.html")] {
        assert_eq!(wrong(&mut b, &page), [""; 0], "{}", page.display());
    }
    drop(b);
    std::fs::remove_dir_all(&dir).unwrap();
}
