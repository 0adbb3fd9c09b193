//! `eth0` or `netns:web/eth0`: which interface, and where.

use std::str::FromStr;

/// An interface whose packets are wanted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TapSpec {
    /// Name (`ip netns`, docker) or inode of its network namespace; `None` is the recorder's own.
    pub netns: Option<String>,
    /// Its name there.
    pub name: String,
}

/// IFNAMSIZ without the NUL.
const MAX_NAME: usize = 15;

impl FromStr for TapSpec {
    type Err = String;

    fn from_str(s: &str) -> Result<TapSpec, String> {
        let (netns, name) = match s.strip_prefix("netns:") {
            None => (None, s),
            Some(rest) => match rest.rsplit_once('/') {
                Some((n, name)) if !n.is_empty() => (Some(n.to_owned()), name),
                _ => return Err(format!("{s:?} names no interface; write netns:NAMESPACE/INTERFACE")),
            },
        };
        if name == "any" {
            return Err("there is no tap for all interfaces at once; name each (ip link lists them)".into());
        }
        if name.is_empty() || name.len() > MAX_NAME || name.contains(['/', ':']) || name.contains(char::is_whitespace) {
            return Err(format!("{name:?} is not the name of an interface"));
        }
        Ok(TapSpec {
            netns,
            name: name.to_owned(),
        })
    }
}

impl std::fmt::Display for TapSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.netns {
            None => f.write_str(&self.name),
            Some(n) => write!(f, "netns:{n}/{}", self.name),
        }
    }
}
