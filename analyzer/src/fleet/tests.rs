//! Oracles: the answers of the samples themselves (sums and maxima must be theirs), quantiles of all values put together, and the
//! rule that order and repetition change nothing but what they must.

use netmortem_formats::open_path;

use super::*;
use crate::analyses::answer;
use crate::analyses::verdict::Tone;
use crate::stat::Distribution;
use crate::{analyze, ingest};

const SAMPLES: [&str; 3] = ["sawtooth/sawtooth.nmb", "rpc/rpc.nmb", "kernel-6.1/netem.nmb"];

fn facts_of(sample: &str) -> crate::Facts {
    let path = format!("{}/../sample-data/{sample}", env!("CARGO_MANIFEST_DIR"));
    let capture = open_path(std::path::Path::new(&path)).unwrap().unwrap();
    analyze(&capture, &ingest::Options::default())
}

fn all() -> Vec<(crate::Facts, Summary)> {
    let facts = SAMPLES.map(|s| (s, facts_of(s)));
    facts
        .into_iter()
        .map(|(name, f)| {
            let s = summarize(name, &f, &answer(&f));
            (f, s)
        })
        .collect()
}

#[test]
fn a_fleet_has_the_units_and_the_quantiles_of_its_recordings() {
    let all = all();
    let fleet = of(all.iter().map(|(_, s)| s.clone()).collect());
    let values: Vec<i64> = all
        .iter()
        .flat_map(|(f, _)| &f.rx)
        .filter(|r| r.end == crate::reconstruct::receive::tables::RxEnd::Read && r.censored.is_none())
        .filter(|r| r.confidence.is_solid())
        .map(|r| r.total_ns)
        .collect();
    let exact = Distribution::of(values, 0);
    let total = &fleet.rx[0];
    assert_eq!((total.name.as_str(), total.recordings), ("total", 3));
    assert_eq!(
        (total.n, total.sum_ns, Some(total.max_ns)),
        (exact.n, exact.sum_ns, exact.max_ns)
    );
    for (binned, exact) in [
        (total.p50_ns, exact.p50_ns),
        (total.p90_ns, exact.p90_ns),
        (total.p99_ns, exact.p99_ns),
    ] {
        let exact = exact.unwrap();
        assert!(exact <= binned && binned <= exact + exact / 4 + 1, "{binned} {exact}");
    }
    let worst = all
        .iter()
        .map(|(_, s)| (Summary::total(&s.rx).unwrap().p99_ns.unwrap(), s.name.clone()))
        .max()
        .unwrap();
    assert_eq!(total.worst, Some((worst.1, worst.0)));
}

#[test]
fn sparklines_have_every_retransmit_and_every_lost_packet() {
    for (facts, s) in all() {
        let lost = facts.drops.iter().filter(|d| d.expected == Some(false)).count() as u64;
        assert_eq!(s.lost_packets().unwrap_or(0), lost, "{}", s.name);
        assert_eq!(
            s.trouble.iter().sum::<u64>(),
            lost + facts.retransmits.len() as u64,
            "{}",
            s.name
        );
        assert_eq!((s.trouble.len(), s.rx_worst_ns.len()), (SPARK_BINS, SPARK_BINS));
        assert_eq!(
            s.rx_worst_ns.iter().flatten().max().copied(),
            Summary::total(&s.rx).unwrap().max_ns,
            "{}",
            s.name
        );
    }
}

#[test]
fn order_does_not_matter_and_a_summary_survives_its_file() {
    let mut of_all: Vec<Summary> = all().into_iter().map(|(_, s)| s).collect();
    let fleet = of(of_all.clone());
    of_all.reverse();
    assert_eq!(of(of_all.clone()), fleet);
    for s in &of_all {
        let text = serde_json::to_string(s).unwrap();
        assert_eq!(&serde_json::from_str::<Summary>(&text).unwrap(), s);
    }
}

#[test]
fn the_worst_come_first() {
    let (_, mut plain) = all().remove(1);
    for l in &mut plain.verdict {
        l.tone = Tone::Ok;
        l.headline.clear();
    }
    let with = |name: &str, tones: &[Tone], sent_again: u64| {
        let mut s = plain.clone();
        s.name = name.to_owned();
        for (l, tone) in s.verdict.iter_mut().zip(tones) {
            l.tone = *tone;
            l.headline = "slow".into();
        }
        s.retransmits = Some(sent_again);
        s
    };
    // What the head of its page does not say is no trouble.
    let mut unsaid = with("unsaid", &[Tone::Bad], 0);
    unsaid.verdict.iter_mut().for_each(|l| l.headline.clear());
    assert_eq!(unsaid.worst(), None);
    let mut named = with("named", &[Tone::Notice, Tone::Notice], 0);
    named.verdict[1].names_cause = true;
    assert_eq!(named.worst(), named.verdict.get(1));
    let fleet = of(vec![
        unsaid,
        with("calm", &[], 0),
        with("b", &[Tone::Notice, Tone::Notice], 5),
        with("one bad", &[Tone::Bad], 0),
        with("a", &[Tone::Notice, Tone::Notice], 5),
        with("more", &[Tone::Notice, Tone::Notice], 6),
    ]);
    let names: Vec<&str> = fleet.ranked.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["one bad", "more", "a", "b", "calm", "unsaid"]);
    assert_eq!(fleet.tones["quality"]["bad"], 2);
}

#[test]
fn nothing_makes_an_empty_fleet() {
    let fleet = of(vec![]);
    assert!(fleet.ranked.is_empty() && fleet.rx.is_empty() && fleet.drops.is_empty());
}

/// 14 changes were planted, two of them did harm (its PROVENANCE.md); those stand first.
#[test]
fn a_summary_has_the_changes_of_its_host() {
    let facts = crate::tests::facts("changes/changes.nmb.zst");
    let changes = summarize("changes", &facts, &answer(&facts)).changes.unwrap();
    assert_eq!((changes.more, changes.passing, changes.lost), (0, 6, 0));
    let changes = changes.told;
    let told: usize = changes.iter().map(|c| c.says.split("; ").count()).sum();
    assert!(told >= 14, "{changes:?}");
    assert_eq!(changes.iter().filter(|c| c.worse).count(), 2);
    assert!(
        changes[..2]
            .iter()
            .all(|c| c.worse && c.compared && !c.differs.is_empty())
    );
    assert_eq!(
        summarize("sawtooth", &facts_of(SAMPLES[0]), &answer(&facts_of(SAMPLES[0]))).changes,
        None
    );
}
