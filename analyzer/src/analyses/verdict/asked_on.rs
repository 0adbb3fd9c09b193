//! Of questions by UDP in vain: what was asked right before and answered, whom those asked who were asked, and who took their port.

use super::datagrams::address;
use super::sentences::{duration, moment};
use crate::analyses::datagrams::{Beyond, InVain, Onward, Usurped};

/// Nearly all of them right behind one that was answered: the resolver is there.
pub(super) fn beside(v: &InVain) -> Option<String> {
    let b = v.beside.as_ref()?;
    let which = match b.turns == v.turns {
        true => "each was asked".to_owned(),
        false => format!("{} of these {} were asked", b.turns, v.turns),
    };
    let kind = match b.read {
        true => "they were not lost, but are of a kind that gets no answer there",
        false => "the way there and back works, and some kinds of question get no answer",
    };
    Some(format!(
        "{which} right behind another question of the same thread that was answered within {}: {kind}, as the AAAA of a name whose A is answered (inferred)",
        duration(b.longest_ns)
    ))
}

/// Who was asked in a step.
fn whom(o: &Onward) -> String {
    match (o.holder.as_str(), o.to.as_str()) {
        ("", to) => address(to),
        (holder, "") => holder.to_owned(),
        (holder, to) => format!("{holder} at {}", address(to)),
    }
}

/// What became of the last step.
fn end(o: &Onward) -> String {
    let name = match o.holder.as_str() {
        "" => address(&o.to),
        holder => holder.to_owned(),
    };
    let who = match o.only_these {
        true => format!(": {name} is who does not answer, unless that is a log of what fails (inferred)"),
        false => " (inferred)".to_owned(),
    };
    let all = if o.sends == 1 { "it" } else { "them" };
    match (o.landed, o.unread) {
        (0, _) => ", from where no answer came (inferred)".to_owned(),
        (_, 0) if o.landed == o.sends => format!(", which read {all} and answered none{who}"),
        (n, 0) => format!(", which read {n} and answered none{who}"),
        (_, n) => format!(", where {n} of {} lie unread and none was answered{who}", o.sends),
    }
}

/// The way of the questions from one to the next.
pub(super) fn onward(v: &InVain) -> Option<String> {
    let (first, last) = (v.onward.first()?, v.onward.last()?);
    let times = match first.turns == v.turns {
        true => String::new(),
        false => format!(" {} of {} times", first.turns, v.turns),
    };
    let steps: Vec<String> = v.onward.iter().map(whom).collect();
    let asker = match first.task.as_str() {
        "" => "who was asked",
        task => task,
    };
    Some(format!(
        "{asker} read them and at once{times} asked {}{}",
        steps.join(", which read them and asked "),
        end(last)
    ))
}

/// Whom those asked meanwhile who were asked, where one question is not tied to the other.
pub(super) fn beyond(v: &InVain) -> Option<String> {
    let b: &Beyond = v.beyond.as_ref()?;
    let replaced = b.replaced.as_ref().map_or_else(String::new, |(old, new, at)| {
        format!(
            "; since {} {new} has the socket there, {old} answered before",
            moment(*at)
        )
    });
    Some(format!(
        "{} itself asked {} meanwhile, and {} of its {} questions there had no answer from {} on, while all {} before had one: that is what they wait for, most likely (inferred){replaced}",
        b.task,
        address(&b.to),
        b.unanswered,
        b.of,
        moment(b.since_ns),
        b.before
    ))
}

/// Another socket has their port.
pub(super) fn usurped(u: &Usurped) -> String {
    let until = match u.to_ns {
        Some(ns) => format!("until it was closed at {}", moment(ns)),
        None => "until the recording ended".to_owned(),
    };
    let after = match u.after {
        0 => String::new(),
        n => format!(" ({n} behind it)"),
    };
    let got = match u.got {
        0 => "none".to_owned(),
        n => n.to_string(),
    };
    format!(
        "from {} on they came to another socket there than before, and lay unread in it {until}, while the socket of {}, on which {} were answered before{after}, was still there and got {got}: both are bound to that port (SO_REUSEADDR or SO_REUSEPORT), and the kernel gives what comes to one of them, mostly the one bound last (inferred)",
        moment(u.from_ns),
        u.whose,
        u.before
    )
}
