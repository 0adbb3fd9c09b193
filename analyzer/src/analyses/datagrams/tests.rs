//! A real recording against what its programs saw (sample-data/datagrams).

mod alone;
mod beyond;
mod ceased;
mod lost;
mod onward;
mod partly;
mod questions;
mod silent;
mod usurped;

use std::path::PathBuf;

use netmortem_formats::Capture;

use crate::Confidence;
use crate::analyses::datagrams::{Datagrams, NEEDED};
use crate::analyses::verdict::{Line, Tone};
use crate::analyses::{Answers, answer};
use crate::export::bundle::{Change, rewrite};
use crate::facts::Facts;
use crate::ingest::Options;
use crate::name::Name;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::whose::{Carries, Owner};

/// An empty recording of 20 s with the events that UDP needs.
fn twenty_seconds() -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(20_000_000_000));
    f.capture.duration_ns = 20_000_000_000;
    for key in NEEDED.iter().chain(&["skb:kfree_skb"]) {
        f.capture.events.insert((*key).into(), 1);
    }
    f
}

fn beside(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../sample-data/datagrams")
        .join(name)
}

fn rows(name: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(beside(name)).unwrap();
    let of = |l: &str| l.split(',').map(str::to_owned).collect();
    text.lines().skip(1).map(of).collect()
}

fn opened(bytes: Vec<u8>) -> Capture {
    netmortem_formats::open_bytes("datagrams", netmortem_formats::Bytes::Owned(bytes)).unwrap()
}

fn capture() -> Capture {
    opened(zstd::decode_all(std::fs::File::open(beside("datagrams.nmb.zst")).unwrap()).unwrap())
}

fn facts() -> Facts {
    crate::analyze(&capture(), &Options::default())
}

fn of(answers: &Answers) -> &Datagrams {
    answers.datagrams.findings().unwrap()
}

fn line(answers: &Answers) -> &Line {
    answers.verdict.iter().find(|l| l.subject == "datagrams").unwrap()
}

#[test]
fn questions_without_an_answer_are_those_of_the_program() {
    let f = facts();
    let answers = answer(&f);
    let asked = rows("truth.csv");
    let ns = |s: &String| s.parse::<i64>().unwrap();
    let failed: Vec<_> = asked.iter().filter(|r| r[3] == "0").collect();
    let found = &of(&answers).in_vain;
    assert_eq!(found.len(), 1, "{found:#?}");
    let v = &found[0];
    let n = failed.len() as u64;
    assert_eq!((v.sends, v.of, v.turns, v.open), (n, n, n, 0));
    // No longer than from before the socket was made to after its close.
    let longest = failed.iter().map(|r| ns(&r[2]) - ns(&r[1])).max().unwrap();
    assert!(v.waited.max_ns.unwrap() < longest && v.waited.min_ns.unwrap() > 390_000_000);
    assert!((ns(&failed[0][1])..ns(&failed[0][2])).contains(&v.first_ns));
    assert_eq!(v.waited_in, "poll");
    // By `ss` three lay unread there at the end: 2496 bytes of memory, 832 each.
    assert_eq!((v.to.as_str(), v.landed, v.unread), ("10.83.2.3:53", n, n));
    assert!(v.holder.starts_with("python3/"), "{}", v.holder);
    assert_eq!((v.again, v.again_answered, v.again_to.as_str()), (n, n, "10.83.2.1:53"));
    let l = line(&answers);
    assert_eq!(l.tone, Tone::Bad);
    let said = "had no answer while it waited 400.";
    assert!(
        l.headline.starts_with("all 3 datagrams that python3/") && l.headline.contains(said),
        "{}",
        l.headline
    );
    let said = "all lie unread in the receive queue of a socket of python3/";
    assert!(l.sentence.contains(said), "{}", l.sentence);
}

