//! What tells requests of one server apart, so that like is compared with like: their bytes, those of their answers, and from how far away they come.
//!
//! In: what went to a server on both sides. Out: its answers by kind, of both sides together, so that a kind is the same on both. Must not judge.
//!
//! ```text
//! request --+- a size that many have ---------------------------------- that size
//!           +- sizes that vary, without a gap of GAP between any two -- one kind (of its answers likewise)
//! client ---- network (/24, /64) --> median way there and back, by the same gaps --> near, farther, ...
//! ```
//! The way is the time of the answer without the server's: what both sides' answers from one network tell together, so that a way that became longer stays in one kind, and is seen there.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::diff::servers::clients::{client_of, server_of};
use crate::diff::values::moves::Moves;
use crate::stat::{At, nearest_rank};

/// Kinds whose sizes are as close together are one, where sizes vary.
const CLOSE: f64 = 0.05;
const CLOSE_ANSWERS: f64 = 0.25;
/// Sizes of requests vary where none has more than this part of them.
const NO_SIZE: f64 = 0.3;
/// Sizes (and ways) with no other between them that are so many times apart are of two kinds.
const GAP: f64 = 1.5;
/// Part of the requests from which on a size is a kind of its own.
const OWN: f64 = 0.02;
/// Ways below this, ns, are alike: within a site.
const SITE_NS: i64 = 1_000_000;
/// Answers that tell how far a network is.
const LEAST: usize = 5;

/// By which bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Exact,
    Close,
    ExactAndAnswer,
    CloseAndAnswer,
    /// Of requests whose sizes vary, and tell nothing.
    Answer,
    /// Sizes that many have by themselves, the others by gaps between them.
    Grouped,
    GroupedAndAnswer,
}

impl By {
    pub(super) fn answers(self) -> bool {
        use By::{Answer, CloseAndAnswer, ExactAndAnswer, GroupedAndAnswer};
        matches!(self, ExactAndAnswer | CloseAndAnswer | Answer | GroupedAndAnswer)
    }
    pub(super) fn groups(self) -> bool {
        matches!(self, By::Grouped | By::GroupedAndAnswer)
    }
    /// The same by what the client chose alone.
    pub(super) fn asked(self) -> By {
        match self {
            By::ExactAndAnswer => By::Exact,
            By::CloseAndAnswer => By::Close,
            By::GroupedAndAnswer => By::Grouped,
            by => by,
        }
    }
}

/// By which bytes, and whether by how far away the client is, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    pub by: By,
    pub place: bool,
}

/// An answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct One {
    pub at: At,
    pub request: i64,
    pub answer: i64,
    pub network: IpAddr,
    /// There and back; `None`: not known.
    pub way_ns: Option<i64>,
    /// How far away its network is: 0 is nearest.
    pub place: usize,
}

/// Of one kind, on both sides.
pub(super) type Kind = [Vec<One>; 2];
/// Place, request, answer.
pub(super) type Key = (usize, (bool, i64), i64);

/// The /24, or /64, that an address is of.
pub(super) fn network(of: IpAddr) -> IpAddr {
    match of {
        IpAddr::V4(a) => IpAddr::V4((a.to_bits() & 0xffff_ff00).into()),
        IpAddr::V6(a) => IpAddr::V6((a.to_bits() & !u128::from(u64::MAX)).into()),
    }
}

/// Answers of a server (or of one client's) that have all figures.
fn of(side: &[Moves], server: &str, stage: &str) -> Vec<One> {
    let (to, client) = (server_of(server), client_of(server));
    let own = side.iter().filter(|m| m.server == to);
    let own = own.filter(|m| client.is_none_or(|c| m.client.to_string() == c));
    let one = |m: &Moves| {
        let value = match stage {
            "call" => m.call_ns,
            "response" => m.response_ns,
            _ => m.turnaround_ns,
        }?;
        let at = At {
            time_ns: m.at_ns,
            value,
        };
        let way = m.response_ns.zip(m.turnaround_ns);
        Some(One {
            at,
            request: m.request?,
            answer: m.answer.unwrap_or(0),
            network: network(m.client),
            way_ns: way.map(|(whole, server)| whole.saturating_sub(server).max(0)),
            place: 0,
        })
    };
    own.filter_map(one).collect()
}

/// The same of both sides, with how far away each is.
pub(super) fn both(moves: &[Vec<Moves>; 2], server: &str, stage: &str) -> [Vec<One>; 2] {
    let mut sides = moves.each_ref().map(|side| of(side, server, stage));
    let mut ways: BTreeMap<IpAddr, Vec<i64>> = BTreeMap::new();
    for one in sides.iter().flatten() {
        ways.entry(one.network).or_default().extend(one.way_ns);
    }
    let far = |(network, mut ns): (IpAddr, Vec<i64>)| {
        let way = nearest_rank(&mut ns, 50).filter(|_| ns.len() >= LEAST)?;
        Some((network, way.max(SITE_NS)))
    };
    let far: BTreeMap<IpAddr, i64> = ways.into_iter().filter_map(far).collect();
    let groups = gaps(far.values().copied());
    for one in sides.iter_mut().flatten() {
        let group = far.get(&one.network).and_then(|way| groups.get(way));
        // Of which it is not known they are by themselves.
        one.place = group.copied().unwrap_or(groups.len());
    }
    sides
}

