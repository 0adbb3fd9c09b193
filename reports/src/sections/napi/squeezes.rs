//! NET_RX runs that their limits stopped. In: `Answers::napi`.

use netmortem_analyzer::analyses::napi::Napi;

use crate::clean::Text;
use crate::document::{Block, Severity, Strip};

/// Runs that ended with work left over, when there were softirqs at all.
pub(super) fn strip(napi: &Napi) -> Vec<Block> {
    if !napi.cpus.iter().any(|vector| vector.vector == "NET_RX") {
        return Vec::new();
    }
    let squeezes = &napi.squeezes;
    let counted = squeezes.counted.squeezed;
    let severity = match (squeezes.inferred, counted) {
        (0, None | Some(0)) => Severity::Info,
        _ => Severity::Notice,
    };
    let detail = "A run of NET_RX that reaches net.core.netdev_budget packets or netdev_budget_usecs leaves the rest for later (time_squeeze of /proc/net/softnet_stat).";
    vec![Block::Strip(Strip {
        severity,
        sentence: Text::from(format!("Time squeezes: {}", squeezes.sentence)),
        detail: Some(detail.into()),
        see: None,
    })]
}
