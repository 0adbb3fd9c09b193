//! Large answers: how long their client waits for all of them. The ledger `app` measures answers up to their first byte, which says nothing of a download; and small answers of the same
//! server, or other numbers of large ones, would hide it in a mean.
//!
//! In: bytes and times of each answer (`moves`). Out: servers whose large answers of one size take [`FACTOR`] times as long on one side. No test of chance is asked: the
//! middle half of one side is beside that of the other, [`LEAST`] of each at least.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::answers::server;
use crate::analyses::application::Role;
use crate::analyses::verdict::{duration, size};
use crate::diff::SettingChange;
use crate::diff::sides::options::Recording;
use crate::diff::values::moves::Moves;
use crate::stat::nearest_rank;

/// Bytes from which an answer is large: its time is more than round trips.
const LARGE: i64 = 50_000;
/// Fewest of a side.
const LEAST: usize = 10;
/// So many times as long, and so much longer at least, ns.
const FACTOR: f64 = 1.5;
const LONGER_NS: i64 = 10_000_000;
/// Medians of their sizes are as close as that: others are other answers.
const ALIKE: f64 = 0.1;

/// A server's large answers.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::diff) struct Large {
    pub server: String,
    /// Whose, where not all have it.
    client: Option<IpAddr>,
    /// They take longer after.
    pub worse: bool,
    /// By so much, ns.
    pub by_ns: i64,
    /// Of one after, and before.
    bytes: [i64; 2],
    /// The server's own socket is in the recordings of the slower side: their host's settings are its own.
    pub here: bool,
    /// Without its end.
    pub sentence: String,
}

/// Bytes and ns.
type Answers = (Vec<i64>, Vec<i64>);

/// Server, and client; `None`: all of its clients.
type Whose = (String, Option<IpAddr>);

fn side(all: &[Moves]) -> BTreeMap<Whose, Answers> {
    let mut out: BTreeMap<Whose, Answers> = BTreeMap::new();
    for m in all {
        if let Some((bytes, ns)) = m.answer.zip(m.whole_ns).filter(|(bytes, _)| *bytes >= LARGE) {
            for client in [None, Some(m.client)] {
                let of = out.entry((m.server.clone(), client)).or_default();
                of.0.push(bytes);
                of.1.push(ns);
            }
        }
    }
    out
}

