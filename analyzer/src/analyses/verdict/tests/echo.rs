//! What the head of a page says once.

use super::super::echo::without_echo;
use super::super::{Line, Tone};
use super::receive;
use crate::analyses::receive::{Reader, Receive};

fn line(subject: &'static str, headline: &str) -> Line {
    Line {
        subject,
        tone: Tone::Notice,
        sentence: "Received packets took long.".into(),
        headline: headline.into(),
        minor: false,
        names_cause: false,
        neutral: false,
        follows: None,
    }
}

#[test]
fn packets_unread_at_a_late_server_are_said_with_its_answers() {
    let told = |application: &str, (at, share): (&str, f64), top: &str, cause: bool| {
        let r = Receive {
            reader: Some(Reader {
                task: String::new(),
                at: at.into(),
                share,
            }),
            ..receive(0)
        };
        let mut own = line("receive", "received packets took up to 1.510 s");
        own.names_cause = cause;
        let lines = vec![line("application", application), own];
        let all = without_echo(lines, Some(&r), Some(top));
        assert_eq!((all.len(), all[1].tone), (2, Tone::Notice));
        assert_eq!(all[0].headline, application);
        assert!(!all[1].sentence.is_empty());
        !all[1].headline.is_empty()
    };
    let late = "24 of 447 answers from 10.0.0.7:8080 took p50 1.483 s, 99.9 % of it in the server: asleep";
    let all = ("10.0.0.7:8080", 0.99);
    for top in ["reader_asleep", "run_queue", "reader_running"] {
        assert!(!told(late, all, top, false), "{top}");
    }
    // Held behind what is missing, or by the stack; a cause of its own; another end, or a part of it; a server that is not late itself.
    assert!(told(late, all, "out_of_order", false) && told(late, all, "softirq_wait", false));
    assert!(told(late, all, "reader_asleep", true));
    assert!(told(late, ("10.0.0.7:80", 0.99), "reader_asleep", false));
    assert!(told(late, ("", 0.99), "reader_asleep", false));
    assert!(told(late, ("10.0.0.7:8080", 0.8), "reader_asleep", false));
    let way = "24 of 447 answers from 10.0.0.7:8080 took p50 1.483 s, 99.9 % of it on the way there";
    assert!(told(way, all, "reader_asleep", false));
    assert!(told("", all, "reader_asleep", false));
    // Nothing is known of who read.
    let lines = vec![line("application", late), line("receive", "x")];
    assert_eq!(
        without_echo(lines.clone(), Some(&receive(0)), Some("reader_asleep")),
        lines
    );
    assert_eq!(without_echo(lines.clone(), None, None), lines);
}
