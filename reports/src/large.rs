//! The page of a very large recording stays below 10 MB: tables show their worst rows, charts have bins. The made-up facts of the
//! sections' tests many times over, each time with other connections, CPUs, devices, tasks and reasons.

use netmortem_analyzer::reconstruct::application::tables::ResponseRow;
use netmortem_analyzer::{Confidence, ConnectionId, Facts, Name, SkbId};

use crate::sections::document;
use crate::sections::fixture::{START, answers, facts};
use crate::{html, markdown};

const CONNECTIONS: u32 = 100_000;
const RESPONSES: i64 = 1_000_000;
const TIMES: u32 = 250;
/// What the contract of the page says, bytes.
const MOST: usize = 10_000_000;

fn name(kind: &str, n: u32) -> Name {
    Name::new(format!("{kind}{n}").as_bytes())
}

/// Each row `TIMES` times, changed by which time it is.
fn many<R: Clone>(rows: &[R], change: impl Fn(&mut R, u32)) -> Vec<R> {
    let again = |n| rows.iter().cloned().map(move |row| (n, row));
    let all = (0..TIMES).flat_map(again).map(|(n, mut row)| {
        change(&mut row, n);
        row
    });
    all.collect()
}

fn response(n: i64) -> ResponseRow {
    let send_ns = START + n * 9_000;
    ResponseRow {
        connection: ConnectionId(n as u32 % CONNECTIONS),
        pid: 1_000 + (n % 5_000) as i32,
        task: name("worker-", n as u32 % 5_000),
        send_ns,
        ready_ns: Some(send_ns + 100_000 + n % 70_000),
        read_ns: send_ns + 200_000 + n % 90_000_000,
        complete_ns: None,
        reads: 1,
        sends: 1,
        sending_ns: 0,
        pause_ns: 0,
        paused_in: Name::default(),
        peer: None,
        overlap: false,
        confidence: Confidence::Strong,
    }
}

fn large() -> Facts {
    let mut f = facts();
    let one = f.connections[0].clone();
    f.connections = (0..CONNECTIONS)
        .map(|n| {
            let mut c = one.clone();
            c.connection = ConnectionId(n);
            c.dport = (n % 60_000) as u16;
            c.task = name("worker-", n % 5_000);
            c.bytes_out = u64::from(n) * 1_000;
            c
        })
        .collect();
    f.responses = (0..RESPONSES).map(response).collect();
    f.skbs = many(&f.skbs, |s, n| {
        s.skb_id = SkbId(n * 1_000 + s.skb_id.0);
        s.dev = name("eth", n);
        s.last_dev = name("eth", n);
    });
    f.rx = many(&f.rx, |r, n| {
        r.skb_id = SkbId(n * 1_000 + r.skb_id.0);
        r.connection = Some(ConnectionId(n * 7));
        r.dev = name("eth", n);
        r.task = name("reader-", n);
    });
    f.tx = many(&f.tx, |t, n| {
        t.skb_id = SkbId(n * 1_000 + t.skb_id.0);
        t.connection = Some(ConnectionId(n * 7));
        t.dev = name("eth", n);
        t.task = name("sender-", n);
    });
    f.softirqs = many(&f.softirqs, |s, n| {
        s.cpu = n as u16;
        s.comm = name("task-", n);
    });
    f.polls = many(&f.polls, |p, n| {
        p.cpu = n as u16;
        p.dev = name("eth", n);
    });
    f.tcp_samples = many(&f.tcp_samples, |s, n| s.connection = ConnectionId(n * 7));
    f.tcp_states = many(&f.tcp_states, |s, n| s.connection = ConnectionId(n * 7));
    f.retransmits = many(&f.retransmits, |r, n| r.connection = Some(ConnectionId(n * 7)));
    f.drops = many(&f.drops, |d, n| {
        d.dev = name("eth", n);
        d.reason = Some(n);
        d.location = u64::from(n);
        d.time_ns += i64::from(n) * 1_000;
    });
    f.gaps = many(&f.gaps, |g, n| g.cpu = n);
    f
}

#[test]
fn the_page_of_a_very_large_recording_is_small() {
    let facts = large();
    assert!(facts.rx.len() > 20_000 && facts.drops.len() > 500 && facts.softirqs.len() > 10_000);
    let document = document(&facts, &answers(&facts));
    let page = html(&document);
    let bytes = page.len();
    assert!(bytes < MOST, "a page of {bytes} bytes");
    // Nor is it small because nothing of them is in it.
    assert!(bytes > 200_000, "a page of {bytes} bytes");
    for there in ["worker-", "100\u{202f}000", "eth"] {
        assert!(page.contains(there), "{there}");
    }
    let text = markdown(&document);
    assert!(text.len() < 1_000_000, "{} bytes of Markdown", text.len());
}
