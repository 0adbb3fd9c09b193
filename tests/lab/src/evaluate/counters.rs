//! What the kernel counted, against rows.

use netmortem_analyzer::Facts;

use super::Oracle;
use super::rows::{number, table, text};
use crate::truth::Truth;

/// Drops for want of receive buffer. The counters are those of one namespace: without its count nothing is compared.
pub fn of_the_kernel(truth: &Truth, facts: &Facts) -> Option<Oracle> {
    let counted = *truth.counters.get("UdpRcvbufErrors")?;
    let t = table(facts, "drops")?;
    let reason = t
        .columns()
        .iter()
        .position(|c| c.name == "reason")
        .unwrap_or(usize::MAX);
    let full = (0..t.len())
        .filter(|r| text(t.cell(*r, reason)) == "SOCKET_RCVBUFF")
        .count();
    let mut drops = Oracle {
        name: "drops = UdpRcvbufErrors",
        ..Oracle::default()
    };
    drops.check(counted == full as i64, || format!("{counted} counted, {full} rows"));
    Some(drops)
}

/// Bytes received in order and segments retransmitted, by TCP_INFO of each socket. A socket's row is the one with its ports;
/// a rig whose sockets share them states none.
pub fn of_sockets(truth: &Truth, facts: &Facts) -> Vec<Oracle> {
    let Some(t) = table(facts, "connections").filter(|_| !truth.sockets.is_empty()) else {
        return vec![];
    };
    let columns = t.columns();
    let at = |name: &str| columns.iter().position(|c| c.name == name).unwrap_or(usize::MAX);
    let [sport, dport, bytes_in, segments] = ["sport", "dport", "bytes_in", "retransmit_segments"].map(at);
    let [mut bytes, mut again] = [
        "bytes_in = tcpi_bytes_received",
        "retransmit_segments = tcpi_total_retrans",
    ]
    .map(|name| Oracle {
        name,
        ..Oracle::default()
    });
    for s in &truth.sockets {
        let ports = (Some(i64::from(s.local)), Some(i64::from(s.remote)));
        let row = (0..t.len()).find(|r| (number(t.cell(*r, sport)), number(t.cell(*r, dport))) == ports);
        let of = |c: usize| row.and_then(|r| number(t.cell(r, c)));
        let (found, sent_again) = (of(bytes_in), of(segments));
        bytes.check(found == i64::try_from(s.bytes_received).ok(), || {
            format!("{found:?}, not {s:?}")
        });
        again.check(sent_again == Some(s.total_retrans.into()), || {
            format!("{sent_again:?}, not {s:?}")
        });
    }
    vec![bytes, again]
}

/// Segments that a sender's calls sent again, by its namespace's counters: TCP counts what a queue refused in TcpRetransSegs
/// and TCPRetransFail alike, so the difference is what was sent. Only of rigs whose recorded namespace is the senders'.
pub fn of_retransmits(truth: &Truth, facts: &Facts) -> Option<Oracle> {
    let ports: Vec<(i64, i64)> = truth
        .cases
        .iter()
        .filter(|c| c.table == "tx" && c.dport != 0)
        .map(|c| (c.sport.into(), c.dport.into()))
        .collect();
    let t = table(facts, "connections").filter(|_| !ports.is_empty())?;
    let columns = t.columns();
    let at = |name: &str| columns.iter().position(|c| c.name == name).unwrap_or(usize::MAX);
    let [sport, dport, segments, refused] = ["sport", "dport", "retransmit_segments", "retransmits_refused"].map(at);
    let mine = |r: &usize| {
        let of = number(t.cell(*r, sport)).zip(number(t.cell(*r, dport)));
        of.is_some_and(|of| ports.contains(&of))
    };
    let sum = |column: usize| -> Option<i64> {
        let rows = (0..t.len()).filter(mine);
        rows.map(|r| number(t.cell(r, column))).sum()
    };
    let counted = |name: &str| truth.counters.get(name).copied().unwrap_or(0);
    let failed = counted("TcpExtTCPRetransFail");
    let sent = counted("TcpRetransSegs") - failed;
    let mut of = Oracle {
        name: "retransmit_segments = TcpRetransSegs - TCPRetransFail",
        ..Oracle::default()
    };
    let found = sum(segments);
    of.check(found == Some(sent), || {
        format!("{found:?}, not {sent} and {failed} that failed")
    });
    // Where failures are traced: some are seen just when some were counted.
    if let Some(calls) = sum(refused) {
        of.check((calls > 0) == (failed > 0), || {
            format!("{calls} refused calls, {failed} segments counted")
        });
    }
    Some(of)
}

/// Time in the peer's window by the kernel's own clock, where a rig plants it: the view `limiters`, whose tolerance is the
/// larger of 5 % and 50 ms. Sockets that the snapshots do not tell are not compared.
pub fn of_senders(truth: &Truth, facts: &Facts) -> Option<Oracle> {
    truth.counters.get("tcpi_rwnd_limited_us")?;
    let mut of = Oracle {
        name: "rwnd = tcpi_rwnd_limited",
        ..Oracle::default()
    };
    let told = facts
        .limiters
        .iter()
        .filter(|r| r.kernel.is_some() && r.because.is_empty());
    for r in told {
        let apart = r.apart();
        of.check(apart.is_none(), || {
            format!("connection {}: {apart:?} (kernel, ledger)", r.connection.0)
        });
    }
    (of.checked > 0).then_some(of)
}
