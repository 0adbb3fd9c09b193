//! What follows of packets that this host lost: lines that say what became of those very connections stand under the line on drops, on the head of a page.

use super::{Line, Tone, attempts, sentences};
use crate::analyses::application::Application;
use crate::analyses::datagrams::Datagrams;
use crate::analyses::drops::{Drops, Hurt, NEARLY_ALL};
use crate::analyses::opens::{Failed, Opens};
use crate::analyses::receive::Receive;
use crate::analyses::tcp::Tcp;
use crate::analyses::transmit::Transmit;
use crate::reconstruct::receive::tables::Stage;
use crate::reconstruct::transmit::stages::Stage as Sent;

/// The lines that others follow.
const DROPS: &str = "drops";
const TRANSMIT: &str = "transmit";
const OPENS: &str = "opens";

/// What the lines are of.
pub(super) struct Of<'a> {
    pub(super) drops: Option<&'a Drops>,
    pub(super) opens: Option<&'a Opens>,
    pub(super) udp: Option<&'a Datagrams>,
    pub(super) application: Option<&'a Application>,
    pub(super) receive: Option<&'a Receive>,
    pub(super) transmit: Option<&'a Transmit>,
    pub(super) tcp: Option<&'a Tcp>,
}

/// Says of each line which other one it follows: of losses in this host, and of those beyond it that the line on what was sent tells.
pub(super) fn follows(lines: Vec<Line>, of: &Of<'_>) -> Vec<Line> {
    let mut lines = of_drops(lines, of);
    questions(&mut lines, of);
    told_with_the_attempts(&mut lines, of);
    below_the_drops(&mut lines, of);
    let beyond = of.transmit.zip(of.tcp);
    let beyond = beyond.and_then(|(t, tcp)| super::black_hole::sent_again(t, tcp.calls()));
    let again = lines.iter_mut().find(|l| l.subject == "tcp" && !l.headline.is_empty());
    if let Some((whose, line)) = beyond.zip(again) {
        line.follows = Some(TRANSMIT);
        line.headline.push_str(&whose);
    }
    lines
}

/// SYNs of attempts that were all that was dropped: where and for what is said once. With the attempts where these have more to say of it, and what follows stands there, too;
/// else they follow of the drops.
pub(super) fn told_with_the_attempts(lines: &mut [Line], of: &Of<'_>) {
    let Some((opens, drops)) = of.opens.zip(of.drops) else {
        return;
    };
    let head = |subject| lines.iter().find(|l| l.subject == subject && !l.headline.is_empty());
    let (Some(tried), Some(line)) = (head(OPENS), head(DROPS)) else {
        return;
    };
    let one = sentences::words(&line.headline, 1) == line.headline && drops.lost_groups().count() == 1;
    let named = |f: &Failed| {
        let shut = f.shut.as_ref().filter(|s| s.syns == drops.lost);
        shut.is_some_and(|s| {
            tried
                .headline
                .contains(&format!(" dropped by this host for {}", s.place))
        })
    };
    let tones = tried.tone == line.tone && tried.names_cause && !line.names_cause;
    let Some(attempt) = opens.failed.iter().find(|f| one && tones && named(f)) else {
        return;
    };
    let alone = sentences::words(&tried.headline, 1) == tried.headline;
    if !attempts::say_more(attempt) && alone {
        for l in lines {
            l.names_cause |= l.subject == DROPS;
            if l.subject == OPENS {
                (l.names_cause, l.follows) = (false, Some(DROPS));
            }
        }
        return;
    }
    for l in lines {
        if l.subject == DROPS {
            l.headline.clear();
        } else if l.follows == Some(DROPS) {
            l.follows = Some(OPENS);
        }
    }
}

/// Attempts that stand under what dropped their SYNs do not say it again.
pub(super) fn below_the_drops(lines: &mut [Line], of: &Of<'_>) {
    let one = of.drops.is_some_and(|d| d.lost_groups().count() == 1);
    let plain = |f: &Failed| f.aside.is_none() && f.sure && !attempts::say_more(f);
    let plain = of.opens.is_some_and(|o| o.failed.iter().all(plain));
    let alone = |l: &Line| sentences::words(&l.headline, 1) == l.headline;
    let theirs = |l: &&mut Line| l.subject == OPENS && l.follows == Some(DROPS) && alone(l);
    if let Some(line) = lines.iter_mut().find(theirs).filter(|_| one && plain) {
        line.headline = attempts::without_the_drops(&line.headline).to_owned();
    }
}

/// Questions by UDP whose packets were dropped.
fn questions(lines: &mut [Line], of: &Of<'_>) {
    let wrong = lines.iter().any(|l| l.subject == DROPS && l.tone == Tone::Bad);
    let theirs = of.udp.zip(of.drops).is_some_and(|(u, d)| super::lost::follow(u, d));
    if let Some(line) = lines.iter_mut().find(|l| l.subject == "datagrams" && wrong && theirs) {
        line.follows = Some(DROPS);
    }
}

