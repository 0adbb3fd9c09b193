//! What a rise of a counter means. One line adds one. Sources: Documentation/networking/snmp_counter.rst and statistics.rst,
//! include/uapi/linux/{snmp,if_link}.h, and where the kernel counts it.

/// How much a rise says, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    /// Packets were lost where no event of the stack tells: in the card or its driver.
    LostUnseen,
    /// Packets or connections were lost on this host.
    Lost,
    /// Something ran short: memory, a queue, the budget of a softirq.
    Short,
    /// A sign of loss or trouble on the way or at the peer.
    Sign,
}

use Meaning::{Lost, LostUnseen, Short, Sign};

/// Counters of a namespace, by the name `nstat` gives them.
const NAMED: [(&str, Meaning, &str); 72] = [
    (
        "TcpExtListenOverflows",
        Lost,
        "SYNs and handshakes dropped by a full accept queue, retries included: the listener accepts too slowly, or its backlog is small",
    ),
    (
        "TcpExtListenDrops",
        Lost,
        "SYNs and handshakes dropped at a listening socket, for whatever reason; includes ListenOverflows",
    ),
    (
        "TcpExtTCPReqQFullDrop",
        Lost,
        "SYNs dropped because the SYN queue was full and SYN cookies are off",
    ),
    (
        "TcpExtTCPReqQFullDoCookies",
        Short,
        "the SYN queue was full; SYN cookies were sent",
    ),
    (
        "TcpExtTCPBacklogDrop",
        Lost,
        "packets dropped because the backlog of a socket in use was full",
    ),
    (
        "TcpExtTCPRcvQDrop",
        Lost,
        "segments dropped because the receive queue had no memory left",
    ),
    (
        "TcpExtTCPOFOQueue",
        Sign,
        "TCP segments that came behind a missing one: lost or overtaken on the way to this host, or in it",
    ),
    (
        "TcpExtTCPOFODrop",
        Lost,
        "segments out of order dropped for want of receive memory",
    ),
    (
        "TcpExtRcvPruned",
        Lost,
        "segments dropped because receive memory was short and nothing could be collapsed",
    ),
    (
        "TcpExtOfoPruned",
        Lost,
        "times a queue of segments out of order was thrown away for want of memory; the peer sends them again",
    ),
    (
        "TcpExtPruneCalled",
        Short,
        "receive memory of a socket was short: its queue was collapsed or pruned",
    ),
    (
        "TcpExtTCPRcvCollapsed",
        Short,
        "skbs collapsed into one to save receive memory",
    ),
    (
        "TcpExtTCPMemoryPressures",
        Short,
        "TCP as a whole ran into memory pressure (tcp_mem)",
    ),
    (
        "TcpExtTCPAbortOnMemory",
        Lost,
        "connections ended because memory for orphans was short",
    ),
    (
        "TcpExtTCPAbortOnTimeout",
        Lost,
        "connections ended because the peer did not answer",
    ),
    (
        "TcpExtTCPAbortOnData",
        Sign,
        "connections reset at their close: SO_LINGER of 0, data that came after it, or TCP_LINGER2 below 0",
    ),
    (
        "TcpExtTCPAbortOnClose",
        Sign,
        "connections closed with data unread in the queue, and reset",
    ),
    (
        "TcpExtTCPAbortOnLinger",
        Sign,
        "connections whose FIN_WAIT2 was cut short by TCP_LINGER2 below 0",
    ),
    ("TcpExtTCPAbortFailed", Lost, "resets that could not be sent"),
    (
        "TcpExtTCPTimeWaitOverflow",
        Short,
        "TIME_WAIT sockets over tcp_max_tw_buckets",
    ),
    (
        "TcpExtTCPWqueueTooBig",
        Short,
        "a write queue too full of small skbs to be cut",
    ),
    ("TcpExtTCPMinTTLDrop", Lost, "packets below the socket's IP_MINTTL"),
    (
        "TcpExtPFMemallocDrop",
        Lost,
        "packets dropped that the card received into emergency memory",
    ),
    (
        "TcpExtTCPZeroWindowDrop",
        Lost,
        "segments dropped because the window told to the peer was zero",
    ),
    (
        "TcpExtTCPToZeroWindowAdv",
        Sign,
        "windows of zero told to a peer: a reader here was too slow",
    ),
    (
        "TcpExtTCPWantZeroWindowAdv",
        Sign,
        "windows of zero that could not be told, as they would shrink",
    ),
    ("TcpExtTCPFromZeroWindowAdv", Sign, "windows opened again after zero"),
    ("TcpExtTCPTimeouts", Sign, "retransmission timers that ran out"),
    (
        "TcpExtTCPSpuriousRTOs",
        Sign,
        "retransmission timeouts without need (F-RTO)",
    ),
    ("TcpExtTCPLossProbes", Sign, "tail loss probes sent"),
    (
        "TcpExtTCPLossProbeRecovery",
        Sign,
        "losses at the tail that a probe mended",
    ),
    ("TcpExtTCPLostRetransmit", Sign, "retransmissions that were lost too"),
    ("TcpExtTCPFastRetrans", Sign, "segments sent again by fast retransmit"),
    ("TcpExtTCPSlowStartRetrans", Sign, "segments sent again after a timeout"),
    (
        "TcpExtTCPRetransFail",
        Short,
        "retransmissions that the device or qdisc below refused",
    ),
    ("TcpExtTCPSynRetrans", Sign, "SYNs or their answers sent again"),
    ("TcpExtTCPSackRecovery", Sign, "recoveries from loss by SACK"),
    ("TcpExtTCPRenoRecovery", Sign, "recoveries from loss without SACK"),
    (
        "TcpExtTCPSACKReneging",
        Sign,
        "peers that threw away what they had acknowledged by SACK",
    ),
    (
        "TcpExtTCPSackFailures",
        Sign,
        "recoveries by SACK that ended in a timeout",
    ),
    ("TcpExtTCPRenoFailures", Sign, "recoveries that ended in a timeout"),
    (
        "TcpExtTCPDSACKRecv",
        Sign,
        "what was sent again had arrived (DSACK of the peer): retransmitted without need",
    ),
    ("TcpExtTCPDSACKOldSent", Sign, "segments that arrived twice"),
    (
        "TcpExtTCPChallengeACK",
        Sign,
        "challenge ACKs: a segment did not fit its connection",
    ),
    (
        "TcpExtPAWSEstab",
        Lost,
        "segments thrown away for their timestamp (PAWS)",
    ),
    (
        "TcpExtLockDroppedIcmps",
        Sign,
        "ICMP messages dropped because the socket was locked",
    ),
    (
        "TcpExtSyncookiesFailed",
        Lost,
        "handshakes dropped for a wrong SYN cookie",
    ),
    (
        "TcpExtIPReversePathFilter",
        Lost,
        "packets dropped by the reverse path filter (rp_filter)",
    ),
    ("IpExtInNoRoutes", Lost, "packets without a route"),
    ("IpExtInTruncatedPkts", Lost, "packets shorter than their header says"),
    ("IpExtInCsumErrors", Lost, "packets with a wrong IP checksum"),
    ("TcpInErrs", Lost, "damaged TCP segments"),
    ("TcpInCsumErrors", Lost, "TCP segments with a wrong checksum"),
    (
        "TcpRetransSegs",
        Sign,
        "TCP segments sent again, and those that a queue refused (TCPRetransFail)",
    ),
    ("TcpAttemptFails", Sign, "connections that were not established"),
    ("TcpEstabResets", Sign, "established connections that were reset"),
    (
        "UdpRcvbufErrors",
        Lost,
        "datagrams dropped because the socket's receive buffer was full: the reader was too slow",
    ),
    (
        "UdpSndbufErrors",
        Lost,
        "datagrams not sent for want of send buffer, or refused by the qdisc",
    ),
    ("UdpNoPorts", Sign, "datagrams to a port that nobody has open"),
    (
        "UdpInErrors",
        Lost,
        "datagrams not delivered; contains RcvbufErrors and InCsumErrors",
    ),
    ("UdpInCsumErrors", Lost, "datagrams with a wrong checksum"),
    (
        "UdpMemErrors",
        Lost,
        "datagrams dropped because UDP as a whole ran out of memory (udp_mem)",
    ),
    (
        "IpInHdrErrors",
        Lost,
        "IP headers that were wrong, or a TTL that ran out",
    ),
    ("IpInAddrErrors", Lost, "packets to an address that is not this host's"),
    (
        "IpInDiscards",
        Lost,
        "received packets dropped for want of memory or by a filter",
    ),
    (
        "IpOutDiscards",
        Lost,
        "packets to be sent that were dropped for want of memory or refused",
    ),
    ("IpOutNoRoutes", Lost, "packets to be sent without a route"),
    (
        "IpReasmFails",
        Lost,
        "datagrams whose fragments did not all come in time, or did not fit",
    ),
    ("IpFragFails", Lost, "packets that were too large and must not be cut"),
    (
        "IpReasmTimeout",
        Lost,
        "fragments thrown away because others did not come in time",
    ),
    ("IcmpInCsumErrors", Lost, "ICMP messages with a wrong checksum"),
    ("IcmpOutErrors", Sign, "ICMP messages that could not be sent"),
];

