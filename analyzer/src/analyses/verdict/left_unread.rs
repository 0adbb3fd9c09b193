//! What is said of data that a program left in its sockets while it slept in epoll.

use super::sentences::{counted, duration, moment};
use crate::analyses::application::LeftUnread;

/// `hub/7 at 10.91.2.10:7000 left data of 48 connections unread, for p50 929.70 ms and up to 2.002 s, the first from 5.176 s on: 103 packets lay there while it slept in epoll, ...`
pub(super) fn left_unread(l: &LeftUnread) -> String {
    let at = match l.at.as_str() {
        "" => String::new(),
        at => format!(" at {at}"),
    };
    let all = match l.others {
        0 => String::new(),
        n => format!(" ({n} more lay as long and were read without that)"),
    };
    format!(
        "{}{at} left data of {} unread, for p50 {} and up to {}, the first from {} on: {} lay there while it slept in epoll, until more came on the same connection{all}, as with an edge-triggered socket (EPOLLET) that is not read until nothing is left (inferred)",
        l.task,
        counted(l.connections, "connection", "connections"),
        duration(l.p50_ns),
        duration(l.longest_ns),
        moment(l.first_ns),
        counted(l.units, "packet", "packets"),
    )
}
