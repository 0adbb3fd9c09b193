use super::*;
use crate::explain::{EVENTS, Explanation, Id, Kind};
use crate::tests::{facts, sample};

fn told(limit: usize) -> Explanation {
    let capture = sample("rpc/rpc.nmb");
    let e = Explainer::new(&capture, &Default::default());
    e.explain(&facts("rpc/rpc.nmb"), Id::new(Kind::Conn, 0), limit).unwrap()
}

/// Requests of 200 + (n x 37 mod 1000) bytes and answers of 300 + (n x 53 mod 4000); before 40 of them the server slept with the request in its queue, and
/// took the time of that (truth.csv).
#[test]
fn a_dialogue_is_what_was_said_and_how_long_it_lay() {
    let d = told(100_000).dialogue.unwrap();
    assert!(d.both && !d.sends_inferred && d.left_out == 0);
    assert!(d.lines.is_sorted_by_key(|l| l.time_ns));
    let sent = |side: &str| -> Vec<u64> {
        let of = d.lines.iter().filter(|l| l.side == side && l.does == "sends");
        of.map(|l| l.bytes.unwrap()).collect()
    };
    assert_eq!(
        sent("client"),
        (0..400).map(|n| 200 + n * 37 % 1000).collect::<Vec<u64>>()
    );
    assert_eq!(
        sent("server"),
        (0..400).map(|n| 300 + n * 53 % 4000).collect::<Vec<u64>>()
    );
    let calls = d.lines.iter().filter(|l| l.does == "sends");
    assert!(
        calls
            .clone()
            .all(|l| l.call == "sendto" && l.task.starts_with("python3/")),
        "{calls:?}"
    );
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../sample-data/rpc/truth.csv");
    for line in std::fs::read_to_string(path).unwrap().lines().skip(1) {
        let cells: Vec<i64> = line.split(',').map(|c| c.parse().unwrap()).collect();
        let (from, to, bytes) = (cells[2], cells[3], cells[5]);
        let got = d
            .lines
            .iter()
            .rfind(|l| l.side == "server" && l.does == "gets" && l.time_ns < from);
        let got = got.unwrap();
        assert_eq!(got.bytes, Some(bytes as u64), "{line}: {got:?}");
        let over = got.waited_ns.unwrap() - (to - from);
        assert!((0..2_000_000).contains(&over), "{line}: {got:?}");
        // The client's line says the same as the view.
        let asked = d
            .lines
            .iter()
            .rfind(|l| l.side == "client" && l.does == "sends" && l.time_ns < from);
        let asked = asked.unwrap();
        assert!(asked.waited_ns > got.waited_ns, "{asked:?}");
        assert!(asked.said.iter().any(|s| s.starts_with("answered after ")), "{asked:?}");
        assert!(asked.ids.iter().any(|id| id.starts_with("response:")), "{asked:?}");
    }
}

#[test]
fn of_a_long_one_the_edges_and_the_longest_waits_are_told() {
    let (all, part) = (told(100_000).dialogue.unwrap(), told(EVENTS).dialogue.unwrap());
    assert_eq!(part.lines.len(), LINES);
    assert_eq!(part.lines.len() as u64 + part.left_out, all.lines.len() as u64);
    let skipped: u64 = part.lines.iter().map(|l| l.left_out).sum();
    assert_eq!(skipped + part.left_out_behind, part.left_out);
    let plain = |l: &Line| Line {
        left_out: 0,
        ..l.clone()
    };
    let told: Vec<Line> = part.lines.iter().map(plain).collect();
    assert_eq!(told[..EDGE], all.lines[..EDGE]);
    assert_eq!(told[LINES - EDGE..], all.lines[all.lines.len() - EDGE..]);
    let mut waits: Vec<&Line> = all.lines.iter().filter(|l| l.waited_ns.is_some()).collect();
    waits.sort_by_key(|l| std::cmp::Reverse(l.waited_ns));
    assert!(waits[..10].iter().all(|l| told.contains(l)));
}

/// Without the event that names a send's bytes its segments tell, and that is said.
#[test]
fn on_older_kernels_sends_are_told_by_their_segments() {
    let capture = crate::testing::rewrite::without_events(&sample("rpc/rpc.nmb"), "sock:sock_send_length");
    let f = crate::analyze(&capture, &Default::default());
    let e = Explainer::new(&capture, &Default::default());
    let d = e
        .explain(&f, Id::new(Kind::Conn, 0), 100_000)
        .unwrap()
        .dialogue
        .unwrap();
    let bytes = |side: &str| -> u64 {
        let of = d.lines.iter().filter(|l| l.side == side && l.does == "sends");
        of.filter_map(|l| l.bytes).sum()
    };
    assert!(d.sends_inferred);
    assert_eq!((bytes("client"), bytes("server")), (281_600, 885_400));
}

fn line(side: &'static str, does: &'static str, at: i64, waited: Option<i64>) -> Line {
    Line {
        time_ns: at,
        since_ns: at,
        side,
        connection: 0,
        does,
        times: 1,
        bytes: Some(10),
        task: "a/1".into(),
        call: String::new(),
        said: vec!["read".into()],
        waited_ns: waited,
        ids: vec![],
        left_out: 0,
    }
}

/// Arrivals of a transfer are one line; what lay long, or was never read, is one of its own.
#[test]
fn alike_lines_in_a_row_are_one() {
    let all = vec![
        line("client", "gets", 1, Some(5)),
        line("client", "gets", 2, Some(7)),
        line("client", "gets", 3, Some(LONG_NS)),
        line("client", "gets", 4, None),
        line("server", "gets", 5, Some(5)),
        line("server", "state", 6, None),
        line("server", "state", 7, None),
    ];
    let of = together(all).into_iter();
    let told: Vec<_> = of.map(|l| (l.time_ns, l.times, l.bytes, l.waited_ns)).collect();
    let expected = [
        (1, 2, Some(20), Some(7)),
        (3, 1, Some(10), Some(LONG_NS)),
        (4, 1, Some(10), None),
        (5, 1, Some(10), Some(5)),
        (6, 1, Some(10), None),
        (7, 1, Some(10), None),
    ];
    assert_eq!(told, expected);
}
