//! A neighbour entry that was made wrong for a while: what the analysis says, against the clock of who did it, what
//! `ip monitor neigh` printed meanwhile, and the kernel's counter of frames for another host (sample-data/neighbour).

use netmortem_analyzer::analyses;
use netmortem_analyzer::analyses::verdict::Tone;
use netmortem_tests::{csv, facts, nstat_pair, sample};

const SAMPLE: &str = "neighbour/neighbour.nmb";

fn beside(name: &str) -> String {
    std::fs::read_to_string(sample(SAMPLE).with_file_name(name)).unwrap()
}

/// (link-layer address, state) of every line of the monitor that is not a deletion.
fn monitored() -> Vec<(String, String)> {
    let text = beside("monitor.txt");
    let lines = text.lines().filter(|l| !l.contains("Deleted"));
    let words = lines.map(|l| l.split_whitespace().collect::<Vec<_>>());
    let of = words.map(|w| {
        let lladdr = w.iter().position(|x| *x == "lladdr").map_or("", |at| w[at + 1]);
        (lladdr.to_string(), w[w.len() - 1].to_lowercase())
    });
    of.collect()
}

#[test]
fn every_change_is_the_monitors() {
    let f = facts(SAMPLE).unwrap();
    let own = f.neighbours.iter().filter(|r| {
        r.event == "update" && r.address.to_string() == "10.79.1.2" && r.dev.text() == "va" && r.err == Some(0)
    });
    let after = own.map(|r| r.after.unwrap());
    let got: Vec<_> = after
        .map(|h| {
            let word = netmortem_analyzer::reconstruct::neighbours::tables::state_word(h.state);
            (h.valid().map_or_else(String::new, |a| a.to_string()), word)
        })
        .collect();
    assert_eq!(got, monitored());
}

#[test]
fn the_wrong_address_is_named_with_its_time_and_what_went_astray() {
    let f = facts(SAMPLE).unwrap();
    let answers = analyses::answer(&f);
    let s = &answers.neighbours[0];
    let monitored = monitored();
    assert_eq!(
        (s.address.as_str(), s.dev.as_str(), s.lladdr.as_str(), s.before.as_str()),
        ("10.79.1.2", "va", "02:00:00:00:00:99", monitored[0].0.as_str())
    );
    assert_eq!(s.after.as_deref(), Some(monitored[0].0.as_str()));
    assert!(s.by.starts_with("ip (") && s.by.ends_with(", over netlink"), "{}", s.by);
    let steps = csv(&beside("truth.csv"));
    let at = |step: usize| {
        let of = |name: &str| steps[step][name].parse::<i64>().unwrap();
        of("before_ns")..=of("after_ns")
    };
    assert!(at(0).contains(&s.from_ns) && at(1).contains(&s.to_ns.unwrap()), "{s:?}");
    let (before, after) = nstat_pair(&beside("PROVENANCE.md"), "otherhost_dropped").unwrap();
    assert_eq!(s.strayed, after - before);
    assert!(s.resent > 0);
    let line = answers.verdict.iter().find(|l| l.subject == "drops").unwrap();
    assert_eq!(line.tone, Tone::Bad);
    let said = "10.79.1.2 on va was 02:00:00:00:00:99 from";
    assert!(line.sentence.contains(said), "{}", line.sentence);
    let said = "10.79.1.2 on va had another link-layer address for ";
    assert!(line.headline.starts_with(said), "{}", line.headline);
    // Nothing else of this recording is told so.
    assert_eq!(answers.neighbours.len(), 1);
}

/// A neighbour that keeps its address is told of in no recording.
#[test]
fn nothing_is_said_where_no_address_changed() {
    for path in ["rpc/rpc.nmb", "sawtooth/sawtooth.nmb", "kernel-6.1/netem.nmb"] {
        assert_eq!(analyses::answer(&facts(path).unwrap()).neighbours, [], "{path}");
    }
}
