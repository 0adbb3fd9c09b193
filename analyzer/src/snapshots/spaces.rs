//! Which network namespace an address, a process or a listening socket is of, as lists of the kernel say (rtnetlink, sock_diag).
//!
//! In: the snapshots `addresses` and `sockets`. Must not guess: what is of several namespaces is of none.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use netmortem_formats::Capture;
use netmortem_formats::capture::SnapshotWhen;

use super::{field, lines, listening};

/// Network namespaces by what they have; empty without snapshots.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spaces {
    /// Of addresses.
    addresses: BTreeMap<IpAddr, BTreeSet<u64>>,
    /// Of processes, by their sockets.
    processes: BTreeMap<i32, BTreeSet<u64>>,
    /// Of TCP ports at which something listened.
    ports: BTreeMap<u16, BTreeSet<u64>>,
    /// Ends at which one and the same listened from the begin to the end; an unspecified address is any of its namespace.
    listens: BTreeSet<(u64, SocketAddr)>,
}

/// Where one socket is.
fn only(of: Option<&BTreeSet<u64>>) -> Option<u64> {
    of.filter(|of| of.len() == 1).and_then(|of| of.first()).copied()
}

impl Spaces {
    /// Of a capture.
    pub fn of(capture: &Capture) -> Spaces {
        let mut spaces = Spaces::default();
        for l in lines(capture, "addresses", |_| true) {
            let address = field(l, "address").and_then(|a| a.split('/').next());
            if let Some((netns, address)) = netns(l).zip(address.and_then(|a| a.parse::<IpAddr>().ok())) {
                spaces
                    .addresses
                    .entry(address.to_canonical())
                    .or_default()
                    .insert(netns);
            }
        }
        for l in lines(capture, "sockets", |_| true) {
            let Some(netns) = netns(l) else { continue };
            for pid in field(l, "pids").into_iter().flat_map(|p| p.split(',')) {
                if let Ok(pid) = pid.parse() {
                    spaces.processes.entry(pid).or_default().insert(netns);
                }
            }
        }
        for (port, l) in listening(capture, |_| true) {
            if let Some(netns) = netns(l) {
                spaces.ports.entry(port).or_default().insert(netns);
            }
        }
        let still = listens(capture, SnapshotWhen::End);
        let begun = listens(capture, SnapshotWhen::Start);
        spaces.listens = begun.intersection(&still).map(|l| (l.0, l.1)).collect();
        spaces
    }

    /// Of an address that one namespace alone has.
    pub fn of_address(&self, address: IpAddr) -> Option<u64> {
        only(self.addresses.get(&address.to_canonical()))
    }

    /// Whether a namespace has an address; `None`: no list has it.
    pub fn has_address(&self, netns: u64, address: IpAddr) -> Option<bool> {
        let of = self.addresses.get(&address.to_canonical())?;
        Some(of.contains(&netns))
    }

    /// Of a process whose sockets are in one alone.
    pub fn of_process(&self, pid: i32) -> Option<u64> {
        only(self.processes.get(&pid))
    }

    /// Of a socket that listens or listened there, and that a process opened or closed.
    pub fn of_listener(&self, at: SocketAddr, pid: i32) -> Option<u64> {
        let by_process = || self.of_process(pid);
        self.of_address(at.ip())
            .or_else(by_process)
            .or_else(|| only(self.ports.get(&at.port())))
    }

    /// Whether one TCP socket listened there from the begin to the end, at an address that one namespace alone has.
    pub fn listens(&self, at: SocketAddr) -> bool {
        self.of_address(at.ip()).is_some_and(|netns| self.listens_in(netns, at))
    }

    /// Of an address that several namespaces have: whether such a socket is in one of them alone.
    pub fn one_listens(&self, at: SocketAddr) -> bool {
        let of = self.addresses.get(&at.ip().to_canonical()).into_iter().flatten();
        of.filter(|netns| self.listens_in(**netns, at)).count() == 1
    }

