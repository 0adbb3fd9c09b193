//! Attempts that did not come to be, by end, peer and task; and which of those that wait when the recording ends have not failed.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::aside::{Aside, asides};
use super::before::{Before, Places};
use super::listens::Unheard;
use super::on_the_way_back::{Back, back};
use super::shut::{self, Shut};
use super::source::{Source, Sources};
use super::twice::{Changes, Twice};
use super::{GROUPS, Scan, after_udp, checks, end, listens, scans, strangers, task, translated};
use crate::explain::{Id, Kind};
use crate::facts::Facts;
use crate::reconstruct::opens::tables::{End, FIRST_SYN_NS, OpenEnd, OpenRow, errno};

/// Attempts that came to the same end.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Failed {
    /// As in the view `opens`.
    pub end: &'static str,
    /// errno of the first; empty: none was told.
    pub error: Option<&'static str>,
    /// An ICMP message came to each.
    pub message: bool,
    /// Remote end, `address:port`; empty: it failed before it had a socket.
    pub to: String,
    /// `task/thread` of the first.
    pub task: String,
    /// Attempts.
    pub attempts: u64,
    /// SYNs that they are known to have sent again.
    pub syns_again: u64,
    /// The first.
    pub first: Option<Id>,
    /// Its begin.
    pub first_ns: i64,
    /// The longest.
    pub longest_ns: i64,
    /// Of them, such that came right behind an answer by UDP of the same thread, to port 53: it was cut, most likely.
    pub after_udp: u64,
    /// Of them, such that another end answered, of which their own host knew nothing: that end, and how many. An address translation
    /// that was not undone on the way back; inferred.
    pub answered_by: Option<(String, u64)>,
    /// Of such that were refused: who closed the socket that had listened there.
    pub unheard: Option<Unheard>,
    /// They come one each so long, ns, as a check's: of a process that serves by other servers of that port, or does nothing but check; inferred.
    pub check_ns: Option<i64>,
    /// What goes well beside them, where nobody has reached that end nor is known to have waited for them; inferred.
    pub aside: Option<Aside>,
    /// What became of the SYN-ACKs that were sent again for them, where they are known to have been dropped by this host.
    pub back: Option<Back>,
    /// One socket of this recording listens at that end from its begin to its end, as both lists of sockets say.
    pub listens: bool,
    /// Of such without an answer: what became of their SYNs, where of nearly each some were dropped, all in one place of this recording.
    pub shut: Option<Shut>,
    /// Whose address another host took before nearly all of them.
    pub twice: Option<Twice>,
    /// Where their program connected before, and never since; inferred.
    pub before: Option<Before>,
    /// They come from another address than those before, which came to be.
    #[serde(skip)]
    pub source: Option<Source>,
    /// Nobody is known to have reached that end, and no event was lost that would say otherwise; of known processes.
    #[serde(skip)]
    pub nobody: bool,
    /// When each began, ns since the start of the recording, in order, and how long that is; empty where events were lost, or there are too many.
    #[serde(skip)]
    pub times: Vec<i64>,
    /// As said.
    #[serde(skip)]
    pub duration_ns: i64,
    /// Nothing was lost while any of them lasted.
    pub sure: bool,
}

/// Longest opening to each end.
pub(super) type Usual = BTreeMap<Option<End>, i64>;

pub(super) fn usual(stood: &[&OpenRow]) -> Usual {
    let mut usual = Usual::new();
    for r in stood {
        let longest = usual.entry(r.to).or_insert(0);
        *longest = r.total_ns().max(*longest);
    }
    usual
}

/// Ends of attempts that had no answer.
const UNANSWERED: [&str; 3] = ["given_up", "timed_out", "waiting"];
/// How many times the longest opening one may take that has no answer yet.
const UNDER_WAY: i64 = 2;

/// Whether an attempt waits when the recording ends, and no longer than others took that came to be: nothing tells that it would not have.
pub(super) fn under_way(r: &OpenRow, usual: &Usual) -> bool {
    let longest = usual.get(&r.to);
    let soon = longest.is_some_and(|ns| r.total_ns() <= ns.saturating_mul(UNDER_WAY));
    // Where it is not recorded whether a SYN was retransmitted, none was before it was due.
    let again = r.syns_again.map_or(r.total_ns() >= FIRST_SYN_NS, |n| n > 0);
    r.end == OpenEnd::Waiting && !again && soon
}

/// Most times kept of a group.
const TIMES: u64 = 10_000;

/// End, by an ICMP message, where to, whose, unsure: what events were lost of does not put the others in doubt.
type Key = (OpenEnd, bool, String, String, bool);

