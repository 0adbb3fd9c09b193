//! Ids as the report prints them: `skb:123`, `rx:45`, `conn:3`.

use std::fmt;
use std::str::FromStr;

/// What an id names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A row of `skbs`, by `skb_id`.
    Skb,
    /// Rows of `rx`, by `skb_id`.
    Rx,
    /// Rows of `tx`, by `skb_id`.
    Tx,
    /// A row of `connections`, by `connection`.
    Conn,
    /// A row of `drops`, by its place from 0.
    Drop,
    /// A row of `retransmits`, by its place from 0.
    Retransmit,
    /// A row of `softirqs`, by its place from 0.
    Softirq,
    /// A row of `polls`, by its place from 0.
    Poll,
    /// A row of `responses`, by its place from 0.
    Response,
    /// A row of `turnarounds`, by its place from 0.
    Turnaround,
    /// A row of `opens`, by its place from 0.
    Open,
    /// A row of `resets`, by its place from 0.
    Reset,
    /// A row of `udp_turns`, by its place from 0.
    UdpTurn,
    /// A row of `udp_sockets`, by its place from 0.
    UdpSocket,
    /// A row of `xmits`, by its place from 0.
    Xmit,
    /// A row of `neighbours`, by its place from 0.
    Neighbour,
}

impl Kind {
    /// All.
    pub const ALL: [Kind; 16] = [
        Kind::Skb,
        Kind::Rx,
        Kind::Tx,
        Kind::Conn,
        Kind::Drop,
        Kind::Retransmit,
        Kind::Softirq,
        Kind::Poll,
        Kind::Response,
        Kind::Turnaround,
        Kind::Open,
        Kind::Reset,
        Kind::UdpTurn,
        Kind::UdpSocket,
        Kind::Xmit,
        Kind::Neighbour,
    ];
    /// The word before the colon.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Skb => "skb",
            Kind::Rx => "rx",
            Kind::Tx => "tx",
            Kind::Conn => "conn",
            Kind::Drop => "drop",
            Kind::Retransmit => "retransmit",
            Kind::Softirq => "softirq",
            Kind::Poll => "poll",
            Kind::Response => "response",
            Kind::Turnaround => "turnaround",
            Kind::Open => "open",
            Kind::Reset => "reset",
            Kind::UdpTurn => "udp_turn",
            Kind::UdpSocket => "udp_socket",
            Kind::Xmit => "xmit",
            Kind::Neighbour => "neighbour",
        }
    }
    /// The view whose rows it names.
    pub fn view(self) -> &'static str {
        match self {
            Kind::Skb => "skbs",
            Kind::Rx => "rx",
            Kind::Tx => "tx",
            Kind::Conn => "connections",
            Kind::Drop => "drops",
            Kind::Retransmit => "retransmits",
            Kind::Softirq => "softirqs",
            Kind::Poll => "polls",
            Kind::Response => "responses",
            Kind::Turnaround => "turnarounds",
            Kind::Open => "opens",
            Kind::Reset => "resets",
            Kind::UdpTurn => "udp_turns",
            Kind::UdpSocket => "udp_sockets",
            Kind::Xmit => "xmits",
            Kind::Neighbour => "neighbours",
        }
    }
}

/// An id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id {
    /// What it names.
    pub kind: Kind,
    /// Which.
    pub number: u32,
}

impl Id {
    /// An id.
    pub fn new(kind: Kind, number: u32) -> Id {
        Id { kind, number }
    }
}

impl Id {
    /// Of a row that is one of these, which are all of its view; `None` where it is not.
    pub fn of_row<R>(kind: Kind, rows: &[R], row: &R) -> Option<Id> {
        // By its address: a search would read the view again for every row of a long answer.
        Id::at(kind, rows.element_offset(row)?)
    }
    /// Of a row by its place.
    pub fn at(kind: Kind, place: usize) -> Option<Id> {
        Some(Id::new(kind, u32::try_from(place).ok()?))
    }
}

/// As it is typed.
impl serde::Serialize for Id {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.word(), self.number)
    }
}

impl FromStr for Id {
    type Err = String;

    fn from_str(s: &str) -> Result<Id, String> {
        let known = || {
            let words: Vec<String> = Kind::ALL.iter().map(|k| format!("{}:N", k.word())).collect();
            format!("an id is one of {}; for example skb:123", words.join(", "))
        };
        let (word, number) = s
            .split_once(':')
            .ok_or_else(|| format!("`{s}` is no id: {}", known()))?;
        // As columns call it.
        let word = if word == "connection" { "conn" } else { word };
        let kind = Kind::ALL.into_iter().find(|k| k.word() == word);
        let kind = kind.ok_or_else(|| format!("`{word}` is no kind of id: {}", known()))?;
        let plain = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        let number = number.parse().ok().filter(|_| plain);
        let number =
            number.ok_or_else(|| format!("`{s}`: what follows the colon is no number; for example {word}:12"))?;
        Ok(Id { kind, number })
    }
}
