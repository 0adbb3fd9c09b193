//! Packets that a capture beside the events (`--pcap`) lost. The events are whole all the same, but who counts packets in it counts
//! too few.

use crate::analyses::verdict::counted;
use crate::ingest::CaptureInfo;

/// What is to be said of them; nothing where none was lost.
pub fn told(c: &CaptureInfo) -> Option<String> {
    let mut lossy: Vec<_> = c.taps.iter().filter(|t| t.dropped > 0).collect();
    lossy.sort_by_key(|t| (std::cmp::Reverse(t.dropped), &t.name));
    let worst = lossy.first()?;
    let all = worst.packets.saturating_add(worst.dropped);
    let share = 100.0 * worst.dropped as f64 / all as f64;
    let others = match lossy.len() {
        1 => String::new(),
        n => format!(", {} too", counted(n as u64 - 1, "other interface", "other interfaces")),
    };
    Some(format!(
        "the capture of packets on {} lost {} of {all} ({share:.1} %){others}: a larger --pcap-buffer loses fewer",
        worst.name, worst.dropped
    ))
}
