//! Whether packets are the datagrams of a call that says how much it sent or got: by their lengths.
//!
//! TCP's headers are 20 bytes or longer and each segment has its own, UDP's are 8 and only the first fragment has them.

/// IPv4 or IPv6 without options and UDP; behind Ethernet, with a VLAN tag, or without either.
pub(super) const HEADERS: [u32; 6] = [28, 42, 46, 48, 62, AS_TCP];
/// IPv6 behind a VLAN tag; so long are the headers of most TCP segments, too.
const AS_TCP: u32 = 66;
/// Bytes of UDP's header.
const UDP_HEADER: u32 = 8;

/// A packet as it was first stated: received, or queued on a device.
pub(super) fn fits(packet: u32, payload: u32) -> bool {
    let header = packet.checked_sub(payload).filter(|h| *h != AS_TCP);
    header.is_some_and(|h| HEADERS.contains(&h))
}

/// Packets queued by one call that sent `payload`: a datagram, or its fragments. `before`: bytes before the transport header, where an event tells.
pub(crate) fn one_datagram(packets: &[u32], before: Option<u32>, payload: u32) -> bool {
    match (before, packets) {
        (Some(before), [_, ..]) => {
            let mut carried = 0u32;
            for p in packets {
                let Some(of) = p.checked_sub(before).and_then(|of| carried.checked_add(of)) else {
                    return false;
                };
                carried = of;
            }
            carried.checked_sub(UDP_HEADER) == Some(payload)
        }
        (None, [one]) => fits(*one, payload),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_has_eight_bytes_of_header_and_its_fragments_none() {
        // A question to a name server, by Ethernet and IPv4; a segment of as much data.
        assert!(one_datagram(&[68], Some(34), 26) && one_datagram(&[68], None, 26));
        assert!(!one_datagram(&[92], Some(34), 26) && !one_datagram(&[92], None, 26));
        // 2,600 bytes: 1,480 of IP's payload, and 1,128.
        assert!(one_datagram(&[1514, 1162], Some(34), 2600));
        assert!(!one_datagram(&[1514, 1162], None, 2600));
        // 1,472 bytes written on a TCP socket: 1,448 of them in the first segment.
        assert!(!one_datagram(&[1514], Some(34), 1472 - 24) && !one_datagram(&[1514, 90], Some(34), 1472));
        assert!(
            !one_datagram(&[], Some(34), 0)
                && !one_datagram(&[20], Some(34), 0)
                && !one_datagram(&[u32::MAX; 3], Some(0), 1)
        );
        assert!(fits(54, 26) && fits(74, 26) && !fits(20, 26));
    }
}
