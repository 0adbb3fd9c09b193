//! The page of made-up summaries: every figure stands where it should, nothing hostile gets out of its text.

use netmortem_analyzer::analyses::verdict::Tone;
use netmortem_analyzer::fleet::{self, Changed, DropGroup, HostChanges, Line, Stage, Summary, VERSION};

use super::*;
use crate::html;

const HOSTILE: &str = "<script>alert(1)</script>";

fn summary(name: &str, tone: Tone, p99_ns: i64) -> Summary {
    Summary {
        version: VERSION,
        name: name.to_owned(),
        format: "bundle".to_owned(),
        hostname: HOSTILE.to_owned(),
        kernel: "6.18.0".to_owned(),
        began_realtime_ns: Some(1_700_000_000_000_000_000),
        duration_ns: 2_000_000_000,
        part: None,
        events: 1_000,
        lost_share: 0.25,
        short_rings: 0,
        verdict: vec![Line {
            subject: "receive".to_owned(),
            tone,
            sentence: format!("{name} is slow"),
            headline: match tone {
                Tone::Bad | Tone::Notice => format!("{name} is slow"),
                Tone::Ok | Tone::Unknown => String::new(),
            },
            names_cause: false,
            follows: false,
            minor: false,
        }],
        rx: vec![Stage {
            name: "total".to_owned(),
            n: 100,
            sum_ns: 100 * p99_ns,
            p50_ns: Some(p99_ns),
            p99_ns: Some(p99_ns),
            max_ns: Some(p99_ns),
            bins: vec![(p99_ns, p99_ns + 1, 100)],
        }],
        tx: vec![],
        drops: Some(vec![DropGroup {
            reason: HOSTILE.to_owned(),
            location: "kfree_skb".to_owned(),
            dev: "eth0".to_owned(),
            expected: Some(false),
            count: 7,
        }]),
        retransmits: None,
        retransmit_segments: None,
        changes: None,
        trouble: (0..SPARK_BINS as u64).collect(),
        rx_worst_ns: vec![None; SPARK_BINS],
    }
}

fn page() -> String {
    let fleet = fleet::of(vec![
        summary("calm", Tone::Ok, 5_000),
        summary("a/b <i>", Tone::Bad, 9_000),
    ]);
    let link = |name: &str| (name == "calm").then(|| "reports/calm.html".to_owned());
    html(&document(
        &fleet,
        &[("broken.nmb", "it is cut")],
        &["notes.txt".to_owned()],
        &link,
    ))
}

#[test]
fn every_recording_has_its_line_and_the_worst_is_first() {
    let page = page();
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is not in the page"));
    assert!(at("a/b &lt;i&gt; is slow") < at("reports/calm.html"));
    for text in [
        "1 of 2 have something that is plainly wrong.",
        "it is cut",
        "notes.txt",
        "2023-11-14",
        "25 %",
        "2 recordings · ",
    ] {
        at(text);
    }
    // 14 drops in two recordings; 200 units, the larger p99 of them.
    for text in ["<td class=\"n\">14</td>", "200 units"] {
        at(text);
    }
}

/// Of a flight whose rings begin too late no share of lost events is known.
#[test]
fn a_flight_that_is_short_has_no_share_of_lost_events() {
    let mut short = summary("flight.nmb", Tone::Notice, 5_000);
    (short.lost_share, short.short_rings) = (0.0, 2);
    let page = html(&document(&fleet::of(vec![short]), &[], &[], &|_| None));
    assert!(page.contains("not known: 2 rings begin too late"), "{page}");
}

