//! Same bundle in, same bytes out, whatever the number of threads.

use netmortem_analyzer::{analyses, analyze, ingest};
use netmortem_tests::{SAMPLES, dump, open, sample};

fn run(path: &str, threads: usize) -> (String, Vec<String>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let facts = analyze(&open(&sample(path)).unwrap(), &ingest::Options::default());
        let answers = serde_json::to_string(&analyses::answer(&facts)).unwrap();
        (answers, facts.tables().iter().map(|t| dump(t.as_ref())).collect())
    })
}

#[test]
fn one_thread_and_five_say_the_same() {
    for path in SAMPLES {
        let (one, five) = (run(path, 1), run(path, 5));
        assert!(one.0 == five.0, "{path}: answers differ");
        for (a, b) in one.1.iter().zip(&five.1) {
            assert!(a == b, "{path}: view {} differs", a.lines().next().unwrap());
        }
    }
}
