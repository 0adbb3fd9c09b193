//! Answers that lie in a queue which another's packets fill.

use super::requests::MS;
use super::turns::{server, slow};
use crate::analyses::application::{Application, Place};
use crate::analyses::verdict::{Line, Tone, queued};

/// The line, of one server whose answers all were on a way of which so much was in a queue.
fn line(change: impl Fn(&mut crate::analyses::application::Slow)) -> Line {
    let mut s = server("10.0.0.2:80", vec![300 * MS; 30], vec![], 0);
    let mut w = slow("back", 30, 300 * MS);
    w.place = Some(Place {
        dev: "wan0".into(),
        qdisc: "htb".into(),
        to: String::new(),
        share: 1.0,
        timer_ns: None,
        let_go: None,
        filled_by: Some(("10.9.0.40:51188 > 203.0.113.90:873".into(), 0.77)),
    });
    change(&mut w);
    s.whole = Some(w);
    let a = Application {
        servers: vec![s],
        ..Application::default()
    };
    let line = Line {
        subject: "application",
        tone: Tone::Notice,
        sentence: "Requests were answered.".into(),
        headline: "and else".into(),
        minor: true,
        names_cause: false,
        neutral: false,
        follows: None,
    };
    queued::first(line, Some(&a))
}

#[test]
fn who_waits_behind_whom_is_said_first() {
    let l = line(|_| ());
    let says = "answers from 10.0.0.2:80 (n 30, p50 300.00 ms) lie in the queue of wan0 (htb) for nearly all of their time: 77 % of its bytes are 10.9.0.40:51188 > 203.0.113.90:873, behind which they wait";
    assert_eq!(l.headline, format!("{says}; and else"));
    assert!(l.sentence.starts_with(&says.replacen('a', "A", 1)) && l.sentence.ends_with(". Requests were answered."));
    assert_eq!((l.tone, l.names_cause, l.minor), (Tone::Bad, true, false));
}

#[test]
fn what_is_in_its_own_way_or_short_is_not() {
    let quiet = |change: &dyn Fn(&mut crate::analyses::application::Slow)| {
        let l = line(change);
        assert_eq!((l.tone, l.headline.as_str()), (Tone::Notice, "and else"));
    };
    // In the server; for a short time; a few; half of the way; half of the time.
    quiet(&|w| w.at = "server");
    quiet(&|w| w.p50_ns = 90 * MS);
    quiet(&|w| w.n = 9);
    quiet(&|w| w.share = 0.6);
    let place = |change: &dyn Fn(&mut Place)| quiet(&|w| w.place.iter_mut().for_each(change));
    place(&|p| p.share = 0.5);
    // A way between two devices; its own packets, as of a download; nobody has most of it.
    place(&|p| p.to = "s0".into());
    place(&|p| p.filled_by = Some(("10.0.0.2:80 > 10.0.0.9:40000".into(), 0.9)));
    place(&|p| p.filled_by = Some(("10.9.0.40:51188 > 203.0.113.90:873".into(), 0.4)));
    place(&|p| p.filled_by = None);
}