/// Only of headlines that say one thing, and that is no cause of its own.
fn of_drops(mut lines: Vec<Line>, of: &Of<'_>) -> Vec<Line> {
    let Some(hurt) = of.drops.map(|d| &d.hurt).filter(|h| !h.losses.is_empty()) else {
        return lines;
    };
    let told = lines.iter().find(|l| l.subject == DROPS && !l.headline.is_empty());
    let Some(tone) = told.map(|l| l.tone) else {
        return lines;
    };
    if of.drops.is_some_and(|d| of_noise(d, hurt)) {
        let again = lines.iter_mut().find(|l| l.subject == "tcp" && !l.headline.is_empty());
        if let Some((line, _)) = again.zip(of.tcp.filter(|t| again_of(t, hurt))) {
            line.headline
                .push_str(", most behind losses that nobody is known to miss");
        }
        return lines;
    }
    for line in &mut lines {
        let one = !line.headline.is_empty() && sentences::words(&line.headline, 1) == line.headline;
        let theirs = match line.subject {
            "opens" => of.opens.is_some_and(|o| unopened(o, hurt)),
            "application" => of.application.is_some_and(|a| late(&line.headline, a, hurt)),
            "receive" => of.receive.is_some_and(|r| behind(r, hurt)),
            "transmit" => of.transmit.is_some_and(|t| held(t, hurt)),
            "tcp" => of.tcp.is_some_and(|t| again_of(t, hurt)),
            _ => false,
        };
        // What is wrong does not stand under what is only worth a look.
        let below = tone == Tone::Bad || line.tone != Tone::Bad;
        let moved = line.subject == "opens" && of.opens.zip(of.drops).is_some_and(|(o, d)| on_another_way(o, d));
        line.follows = (moved && below || one && theirs && below && !line.names_cause).then_some(DROPS);
        if let Some((calls, all)) = of
            .tcp
            .map(|t| (hurt.again, t.calls()))
            .filter(|(calls, all)| calls < all)
            && line.follows.is_some()
            && line.subject == "tcp"
        {
            line.headline
                .push_str(&format!(", {calls} of these {all} calls after the losses"));
        }
    }
    lines
}

/// Most of what connections lost is what nobody is known to miss, and the line on drops tells something else.
fn of_noise(d: &Drops, hurt: &Hurt) -> bool {
    let (told, n) = super::drops::told(d);
    // Of those behind the first ones it is not known whose they were.
    let known = told.iter().all(|g| !g.times.is_empty());
    let theirs: u64 = told.iter().map(|g| g.of_connections).sum();
    known && n < d.lost && theirs.saturating_mul(2) < hurt.lost
}

/// Every attempt that did not come to be lost something here meanwhile, and nothing was reset.
fn unopened(o: &Opens, hurt: &Hurt) -> bool {
    let failed = o.failed.iter().map(|f| f.attempts);
    let attempts = failed.chain(o.scans.iter().map(|s| s.attempts));
    let attempts = attempts.fold(0, u64::saturating_add);
    attempts > 0 && hurt.unopened >= attempts && o.resets.is_empty()
}

/// Nearly every one did, and what was dropped went another way than before: that is why, whatever else is said of them.
fn on_another_way(o: &Opens, d: &Drops) -> bool {
    let rerouted: u64 = d.groups.iter().filter(|g| g.rerouted).map(|g| g.count).sum();
    let attempts: u64 = o.failed.iter().map(|f| f.attempts).sum();
    let theirs = d.hurt.unopened as f64 >= NEARLY_ALL * attempts as f64;
    rerouted.saturating_mul(2) > d.lost && attempts > 0 && theirs && o.scans.is_empty() && o.resets.is_empty()
}

/// How the ends of answers and requests are named in a headline.
const NAMED: [&str; 4] = ["answers from ", "Answers from ", "requests to ", "request to "];

/// Answers that were late on their way, or did not come, while their connection lost something. What waited in a queue waited for that.
fn late(headline: &str, a: &Application, hurt: &Hurt) -> bool {
    let named = |before: &str| {
        let at = headline.find(before)?;
        let rest = headline.get(at + before.len()..)?;
        rest.split([' ', ',', ';']).next()
    };
    let Some(end) = NAMED.iter().find_map(|before| named(before)) else {
        return false;
    };
    let none = || {
        let mut of = a
            .unanswered
            .iter()
            .filter(|u| u.label.ends_with(&format!("> {end}")))
            .peekable();
        let lost = |u: &crate::analyses::application::Unanswered| {
            hurt.within(u.connection, u.send_ns, u.send_ns.saturating_add(u.waited_ns))
        };
        of.peek().is_some() && of.all(lost)
    };
    let theirs = match () {
        () if headline.contains(" on the way ") => hurt.late.contains(end),
        () if headline.contains(" no answer") => none(),
        () => false,
    };
    theirs && !headline.contains(" in the server") && !headline.contains(" in the queue of ")
}

/// What waited longest was behind something missing.
fn behind(r: &Receive, hurt: &Hurt) -> bool {
    hurt.behind && super::received::top_stage(r) == Some(Stage::OutOfOrder.name())
}

/// So many times as often something was sent again as was lost here, at most: one loss may take others with it.
const TIMES: u64 = 4;

/// The connection that had no ACK lost something here; else the connection held most was held by losses, of which so many were here.
fn held(t: &Transmit, hurt: &Hurt) -> bool {
    if let Some(u) = t.unacked.as_ref().filter(|_| super::unacked::unacked(t).is_some()) {
        let mut all = std::iter::once(&u.connection).chain(&u.others);
        return all.all(|c| hurt.losses.contains_key(c));
    }
    let most = t.most_held();
    most.is_some_and(|c| {
        let lost = hurt.losses.get(&c.connection).map_or(0, Vec::len) as u64;
        let ours = c.retransmits <= lost.saturating_mul(TIMES) && !hurt.before.contains(&c.connection);
        hurt.losses.contains_key(&c.connection) && c.held_by == Some(Sent::Recovery.name()) && ours
    })
}

/// Nearly all that was sent again was of such connections, behind their first loss.
fn again_of(t: &Tcp, hurt: &Hurt) -> bool {
    let ours = t.calls() <= hurt.lost.saturating_mul(TIMES);
    hurt.again > 0 && ours && hurt.again as f64 >= NEARLY_ALL * t.calls() as f64
}
