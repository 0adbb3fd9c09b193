//! Which end of a connection a socket is.

use super::states::{ESTABLISHED, SYN_RECV, SYN_SENT};

/// Which end of a connection a socket is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Opened it.
    Client,
    /// Accepted it.
    Server,
}

impl Role {
    /// As in tables.
    pub fn word(self) -> &'static str {
        match self {
            Role::Client => "client",
            Role::Server => "server",
        }
    }
}

/// What says which end a socket is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RoleBy {
    /// Its states.
    Handshake,
    /// Its ports: the server's is the lower one.
    Ports,
}

impl RoleBy {
    /// As in tables.
    pub fn word(self) -> &'static str {
        match self {
            RoleBy::Handshake => "handshake",
            RoleBy::Ports => "ports",
        }
    }
}

/// What a socket that was accepted is born with.
const ACCEPTED: [i32; 2] = [ESTABLISHED, SYN_RECV];

/// By the first state seen of it; else by its own port and its peer's.
pub fn role(born: Option<i32>, sport: u16, dport: u16) -> (Role, RoleBy) {
    match born {
        Some(SYN_SENT) => (Role::Client, RoleBy::Handshake),
        Some(s) if ACCEPTED.contains(&s) => (Role::Server, RoleBy::Handshake),
        _ if sport < dport => (Role::Server, RoleBy::Ports),
        _ => (Role::Client, RoleBy::Ports),
    }
}
