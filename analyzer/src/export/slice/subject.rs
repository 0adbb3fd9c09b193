//! What is asked for: flows and devices.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::facts::Facts;
use crate::reconstruct::tcp::tables::ConnectionRow;

/// Connections listed when none fits.
const LISTED: usize = 6;

/// Flows and devices. With both, a packet is meant that is of one of the flows and passed one of the devices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subject {
    /// Flows; none: all.
    pub flows: Vec<Flow>,
    /// Names of devices; none: all.
    pub devs: Vec<String>,
}

/// One flow, or several that have an end in common. Either end may be the recorded host's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flow {
    /// Column `connection` of `connections`.
    Connection(u32),
    /// One end, or two.
    Ends(Ends),
}

/// Ends of a flow: what is `None` may be anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    one: (Option<IpAddr>, Option<u16>),
    other: (Option<IpAddr>, Option<u16>),
}

impl Ends {
    /// Whether a connection has these ends, seen from either side.
    pub fn are_of(&self, c: &ConnectionRow) -> bool {
        self.are((c.saddr, c.sport), (c.daddr, c.dport))
    }

    /// Whether a socket has the first of them itself and speaks to the second.
    pub fn are_in_order(&self, c: &ConnectionRow) -> bool {
        fits(self.one, c.saddr, c.sport) && fits(self.other, c.daddr, c.dport)
    }

    /// Those of one connection, where both are known.
    pub(super) fn of(c: &ConnectionRow) -> Option<Ends> {
        let end = |ip: Option<IpAddr>, port: u16| ip.filter(|_| port != 0).map(|ip| (Some(ip), Some(port)));
        Some(Ends {
            one: end(c.saddr, c.sport)?,
            other: end(c.daddr, c.dport)?,
        })
    }

    /// Whether a packet or socket with these two ends is of the flow.
    pub(super) fn are(&self, a: (Option<IpAddr>, u16), b: (Option<IpAddr>, u16)) -> bool {
        let pair = |one, other| fits(one, a.0, a.1) && fits(other, b.0, b.1);
        pair(self.one, self.other) || pair(self.other, self.one)
    }
}

fn fits(of: (Option<IpAddr>, Option<u16>), ip: Option<IpAddr>, port: u16) -> bool {
    of.0.is_none_or(|a| ip == Some(a)) && of.1.is_none_or(|p| p == port)
}

impl Subject {
    /// The flows as ends.
    pub(super) fn ends(&self, facts: &Facts) -> Result<Vec<Ends>, String> {
        let one = |f: &Flow| match f {
            Flow::Ends(e) => Ok(*e),
            Flow::Connection(n) => {
                let row = facts.connections.iter().find(|c| c.connection.0 == *n);
                let row = row.ok_or_else(|| match facts.connections.len() {
                    0 => "no TCP connection was seen in this recording".to_owned(),
                    all => format!("there is no conn:{n}: connections are conn:0 to conn:{}", all - 1),
                })?;
                Ok(Ends {
                    one: (row.saddr, Some(row.sport)),
                    other: (row.daddr, Some(row.dport)),
                })
            }
        };
        self.flows.iter().map(one).collect()
    }