pub(super) fn failed(facts: &Facts, under_way: &impl Fn(&OpenRow) -> bool) -> (Vec<Failed>, Vec<Scan>) {
    let (opens, answers) = (&facts.opens, after_udp::Answers::of(facts));
    let start = facts.capture.start_ns.unwrap_or(0);
    let mut groups: BTreeMap<Key, Failed> = BTreeMap::new();
    let unknown = translated::Unknown::of(facts);
    let (checks, asides) = (checks::checks(facts), asides(facts));
    let mut answered: BTreeMap<_, BTreeMap<End, u64>> = BTreeMap::new();
    let mut rows: BTreeMap<_, Vec<&OpenRow>> = BTreeMap::new();
    let (syns, places, changes) = (shut::Syns::of_all(facts), Places::of_all(facts), Changes::of_all(facts));
    let sources = Sources::of_all(facts);
    let strangers = strangers::strangers(facts);
    let knocks: FxHashSet<_> = strangers.iter().flat_map(|s| &s.of).map(|r| r.connection).collect();
    let of = |r: &OpenRow| r.end != OpenEnd::Established && !under_way(r) && !knocks.contains(&r.connection);
    for (at, r) in opens.iter().enumerate().filter(|(_, r)| of(r)) {
        let (to, task) = (end(r.to), task(r));
        // That a call failed before its socket had a state is sure, whatever its protocol.
        let sure = r.confidence.is_solid() || r.connection.is_none();
        let key = (r.end, r.message, to.clone(), r.task.text().into_owned(), !sure);
        if let Some(by) = unknown.answered(r) {
            *answered.entry(key.clone()).or_default().entry(by).or_default() += 1;
        }
        rows.entry(key.clone()).or_default().push(r);
        let group = groups.entry(key).or_insert_with(|| Failed {
            end: r.end.word(),
            error: r.error.and_then(errno),
            message: r.message,
            to,
            task,
            attempts: 0,
            syns_again: 0,
            first: Id::at(Kind::Open, at),
            first_ns: r.start_ns,
            longest_ns: 0,
            after_udp: 0,
            answered_by: None,
            unheard: None,
            check_ns: checks.of(r),
            aside: asides.of(r).cloned(),
            back: None,
            listens: false,
            shut: None,
            twice: None,
            before: None,
            source: None,
            nobody: asides.nobody(r),
            times: vec![],
            duration_ns: facts.capture.duration_ns,
            sure,
        });
        // Of the group all are, or none.
        group.check_ns = group.check_ns.filter(|_| checks.of(r).is_some());
        group.aside = group.aside.take().filter(|_| asides.of(r).is_some());
        group.nobody &= asides.nobody(r);
        group.attempts += 1;
        // Of more than are kept nothing is said.
        if group.attempts > TIMES {
            group.times.clear();
        } else if facts.gaps.is_empty() {
            group.times.push(r.start_ns.saturating_sub(start));
        }
        group.syns_again += u64::from(r.syns_again.unwrap_or(0));
        group.longest_ns = group.longest_ns.max(r.total_ns());
        group.after_udp += u64::from(answers.before(r));
    }
    for (key, by) in &answered {
        if let Some(group) = groups.get_mut(key) {
            group.answered_by = translated::most(by);
        }
    }
    for (key, of) in &rows {
        let Some(group) = groups.get_mut(key) else { continue };
        // What was answered otherwise was decided by that.
        let unanswered = UNANSWERED.contains(&group.end);
        group.shut = syns.shut(of.iter().copied()).filter(|_| unanswered);
        group.twice = changes.twice(of).filter(|_| group.answered_by.is_none());
        group.source = if unanswered { sources.source(of) } else { None };
        group.before = places.before(of).filter(|_| group.nobody);
    }
    let mut all: Vec<Failed> = groups.into_values().collect();
    let stood = opens.iter().filter(|r| r.end == OpenEnd::Established);
    let served = stood.filter_map(|r| r.to).map(|to| end(Some(to))).collect();
    let mut scans = scans::scans(&mut all, &served, &scans::up(facts));
    scans.extend(strangers.iter().filter_map(strangers::scan));
    all.sort_by_key(|f| (std::cmp::Reverse(f.attempts), f.first_ns));
    all.truncate(GROUPS);
    for of in all.iter_mut().filter(|f| UNANSWERED.contains(&f.end)) {
        of.back = back(facts, &of.to);
        // Somebody is there.
        of.aside = of
            .aside
            .take()
            .filter(|_| of.back.is_none() && of.answered_by.is_none());
    }
    for of in all.iter_mut().filter(|f| f.end == OpenEnd::Refused.word()) {
        of.unheard = listens::unheard(facts, &of.to);
    }
    for of in all.iter_mut().filter(|f| f.unheard.is_none()) {
        of.listens = of.to.parse().is_ok_and(|at| facts.spaces.listens(at));
    }
    (all, scans)
}
