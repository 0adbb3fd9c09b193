//! Pseudonyms: the same name is the same pseudonym everywhere, different names are different ones.
//!
//! A pseudonym is never longer than the name, so that it fits where the kernel put the name. Kept as they are: loopback,
//! unspecified, multicast (but the host's part of solicited-node ones) and broadcast addresses, ports, and the parts of kernel threads' names that the analysis reads
//! (`ksoftirqd/0`, `napi/<device>-<n>`), with a device in them replaced.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// What a name is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Of {
    /// A task.
    Task,
    /// A network device.
    Dev,
    /// Anything else: an interrupt, a namespace, a file.
    Other,
}

/// Names and their pseudonyms.
#[derive(Debug, Default)]
pub struct Names {
    /// Words of the list that they are of; empty: of none that is kept.
    pub(super) list: Vec<String>,
    pub(super) names: BTreeMap<(Of, Vec<u8>), Vec<u8>>,
    pub(super) taken: BTreeMap<Vec<u8>, ()>,
    pub(super) next: [u64; 3],
    pub(super) v4: BTreeMap<Ipv4Addr, Ipv4Addr>,
    pub(super) v6: BTreeMap<Ipv6Addr, Ipv6Addr>,
    /// Last three bytes of solicited-node addresses.
    pub(super) solicited: BTreeMap<[u8; 3], [u8; 3]>,
    /// Link-layer addresses.
    pub(super) link: BTreeMap<[u8; 6], [u8; 6]>,
}

/// Pseudonyms are numbered from here: a block that no host may have (240.0.0.0/4).
pub(super) const V4: u32 = 0xf000_0000;
/// The same: 2001:db8::/32, for documentation.
pub(super) const V6: u128 = 0x2001_0db8_u128 << 96;
/// Threads of the kernel whose names say nothing of a host.
const KERNEL: [&[u8]; 6] = [
    b"ksoftirqd/",
    b"swapper/",
    b"migration/",
    b"cpuhp/",
    b"backlog_napi/",
    b"rcu",
];

impl Names {
    /// The pseudonym of a device.
    pub fn dev(&mut self, name: &[u8]) -> Vec<u8> {
        match name {
            // What napi_poll prints for a NAPI without a device, and the one device that every host has.
            b"" | b"(no_device)" | b"lo" => name.to_vec(),
            _ => self.of(Of::Dev, name),
        }
    }

    /// The pseudonym of a task's name.
    pub fn task(&mut self, name: &[u8]) -> Vec<u8> {
        let known = KERNEL.iter().find_map(|k| name.strip_prefix(*k));
        let number = |rest: &[u8]| rest.iter().all(|b| b.is_ascii_digit());
        if name.is_empty() || name == b"<idle>" || known.is_some_and(number) {
            return name.to_vec();
        }
        if let Some(rest) = name.strip_prefix(b"napi/") {
            // The kernel's tail is a number; another one is part of the device's name.
            let cut = rest.iter().rposition(|b| *b == b'-');
            let cut = cut.filter(|at| rest.get(at + 1..).is_some_and(number));
            let cut = cut.unwrap_or(rest.len());
            let (dev, tail) = rest.split_at(cut);
            return [b"napi/".to_vec(), self.dev(dev), tail.to_vec()].concat();
        }
        self.of(Of::Task, name)
    }

    /// The pseudonym of another name.
    pub fn other(&mut self, name: &[u8]) -> Vec<u8> {
        match name {
            b"" => vec![],
            _ => self.of(Of::Other, name),
        }
    }

