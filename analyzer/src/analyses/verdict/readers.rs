//! What readers did while packets of theirs lay there, where it has a name: another process or server that they waited for, other connections.

use super::sentences::{duration, times};
use crate::analyses::datagrams::InVain;
use crate::analyses::receive::{AskedMeanwhile, BusyWith, Children, ReadOf, Receive};
use crate::reconstruct::receive::tables::Stage;

/// Share of a reader's time at other sockets from which it is said of the connections that are named.
const AT_CONNECTIONS: f64 = 0.9;

/// Of a stage.
pub(super) fn words(r: &Receive, stage: &str) -> Option<String> {
    let asleep = stage == Stage::ReaderAsleep.name();
    let running = stage == Stage::ReaderRunning.name();
    let of_sleep = || {
        let first = r.children.as_ref().map(children);
        // What a read was of is known; whom it waited for there is inferred, and says more of the same connection.
        first
            .or_else(|| r.asked_meanwhile.as_ref().map(asked_meanwhile))
            .or_else(|| r.read_of.as_ref().map(read_of_words))
    };
    match (asleep, running) {
        (true, _) => of_sleep(),
        (_, true) => r.busy_with.as_ref().map(busy_with),
        _ => None,
    }
}

/// Why who read these questions read them late: it waited for a process of its own.
pub(super) fn before_it_read(of: &Children, v: &InVain) -> Option<String> {
    let theirs = v.holder == of.task && v.landed > v.unread;
    theirs.then(|| {
        format!(
            "{} slept for up to {} before it read, until another process{} ended (see the receive path; that these waited for it is inferred)",
            of.task,
            duration(of.longest_ns),
            named(of)
        )
    })
}

/// ` (login.py)`
fn named(of: &Children) -> String {
    match of.name.as_str() {
        "" => String::new(),
        name => format!(" ({name})"),
    }
}

/// `readable, but openvpn/7 slept until another process (login.py) ended, 3 times and for up to 1.271 s: a script or program that it runs ...`
fn children(of: &Children) -> String {
    let name = named(of);
    let asked = of.asked.as_ref().map_or_else(String::new, |(to, share)| {
        let its = if of.ended == 1 { "it" } else { "these" };
        format!(
            "; {its} waited for answers from {to} in {:.0} % of that time",
            share * 100.0
        )
    });
    format!(
        "readable, but {} slept until another process{name} ended, {} and for up to {}: a script or program that it runs and waits for, most likely (inferred){asked}",
        of.task,
        times(of.ended),
        duration(of.longest_ns)
    )
}

/// `readable, but board/7 waited for answers from 10.0.0.3:7070 in 97 % of that time (580, p50 18.90 ms), and read in between: ...`
fn asked_meanwhile(of: &AskedMeanwhile) -> String {
    format!(
        "readable, but {} waited for answers from {} meanwhile, in {:.0} % of the time ({} of p50 {}), and read in between: it reads no faster than it is answered there (inferred)",
        of.task,
        of.to,
        of.share * 100.0,
        of.answers,
        duration(of.took_ns)
    )
}

/// `readable, but the reader slept in a read of 5 other connections (the first 10.0.0.3:40000 > 10.0.0.1:443)`
fn read_of_words(of: &ReadOf) -> String {
    let which = match of.connections {
        1 => format!("of another connection ({})", of.first),
        n => format!("of {n} other connections (the first {})", of.first),
    };
    let share = match of.share >= 0.9 {
        true => String::new(),
        false => format!(" in {:.0} % of it", of.share * 100.0),
    };
    format!("readable, but the reader slept{share} in a read {which}")
}

/// `readable, but the reader was busy with others: proxy/7 on a CPU in 83 % of it at 2 other connections, most at ... (12.0 ms)`
fn busy_with(of: &BusyWith) -> String {
    let mostly = of.connections_ns as f64 >= AT_CONNECTIONS * of.ns as f64;
    let which = match (of.connections, of.first.as_str()) {
        (0, _) | (_, "") => "other sockets".to_owned(),
        (_, first) if !mostly => format!("other sockets, {} of it at {first}", duration(of.first_ns)),
        (1, first) => format!("another connection ({first})"),
        (n, first) => format!("{n} other connections, most at {first} ({})", duration(of.first_ns)),
    };
    format!(
        "readable, but the reader was busy elsewhere: {}, on a CPU, for {:.0} % of it at {which}",
        of.task,
        of.share * 100.0
    )
}

#[cfg(test)]
mod tests;
