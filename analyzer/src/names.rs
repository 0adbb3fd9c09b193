//! What numbers in the rows are called.

use netmortem_formats::Capture;
use netmortem_formats::event_format::ValueTable;
use rustc_hash::FxHashMap;

use crate::table::Cell;

/// What numbers in the rows are called, from the recording alone.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Function names of kernel text addresses that occur in the tables.
    pub locations: FxHashMap<u64, String>,
    /// The recording's own drop-reason table.
    pub drop_reasons: Option<ValueTable>,
    /// It is not the recording's: the kernel records no reasons, and the functions that free stand for some (inferred).
    pub reasons_by_place: bool,
    /// The same of RSTs that were sent (before Linux 6.10).
    pub reset_reasons_inferred: bool,
    /// No event names a UDP socket (before Linux 6.3): a process' descriptor is one, by its calls and the packets in them (inferred).
    pub udp_by_calls: bool,
}

impl Names {
    /// What places in the kernel are called.
    pub(crate) fn locations(capture: &Capture, places: impl Iterator<Item = u64>) -> FxHashMap<u64, String> {
        let mut known: FxHashMap<u64, Option<String>> = FxHashMap::default();
        for address in places.filter(|a| *a != 0) {
            let name = || capture.kallsyms.resolve(address).map(|(name, _)| name.to_string());
            known.entry(address).or_insert_with(name);
        }
        known.into_iter().filter_map(|(a, n)| Some((a, n?))).collect()
    }

    /// A location as its function name; as an address when the recording has no symbols; empty when 0.
    pub fn location(&self, address: u64) -> Cell<'_> {
        match (address, self.locations.get(&address)) {
            (0, _) => Cell::Null,
            (_, Some(name)) => Cell::str(name.as_str()),
            (a, None) => Cell::address(a),
        }
    }
    /// Why a RST was sent, and whether that is inferred.
    pub fn reset_reason(&self, reason: &str) -> String {
        match self.reset_reasons_inferred && !reason.is_empty() {
            true => format!("{reason} (inferred)"),
            false => reason.to_owned(),
        }
    }
    /// A drop reason by name; as a number when the recording's table lacks it; empty when not recorded.
    pub fn drop_reason(&self, reason: Option<u32>) -> Cell<'_> {
        let Some(r) = reason else { return Cell::Null };
        let known = self
            .drop_reasons
            .as_ref()
            .and_then(|t| t.entries.iter().find(|(v, _)| *v == u64::from(r)));
        known.map_or_else(|| Cell::str(format!("reason {r}")), |(_, n)| Cell::str(n.as_str()))
    }
}
