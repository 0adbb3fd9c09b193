//! Causes with a name, against what `ss` and `tcptrace` printed of the same connections (sample-data/named, sawtooth).

use crate::analyses;
use crate::analyses::transmit::{Sender, Transmit};
use crate::facts::{ConnectionId, Facts};

pub(crate) fn beside(name: &str) -> String {
    let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../sample-data/named");
    std::fs::read_to_string(path.join(name)).unwrap()
}

pub(crate) fn facts() -> Facts {
    let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../sample-data/named/named.nmb.zst");
    let bytes = zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap();
    let capture = netmortem_formats::open_bytes("named", netmortem_formats::Bytes::Owned(bytes)).unwrap();
    crate::analyze(&capture, &Default::default())
}

fn transmit(facts: &Facts) -> Transmit {
    analyses::answer(facts).transmit.findings().unwrap().clone()
}

/// What ss printed of a connection: the words of its line.
pub(crate) fn ss(plant: &str) -> Vec<String> {
    let text = beside("ss.txt");
    let line = text
        .lines()
        .find_map(|l| l.strip_prefix(&format!("{plant}: ")))
        .unwrap();
    line.split_whitespace().map(str::to_owned).collect()
}

/// `name:value`.
fn of(words: &[String], name: &str) -> Option<String> {
    words
        .iter()
        .find_map(|w| Some(w.strip_prefix(name)?.strip_prefix(':')?.to_owned()))
}

fn number(words: &[String], name: &str) -> u32 {
    of(words, name).unwrap().parse().unwrap()
}

fn sender<'t>(t: &'t Transmit, words: &[String]) -> &'t Sender {
    let ends = format!("{} > {}", words[3], words[4]);
    t.connections.iter().find(|c| c.label == ends).unwrap()
}

#[test]
fn window_scaling_is_said_where_ss_shows_none() {
    let (f, unscaled) = (facts(), ss("unscaled"));
    let t = transmit(&f);
    for plant in ["unscaled", "idle", "clamped"] {
        let words = ss(plant);
        let s = sender(&t, &words);
        assert_eq!(s.unscaled.is_none(), of(&words, "wscale").is_some(), "{plant}");
    }
    let s = sender(&t, &unscaled);
    let u = s.unscaled.unwrap();
    assert_eq!((number(&unscaled, "snd_wnd"), u.max_bytes), (65_535, 65_535));
    // The other end's window, where it may say so, is more than it can say here.
    assert!(u.offered.unwrap() > 65_535);
    let minrtt: f64 = of(&unscaled, "minrtt").unwrap().parse().unwrap();
    assert!((u.rtt_ns as f64 / 1e6 - minrtt).abs() < minrtt / 10.0, "{u:?}");
    assert!(s.mbit_per_s.unwrap() <= u.most_mbit_per_s(), "{s:?}");
    let line = line(&f);
    let said = "was opened without window scaling: at most 65,535 bytes in flight";
    assert_eq!(line.matches(said).count(), 1, "{line}");
}

fn line(f: &Facts) -> String {
    let verdict = analyses::answer(f).verdict;
    verdict.into_iter().find(|l| l.subject == "transmit").unwrap().sentence
}

#[test]
fn each_pause_but_the_first_made_the_window_small() {
    let (f, words) = (facts(), ss("idle"));
    let t = transmit(&f);
    let s = sender(&t, &words);
    let r = s.restarts.unwrap();
    let port: u32 = words[3].rsplit_once(':').unwrap().1.parse().unwrap();
    let truth = beside("truth.csv");
    let uploads: Vec<Vec<i64>> = truth
        .lines()
        .filter(|l| l.starts_with(&format!("idle,{port},")))
        .map(|l| l.split(',').skip(3).map(|v| v.parse().unwrap()).collect())
        .collect();
    // Before the first upload it had not grown.
    assert_eq!(
        (r.pauses, r.restarts),
        (uploads.len() as u64 - 1, uploads.len() as u64 - 1)
    );
    let pause = uploads.windows(2).map(|w| w[1][0] - w[0][1]).min().unwrap();
    assert!(r.shortest_ns >= pause, "{r:?} {pause}");
    // ss: rto 224 to 232 ms, so a pause of 0.45 s halves the window twice.
    let rto: i64 = number(&words, "rto").into();
    let halvings = u32::try_from(r.shortest_ns / 1_000_000 / rto).unwrap();
    assert!(
        halvings == 2 && r.after >= r.before >> 2 && r.after <= (r.before + r.before / 4) >> 2,
        "{r:?}"
    );
    // What waited did so inside the uploads.
    let took: i64 = uploads.iter().skip(1).map(|w| w[1] - w[0]).sum();
    assert!(r.wait_ns > took / 4 && r.wait_ns < took && r.matter(), "{r:?} {took}");
    assert_eq!(of(&words, "retrans"), None);
    assert_eq!(line(&f).matches("starts slowly after idle").count(), 1);
}

#[test]
fn small_segments_are_said_with_the_sizes_of_ss() {
    let (f, words) = (facts(), ss("clamped"));
    let t = transmit(&f);
    let small = sender(&t, &words).small.as_ref().unwrap();
    assert_eq!(
        (small.mss, small.allowed),
        (number(&words, "mss"), number(&words, "advmss"))
    );
    assert_eq!((small.mtu, small.dev.as_str()), (number(&words, "pmtu"), "ta"));
    // The IP and the TCP header, with timestamps; a TUN device adds none.
    assert_eq!(small.headers, 52);
    for plant in ["unscaled", "idle"] {
        let words = ss(plant);
        assert_eq!(sender(&t, &words).small, None, "{plant}");
    }
    let line = line(&f);
    let said = "sends segments of 188 bytes where the MTU of ta, 1,500, allows 1,448";
    assert_eq!(line.matches(said).count(), 1, "{line}");
}

/// tcptrace of the capture on the sender's interface: SYNs with window scaling and timestamps, an MSS of 1460.
#[test]
fn nothing_is_said_of_an_ordinary_connection() {
    let f = super::facts("sawtooth/sawtooth.nmb");
    let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../sample-data/sawtooth/tcptrace.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let told = |name| {
        let values = text.lines().filter_map(move |l| l.trim_start().strip_prefix(name));
        values.map(|v| v.split_whitespace().next().unwrap().to_owned())
    };
    assert!(told("req 1323 ws/ts:").all(|v| v == "Y/Y"));
    let mss: u32 = told("mss requested:").next_back().unwrap().parse().unwrap();
    let t = transmit(&f);
    let most = t.connections.iter().max_by_key(|c| c.bytes).unwrap();
    let full = f.full_segments.get(&ConnectionId(most.connection)).unwrap();
    assert_eq!(full.mss, mss - 12);
    assert!(t.connections.iter().all(|c| c.unscaled.is_none() && c.small.is_none()));
    assert!(t.connections.iter().all(|c| c.restarts.is_none_or(|r| r.restarts == 0)));
}
