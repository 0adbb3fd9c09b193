//! Lists of sockets as the recorder writes them.

use netmortem_formats::capture::{Snapshot, SnapshotWhen};

use super::listeners;
use crate::testing::Script;

fn of(lists: [&[(&str, &str, &str)]; 2]) -> Vec<(u16, u64)> {
    let mut capture = Script::new("6.18.44", &[]).capture();
    for (list, when) in lists.into_iter().zip([SnapshotWhen::Start, SnapshotWhen::End]) {
        let line = |(netns, state, src): &(&str, &str, &str)| {
            format!("netns={netns} proto=tcp family=inet state={state} src={src} dst=0.0.0.0:0 if=0 cookie=0x1\n")
        };
        capture.snapshots.push(Snapshot {
            what: "sockets".into(),
            when,
            text: list.iter().map(line).collect::<String>().into_bytes(),
        });
    }
    let via = crate::analyze(&capture, &Default::default()).listeners;
    assert_eq!(via, listeners(&capture));
    via.into_iter().collect()
}

/// Four at 7301 in either list are four, not eight; what is established there is none.
#[test]
fn sockets_that_share_a_port_are_counted_once() {
    let four = [("1", "listen", "0.0.0.0:7301"); 4];
    let mut end = four.to_vec();
    end.extend([("1", "established", "10.9.2.2:7301"), ("1", "listen", "[::]:80")]);
    assert_eq!(of([&four, &end]), [(80, 1), (7301, 4)]);
}

/// Of another namespace, or at another address: which of them a connection could go to is not known.
#[test]
fn a_port_of_several_is_not_told() {
    let one = ("1", "listen", "0.0.0.0:7301");
    assert_eq!(of([&[one, ("2", "listen", "0.0.0.0:7301")], &[]]), []);
    assert_eq!(of([&[one], &[("1", "listen", "10.9.2.2:7301")]]), []);
}