#[test]
fn datagrams_that_came_twice_are_those_that_their_reader_counted() {
    let f = facts();
    let answers = answer(&f);
    let came = rows("came.csv");
    let twice = came.iter().filter(|r| r[1] == "2").count() as u64;
    assert_eq!(came.iter().filter(|r| r[1] == "1").count() as u64 + twice, 40);
    let c = &of(&answers).copied;
    assert_eq!(c.len(), 1);
    assert_eq!((c[0].copies, c[0].arrived, c[0].sent), (twice, 40 + twice, Some(40)));
    assert_eq!(
        (c[0].dev.as_str(), c[0].in_call, c[0].local.as_str()),
        ("rb", false, "10.83.2.1:7004")
    );
    let said = format!("{twice} of 40 UDP datagrams came twice to the socket at 10.83.2.1:7004 of python3/");
    assert!(line(&answers).sentence.contains(&said), "{}", line(&answers).sentence);
}

/// The log that polls a pipe is in no sentence; the kernel counted as many datagrams as the sockets have.
#[test]
fn nobody_else_waited_and_the_kernel_counted_the_same() {
    let f = facts();
    let answers = answer(&f);
    let d = of(&answers);
    // nstat of a and b: UdpOutDatagrams, UdpInDatagrams.
    let text = std::fs::read_to_string(beside("PROVENANCE.md")).unwrap();
    let sum = |name: &str| -> u64 {
        let of = text
            .lines()
            .filter_map(|l| l.trim().strip_prefix(name)?.trim().parse::<u64>().ok());
        of.sum()
    };
    assert_eq!((d.sent, d.received), (sum("UdpOutDatagrams "), sum("UdpInDatagrams ")));
    assert_eq!(d.perhaps, 6);
}

/// Of a part of the recording less is said, and nothing else.
#[test]
fn parts_say_less() {
    let asked = rows("truth.csv");
    let at = |row: usize| asked[row][1].parse::<u64>().unwrap() + 200_000_000;
    // From the middle of the first wait to the middle of the last: of three one is whole.
    let change = Change {
        window: Some((at(0), at(4))),
        ..Change::default()
    };
    let (bytes, _) = rewrite(&capture(), &change, vec![]).unwrap();
    let part = crate::analyze(&opened(bytes), &Options::default());
    let answers = answer(&part);
    let found = &of(&answers).in_vain;
    assert_eq!(found.iter().map(|v| v.sends).sum::<u64>(), 1, "{found:#?}");
    assert_eq!(of(&answers).copied, []);
}

#[test]
fn no_datagrams_are_nothing_wrong() {
    let f = crate::tests::facts("rpc/rpc.nmb");
    let answers = answer(&f);
    assert_eq!(line(&answers).tone, Tone::Ok);
    assert_eq!(line(&answers).headline, "");
}

/// No line is good over datagrams that this host dropped; the head of the page says it of drops.
#[test]
fn dropped_datagrams_are_no_good_news() {
    let mut f = facts();
    f.udp_turns.clear();
    f.udp_copies.clear();
    let answers = answer(&f);
    let good = line(&answers);
    assert_eq!(good.tone, Tone::Ok, "{}", good.sentence);
    let owner = Owner {
        carries: Carries::Datagram,
        connection: None,
        task: Name::new(b"logger"),
        pid: 7,
        confidence: Confidence::Strong,
    };
    let drop = |at| DropRow {
        time_ns: at,
        cpu: 0,
        reason: Some(2),
        location: 0x10,
        dev: Name::new(b"eth0"),
        skb_id: None,
        protocol: 0x0800,
        expected: Some(false),
        background: false,
        why: "",
        confidence: Confidence::Strong,
        owner: Some(owner),
        icmp: None,
        cut_from: None,
        sk: 0,
        to: None,
        way: None,
        repair: None,
    };
    let start = f.capture.start_ns.unwrap();
    f.drops = (0..12).map(|n| drop(start + n)).collect();
    let answers = answer(&f);
    let l = line(&answers);
    assert_eq!((l.tone, l.headline.as_str()), (Tone::Notice, ""));
    assert!(
        l.sentence.contains(", 12 dropped by this host (see drops)"),
        "{}",
        l.sentence
    );
}
