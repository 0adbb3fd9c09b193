//! The event formats of a capture, found by id and by name, bound once.

use netmortem_formats::tracepoints::{Tracepoint, common};
use netmortem_formats::{Capture, Endian, EventFormat};
use rustc_hash::FxHashMap;

/// Event formats of one capture.
#[derive(Debug)]
pub struct Schema<'c> {
    formats: &'c [EventFormat],
    by_key: FxHashMap<(&'c str, &'c str), usize>,
    by_id: FxHashMap<u16, usize>,
    /// Byte order of payloads.
    pub endian: Endian,
    /// Common fields; `None` when no format has them.
    pub common: Option<common::Bound>,
}

impl<'c> Schema<'c> {
    /// Indexes the formats; where two claim one name or id, the first stands.
    pub fn new(capture: &'c Capture) -> Schema<'c> {
        let formats = &capture.event_formats;
        let mut by_key = FxHashMap::default();
        let mut by_id = FxHashMap::default();
        for (i, f) in formats.iter().enumerate() {
            by_key.entry((f.group(), f.name.as_str())).or_insert(i);
            by_id.entry(f.id).or_insert(i);
        }
        let common = formats.iter().find_map(|f| common::Bound::bind(f, capture.endian));
        Schema {
            formats,
            by_key,
            by_id,
            endian: capture.endian,
            common,
        }
    }
    /// The format of that name.
    pub fn format(&self, system: &str, name: &str) -> Option<&'c EventFormat> {
        self.by_key.get(&(system, name)).and_then(|i| self.formats.get(*i))
    }
    /// The format of that event id.
    pub fn by_id(&self, id: u16) -> Option<&'c EventFormat> {
        self.by_id.get(&id).and_then(|i| self.formats.get(*i))
    }
    /// All formats.
    pub fn formats(&self) -> &'c [EventFormat] {
        self.formats
    }
    /// Binds a tracepoint: its id and accessors, or why not.
    pub fn bind<P: Tracepoint>(&self) -> Result<(u16, P::Bound), String> {
        let f = self
            .format(P::SYSTEM, P::NAME)
            .ok_or_else(|| format!("{}:{} has no format in this capture", P::SYSTEM, P::NAME))?;
        let bound =
            P::bind(f, self.endian).map_err(|m| format!("{}:{} lacks the field {}", P::SYSTEM, P::NAME, m.0))?;
        Ok((f.id, bound))
    }
}
