//! Which network namespaces are heard, and by which socket.
//!
//! In: the list of them. Out: sockets to listen at, and whose a message is. A namespace that has a number in the recorder's own (which the kernel gives it
//! with the first device that joins both, net/core/net_namespace.c `peernet2id_alloc`) is heard by the recorder's own socket. Another needs one inside it, and a
//! socket keeps its namespace: it is closed within a second after the last name and process of the namespace are gone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use rustix::net::netlink::NETFILTER;
use rustix::net::{RecvFlags, recv};

use super::messages::{RTM_NEWNSID, messages};
use super::socket::Socket;
use super::sysctls::Sysctls;
use crate::snapshot::MAX_NETNS;
use crate::snapshot::netlink::{ask, attributes, u32_at};
use crate::snapshot::netns::{self, Netns};

/// RTNLGRP_LINK, _TC, _IPV4_IFADDR, _IPV4_ROUTE, _IPV4_RULE, _IPV6_IFADDR, _IPV6_ROUTE, _IPV6_RULE, _NSID, _NEXTHOP.
const ROUTE_GROUPS: [u32; 10] = [1, 4, 5, 7, 8, 9, 11, 19, 28, 32];
/// Buffers of the sockets. A transaction of nftables comes all at once: 40,000 rules are 12 MB, which are read while they come.
const ROUTE_BYTES: i32 = 1 << 20;
const RULES_BYTES: i32 = 8 << 20;
/// NFNLGRP_NFTABLES.
const NFT_GROUP: u32 = 7;
/// How often the list is made again, and how often at most when a message is of none of it.
const LISTED: Duration = Duration::from_secs(60);
const AGAIN: Duration = Duration::from_secs(3);
/// How often it is looked whether those with a socket inside are there.
const LOOKED: Duration = Duration::from_secs(1);
const RTM_GETNSID: u16 = 90;
const RTGENMSG_BYTES: usize = 4;
const NETNSA_NSID: u16 = 1;
const NETNSA_FD: u16 = 3;

/// What a socket hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// rtnetlink.
    Route,
    /// nftables.
    Rules,
}

impl Of {
    /// Hears it where the calling thread is; `all`: in all namespaces with a number there, too.
    fn socket(self, all: bool) -> io::Result<Socket> {
        match self {
            Of::Route => Socket::open(None, mask(&ROUTE_GROUPS), (ROUTE_BYTES, all)),
            Of::Rules => Socket::open(Some(NETFILTER), mask(&[NFT_GROUP]), (RULES_BYTES, all)),
        }
    }
}

/// A socket, and the namespace that it is in.
#[derive(Debug)]
pub struct Heard {
    /// By its inode.
    pub netns: u64,
    /// What.
    pub of: Of,
    /// Where.
    pub socket: Socket,
}

/// All of them.
#[derive(Debug)]
pub struct Spaces {
    /// The recorder's own first.
    pub heard: Vec<Heard>,
    own: u64,
    known: BTreeMap<u64, Netns>,
    /// Inodes by their number here.
    numbers: BTreeMap<i32, u64>,
    inside: BTreeSet<u64>,
    /// Numbers of none of the list, as of namespaces beyond those that are read.
    nobodys: BTreeSet<i32>,
    listed: Instant,
    looked: Instant,
    stale: bool,
    /// What a person should know.
    pub problems: BTreeSet<String>,
}

fn mask(groups: &[u32]) -> u32 {
    groups.iter().fold(0, |m, g| m | 1u32.checked_shl(g - 1).unwrap_or(0))
}

impl Spaces {
    /// Listens.
    pub fn new(sysctls: &mut Option<Sysctls>) -> Spaces {
        let now = Instant::now();
        let mut all = Spaces {
            heard: vec![],
            own: netns::own_inode().unwrap_or(0),
            known: BTreeMap::new(),
            numbers: BTreeMap::new(),
            inside: BTreeSet::new(),
            nobodys: BTreeSet::new(),
            listed: now,
            looked: now,
            stale: false,
            problems: BTreeSet::new(),
        };
        all.open(all.own, true);
        all.list(sysctls);
        all
    }

    fn open(&mut self, netns: u64, own: bool) {
        let route = Of::Route.socket(own).map(|s| (Of::Route, s));
        let rules = Of::Rules.socket(own).map(|s| (Of::Rules, s));
        for (socket, what) in [(route, "links, addresses, routes and qdiscs"), (rules, "nftables")] {
            match socket {
                Ok((of, socket)) => self.heard.push(Heard { netns, of, socket }),
                Err(e) => {
                    self.problems.insert(format!("changes of {what} were not heard: {e}"));
                }
            }
        }
    }