    /// Connections of the flows; an error where a flow has none.
    pub fn connections<'f>(&self, facts: &'f Facts) -> Result<Vec<&'f ConnectionRow>, String> {
        let ends = self.ends(facts)?;
        self.check(facts, &ends)?;
        let own = |c: &&ConnectionRow| ends.iter().any(|e| e.are_of(c));
        Ok(facts.connections.iter().filter(own).collect())
    }

    /// Whether the recording has anything of it.
    pub(super) fn check(&self, facts: &Facts, ends: &[Ends]) -> Result<(), String> {
        let any = |e: &Ends| facts.connections.iter().any(|c| e.are_of(c));
        if let Some((flow, _)) = self.flows.iter().zip(ends).find(|(_, e)| !any(e)) {
            let of = facts.connections.iter().take(LISTED).map(|c| {
                let ip = |a: Option<IpAddr>| a.map_or_else(|| "?".to_owned(), bracketed);
                format!(
                    "conn:{} {}:{}-{}:{}",
                    c.connection.0,
                    ip(c.saddr),
                    c.sport,
                    ip(c.daddr),
                    c.dport
                )
            });
            let listed: Vec<String> = of.collect();
            let more = facts.connections.len().saturating_sub(LISTED);
            return Err(match (listed.is_empty(), more) {
                (true, _) => "no TCP connection was seen in this recording".to_owned(),
                (_, 0) => format!("no connection is {flow}; there are: {}", listed.join(", ")),
                (_, n) => format!("no connection is {flow}; there are: {} and {n} more", listed.join(", ")),
            });
        }
        let mut seen: Vec<_> = facts.hops.iter().map(|h| h.dev).collect();
        seen.sort_unstable();
        seen.dedup();
        let seen: Vec<_> = seen.iter().map(|d| d.text()).collect();
        match self.devs.iter().find(|d| seen.iter().all(|s| s != *d)) {
            Some(dev) => Err(format!(
                "no packet passed a device {dev}; devices are: {}",
                seen.join(", ")
            )),
            None => Ok(()),
        }
    }
}

fn bracketed(a: IpAddr) -> String {
    match a {
        IpAddr::V4(a) => a.to_string(),
        IpAddr::V6(a) => format!("[{a}]"),
    }
}

impl FromStr for Flow {
    type Err = String;

    fn from_str(text: &str) -> Result<Flow, String> {
        let wrong = || {
            format!(
                "`{text}` is no flow: conn:3, a port like :443, an end like 10.0.0.1:443 or [::1]:443, or two ends like 10.0.0.1:443-10.0.0.2:5000"
            )
        };
        if let Some(n) = text.strip_prefix("conn:") {
            return n.parse().map(Flow::Connection).map_err(|_| wrong());
        }
        let none = (None, None);
        let (one, other) = match text.split_once('-') {
            None => (end(text), Some(none)),
            Some((a, b)) => (end(a), end(b)),
        };
        let ends = one.zip(other).filter(|(one, _)| *one != none);
        ends.map(|(one, other)| Flow::Ends(Ends { one, other }))
            .ok_or_else(wrong)
    }
}

/// `10.0.0.1`, `10.0.0.1:443`, `[::1]:443`, `::1`, `:443` or `443`.
fn end(text: &str) -> Option<(Option<IpAddr>, Option<u16>)> {
    let port = text.strip_prefix(':').unwrap_or(text);
    if let Ok(port) = port.parse::<u16>() {
        return Some((None, Some(port).filter(|p| *p != 0)));
    }
    if let Ok(ip) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Some((Some(ip), None));
    }
    let both: std::net::SocketAddr = text.parse().ok()?;
    Some((Some(both.ip()), Some(both.port())))
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |(ip, port): (Option<IpAddr>, Option<u16>)| {
            let port = port.map_or_else(String::new, |p| format!(":{p}"));
            ip.map_or_else(String::new, bracketed) + &port
        };
        match self {
            Flow::Connection(n) => write!(f, "conn:{n}"),
            Flow::Ends(e) if e.other == (None, None) => f.write_str(&one(e.one)),
            Flow::Ends(e) => write!(f, "{}-{}", one(e.one), one(e.other)),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flows: Vec<String> = self.flows.iter().map(|f| format!("flow {f}")).collect();
        let devs: Vec<String> = self.devs.iter().map(|d| format!("device {d}")).collect();
        let parts = [flows, devs].into_iter().filter(|p| !p.is_empty());
        let parts: Vec<String> = parts.map(|p| p.join(" or ")).collect();
        f.write_str(&parts.join(", and "))
    }
}
