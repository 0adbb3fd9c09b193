//! What is read every second, laid one over the other, against what the kernel says to others at the end.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use netmortem_formats::bundle::{ReadingEnd, Second};

use super::{Pair, lines};
use crate::snapshot::beside::{Beside, sentences};
use crate::tests::harness::{out_datagrams, wait_for};

/// The latest of each number: `netns/<inode>/net/snmp` by group and name, lists by what names a line.
fn lay(over: &mut BTreeMap<String, String>, second: &Second) {
    for (what, text) in &second.texts {
        let text = String::from_utf8(text.clone()).unwrap();
        if what.ends_with("/net/snmp") {
            let all: Vec<&str> = text.lines().collect();
            for two in all.chunks_exact(2) {
                let group = two[0].split(' ').next().unwrap();
                let both = two[0].split(' ').zip(two[1].split(' ')).skip(1);
                over.extend(both.map(|(n, v)| (format!("{what} {group}{n}"), v.to_owned())));
            }
        } else if ["nics", "sockets"].contains(&what.as_str()) {
            for line in lines(&text) {
                let name = ["netns", "dev", "cookie"]
                    .map(|k| line.get(k).cloned().unwrap_or_default())
                    .join(" ");
                over.extend(line.into_iter().map(|(k, v)| (format!("{what} {name} {k}"), v)));
            }
        }
    }
}

/// Reads until every kind was read once more than before.
fn read(b: &mut Beside, over: &mut BTreeMap<String, String>) -> Vec<Second> {
    let counts = |b: &Beside| b.end().iter().map(|r| r.read).collect::<Vec<_>>();
    let before = counts(b);
    let mut out = vec![];
    wait_for("a kind is not read again", || {
        let mut second = Second::default();
        b.take(&mut second);
        lay(over, &second);
        out.push(second);
        counts(b).iter().zip(&before).all(|(now, before)| now > before)
    });
    out
}

#[test]
fn readings_laid_one_over_the_other_are_what_the_kernel_says() {
    let Some(pair) = Pair::new("beside-s", "ip") else {
        return;
    };
    let inode = pair.first().inode;
    let mut b = Beside::new();
    let mut now = BTreeMap::new();
    let first = read(&mut b, &mut now);
    // The first tells all, and what it is.
    let readings = |s: &Second| {
        let text = s
            .texts
            .iter()
            .find(|(w, _)| w == "readings")
            .map(|(_, t)| String::from_utf8(t.clone()).unwrap());
        text.unwrap_or_default()
    };
    assert!(
        readings(&first[0]).contains("counters 1\n"),
        "{:?}",
        readings(&first[0])
    );
    let mut next = vec![];
    for _ in 0..2 {
        pair.send(40);
        next.extend(read(&mut b, &mut now));
    }
    assert!(next.iter().any(|s| readings(s).contains(" after ")), "{next:?}");
    // A second reading is a fraction of the first.
    let size = |s: &[Second]| s.iter().flat_map(|s| &s.texts).map(|(_, t)| t.len()).sum::<usize>();
    assert!(
        size(&next) / next.len() < size(&first) / 2,
        "{} {}",
        size(&next),
        size(&first)
    );
    let sent = |over: &BTreeMap<String, String>| {
        over[&format!("netns/{inode}/net/snmp Udp:OutDatagrams")]
            .parse::<u64>()
            .unwrap()
    };
    let theirs = || {
        let text = pair.exec(&pair.0[0], &["cat", "/proc/net/snmp"]);
        out_datagrams(&text)
    };
    assert_eq!((sent(&now), theirs() >= 80), (theirs(), true));
    assert_eq!(b.end().iter().filter(|r| r.failed > 3).count(), 0, "{:?}", b.end());
}

