//! Server and client of one host that each wait for a CPU of their own: who had it is told of each by itself, against who was pinned
//! there (sample-data/cpu).

use netmortem_analyzer::analyses;
use netmortem_tests::{csv, facts, sample};

const SAMPLE: &str = "cpu/cpu.nmb";

#[test]
fn each_reader_waited_behind_what_was_pinned_beside_it() {
    let f = facts(SAMPLE).unwrap();
    let answers = analyses::answer(&f);
    let receive = answers.receive.findings().unwrap();
    let truth = csv(&std::fs::read_to_string(sample(SAMPLE).with_file_name("truth.csv")).unwrap());
    let waited: Vec<_> = receive.blamed.iter().filter(|b| b.stage == "run_queue").collect();
    let reader = |server: bool| {
        let row = f
            .connections
            .iter()
            .find(|c| (c.sport == 7000) == server && c.pid != 0)
            .unwrap();
        format!("{}/{}", row.task.text(), row.pid)
    };
    for end in &truth {
        let own = reader(end["end"] == "server");
        let others = truth.iter().filter(|o| o["end"] != end["end"]);
        for b in waited.iter().filter(|b| b.reader == own) {
            assert!(others.clone().all(|o| o["behind"] != b.who), "{own}: {b:?}");
        }
        // Most units of a reader waited for the task that shared its CPU all the time.
        let most = waited
            .iter()
            .filter(|b| b.reader == own)
            .max_by_key(|b| b.units)
            .unwrap();
        assert_eq!(most.who, end["behind"], "{own}");
    }
    // Of all readers together another task had more of the CPUs: the server's culprit is named first of the server all the same.
    let line = answers.verdict.iter().find(|l| l.subject == "receive").unwrap();
    let server = line.sentence.split(&reader(true)).nth(1).unwrap();
    let own = server.split([';', ')']).next().unwrap();
    assert!(own.contains(", behind hog in "), "{}", line.sentence);
}
