//! Rows of the view `snapshots`: the lines of what the recorder read of the host before and after, so that a route, a link or a socket can be
//! looked at as it was.

use netmortem_formats::Capture;
use netmortem_formats::capture::SnapshotWhen;
use rustc_hash::FxHashMap;

use super::number;
use super::of_netns;
use crate::table::{Cell, TableDef, col};

/// Most lines kept.
const MOST: usize = 100_000;
/// Bytes of a line kept.
const LINE: usize = 4_000;

/// A line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotRow {
    /// Which list or text it is of.
    pub what: String,
    /// Network namespace (inode), where the line or its text names one.
    pub netns: Option<u64>,
    /// It was there before the recording.
    pub start: bool,
    /// It was there after it.
    pub end: bool,
    /// The line.
    pub line: String,
}

impl SnapshotRow {
    fn at(&self) -> &'static str {
        match (self.start, self.end) {
            (true, true) => "both",
            (true, false) => "start",
            _ => "end",
        }
    }
}

/// The lines of all snapshots, each once; and how many are left out.
pub(crate) fn rows(capture: &Capture) -> (Vec<SnapshotRow>, usize) {
    let mut out: Vec<SnapshotRow> = vec![];
    let mut left_out = 0usize;
    let mut known: FxHashMap<(&str, &[u8]), usize> = FxHashMap::default();
    for s in &capture.snapshots {
        let (netns, what) = of_netns(&s.what);
        let netns = netns.and_then(|inode| inode.parse().ok());
        for line in s.text.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
            let at = match known.get(&(s.what.as_str(), line)) {
                Some(at) => *at,
                None if out.len() >= MOST => {
                    left_out += 1;
                    continue;
                }
                None => {
                    let text = String::from_utf8_lossy(line.get(..LINE).unwrap_or(line)).into_owned();
                    out.push(SnapshotRow {
                        what: what.to_owned(),
                        netns: netns.or_else(|| number(&text, "netns")),
                        start: false,
                        end: false,
                        line: text,
                    });
                    known.insert((&s.what, line), out.len() - 1);
                    out.len() - 1
                }
            };
            if let Some(row) = out.get_mut(at) {
                match s.when {
                    SnapshotWhen::Start => row.start = true,
                    SnapshotWhen::End => row.end = true,
                }
            }
        }
    }
    (out, left_out)
}

/// The view.
pub static SNAPSHOTS: TableDef<SnapshotRow> = TableDef {
    name: "snapshots",
    meaning: "one row per line of what the recorder read of the host before and after the recording: routes, links, addresses, sockets (as ss -tiepm), \
              qdiscs, neighbours, nics, sysctl, files of /proc; docs/bundle.md says what the words of a line mean",
    columns: &[
        col!("what", "", Str, "list or text that it is of", |r, _| Cell::str(
            r.what.as_str()
        )),
        col!(
            "netns",
            "id",
            U64,
            "network namespace (inode); empty where none is named",
            |r, _| r.netns.into()
        ),
        col!(
            "at",
            "",
            Str,
            "both: before and after alike; start, end: there only",
            |r, _| Cell::str(r.at())
        ),
        col!("line", "", Str, "the line", |r, _| Cell::str(r.line.as_str())),
    ],
};

#[cfg(test)]
mod tests {
    use netmortem_formats::capture::Snapshot;

    use super::*;

    fn capture(snapshots: Vec<Snapshot>) -> Capture {
        let mut capture = crate::testing::Script::new("6.18.44", &[]).capture();
        capture.snapshots = snapshots;
        capture
    }

    fn snapshot(what: &str, when: SnapshotWhen, text: &[u8]) -> Snapshot {
        Snapshot {
            what: what.into(),
            when,
            text: text.to_vec(),
        }
    }

    #[test]
    fn a_line_is_once_and_says_when_it_was_there() {
        let capture = capture(vec![
            snapshot(
                "routes",
                SnapshotWhen::Start,
                b"netns=7 to=default\nnetns=7 to=10.0.0.0/8\n",
            ),
            snapshot("routes", SnapshotWhen::End, b"netns=7 to=default\n\nnetns=8 to=\xff\n"),
            snapshot("netns/9/net/snmp", SnapshotWhen::Start, b"Ip: 1\n"),
            snapshot("netns/10/net/snmp", SnapshotWhen::End, b"Ip: 1\n"),
        ]);
        let (rows, left_out) = rows(&capture);
        let told: Vec<_> = rows
            .iter()
            .map(|r| (r.what.as_str(), r.netns, r.at(), r.line.as_str()))
            .collect();
        let expected = [
            ("routes", Some(7), "both", "netns=7 to=default"),
            ("routes", Some(7), "start", "netns=7 to=10.0.0.0/8"),
            ("routes", Some(8), "end", "netns=8 to=\u{fffd}"),
            ("net/snmp", Some(9), "start", "Ip: 1"),
            ("net/snmp", Some(10), "end", "Ip: 1"),
        ];
        assert_eq!((told, left_out), (expected.to_vec(), 0));
    }

    #[test]
    fn hostile_texts_are_bounded_and_counted() {
        let many: String = (0..MOST + 5).map(|n| format!("{n}\n")).collect();
        let long = [vec![b'a'; LINE * 3], b"\n".to_vec()].concat();
        let capture = capture(vec![
            snapshot("routes", SnapshotWhen::Start, &long),
            snapshot("links", SnapshotWhen::Start, many.as_bytes()),
        ]);
        let (rows, left_out) = rows(&capture);
        assert_eq!((rows.len(), left_out, rows[0].line.len()), (MOST, 6, LINE));
    }
}
