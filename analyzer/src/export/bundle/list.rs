//! A list of names and their pseudonyms that outlives one bundle: bundles redacted with the same list can be compared, and its owner can look up
//! whom a pseudonym stands for.
//!
//! In and out: JSON. Each use of a list has a random word, the last of those that it has had; the bundle says them, too. Of two bundles one of whose last words the other
//! has, one was made with what the other's list became: copies of a list that went on apart do not have each other's. It never leaves its owner otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use super::names::{Names, Of, V4, V6};

/// A pseudonym of a short name, when all short ones are taken, is no longer than this.
const LONGEST: usize = 8;
/// Words that are kept: bundles of older uses are not matched.
const WORDS: usize = 256;
/// Version of the form.
const VERSION: u32 = 1;

/// What stands in the file.
#[derive(Serialize, Deserialize)]
struct File {
    netmortem_names: u32,
    list: Vec<String>,
    names: Vec<Row<Text>>,
    addresses: Vec<Row<IpAddr>>,
    link: Vec<Row<[u8; 6]>>,
    solicited: Vec<Row<[u8; 3]>>,
}

/// A name and its pseudonym.
#[derive(Serialize, Deserialize)]
struct Row<T> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of: Option<Of>,
    name: T,
    pseudonym: T,
}

/// A name: text, or bytes that are none.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Text {
    Text(String),
    Bytes(Vec<u8>),
}

impl Text {
    fn of(bytes: &[u8]) -> Text {
        match std::str::from_utf8(bytes) {
            Ok(text) => Text::Text(text.to_owned()),
            Err(_) => Text::Bytes(bytes.to_vec()),
        }
    }
    fn bytes(self) -> Vec<u8> {
        match self {
            Text::Text(t) => t.into_bytes(),
            Text::Bytes(b) => b,
        }
    }
}

/// Why a list cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ListError {
    /// It is no such file.
    #[error("this is no list of names: {0}")]
    Form(String),
    /// Of a newer program.
    #[error("this list of names is of form {0}, and form {VERSION} is known")]
    Version(u32),
    /// Somebody changed it.
    #[error("two rows of this list of names have the name or the pseudonym {0}, or rows before it are missing")]
    Changed(String),
}

impl Names {
    /// An empty list.
    pub fn new_list() -> Names {
        Names::default().used()
    }

    /// The words of their list, the last one last; empty: they are of none.
    pub fn list(&self) -> &[String] {
        &self.list
    }

    /// One use more.
    fn used(mut self) -> Names {
        let word = || RandomState::new().build_hasher().finish();
        self.list.push(format!("{:016x}", word()));
        let over = self.list.len().saturating_sub(WORDS);
        self.list.drain(..over);
        self
    }

    /// A list that was kept, for one use more.
    pub fn from_list(json: &[u8]) -> Result<Names, ListError> {
        let file: File = serde_json::from_slice(json).map_err(|e| ListError::Form(e.to_string()))?;
        if file.netmortem_names != VERSION {
            return Err(ListError::Version(file.netmortem_names));
        }
        let mut out = Names {
            list: file.list,
            ..Names::default()
        };
        for row in file.names {
            let (name, pseudonym) = (row.name.bytes(), row.pseudonym.bytes());
            let said = || ListError::Changed(String::from_utf8_lossy(&pseudonym).into_owned());
            let of = row.of.ok_or_else(said)?;
            let plain = |b: &u8| b.is_ascii_digit() || b.is_ascii_lowercase();
            let short = !pseudonym.is_empty() && pseudonym.len() <= name.len().max(LONGEST);
            if !short || !pseudonym.iter().all(plain) || pseudonym == name {
                return Err(said());
            }
            let taken = out.taken.insert(pseudonym.clone(), ()).is_some();
            if taken || out.names.insert((of, name), pseudonym.clone()).is_some() {
                return Err(said());
            }
        }
        let (mut v4, mut v6) = (vec![], vec![]);
        for row in file.addresses {
            match (row.name, row.pseudonym) {
                (IpAddr::V4(name), IpAddr::V4(p)) => v4.push((name, p)),
                (IpAddr::V6(name), IpAddr::V6(p)) => v6.push((name, p)),
                (_, p) => return Err(ListError::Changed(p.to_string())),
            }
        }
        let pairs = |rows: Vec<Row<[u8; 6]>>| rows.into_iter().map(|r| (r.name, r.pseudonym)).collect::<Vec<_>>();
        let number = |p: &Ipv4Addr| u32::from(*p).checked_sub(V4).map(u128::from);
        out.v4 = numbered(v4, number, |p| p.to_string())?;
        out.v6 = numbered(v6, |p: &Ipv6Addr| u128::from(*p).checked_sub(V6), |p| p.to_string())?;
        let number = |[.., b, c, d]: &[u8; 6]| Some(u128::from(u32::from_be_bytes([0, *b, *c, *d])));
        out.link = numbered(pairs(file.link), number, |p| format!("{p:?}"))?;
        let ends = file.solicited.into_iter().map(|r| (r.name, r.pseudonym)).collect();
        // Numbered from the last one down.
        let number = |[b, c, d]: &[u8; 3]| Some(0x0100_0000 - u128::from(u32::from_be_bytes([0, *b, *c, *d])));
        out.solicited = numbered(ends, number, |p| format!("{p:?}"))?;
        Ok(out.used())
    }

    /// The list, as a file.
    pub fn to_list(&self) -> String {
        fn rows<K: Copy, T>(of: &BTreeMap<K, K>, with: fn(K) -> T) -> impl Iterator<Item = Row<T>> {
            of.iter().map(move |(name, pseudonym)| Row {
                of: None,
                name: with(*name),
                pseudonym: with(*pseudonym),
            })
        }
        let names = self.names.iter().map(|((of, name), pseudonym)| Row {
            of: Some(*of),
            name: Text::of(name),
            pseudonym: Text::of(pseudonym),
        });
        let file = File {
            netmortem_names: VERSION,
            list: self.list.clone(),
            names: names.collect(),
            addresses: rows(&self.v4, IpAddr::V4).chain(rows(&self.v6, IpAddr::V6)).collect(),
            link: rows(&self.link, |a| a).collect(),
            solicited: rows(&self.solicited, |a| a).collect(),
        };
        serde_json::to_string_pretty(&file).unwrap_or_default()
    }
}

/// A map of names whose pseudonyms are numbered from 1 without a hole, so that the next is nobody's.
fn numbered<K: Ord>(
    rows: Vec<(K, K)>,
    number: impl Fn(&K) -> Option<u128>,
    text: impl Fn(&K) -> String,
) -> Result<BTreeMap<K, K>, ListError> {
    let (all, mut seen, mut out) = (rows.len() as u128, BTreeSet::new(), BTreeMap::new());
    for (name, pseudonym) in rows {
        let said = text(&pseudonym);
        let n = number(&pseudonym).filter(|n| (1..=all).contains(n));
        let new = n.is_some_and(|n| seen.insert(n));
        if !new || out.insert(name, pseudonym).is_some() {
            return Err(ListError::Changed(said));
        }
    }
    Ok(out)
}
