//! Multicast groups that the devices of a network namespace are in: without one of these the kernel drops what comes for a group.
//!
//! In: /proc/net/igmp and /proc/net/igmp6 (net/ipv4/igmp.c `igmp_mc_seq_show`, net/ipv6/mcast.c `igmp6_mc_seq_show`). Out: a line per device and group.
//!
//! ```text
//! Idx  Device    : Count Querier       Group    Users Timer       Reporter
//! 4    eth0      :     2      V3
//!                                      11003EEF     1 0:00000000          0       the address as the host stores it
//! 4    eth0            ff020000000000000000000000000001     1 0000000C 0          igmp6
//! ```

use std::fmt::Write;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::net::{Ipv4Addr, Ipv6Addr};

use super::addresses::MOST;
use super::netlink::{Dumped, word};

/// No more bytes of a file are read.
const MOST_BYTES: u64 = 4 << 20;

/// A line per group of each device of the calling thread's network namespace.
pub fn groups(netns: u64, out: &mut String) -> io::Result<Dumped> {
    let mut room = MOST;
    let v4 = read("/proc/thread-self/net/igmp", |text| igmp(netns, text, &mut room, out));
    let v6 = read("/proc/thread-self/net/igmp6", |text| igmp6(netns, text, &mut room, out));
    let mut done = Dumped::default();
    for one in [v4, v6] {
        match one {
            Ok(cut) => done.cut |= cut,
            // A kernel without one of them.
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}

fn read(path: &str, list: impl FnOnce(&mut dyn BufRead) -> io::Result<bool>) -> io::Result<bool> {
    list(&mut BufReader::new(File::open(path)?.take(MOST_BYTES)))
}

/// Whether it was cut.
pub(super) fn igmp(netns: u64, text: &mut dyn BufRead, room: &mut usize, out: &mut String) -> io::Result<bool> {
    let mut dev: Option<(u32, String)> = None;
    let mut line = String::new();
    while next(text, &mut line)? {
        if !line.ends_with('\n') {
            return Ok(true);
        }
        let mut words = line.split_ascii_whitespace();
        // A group is below its device.
        if line.starts_with(char::is_whitespace) {
            let group = words.next().and_then(|g| u32::from_str_radix(g, 16).ok());
            let users = words.next().and_then(|n| n.parse().ok());
            let Some((((index, dev), group), users)) = dev.as_ref().zip(group).zip(users) else {
                continue;
            };
            if *room == 0 {
                return Ok(true);
            }
            say(netns, *index, dev, Ipv4Addr::from(group.to_ne_bytes()), users, out);
            *room -= 1;
        } else {
            let index = words.next().and_then(|i| i.parse().ok());
            dev = index.zip(words.next().map(|name| name.trim_end_matches(':').to_owned()));
        }
    }
    Ok(false)
}

/// Whether it was cut.
pub(super) fn igmp6(netns: u64, text: &mut dyn BufRead, room: &mut usize, out: &mut String) -> io::Result<bool> {
    let mut line = String::new();
    while next(text, &mut line)? {
        if !line.ends_with('\n') {
            return Ok(true);
        }
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [index, dev, group, users, ..] = words.as_slice() else {
            continue;
        };
        let group = u128::from_str_radix(group, 16).ok().filter(|_| group.len() == 32);
        let Some(((index, group), users)) = index.parse().ok().zip(group).zip(users.parse().ok()) else {
            continue;
        };
        if *room == 0 {
            return Ok(true);
        }
        say(netns, index, dev, Ipv6Addr::from(group), users, out);
        *room -= 1;
    }
    Ok(false)
}

fn next(text: &mut dyn BufRead, line: &mut String) -> io::Result<bool> {
    line.clear();
    Ok(text.read_line(line)? > 0)
}

fn say(netns: u64, index: u32, dev: &str, group: impl std::fmt::Display, users: u64, out: &mut String) {
    _ = writeln!(
        out,
        "netns={netns} ifindex={index} dev={} group={group} users={users}",
        word(dev)
    );
}
