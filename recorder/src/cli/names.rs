//! The name of a bundle that was given none.

use std::path::PathBuf;

use crate::clock::now_ns;

/// `incident-<host>-<time>.nmb`, time in UTC.
pub fn default_name() -> PathBuf {
    let host = crate::host::host(0).hostname;
    let host: String = host
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
        .collect();
    let now = chrono::DateTime::from_timestamp_nanos(now_ns(rustix::time::ClockId::Realtime));
    format!("incident-{host}-{}.nmb", now.format("%Y%m%dT%H%M%SZ")).into()
}