#[test]
fn a_socket_that_is_not_read_shows_its_bytes_and_one_that_is_closed_is_gone() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (receiver, _) = listener.accept().unwrap();
    let mut b = Beside::new();
    let mut now = BTreeMap::new();
    read(&mut b, &mut now);
    let local = receiver.local_addr().unwrap().to_string();
    let peer = receiver.peer_addr().unwrap().to_string();
    let cookie = |over: &BTreeMap<String, String>| {
        let src = over
            .iter()
            .filter(|(k, v)| k.starts_with("sockets ") && k.ends_with(" src") && **v == local);
        let mut mine = src.filter(|(k, _)| over.get(&k.replace(" src", " dst")) == Some(&peer));
        mine.next().map(|(k, _)| k.trim_end_matches(" src").to_owned())
    };
    let Some(socket) = cookie(&now) else {
        // A host with more sockets than are read every second.
        println!("skipped: sockets are not read here: {:?}", b.end());
        return;
    };
    assert_eq!(now[&format!("{socket} rqueue")], "0");
    sender.write_all(&[7; 1234]).unwrap();
    wait_for("the bytes are not in a reading", || {
        std::thread::sleep(Duration::from_millis(20));
        read(&mut b, &mut now);
        now[&format!("{socket} rqueue")] == "1234"
    });
    assert!(
        !now.keys().any(|k| k.starts_with("sockets") && k.contains(" tcp.last_")),
        "what passes by itself"
    );
    drop((sender, receiver));
    wait_for("it is not gone", || {
        read(&mut b, &mut now);
        now.get(&format!("{socket} gone")).map(String::as_str) == Some("yes")
            || now[&format!("{socket} state")] != "established"
    });
}

/// A kind that is slow is rested from, and what a reading that was not written told is told again.
#[test]
fn what_is_left_out_is_counted_and_what_is_lost_is_told_again() {
    let mut b = Beside::new();
    let mut second = Second::default();
    for _ in 0..50 {
        second = Second::default();
        b.take(&mut second);
    }
    let told = b.end();
    let names: Vec<&str> = told.iter().map(|t| t.what.as_str()).collect();
    assert_eq!(names, ["nics", "qdiscs", "sockets", "counters"]);
    for t in &told {
        assert_eq!(t.read + t.skipped + t.failed, 50, "{t:?}");
        // One of 0.1 ms rests for 20 ms: fifty in a row are not all read.
        assert!(t.longest_ns > 0 && (t.read < 50 || t.longest_ns < 1_000_000), "{t:?}");
    }
    assert!(told.iter().any(|t| t.skipped >= 10), "{told:?}");
    assert!(b.sentences().iter().any(|s| s.contains("were made seldom")), "{told:?}");
    b.lost();
    let mut now = BTreeMap::new();
    let whole = read(&mut b, &mut now);
    let readings: Vec<u8> = whole
        .iter()
        .flat_map(|s| &s.texts)
        .filter(|(w, _)| w == "readings")
        .flat_map(|(_, t)| t.clone())
        .collect();
    let first = String::from_utf8(readings).unwrap();
    assert!(first.lines().filter(|l| !l.contains(" after ")).count() >= 4, "{first}");
    drop(second);
}

/// Also of a recording of a few seconds: nobody should look for a series that is not there, or take a reason for another.
#[test]
fn what_was_never_or_seldom_read_is_told_in_short_recordings_too() {
    let told = |read, skipped, failed, many| {
        let end = ReadingEnd {
            what: "sockets".into(),
            read,
            skipped,
            failed,
            longest_ns: 235_000_000,
        };
        sentences(&[(&end, many)]).pop().unwrap_or_default()
    };
    // 12,000 sockets for 7 s.
    let many = told(0, 5, 1, true);
    assert!(
        many.contains("more than 2500 sockets")
            && many.ends_with("sockets (read 0 times, left out 5, failed 1; the longest took 235.0 ms)"),
        "{many}"
    );
    assert!(told(1, 6, 0, false).contains("to cost less than 0.5 % of a CPU each"));
    assert!(told(0, 0, 1, false).contains("was not whole"));
    for (read, skipped, failed) in [(0, 0, 0), (1, 0, 0), (1, 2, 0), (4, 4, 0), (300, 40, 2)] {
        assert_eq!(told(read, skipped, failed, false), "", "{read} {skipped} {failed}");
    }
}
