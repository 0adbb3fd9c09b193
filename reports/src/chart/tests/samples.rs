//! The charts of real reports: those of `sample-data`.

use std::path::{Path, PathBuf};

use netmortem_analyzer::analyses::answer_told;
use netmortem_analyzer::{Told, analyze};
use netmortem_formats::open_path;

use crate::chart::svg;
use crate::sections;

/// Every bundle, trace.dat and perf.data of `sample-data`.
fn samples() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sample-data");
    let folders = std::fs::read_dir(root).unwrap().map(|f| f.unwrap().path());
    let files = folders.flat_map(|f| std::fs::read_dir(f).unwrap().map(|f| f.unwrap().path()));
    let is = |p: &PathBuf| {
        let name = p.file_name().unwrap().to_str().unwrap();
        [".nmb", ".nmb.zst"].iter().any(|e| name.ends_with(e)) || ["trace.dat", "perf.data"].contains(&name)
    };
    files.filter(is).collect()
}

#[test]
fn no_two_texts_of_a_chart_overlap() {
    let all = samples();
    assert!(all.len() > 20, "{all:?}");
    let mut charts = 0;
    let mut over = vec![];
    for path in all {
        let capture = open_path(&path).unwrap().unwrap();
        let facts = analyze(&capture, &Default::default());
        let document = sections::document(&facts, &answer_told(&facts, Told::of(&capture, &facts)));
        for (section, figure) in document.figures() {
            charts += 1;
            let (_, texts) = svg::render(&figure.chart, &figure.alt).unwrap();
            for (nth, a) in texts.iter().enumerate() {
                for b in texts.iter().skip(nth + 1) {
                    let ((al, at, ar, ab), (bl, bt, br, bb)) = (a.edges, b.edges);
                    let apart = ar <= bl || br <= al || ab <= bt + 0.5 || bb <= at + 0.5;
                    if !apart {
                        let name = format!("{}, {section}-{}", path.display(), figure.id);
                        over.push(format!("{name}: {:?} over {:?}", a.text, b.text));
                    }
                }
            }
        }
    }
    assert!(charts > 500, "{charts}");
    assert!(over.is_empty(), "{over:#?}");
}
