//! How units begin, are read and end, and what cuts them: the words of `rx`.

/// How a unit's story ends in the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum RxEnd {
    /// Its last byte was read.
    Read,
    /// A TCP segment without payload: done when the protocol had it.
    Protocol,
    /// Put in a receive queue; no read of it was seen.
    #[default]
    Queued,
    /// As that, and its socket was closed: it was thrown away, or nothing more can tell.
    Closed,
}

impl RxEnd {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            RxEnd::Read => "read",
            RxEnd::Protocol => "protocol",
            RxEnd::Queued => "queued",
            RxEnd::Closed => "closed",
        }
    }
}

/// First event of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum RxStart {
    /// The hard interrupt that led to its poll.
    Irq,
    /// `netif_rx`: queued to a CPU's backlog (loopback, veth, tunnel).
    NetifRx,
    /// `napi_gro_receive_entry` or `napi_gro_frags_entry`.
    Gro,
    /// `netif_receive_skb` or `netif_receive_skb_entry`.
    #[default]
    Receive,
}

impl RxStart {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            RxStart::Irq => "irq",
            RxStart::NetifRx => "netif_rx",
            RxStart::Gro => "gro",
            RxStart::Receive => "receive",
        }
    }
}

/// What says that a unit was read, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReadBy {
    /// `skb_copy_datagram_iovec` took its last byte.
    Copy,
    /// `sock_recv_length` alone: no copy event (linear UDP datagrams, MSG_TRUNC, zero-copy receive).
    RecvLength,
    /// `splice(2)` returned its bytes; `tcp_rcv_space_adjust` says when.
    Splice,
    /// `tcp_rcv_space_adjust` alone (`tcp_read_sock`: kTLS, iSCSI, NVMe, sockmap): how many bytes is not recorded.
    SpaceAdjust,
    /// Freed by the reading thread inside its call (`skb_consume_udp`).
    Consume,
    /// A later unit of the stream was read: not later than that.
    Order,
}

impl ReadBy {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            ReadBy::Copy => "copy",
            ReadBy::RecvLength => "recv_length",
            ReadBy::Splice => "splice",
            ReadBy::SpaceAdjust => "space_adjust",
            ReadBy::Consume => "consume",
            ReadBy::Order => "order",
        }
    }
}

/// Why a row's total is only a lower bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Censored {
    /// Under way when the recording, or recording again after a loss, began.
    Start,
    /// Waiting when the recording ended.
    End,
    /// Waiting when events were lost, or in a socket whose queue was not known since.
    Loss,
}

impl Censored {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Censored::Start => "start",
            Censored::End => "end",
            Censored::Loss => "loss",
        }
    }
}