#[test]
fn charts_are_said_in_words_and_sentences_are_folded() {
    let page = page();
    let last = SPARK_BINS - 1;
    let said = format!("{last} of {SPARK_BINS} parts with any: least 1, most {last}");
    assert!(
        page.contains(&format!("role=\"img\" aria-label=\"{said}\" title=\"{said}\"")),
        "{said}"
    );
    assert!(page.contains(&format!("aria-label=\"none in {SPARK_BINS} parts\"")));
    let parts = folded("slow: p99 9 ms; most of it in protocol; 3 segments were sent again.");
    let Cell::More(first, rest) = parts else {
        panic!("{parts:?}")
    };
    assert_eq!(first.as_str(), "slow: p99 9 ms");
    assert_eq!(rest.as_str(), "most of it in protocol; 3 segments were sent again");
    assert_eq!(folded("one clause"), Cell::Text("one clause".into()));
    let long = format!("{}end of it", "a word ".repeat(WORST_CHARS));
    let Cell::More(first, rest) = folded(&format!("{long}; more")) else {
        panic!("a long sentence")
    };
    assert_eq!(
        format!("{} {rest}", first.as_str().trim_end_matches(" …"), rest = rest.as_str()),
        format!("{long}; more")
    );
    assert!(first.as_str().chars().count() <= WORST_CHARS + 2);
    // What stands before a colon says nothing without what follows.
    let head = "10 packets were dropped by this host, of which nobody is known to have sent any again before the recording ended:";
    let cause = "6 by NETFILTER_DROP on veth1";
    let Cell::More(first, rest) = folded(&format!("{head} {cause}; more")) else {
        panic!("a cause")
    };
    assert_eq!((first.as_str(), rest.as_str()), (&*format!("{head} {cause}"), "more"));
    // The same in a terminal, a step a line.
    let mut s = summary("a.nmb", Tone::Bad, 5_000);
    s.verdict[0].headline = format!("{head} {cause}; more");
    let told = terminal(&fleet::of(vec![s]), crate::Colors::None, None);
    assert_eq!(
        told,
        format!("bad      a.nmb\n         {head}\n         {cause}\n         more\n")
    );
    // One word is not cut.
    assert_eq!(folded(&"x".repeat(500)), Cell::Text("x".repeat(500).into()));
    // In sight without scrolling: what is worst, the charts behind it, then the figures.
    let at = |text: &str| page.find(text).unwrap();
    assert!(at("what is worst") < at("lost or sent again") && at("lost or sent again") < at("receive p99"));
}

#[test]
fn hostile_names_stay_text() {
    let page = page();
    assert!(
        !page.contains("<script>alert") && !page.contains("<i>")
            || page.matches("<i>").count() == page.matches("<i>(").count()
    );
    assert!(page.contains("&lt;script&gt;alert"));
}

#[test]
fn a_spark_line_shows_small_large_and_none() {
    assert_eq!(spark([Some(0), Some(7), None, Some(3)].into_iter()), "▁█·▄");
    assert_eq!(spark([Some(u64::MAX), Some(1)].into_iter()), "█▁");
    assert_eq!(spark(std::iter::empty()), "");
}

#[test]
fn a_batch_without_any_recording_says_so() {
    let page = html(&document(&fleet::of(vec![]), &[], &[], &|_| None));
    assert!(page.contains("No recording was read."));
}

/// As the reports have it: the words of a stage, not its column. And a long name breaks between its parts.
#[test]
fn stages_have_words_and_names_break_where_they_may() {
    let mut one = summary("opens_opens/one.nmb", Tone::Ok, 5_000);
    let mut asleep = one.rx[0].clone();
    asleep.name = "reader_asleep".to_owned();
    one.rx.push(asleep);
    let page = html(&document(&fleet::of(vec![one]), &[], &[], &|n| Some(n.to_owned())));
    assert!(page.contains("went to reader asleep.") && page.contains("<td class=\"s\">reader asleep</td>"));
    assert!(!page.contains("reader_asleep"), "a column's name");
    assert!(page.contains(">opens_<wbr>opens/<wbr>one.nmb<wbr></a>"));
}

/// What was rolled out stands in order of time, what did harm first; what nobody heard, and what was not compared, is said.
#[test]
fn changes_of_hosts_stand_together() {
    let change = |at_ns, says: &str, worse| Changed {
        at_ns,
        says: says.to_owned(),
        differs: String::new(),
        worse,
        compared: at_ns < 9_000_000_000,
    };
    let with = |name: &str, told: Option<Vec<Changed>>, lost| Summary {
        changes: told.map(|told| HostChanges {
            told,
            more: 3,
            passing: 0,
            lost,
        }),
        ..summary(name, Tone::Ok, 5_000)
    };
    let late = change(9_000_000_000, "late <b>", false);
    let early = change(1_000_000_000, "early", false);
    let all = vec![
        with("a", Some(vec![late, early]), 0),
        with("b", Some(vec![change(5_000_000_000, "harmful", true)]), 0),
        with("c", Some(vec![]), 2),
        with("d", None, 0),
    ];
    let page = html(&document(&fleet::of(all.clone()), &[], &[], &|_| None));
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is not in the page"));
    assert!(at("harmful") < at("early") && at("early") < at("late &lt;b&gt;"));
    at(
        "In 2 recordings the host was changed while it was recorded; after 1 change something was worse. Of 1 change what was before and after could not be compared. Of 1 recording something that was announced was lost. Of 1 recording nothing is known, as its recorder did not listen.",
    );
    at(" 9 more are on the recordings");
    let page = html(&document(&fleet::of(all[3..].to_vec()), &[], &[], &|_| None));
    assert!(!page.contains("Changes of the hosts"));
}
