use crate::analyses;
use crate::facts::Facts;

/// Every cell of every table, in order.
fn cells(f: &Facts) -> Vec<String> {
    let mut out = vec![];
    for t in f.tables() {
        let columns = t.columns().len();
        for row in 0..t.len() {
            let of: Vec<_> = (0..columns).map(|c| t.cell(row, c)).collect();
            out.push(format!("{} {of:?}", t.name()));
        }
    }
    out
}

/// Same bytes in, same answers out, whatever the thread count.
#[test]
fn one_thread_and_four_say_the_same() {
    for path in [
        super::SAMPLES[0],
        super::SAMPLES[1],
        "sawtooth/sawtooth.nmb",
        "kernel-6.1/netem.nmb",
        "perf-loopback/perf.data",
    ] {
        let capture = super::sample(path);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let facts = crate::analyze(&capture, &Default::default());
                (cells(&facts), serde_json::to_string(&analyses::answer(&facts)).unwrap())
            })
        };
        let (one, four) = (run(1), run(4));
        assert!(one.0.len() > 500, "{path}: {}", one.0.len());
        for (a, b) in one.0.iter().zip(&four.0) {
            assert_eq!(a, b, "{path}");
        }
        assert_eq!(one, four, "{path}");
    }
}
