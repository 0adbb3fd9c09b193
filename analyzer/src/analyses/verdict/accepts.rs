//! Who could not accept connections, in words.

use super::sentences::{counted, duration, moment, or_dash, times};
use crate::analyses::opens::{FailedAccepts, Herd, Lookups, Opens, Piled};

/// Sockets whose accept queues are told.
const NAMED: usize = 4;
/// Sockets that wait for a close from which it looks like a leak of descriptors.
const LEAK: u64 = 10;

fn meaning(errno: &str) -> &'static str {
    match errno {
        "EMFILE" => ", too many open files",
        "ENFILE" => ", the host's table of open files is full",
        _ => "",
    }
}

/// `brokerd/7 could not accept: accept failed 128 times with EMFILE, too many open files, from 0.010 s to 7.980 s; 62 connections ...`
fn words(r: &FailedAccepts) -> String {
    let when = match r.times {
        1 => format!(", at {}", moment(r.within_ns.0)),
        _ => format!(", from {} to {}", moment(r.within_ns.0), moment(r.within_ns.1)),
    };
    let stood = r.port.filter(|_| r.stood > 0).map(|port| {
        let closed = match r.closed_unread {
            0 => String::new(),
            n => format!(", and their clients closed {n} of them"),
        };
        let unread = match r.unread {
            None | Some(0) => String::new(),
            Some(n) if n == r.stood => format!("; nothing was read from them until then{closed}"),
            Some(n) => format!("; nothing was read from {n} of them until then{closed}"),
        };
        format!(
            "; {} to port {port} stood meanwhile, which the kernel had completed{unread}",
            counted(r.stood, "connection", "connections")
        )
    });
    let leak = (r.close_wait >= LEAK).then(|| {
        format!(
            "; {} more of that port were closed by their clients and not by the process when the recording ended (CLOSE_WAIT), as where it leaks descriptors (inferred)",
            counted(r.close_wait, "socket", "sockets")
        )
    });
    format!(
        "{} could not accept connections: accept failed {} with {}{}{when}{}{}",
        r.by,
        times(r.times),
        r.error,
        meaning(r.error),
        stood.unwrap_or_default(),
        leak.unwrap_or_default()
    )
}

/// `94 connections lay in accept queues when the recording ended, 56 when it began: 53 and 25 at 10.0.0.7:8000 (gunicorn/231, a queue of 2048), the first for 4.1 s,
/// while it held 90 others open, ...`
fn piled(all: &[Piled]) -> Option<String> {
    let one = |p: &Piled| {
        let limit = p.limit.map(|n| format!("a queue of {n}"));
        let task = (!p.task.is_empty()).then(|| p.task.clone());
        let who: Vec<String> = task.into_iter().chain(limit).collect();
        let who = match who.is_empty() {
            true => String::new(),
            false => format!(" ({})", who.join(", ")),
        };
        let waits = p.waits_ns.map(|ns| format!(", the first for {}", duration(ns)));
        let closed = (p.closed > 0).then(|| format!(", {} closed by their clients since", p.closed));
        let holds = p
            .holds
            .map(|n| format!(", while it held {} open", counted(n, "other", "others")));
        let more: String = [waits, closed, holds].into_iter().flatten().collect();
        format!("{} and {} at {}{who}{more}", p.after, p.before, p.at)
    };
    let mut each: Vec<String> = all.iter().take(NAMED).map(one).collect();
    let more = all.len().saturating_sub(NAMED) as u64;
    each.extend((more > 0).then(|| format!("at {} more", counted(more, "socket", "sockets"))));
    let takes = if all.len() == 1 {
        "its program takes"
    } else {
        "their programs take"
    };
    let sum = |of: fn(&Piled) -> u64| all.iter().map(of).fold(0, u64::saturating_add);
    (!each.is_empty()).then(|| {
        format!(
            "{} connections lay in accept queues when the recording ended, {} when it began: {}: {takes} none or too few of them (accept; inferred), and whatever they ask, quick or not, lies unread until then",
            sum(|p| p.after),
            sum(|p| p.before),
            each.join(", ")
        )
    })
}

/// `one socket wakes about 160 threads (python3) each time ...`
pub(crate) fn herd(h: &Herd) -> String {
    format!(
        "one socket wakes about {} threads ({}) {} that something comes, {} wake-ups for {} events, each of which one thread can take: a thundering herd, as where all wait for one listening socket without EPOLLEXCLUSIVE or SO_REUSEPORT (inferred)",
        h.each,
        h.task,
        match h.times == h.of {
            true => "each time".to_owned(),
            false => format!("in {} of the {} times", h.times, h.of),
        },
        h.woken,
        h.times
    )
}

/// `15 of 15 lookups of names by orders (getaddrinfo) took 1 s or longer ...`
fn names(l: &Lookups) -> Option<String> {
    let all = l.took.n.saturating_add(l.took.unknown);
    (l.slow > 0).then(|| {
        format!(
            "{} of {} by {} (getaddrinfo) took 1 s or longer, the longest that returned {}, before anything could be asked of whom they name",
            l.slow,
            counted(all, "lookup of a name", "lookups of names"),
            if l.task.is_empty() { "a task without a name" } else { &l.task },
            or_dash(l.took.max_ns)
        )
    })
}

pub(super) fn causes(o: &Opens) -> Vec<String> {
    let herds = o.herd.as_ref().map(herd);
    let slow = o.name_lookups.iter().find_map(names);
    o.not_accepted
        .first()
        .map(words)
        .into_iter()
        .chain(piled(&o.piled))
        .chain(herds)
        .chain(slow)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyses::verdict::Tone;

    #[test]
    fn what_stood_meanwhile_is_told() {
        let failed = FailedAccepts {
            by: "brokerd/7".into(),
            error: "EMFILE",
            times: 128,
            within_ns: (10_000_000, 7_980_000_000),
            port: Some(1883),
            stood: 62,
            unread: Some(61),
            closed_unread: 60,
            close_wait: 90,
        };
        let said = "brokerd/7 could not accept connections: accept failed 128 times with EMFILE, too many open files, from 0.010 s to 7.980 s; 62 \
                    connections to port 1883 stood meanwhile, which the kernel had completed; nothing was read from 61 of them until then, and their \
                    clients closed 60 of them; 90 sockets more of that port were closed by their clients and not by the process when the recording ended \
                    (CLOSE_WAIT), as where it leaks descriptors (inferred)";
        assert_eq!(words(&failed), said);
        let alone = FailedAccepts {
            times: 1,
            port: None,
            close_wait: 9,
            ..failed
        };
        let said =
            "brokerd/7 could not accept connections: accept failed once with EMFILE, too many open files, at 0.010 s";
        assert_eq!(words(&alone), said);
    }

    #[test]
    fn names_that_take_a_second_are_told() {
        let of = |took: Vec<i64>, slow| Lookups {
            task: "orders".into(),
            took: crate::stat::Distribution::of(took, 1),
            slowest_ns: None,
            slow,
        };
        let with = |l| Opens {
            name_lookups: vec![l],
            ..Opens::default()
        };
        let ms = 1_000_000;
        let slow = with(of(vec![2_004 * ms, 5 * ms], 1));
        let said = "1 of 3 lookups of names by orders (getaddrinfo) took 1 s or longer, the longest that returned 2.004 s, before anything could be asked of whom they \
                    name";
        assert_eq!(causes(&slow), [said]);
        assert_eq!(super::super::opens::opens(&slow).0, Tone::Notice);
        let quick = with(of(vec![20 * ms, 5 * ms], 0));
        assert_eq!(super::super::opens::opens(&quick).0, Tone::Ok);
    }
}