/// What a rise means; `None` for counters of what is well.
pub fn of(source: &str, name: &str) -> Option<(Meaning, &'static str)> {
    match source {
        "snmp" | "netstat" => NAMED
            .iter()
            .find(|(n, _, _)| *n == name)
            .map(|(_, m, says)| (*m, *says)),
        // IPv6 counts under the same names (`Udp6RcvbufErrors`); what it calls otherwise is below.
        "snmp6" => match name {
            "Ip6InNoRoutes" => Some((Lost, "packets without a route")),
            "Ip6InTooBigErrors" => Some((Lost, "packets larger than the next link takes")),
            _ => {
                let four = name.replacen('6', "", 1);
                NAMED
                    .iter()
                    .find(|(n, _, _)| *n == four)
                    .map(|(_, m, says)| (*m, *says))
            }
        },
        "softnet" => match name {
            "dropped" => Some((
                Lost,
                "packets dropped because a CPU's backlog was full (net.core.netdev_max_backlog)",
            )),
            "time_squeeze" => Some((
                Short,
                "NET_RX runs that ended with work left (netdev_budget, netdev_budget_usecs)",
            )),
            "flow_limit_count" => Some((Lost, "packets dropped by the flow limit of a CPU's backlog")),
            _ => None,
        },
        "dev" => match name {
            "rx_errors" => Some((
                Lost,
                "packets that the device could not receive; contains the kinds of errors told apart",
            )),
            "rx_fifo_errors" => Some((
                LostUnseen,
                "packets lost because the card's buffers or its ring were full",
            )),
            "rx_frame_errors" => Some((LostUnseen, "damaged frames, frames of a wrong length, or overruns")),
            "tx_errors" => Some((
                Lost,
                "packets that the device could not send; contains the kinds of errors told apart; a tunnel counts here what is a drop event too",
            )),
            "tx_fifo_errors" | "tx_carrier_errors" => Some((
                Lost,
                "packets lost while they were sent; a tunnel without a route counts here what is a drop event too",
            )),
            "tx_collisions" => Some((Sign, "collisions: is the link half duplex?")),
            "rx_dropped" => Some((
                Sign,
                "packets dropped by the driver or unwanted by the stack (no protocol for them), and those the card itself missed: /proc/net/dev adds them up",
            )),
            "tx_dropped" => Some((
                Lost,
                "packets dropped on their way out by the device or its driver; what a qdisc drops is not in it",
            )),
            _ => None,
        },
        "qdisc" => match name {
            "drops" => Some((Lost, "packets that the qdisc dropped")),
            "requeues" => Some((Short, "packets that the device would not take yet")),
            "overlimits" => Some((
                Sign,
                "times the qdisc was over its limit: a shaper held packets back, RED and its kin marked or dropped",
            )),
            _ => None,
        },
        "nic" => nic(name),
        _ => None,
    }
}