    fn listens_in(&self, netns: u64, at: SocketAddr) -> bool {
        let ip = at.ip().to_canonical();
        let any = match ip {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        [any, ip]
            .into_iter()
            .any(|ip| self.listens.contains(&(netns, SocketAddr::new(ip, at.port()))))
    }

    /// Whether there are several; `None`: nothing is known of any.
    pub fn several(&self) -> Option<bool> {
        let all = self
            .addresses
            .values()
            .chain(self.ports.values())
            .chain(self.processes.values());
        let all: BTreeSet<u64> = all.flatten().copied().collect();
        (!all.is_empty()).then_some(all.len() > 1)
    }

    /// Whether sockets of several listened at that port; `None`: nothing is known of any.
    pub fn several_listen(&self, port: u16) -> Option<bool> {
        self.ports.get(&port).map(|of| of.len() > 1)
    }
}

/// Where TCP sockets listened then on any device, by namespace, with their cookie: one of a server that was started anew is another.
fn listens(capture: &Capture, then: SnapshotWhen) -> BTreeSet<(u64, SocketAddr, u64)> {
    let of = listening(capture, move |w| w == then);
    let each = of.filter_map(|(port, l)| {
        let (ip, _) = field(l, "src")?.rsplit_once(':')?;
        let ip: IpAddr = ip.trim_matches(['[', ']']).parse().ok()?;
        let ip = ip.to_canonical();
        // It takes those of IPv4, too, where the list says so.
        let both = ip == IpAddr::V6(Ipv6Addr::UNSPECIFIED) && field(l, "v6only") == Some("0");
        let v4 = both.then_some(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let (netns, cookie) = (netns(l)?, super::hex(l, "cookie")?);
        let any_device = super::number(l, "if") == Some(0);
        let ends = [Some(ip), v4].into_iter().flatten().filter(move |_| any_device);
        Some(ends.map(move |ip| (netns, SocketAddr::new(ip, port), cookie)))
    });
    each.flatten().collect()
}

fn netns(line: &str) -> Option<u64> {
    super::number(line, "netns")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::listed;

    fn spaces(of: &[(&str, &str)]) -> Spaces {
        let lists = of.iter().map(|(what, text)| (*what, SnapshotWhen::Start, *text));
        Spaces::of(&listed(&lists.collect::<Vec<_>>()))
    }

    #[test]
    fn what_one_namespace_alone_has_tells_it() {
        let s = spaces(&[
            (
                "addresses",
                "netns=1 ifindex=1 address=127.0.0.1/8\nnetns=1 ifindex=2 address=10.0.0.1/24\nnetns=2 ifindex=1 address=127.0.0.1/8\nnetns=2 ifindex=2 address=10.0.0.2/24\n",
            ),
            (
                "sockets",
                "netns=1 proto=tcp state=listen src=0.0.0.0:80 pids=7,8\nnetns=2 proto=tcp state=listen src=0.0.0.0:80 pids=9\nnetns=2 proto=tcp state=listen src=[::]:443\n",
            ),
        ]);
        let ip = |s: &str| s.parse::<IpAddr>().unwrap();
        assert_eq!(s.of_address(ip("10.0.0.2")), Some(2));
        assert_eq!(s.of_address(ip("::ffff:10.0.0.1")), Some(1));
        // Each has its own loopback; nobody has the last one.
        assert_eq!(
            (s.of_address(ip("127.0.0.1")), s.of_address(ip("10.0.0.3"))),
            (None, None)
        );
        let at = |s: &str| s.parse::<SocketAddr>().unwrap();
        assert_eq!(s.of_listener(at("0.0.0.0:80"), 8), Some(1));
        assert_eq!(s.of_listener(at("0.0.0.0:80"), 1), None);
        assert_eq!(s.of_listener(at("10.0.0.2:80"), 1), Some(2));
        assert_eq!(s.of_listener(at("[::]:443"), 1), Some(2));
        assert_eq!(
            (s.several(), s.several_listen(80), s.several_listen(443)),
            (Some(true), Some(true), Some(false))
        );
        let none = spaces(&[]);
        assert_eq!((none.several(), none.several_listen(80)), (None, None));
        assert_eq!(
            spaces(&[("addresses", "netns=1 address=10.0.0.1/8\nnetns=x address=y\n")]).several(),
            Some(false)
        );
    }

    #[test]
    fn a_socket_that_is_closed_meanwhile_does_not_listen_there() {
        use SnapshotWhen::{End, Start};
        let addresses = ("addresses", Start, "netns=1 ifindex=2 address=10.0.0.1/24\n");
        let line = |src: &str, cookie: u64| {
            format!("netns=1 proto=tcp state=listen src={src} dst=0.0.0.0:0 if=0 cookie={cookie:#x}\n")
        };
        let both = line("10.0.0.1:80", 1)
            + &line("[::]:84", 2).replace('\n', " v6only=0\n")
            + &line("[::]:85", 3).replace('\n', " v6only=1\n")
            + &line("0.0.0.0:86", 4).replace("netns=1", "netns=2")
            + &line("0.0.0.0:87", 5)
            + &line("0.0.0.0:88", 6).replace("if=0", "if=3");
        let begin = both.clone() + &line("127.0.0.1:81", 7) + &line("10.0.0.1:82", 8) + &line("0.0.0.0:83", 9);
        // Of 83 another socket: its server was started anew.
        let end = both + &line("0.0.0.0:83", 10);
        let begin = ("sockets", Start, begin.as_str());
        let at = |s: &Spaces, port| s.listens(SocketAddr::new([10, 0, 0, 1].into(), port));
        // Without a list of the end nothing says that it still did.
        assert!(!at(&Spaces::of(&listed(&[addresses, begin])), 80));
        let s = Spaces::of(&listed(&[addresses, begin, ("sockets", End, &end)]));
        let told: Vec<u16> = (80..89).filter(|port| at(&s, *port)).collect();
        assert_eq!(told, [80, 84, 87]);
    }
}