/// Number of the group of each value: a new one after each gap.
fn gaps(of: impl Iterator<Item = i64>) -> BTreeMap<i64, usize> {
    let mut out: BTreeMap<i64, usize> = of.map(|v| (v, 0)).collect();
    let (mut group, mut last) = (0usize, None);
    for (v, slot) in &mut out {
        if last.is_some_and(|last: i64| *v as f64 > GAP * last.max(1) as f64) {
            group = group.saturating_add(1);
        }
        (*slot, last) = (group, Some(*v));
    }
    out
}

/// Whether the sizes of requests tell nothing: they vary.
pub(super) fn vary(sides: &[Vec<One>; 2]) -> bool {
    let of = kinds(By::Close, sides);
    let n = |k: &Kind| k[0].len() + k[1].len();
    let (most, all) = (of.values().map(n).max().unwrap_or(0), sides[0].len() + sides[1].len());
    most as f64 <= NO_SIZE * all as f64
}

/// What may tell kinds apart here, the plainest first.
pub(super) fn ways(sides: &[Vec<One>; 2]) -> Vec<Way> {
    use By::{Answer, Close, CloseAndAnswer, Exact, ExactAndAnswer, Grouped, GroupedAndAnswer};
    let plain = [
        Exact,
        Close,
        ExactAndAnswer,
        CloseAndAnswer,
        Answer,
        Grouped,
        GroupedAndAnswer,
    ];
    let first = sides.iter().flatten().map(|o| o.place).next();
    let apart = sides.iter().flatten().any(|o| Some(o.place) != first);
    let with = |place: bool| plain.into_iter().map(move |by| Way { by, place });
    let mut out: Vec<Way> = with(false).chain(with(true).filter(|_| apart)).collect();
    let varies = vary(sides);
    out.retain(|way| way.by != Answer || varies);
    out
}

pub(super) fn kinds(by: By, sides: &[Vec<One>; 2]) -> BTreeMap<Key, Kind> {
    parted(Way { by, place: false }, sides)
}

/// Numbers of sizes: those that many have by themselves, of the others which group.
#[derive(Default)]
struct Sizes {
    many: BTreeMap<i64, usize>,
    groups: BTreeMap<i64, usize>,
    /// Of answers, by request.
    answers: BTreeMap<(bool, i64), BTreeMap<i64, usize>>,
}

impl Sizes {
    fn of(sides: &[Vec<One>; 2]) -> Sizes {
        let all = || sides.iter().flatten();
        let mut many: BTreeMap<i64, usize> = BTreeMap::new();
        for one in all() {
            *many.entry(one.request).or_default() += 1;
        }
        let least = (OWN * all().count() as f64).max(1.0);
        many.retain(|_, n| *n as f64 >= least);
        let others = all().map(|o| o.request).filter(|r| !many.contains_key(r));
        let groups = gaps(others);
        let mut out = Sizes {
            many,
            groups,
            ..<_>::default()
        };
        let mut answers: BTreeMap<(bool, i64), Vec<i64>> = BTreeMap::new();
        for one in all() {
            answers.entry(out.request(one)).or_default().push(one.answer);
        }
        out.answers = answers.into_iter().map(|(r, of)| (r, gaps(of.into_iter()))).collect();
        out
    }
    fn request(&self, one: &One) -> (bool, i64) {
        match self.many.contains_key(&one.request) {
            true => (true, one.request),
            false => (false, self.groups.get(&one.request).map_or(0, |g| *g as i64)),
        }
    }
    fn answer(&self, one: &One) -> i64 {
        let group = self.answers.get(&self.request(one)).and_then(|of| of.get(&one.answer));
        group.map_or(0, |g| *g as i64)
    }
}

fn step(bytes: i64, close: f64) -> i64 {
    ((bytes.max(1) as f64).ln() / (1.0 + close).ln()).round() as i64
}

/// Answers by kind.
pub(super) fn parted(way: Way, sides: &[Vec<One>; 2]) -> BTreeMap<Key, Kind> {
    let sizes = match way.by.groups() {
        true => Sizes::of(sides),
        false => Sizes::default(),
    };
    let key = |o: &One| -> Key {
        let request = match way.by {
            By::Exact | By::ExactAndAnswer => (true, o.request),
            By::Close | By::CloseAndAnswer => (true, step(o.request, CLOSE)),
            By::Answer => (true, 0),
            By::Grouped | By::GroupedAndAnswer => sizes.request(o),
        };
        let answer = match way.by {
            By::GroupedAndAnswer => sizes.answer(o),
            by if by.answers() => step(o.answer, CLOSE_ANSWERS),
            _ => 0,
        };
        (if way.place { o.place } else { 0 }, request, answer)
    };
    let mut out: BTreeMap<Key, Kind> = BTreeMap::new();
    for (nth, side) in sides.iter().enumerate() {
        for one in side {
            if let Some(of) = out.entry(key(one)).or_default().get_mut(nth) {
                of.push(*one);
            }
        }
    }
    out
}