/// Drivers name their statistics as they like: by the words they all use.
fn nic(name: &str) -> Option<(Meaning, &'static str)> {
    let name = name.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|w| name.contains(w));
    if has(&["alloc"]) && has(&["fail", "err"]) {
        return Some((Short, "as the driver names it: no memory for the ring"));
    }
    if has(&["no_buf", "nobuf"]) {
        return Some((Short, "as the driver names it: no buffer was free at that moment"));
    }
    // mlx5's steering misses are packets for nobody here.
    if has(&["missed", "no_desc", "fifo", "overflow", "overrun", "out_of_buf"]) && !has(&["steer", "fdir"]) {
        return Some((
            LostUnseen,
            "as the driver names it: packets lost because the card's ring or buffers were full",
        ));
    }
    if has(&[
        "crc",
        "frame_err",
        "align",
        "symbol_err",
        "jabber",
        "undersize",
        "oversize",
        "length_err",
    ]) {
        return Some((
            LostUnseen,
            "as the driver names it: damaged frames; look at the cable, the optics, the MTU",
        ));
    }
    // A driver that also runs XDP counts what the program dropped on purpose.
    if has(&["drop", "discard", "error", "_err", "timeout"]) && !has(&["xdp"]) {
        return Some((Sign, "as the driver names it: dropped, discarded or in error"));
    }
    None
}

/// The names of the list.
#[cfg(test)]
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMED.iter().map(|(name, _, _)| *name)
}