    fn list(&mut self, sysctls: &mut Option<Sysctls>) {
        self.listed = Instant::now();
        self.stale = false;
        let mut spaces: Vec<Netns> = netns::list();
        if spaces.len() > MAX_NETNS {
            self.problems.insert(format!(
                "changes were heard of {MAX_NETNS} network namespaces only: there are more"
            ));
        }
        spaces.truncate(MAX_NETNS);
        self.numbers.clear();
        self.nobodys.clear();
        let mut own = self.heard.iter().filter(|h| h.netns == self.own);
        let all = own.all(|h| h.socket.all);
        for space in spaces {
            let new = !self.known.contains_key(&space.inode);
            if new && let Some(s) = sysctls {
                s.watch(&space);
            }
            if !space.own {
                match number(&space) {
                    Ok(Some(n)) if all => {
                        self.numbers.insert(n, space.inode);
                        // It got its number since: it would be heard twice.
                        self.close(space.inode);
                    }
                    Ok(_) if self.inside.insert(space.inode) => self.enter(&space),
                    _ => {}
                }
            }
            self.known.insert(space.inode, space);
        }
    }

    /// Listens inside.
    fn enter(&mut self, space: &Netns) {
        let open = || [Of::Route, Of::Rules].map(|of| (of, of.socket(false)));
        let Ok(both) = space.inside(open) else {
            return;
        };
        let netns = space.inode;
        let opened = both.into_iter().filter_map(|(of, s)| Some((of, s.ok()?)));
        self.heard
            .extend(opened.map(|(of, socket)| Heard { netns, of, socket }));
    }

    /// The namespace of a message: of one with a number that which has it.
    pub fn whose(&mut self, netns: u64, number: Option<i32>) -> Option<u64> {
        match number {
            None => Some(netns),
            Some(n) => {
                let found = self.numbers.get(&n).copied();
                self.stale |= found.is_none() && !self.nobodys.contains(&n);
                found
            }
        }
    }

    /// A number is of none of those that are listed.
    pub fn is_nobodys(&mut self, number: i32) {
        self.nobodys.insert(number);
    }

    /// A number was given or taken away (RTM_NEWNSID, RTM_DELNSID): it is no longer whose it was; which. Each namespace has numbers of its own for the others.
    pub fn numbered(&mut self, netns: u64, body: &[u8]) -> Option<i32> {
        if netns != self.own {
            return None;
        }
        let number = number_in(body);
        if let Some(n) = number {
            self.numbers.remove(&n);
            self.nobodys.remove(&n);
        }
        self.stale = true;
        number
    }

    /// Closes what is gone, and looks for new ones; whether it listed them.
    pub fn refresh(&mut self, sysctls: &mut Option<Sysctls>) -> bool {
        let now = Instant::now();
        if now.duration_since(self.looked) >= LOOKED {
            self.looked = now;
            let gone: Vec<u64> = self.inside.iter().copied().filter(|n| !self.is_there(*n)).collect();
            for netns in gone {
                self.close(netns);
                // It may live on by a process that has come since.
                self.stale = true;
            }
        }
        let age = now.duration_since(self.listed);
        let due = age >= LISTED || (self.stale && age >= AGAIN);
        if due {
            self.list(sysctls);
            let gone: Vec<u64> = self.known.keys().copied().filter(|n| !self.is_there(*n)).collect();
            for netns in gone {
                self.close(netns);
                self.known.remove(&netns);
                if let Some(s) = sysctls {
                    s.forget(netns);
                }
            }
        }
        due
    }

    fn is_there(&self, netns: u64) -> bool {
        netns == self.own || self.known.get(&netns).is_some_and(Netns::is_there)
    }

    fn close(&mut self, netns: u64) {
        self.inside.remove(&netns);
        self.heard.retain(|h| h.netns != netns || netns == self.own);
    }
}

/// The number of a namespace here.
fn number(space: &Netns) -> io::Result<Option<i32>> {
    let file: File = space.open()?;
    // struct rtgenmsg, padded, and an attribute of a u32.
    let mut body = vec![0; RTGENMSG_BYTES];
    body.extend_from_slice(&8u16.to_ne_bytes());
    body.extend_from_slice(&NETNSA_FD.to_ne_bytes());
    body.extend_from_slice(&file.as_raw_fd().to_ne_bytes());
    let fd = ask(None, RTM_GETNSID, 0, &body)?;
    let mut buffer = vec![0u8; 4 << 10];
    let (n, _) = recv(&fd, &mut *buffer, RecvFlags::empty())?;
    let piece = buffer.get(..n).unwrap_or_default();
    let answer = messages(piece).find(|m| m.kind == RTM_NEWNSID);
    let answer = answer.ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))?;
    Ok(number_in(answer.body).filter(|n| *n >= 0))
}

/// The number that a message about namespaces is of.
fn number_in(body: &[u8]) -> Option<i32> {
    let mut of = attributes(body.get(RTGENMSG_BYTES..)?);
    let (_, value) = of.find(|(a, _)| *a == NETNSA_NSID)?;
    u32_at(value, 0).map(u32::cast_signed)
}