    fn of(&mut self, of: Of, name: &[u8]) -> Vec<u8> {
        let key = (of, name.to_vec());
        if let Some(p) = self.names.get(&key) {
            return p.clone();
        }
        let (letter, at) = match of {
            Of::Task => ('t', 0),
            Of::Dev => ('d', 1),
            Of::Other => ('n', 2),
        };
        let mut found = None;
        while found.is_none() {
            let n = self.next.get(at).copied().unwrap_or(0);
            if let Some(next) = self.next.get_mut(at) {
                *next += 1;
            }
            let p = format!("{letter}{}", base36(n)).into_bytes();
            if p.len() > name.len() {
                // Too short for its kind's names: any that is free, counted from the first.
                found = (0..)
                    .map(|n| base36(n).into_bytes())
                    .find(|p| !self.taken.contains_key(p));
                // A name of one letter when all are taken: names are then longer than they were.
            } else if p != name && !self.taken.contains_key(&p) {
                found = Some(p);
            }
        }
        let p = found.unwrap_or_default();
        self.taken.insert(p.clone(), ());
        self.names.insert(key, p.clone());
        p
    }

    /// The pseudonym of an address.
    pub fn ip(&mut self, ip: IpAddr) -> IpAddr {
        match ip {
            IpAddr::V4(a) => IpAddr::V4(self.v4(a)),
            IpAddr::V6(a) => IpAddr::V6(self.v6(a)),
        }
    }

    fn v4(&mut self, a: Ipv4Addr) -> Ipv4Addr {
        if a.is_loopback() || a.is_unspecified() || a.is_multicast() || a.is_broadcast() {
            return a;
        }
        let n = self.v4.len() as u32 + 1;
        *self.v4.entry(a).or_insert_with(|| Ipv4Addr::from(V4.wrapping_add(n)))
    }

    fn v6(&mut self, a: Ipv6Addr) -> Ipv6Addr {
        // ff02::1:ffXX:XXXX (RFC 4291, 2.7.1) ends as the unicast address that is asked for does.
        let [head @ .., x, y, z] = a.octets();
        if head == [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff] {
            // From the last one down, so that it is not taken for the end of another pseudonym. All ends have one.
            let [_, p, q, r] = (0x00ff_ffff_u32.wrapping_sub(self.solicited.len() as u32)).to_be_bytes();
            let [p, q, r] = *self.solicited.entry([x, y, z]).or_insert([p, q, r]);
            return Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(p), u16::from_be_bytes([q, r]));
        }
        if a.is_loopback() || a.is_unspecified() || a.is_multicast() {
            return a;
        }
        if let Some(v4) = a.to_ipv4_mapped() {
            return self.v4(v4).to_ipv6_mapped();
        }
        let n = self.v6.len() as u128 + 1;
        *self.v6.entry(a).or_insert_with(|| Ipv6Addr::from(V6 | n))
    }

    /// The pseudonym of a link-layer address of Ethernet; none, broadcast and multicast ones stay.
    pub fn link(&mut self, a: [u8; 6]) -> [u8; 6] {
        let [first, ..] = a;
        if a == [0; 6] || first & 1 != 0 {
            return a;
        }
        // Locally administered.
        let [_, b, c, d] = (self.link.len() as u32 + 1).to_be_bytes();
        *self.link.entry(a).or_insert([0x02, 0x4e, 0x4d, b, c, d])
    }

    /// The pseudonym of `1.2.3.4:80` or `[::1]:80`; what is neither becomes empty.
    pub fn socket(&mut self, text: &str) -> String {
        match text.parse::<SocketAddr>() {
            Ok(a) => SocketAddr::new(self.ip(a.ip()), a.port()).to_string(),
            Err(_) => String::new(),
        }
    }

    /// Names and addresses that have a pseudonym: how many.
    pub fn counts(&self) -> (usize, usize) {
        let addresses = self.v4.len() + self.v6.len() + self.solicited.len() + self.link.len();
        (self.names.len(), addresses)
    }
}

fn base36(mut n: u64) -> String {
    let mut out = vec![];
    loop {
        out.push(char::from_digit((n % 36) as u32, 36).unwrap_or('0'));
        n /= 36;
        if n == 0 {
            return out.into_iter().rev().collect();
        }
    }
}
