//! States of a TCP socket (include/net/tcp_states.h).

/// A handshake is over.
pub const ESTABLISHED: i32 = 1;
/// SYN sent.
pub const SYN_SENT: i32 = 2;
/// SYN received.
pub const SYN_RECV: i32 = 3;
/// Closed here, FIN not acknowledged.
pub const FIN_WAIT1: i32 = 4;
/// FIN acknowledged.
pub const FIN_WAIT2: i32 = 5;
/// Never told: a full socket goes from FIN_WAIT2 to CLOSE.
pub const TIME_WAIT: i32 = 6;
/// No connection.
pub const CLOSE: i32 = 7;
/// The peer closed.
pub const CLOSE_WAIT: i32 = 8;
/// Both closed, the peer first.
pub const LAST_ACK: i32 = 9;
/// Waits for connections.
pub const LISTEN: i32 = 10;
/// Both closed at once.
pub const CLOSING: i32 = 11;

/// Names by number; 0 does not occur.
pub const NAMES: [&str; 14] = [
    "",
    "ESTABLISHED",
    "SYN_SENT",
    "SYN_RECV",
    "FIN_WAIT1",
    "FIN_WAIT2",
    "TIME_WAIT",
    "CLOSE",
    "CLOSE_WAIT",
    "LAST_ACK",
    "LISTEN",
    "CLOSING",
    "NEW_SYN_RECV",
    "BOUND_INACTIVE",
];