/// Whether a recording of a side has a socket of that server itself.
fn has(side: &[Recording<'_>], of: &str) -> bool {
    let own = |r: &Recording<'_>, c| server(r, c, Role::Server).as_deref() == Some(of);
    (side.iter()).any(|r| r.facts.connections.iter().any(|row| own(r, row.connection)))
}

/// Those that differ, told whose settings are the server's.
pub(in crate::diff) fn with_hosts([before, after]: [&[Recording<'_>]; 2], moves: &[Vec<Moves>; 2]) -> Vec<Large> {
    let mut out = of(moves);
    for l in &mut out {
        l.here = has(if l.worse { after } else { before }, &l.server);
    }
    out
}

/// Those that differ, the largest change first.
fn of([before, after]: &[Vec<Moves>; 2]) -> Vec<Large> {
    let (b, mut a) = (side(before), side(after));
    let mut out: Vec<Large> = vec![];
    // All clients of a server before one of them: those behind another path may have nothing of it.
    for (whose, b) in b {
        let Some(a) = a.remove(&whose) else { continue };
        let all = compared(whose.clone(), b.clone(), a.clone());
        if let Some(l) = all.or_else(|| in_one_class(&whose, &b, &a)) {
            let told = |o: &Large| o.server == l.server && (o.client.is_none() || o.by_ns.abs() >= l.by_ns.abs());
            if !out.iter().any(told) {
                out.retain(|o| o.server != l.server);
                out.push(l);
            }
        }
    }
    out.sort_by_key(|l| (std::cmp::Reverse(l.by_ns.unsigned_abs()), l.server.clone()));
    out
}

/// Sizes of all kinds: those that are within a factor of two of each other, the class that moves most in all.
fn in_one_class(whose: &Whose, b: &Answers, a: &Answers) -> Option<Large> {
    let class = |bytes: i64| (bytes / LARGE).max(1).ilog2();
    let own = |of: &Answers, n: u32| -> Answers {
        let each = of.0.iter().zip(&of.1).filter(|(bytes, _)| class(**bytes) == n);
        each.map(|(bytes, ns)| (*bytes, *ns)).unzip()
    };
    let classes: BTreeSet<u32> = b.0.iter().map(|bytes| class(*bytes)).collect();
    let found = classes.into_iter().filter_map(|n| {
        let (b, a) = (own(b, n), own(a, n));
        let fewer = b.0.len().min(a.0.len()) as u64;
        Some((fewer, compared(whose.clone(), b, a)?))
    });
    let most = found.max_by_key(|(n, l)| n.saturating_mul(l.by_ns.unsigned_abs()));
    most.map(|(_, l)| l)
}

fn compared((server, client): Whose, (mut b_bytes, mut b): Answers, (mut a_bytes, mut a): Answers) -> Option<Large> {
    if b.len().min(a.len()) < LEAST {
        return None;
    }
    let (bytes, after_bytes) = (nearest_rank(&mut b_bytes, 50)?, nearest_rank(&mut a_bytes, 50)?);
    if (bytes - after_bytes).abs() as f64 > ALIKE * bytes.max(after_bytes) as f64 {
        return None;
    }
    let quarters = |of: &mut [i64]| Some((nearest_rank(of, 25)?, nearest_rank(of, 50)?, nearest_rank(of, 75)?));
    let ((b25, b50, b75), (a25, a50, a75)) = (quarters(&mut b)?, quarters(&mut a)?);
    let worse = a50 > b50;
    let (apart, least, most) = match worse {
        true => (a25 > b75, b50, a50),
        false => (b25 > a75, a50, b50),
    };
    let far = most as f64 >= FACTOR * least as f64 && most.saturating_sub(least) >= LONGER_NS;
    (apart && far).then(|| Large {
        sentence: format!(
            "Large answers from {server}{} ({} each) take {} to their last byte: p50 {} -> {}, n {} -> {}",
            client.map_or_else(String::new, |c| format!(" for {c}")),
            size(after_bytes),
            if worse { "longer" } else { "less long" },
            duration(b50),
            duration(a50),
            b.len(),
            a.len()
        ),
        server,
        client,
        worse,
        by_ns: a50.saturating_sub(b50),
        bytes: [bytes, after_bytes],
        here: false,
    })
}

impl Large {
    /// Whether a setting that differs limits how much of it may be under way: the largest send buffer of the server's host, where that is less than such an answer on the slower side alone.
    pub(in crate::diff) fn limited(&self, s: &SettingChange) -> Option<String> {
        let name = s.name.split('@').next().filter(|n| self.here && *n == SEND_BUFFER)?;
        // `4096 16384 87380 | 4096 16384 4194304`: of several namespaces.
        let least = |of: &str| {
            let largest = of
                .split(" | ")
                .filter_map(|v| v.split_whitespace().nth(2)?.parse::<i64>().ok());
            largest.min()
        };
        let (b, a) = (least(&s.before)?, least(&s.after)?);
        let [bytes_b, bytes_a] = self.bytes;
        let limits = match self.worse {
            true => a < b && a < bytes_a,
            false => b < a && b < bytes_b,
        };
        limits.then(|| {
            format!(
                "; {name} is {b} -> {a} bytes at most{}: no more than a send buffer holds is under way in a round trip, and smaller answers have nothing of it (inferred)",
                if s.name.contains('@') { " in a network namespace" } else { "" }
            )
        })
    }
}

/// Third figure: the largest send buffer that TCP takes by itself, bytes.
const SEND_BUFFER: &str = "net.ipv4.tcp_wmem";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_answers_of_one_size_are_compared_by_their_middle() {
        let ms = |of: &[i64]| of.iter().map(|ms| ms * 1_000_000).collect::<Vec<_>>();
        let said = |b: &[i64], a: &[i64], bytes: i64| {
            let of = |ns: &[i64], bytes| (vec![bytes; ns.len()], ms(ns));
            compared(("10.0.0.2:80".into(), None), of(b, 400_000), of(a, bytes))
                .map(|l| (l.worse, l.by_ns / 1_000_000, l.sentence))
        };
        let (slow, fast) = ([978; 23], [371; 56]);
        let sentence = "Large answers from 10.0.0.2:80 (400.0 kB each) take less long to their last byte: p50 978.00 ms -> 371.00 ms, n 23 -> 56";
        assert_eq!(said(&slow, &fast, 400_000), Some((false, -607, sentence.into())));
        assert_eq!(said(&fast, &slow, 410_000).map(|l| (l.0, l.1)), Some((true, 607)));
        // Too few; of another size; hardly longer; as scattered as they differ.
        assert_eq!(said(&slow[..9], &fast, 400_000), None);
        assert_eq!(said(&slow, &fast, 500_000), None);
        assert_eq!(said(&slow, &[1_200; 20], 400_000), None);
        let scattered: Vec<i64> = (0..20).map(|n| if n % 2 == 0 { 300 } else { 1_000 }).collect();
        assert_eq!(said(&scattered, &[301; 20], 400_000), None);
    }

    #[test]
    fn a_server_is_here_where_its_own_socket_is() {
        let f = crate::diff::tests::samples::facts("rpc/rpc.nmb");
        let all = [&f];
        let side = Recording::all(&all, &[], None);
        assert_eq!(
            (has(&side, "10.78.1.2:7000"), has(&side, "10.78.1.1:7000")),
            (true, false)
        );
        // As if its client's host alone had been recorded.
        let mut client = crate::diff::tests::samples::facts("rpc/rpc.nmb");
        for c in client.connections.iter_mut().filter(|c| c.sport == 7000) {
            c.saddr = None;
        }
        let all = [&client];
        assert!(!has(&Recording::all(&all, &[], None), "10.78.1.2:7000"));
    }

    #[test]
    fn large_answers_of_many_sizes_are_compared_by_their_class() {
        // Small ones of them as quick as before, more of them after; those of a megabyte take four times as long.
        let of = |small: usize, large: usize, ms: i64| -> Answers {
            let bytes = [vec![90_000; small], vec![1_000_000; large]].concat();
            (
                bytes,
                [vec![50 * 1_000_000; small], vec![ms * 1_000_000; large]].concat(),
            )
        };
        let whose: Whose = ("10.0.0.2:80".into(), None);
        let (b, a) = (of(12, 30, 200), of(60, 25, 800));
        assert_eq!(compared(whose.clone(), b.clone(), a.clone()), None);
        let l = in_one_class(&whose, &b, &a).unwrap();
        assert!(
            l.worse
                && l.sentence
                    .ends_with("(1.0 MB each) take longer to their last byte: p50 200.00 ms -> 800.00 ms, n 30 -> 25"),
            "{}",
            l.sentence
        );
        assert_eq!(in_one_class(&whose, &b, &b), None);
        // The send buffer's limit is told where it became smaller than one of them.
        let setting = |before: &str, after: &str| SettingChange {
            name: "net.ipv4.tcp_wmem@netns".into(),
            before: before.into(),
            after: after.into(),
            beside: vec![],
        };
        let (wide, narrow) = ("4096 16384 4194304", "4096 16384 4194304 | 4096 16384 87380");
        // Of the recording's host, which need not be the server's.
        assert_eq!(l.limited(&setting(wide, narrow)), None);
        let l = Large { here: true, ..l };
        let said = l.limited(&setting(wide, narrow)).unwrap();
        assert!(
            said.starts_with("; net.ipv4.tcp_wmem is 4194304 -> 87380 bytes at most in a network namespace"),
            "{said}"
        );
        assert_eq!(l.limited(&setting(narrow, wide)), None);
        assert_eq!(l.limited(&setting(wide, "4096 16384 2000000")), None);
    }
}
