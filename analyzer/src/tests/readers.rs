//! What a receive queue waited for, against the program's own log and tshark (sample-data/readers): a socket with SO_RCVLOWAT, and a reader that was
//! busy with another connection.

use crate::confidence::Confidence;
use crate::facts::Facts;
use crate::reconstruct::receive::tables::{RxEnd, RxRow, Stage};

fn facts() -> Facts {
    super::facts("readers/readers.nmb.zst")
}
/// Lines of the log that begin with a word, as numbers.
fn log(word: &str) -> Vec<Vec<i64>> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../sample-data/readers/reads.txt");
    let text = std::fs::read_to_string(file).unwrap();
    let of = text.lines().filter_map(|l| l.strip_prefix(word)?.strip_prefix(' '));
    of.map(|l| l.split(' ').map(|n| n.parse().unwrap()).collect()).collect()
}
fn units(f: &Facts, bytes: u32) -> Vec<&RxRow> {
    let of = f.rx.iter().filter(|r| r.bytes == Some(bytes) && r.end == RxEnd::Read);
    of.collect()
}
/// When a unit became readable, and when its bytes were taken.
fn queue(r: &RxRow) -> (i64, i64) {
    let taken = r.start_ns + r.total_ns - r.stage(Stage::Copy).unwrap_or(0) - r.stage(Stage::Return).unwrap_or(0);
    (taken - r.rcvq_ns.unwrap(), taken)
}

/// 48 segments of 500 bytes came in order (tshark: none of them out of order) to a socket that is woken for 4000: they wait to be readable
/// until the eighth of them is there, which is when the program read (its log), and nothing is called out of order.
#[test]
fn what_so_rcvlowat_keeps_back_is_not_out_of_order() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../sample-data/readers/tshark.csv");
    let tshark = std::fs::read_to_string(file).unwrap();
    assert!(tshark.lines().any(|l| l == "10.99.1.1,500,0,0,48"), "{tshark}");
    let f = facts();
    let of = units(&f, 500);
    assert_eq!(of.len(), 48);
    let reads: Vec<i64> = log("read").iter().filter(|r| r[1] == 4000).map(|r| r[0]).collect();
    assert_eq!(reads.len(), 6);
    for (nth, batch) in of.chunks(8).enumerate() {
        // What the last one's arrival released, the program had within a ms.
        let released = batch[7].start_ns;
        assert!((0..1_000_000).contains(&(reads[nth] - released)), "{nth}");
        for r in batch {
            assert_eq!(r.stage(Stage::OutOfOrder).unwrap_or(0), 0, "{nth} {r:?}");
            assert!(r.confidence >= Confidence::Strong, "{nth} {r:?}");
            let (ready, _) = queue(r);
            assert!((ready - released).abs() < 200_000, "{nth} {r:?}");
            // The program slept 10 ms and more between its sends.
            let waited = r.stage(Stage::Ready).unwrap_or(0);
            assert!(std::ptr::eq(*r, batch[7]) || waited >= 9_000_000, "{nth} {r:?}");
        }
    }
    let answers = crate::analyses::answer(&f);
    let low = answers.receive.findings().unwrap().low_water.clone().unwrap();
    assert_eq!((low.units, low.at.as_str()), (42, "10.99.1.2:7000"));
}

/// 20 times a message of 100 bytes came to one connection while the thread was busy with the other (its log: from before its read to after its
/// answer). The unit says at which, and for how long: no longer than the log, and no less than that without the time for which something else
/// had the CPU.
#[test]
fn a_reader_that_is_busy_with_another_connection_is_told() {
    let f = facts();
    let ports = log("ports").remove(0);
    let of = units(&f, 100);
    let (busy, read) = (log("busy"), log("other"));
    assert_eq!((of.len(), busy.len()), (20, 20));
    let mut told = 0;
    for ((r, busy), read) in of.iter().zip(&busy).zip(&read) {
        let (ready, taken) = queue(r);
        assert!(taken < read[0] && busy[0] < ready, "{r:?}");
        let at = f.connections[r.busy_on.unwrap().0 as usize].dport;
        assert_eq!(i64::from(at), ports[0]);
        let there = busy[1].min(taken) - ready;
        let off = r.stage(Stage::RunQueue).unwrap_or(0);
        assert!(r.busy_ns <= there && r.busy_ns == r.busy_on_ns, "{there} {r:?}");
        // Its answer, and the lines of the log itself, are in calls too.
        assert!(r.busy_ns >= there - off - 300_000, "{there} {r:?}");
        assert!(r.busy_ns <= r.stage(Stage::ReaderRunning).unwrap(), "{r:?}");
        told += r.busy_ns;
    }
    let of_all = units(&f, 500).into_iter().chain(of.iter().copied());
    assert!(of_all.filter(|r| r.bytes == Some(500)).all(|r| r.busy_on.is_none()));
    let answers = crate::analyses::answer(&f);
    let with = answers.receive.findings().unwrap().busy_with.clone().unwrap();
    // Most of it; some was at this one, while the next question of the other lay there.
    assert_eq!(with.first, format!("10.99.1.1:{} > 10.99.1.2:7000", ports[0]));
    assert!(
        with.first_ns >= told && with.ns >= with.first_ns && with.task.starts_with("python3/"),
        "{with:?}"
    );
}
