//! What is told of RSTs of one kind: who sent them, of which connections, and why.
//!
//! Filled from the view `resets`; words of it are in the verdict. Of attempts that were refused, and of connections turned away, none is among them.

use super::{Aborted, Moved, Rejected};
use crate::explain::Id;

/// RSTs of the same kind.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Reset {
    /// It came; else TCP of this host sent it.
    pub received: bool,
    /// Of one that came: `peer`, `between`, or empty where the peer is not in the recording. Of one sent: `here`.
    pub sender: &'static str,
    /// Ends of the first, the local one first.
    pub label: String,
    /// Why it was sent, with ` (inferred)` where the kernel does not say; empty: not told.
    pub reason: String,
    /// How many.
    pub resets: u64,
    /// The first.
    pub first: Option<Id>,
    /// When it was.
    pub first_ns: i64,
    /// Nothing was lost that could tell otherwise.
    pub sure: bool,
    /// Each was sent by a host of this recording that has the peer's address, too, and no such socket.
    pub twin: bool,
    /// Each by one that listens at the peer's address and port, too, and did not know the connection.
    pub listens: bool,
    /// Of either, the device by which their last frames went, in place of the one before; most first.
    pub moved: Vec<Moved>,
    /// How often the link-layer address that hosts had for theirs changed meanwhile, there and back.
    pub flapped: u64,
    /// Each by another server than the one that the connection was with, which sent none: a translation changed; inferred.
    pub elsewhere: bool,
    /// Each because its server's packets came to the client from the server's own end, which is this; empty: none. Inferred.
    pub untranslated: String,
    /// When each was, ns since the start of the recording; only of these.
    #[serde(skip)]
    pub times: Vec<i64>,
    /// Length of the recording, ns.
    #[serde(skip)]
    pub duration_ns: i64,
    /// Closed by the peer's program with data unread: how many, and what it had sent and not read.
    pub aborted: Option<Aborted>,
    /// A rule of a host of this recording answered so what it dropped; only of such that neither end sent.
    pub rejected: Option<Rejected>,
    /// Each after a complete exchange, by the program that opened the connection.
    pub complete: bool,
    /// Of these `task/thread`, or the task of several threads; else empty.
    pub by: String,
}
