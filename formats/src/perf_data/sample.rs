//! How the records of one recording are laid out, and what one record is.

use std::collections::HashMap;
use std::ops::Range;

use super::layout::*;
use crate::endian::Endian;

/// What of a `perf_event_attr` decides how its records are laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attr {
    /// `PERF_TYPE_TRACEPOINT`, or another.
    pub kind: u32,
    /// Of a tracepoint its event id.
    pub config: u64,
    /// `PERF_SAMPLE_*`.
    pub sample_type: u64,
    /// `PERF_FORMAT_*`.
    pub read_format: u64,
    /// Records that are no samples end with time, CPU and so on.
    pub sample_id_all: bool,
    /// `clockid`, where `use_clockid` is set.
    pub clockid: Option<i32>,
    /// Its ids: one for each CPU or thread.
    pub ids: Vec<u64>,
}

impl Attr {
    /// Reads a `struct perf_event_attr` (without ids); `None` when it is too short to be one.
    pub fn parse(b: &[u8], endian: Endian) -> Option<Attr> {
        let size = endian.u32(b, 4)?;
        // VER0 files may hold 0 here; all fields below but the clock are in VER0.
        if (size != 0 && size < ATTR_SIZE_MIN) || b.len() < ATTR_SIZE_MIN as usize {
            return None;
        }
        let flags = |bit: u32| {
            // A C bit field: counted from the lowest bit on little-endian machines, from the highest on the others.
            let word = endian.u64(b, 40)?;
            let bit = match endian {
                Endian::Little => bit,
                Endian::Big => 63_u32.checked_sub(bit)?,
            };
            Some(word.checked_shr(bit)? & 1 == 1)
        };
        let clockid = flags(FLAG_USE_CLOCKID)?.then(|| endian.u32(b, 92)).flatten();
        Some(Attr {
            kind: endian.u32(b, 0)?,
            config: endian.u64(b, 8)?,
            sample_type: endian.u64(b, 24)?,
            read_format: endian.u64(b, 32)?,
            sample_id_all: flags(FLAG_SAMPLE_ID_ALL)?,
            clockid: clockid.map(u32::cast_signed),
            ids: Vec::new(),
        })
    }

    /// Whether its samples are events this program reads: tracepoints with their fields, time and CPU.
    pub fn is_usable(&self) -> bool {
        let needed = SAMPLE_TIME | SAMPLE_CPU | SAMPLE_RAW;
        self.kind == TYPE_TRACEPOINT && self.sample_type & needed == needed
    }

    /// Offset of a field of fixed place in a sample's body.
    fn offset_of(&self, field: u64) -> Option<usize> {
        let mut at = 0usize;
        for bit in [
            SAMPLE_IDENTIFIER,
            SAMPLE_IP,
            SAMPLE_TID,
            SAMPLE_TIME,
            SAMPLE_ADDR,
            SAMPLE_ID,
            SAMPLE_STREAM_ID,
            SAMPLE_CPU,
            SAMPLE_PERIOD,
        ] {
            if bit == field {
                return (self.sample_type & bit != 0).then_some(at);
            }
            if self.sample_type & bit != 0 {
                at = at.saturating_add(8);
            }
        }
        // Anything else: where the fields of variable size begin.
        Some(at)
    }

    /// Offset of the id in a sample's body.
    fn id_at(&self) -> Option<usize> {
        self.offset_of(SAMPLE_IDENTIFIER).or_else(|| self.offset_of(SAMPLE_ID))
    }

    /// Offset, from the end of a record that is no sample, of a field of its `sample_id`.
    fn trailer_at(&self, field: u64) -> Option<usize> {
        if !self.sample_id_all || self.sample_type & field == 0 {
            return None;
        }
        let mut back = 0usize;
        for bit in [
            SAMPLE_IDENTIFIER,
            SAMPLE_CPU,
            SAMPLE_STREAM_ID,
            SAMPLE_ID,
            SAMPLE_TIME,
            SAMPLE_TID,
        ] {
            if self.sample_type & bit != 0 {
                back = back.saturating_add(8);
            }
            if bit == field {
                return Some(back);
            }
        }
        None
    }
}

/// An [`Attr`] with its offsets resolved.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Shape {
    usable: bool,
    time_at: usize,
    cpu_at: usize,
    /// Where READ, CALLCHAIN and RAW begin.
    variable_at: usize,
    read_format: Option<u64>,
    callchain: bool,
    trailer_cpu: Option<usize>,
    trailer_id: Option<usize>,
}

impl Shape {
    fn new(a: &Attr) -> Shape {
        Shape {
            usable: a.is_usable(),
            time_at: a.offset_of(SAMPLE_TIME).unwrap_or(0),
            cpu_at: a.offset_of(SAMPLE_CPU).unwrap_or(0),
            variable_at: a.offset_of(0).unwrap_or(0),
            read_format: (a.sample_type & SAMPLE_READ != 0).then_some(a.read_format),
            callchain: a.sample_type & SAMPLE_CALLCHAIN != 0,
            trailer_cpu: a.trailer_at(SAMPLE_CPU),
            trailer_id: a.trailer_at(SAMPLE_IDENTIFIER).or_else(|| a.trailer_at(SAMPLE_ID)),
        }
    }
}

/// How the records of one recording are laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordLayout {
    /// Byte order.
    pub endian: Endian,
    shapes: Vec<Shape>,
    /// Where a sample's id is, when it decides between shapes.
    id_at: Option<usize>,
    /// Id to index into `shapes`, ascending.
    by_id: Vec<(u64, u32)>,
}

/// Why samples cannot be told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ambiguous;

/// What a record is to us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A tracepoint: its time (recorded clock), CPU, and where its payload lies in the body.
    Sample { ts: u64, cpu: u32, raw: Range<usize> },
    /// Events lost before this record; the CPU where the record says it.
    Lost { count: u64, cpu: Option<u32> },
    /// A sample of an event that is no tracepoint, or has not all that is needed.
    Ignored,
    /// A sample whose id no attribute has.
    Unknown,
    /// A sample or LOST that ends before its fields do.
    Short,
    /// Any other record.
    Other,
}

impl RecordLayout {
    /// From the attributes of a recording. Several attributes of different layout need an id in every sample, at one place.
    pub fn new(attrs: &[Attr], endian: Endian) -> Result<RecordLayout, Ambiguous> {
        let mut shapes: Vec<Shape> = Vec::new();
        let mut known: HashMap<Shape, u32> = HashMap::new();
        let mut by_id = Vec::new();
        for a in attrs {
            let shape = Shape::new(a);
            let next = u32::try_from(shapes.len()).unwrap_or(u32::MAX);
            let index = *known.entry(shape.clone()).or_insert(next);
            if index == next {
                shapes.push(shape);
            }
            by_id.extend(a.ids.iter().map(|id| (*id, index)));
        }
        by_id.sort_unstable();
        by_id.dedup_by_key(|e| e.0);
        let mut id_at = None;
        if shapes.len() > 1 {
            id_at = attrs.first().and_then(Attr::id_at);
            if id_at.is_none() || attrs.iter().any(|a| a.id_at() != id_at) {
                return Err(Ambiguous);
            }
        }
        Ok(RecordLayout {
            endian,
            shapes,
            id_at,
            by_id,
        })
    }

    /// Of rings whose events are all tracepoints of one `sample_type`, as our recorder opens them.
    pub fn uniform(sample_type: u64, endian: Endian) -> Option<RecordLayout> {
        let attr = Attr {
            kind: TYPE_TRACEPOINT,
            config: 0,
            sample_type,
            read_format: 0,
            sample_id_all: true,
            clockid: None,
            ids: Vec::new(),
        };
        attr.is_usable().then(|| RecordLayout::new(&[attr], endian).ok())?
    }

    fn shape(&self, id: Option<u64>) -> Option<&Shape> {
        if self.id_at.is_none() {
            return self.shapes.first();
        }
        let at = self.by_id.binary_search_by_key(&id?, |e| e.0).ok()?;
        self.shapes.get(self.by_id.get(at)?.1 as usize)
    }

    /// What a record is.
    #[inline]
    pub(super) fn classify(&self, kind: u32, body: &[u8]) -> Kind {
        match kind {
            RECORD_SAMPLE => self.sample(body),
            RECORD_LOST => self.lost(body).unwrap_or(Kind::Short),
            _ => Kind::Other,
        }
    }

    #[inline]
    fn sample(&self, body: &[u8]) -> Kind {
        let id = self.id_at.and_then(|at| self.endian.u64(body, at));
        let Some(shape) = self.shape(id) else {
            return Kind::Unknown;
        };
        if !shape.usable {
            return Kind::Ignored;
        }
        self.fields(shape, body).unwrap_or(Kind::Short)
    }

    #[inline]
    fn fields(&self, shape: &Shape, body: &[u8]) -> Option<Kind> {
        let e = self.endian;
        let mut at = shape.variable_at;
        if let Some(format) = shape.read_format {
            at = self.after_read(format, body, at)?;
        }
        if shape.callchain {
            let frames = usize::try_from(e.u64(body, at)?).ok()?;
            at = at.checked_add(8)?.checked_add(frames.checked_mul(8)?)?;
        }
        let size = e.u32(body, at)? as usize;
        let start = at.checked_add(4)?;
        let end = start.checked_add(size)?;
        (end <= body.len()).then_some(Kind::Sample {
            ts: e.u64(body, shape.time_at)?,
            cpu: e.u32(body, shape.cpu_at)?,
            raw: start..end,
        })
    }

    /// The end of the counter values of PERF_SAMPLE_READ.
    fn after_read(&self, format: u64, body: &[u8], at: usize) -> Option<usize> {
        let has = |bit: u64| usize::from(format & bit != 0);
        let times = has(FORMAT_TOTAL_TIME_ENABLED).saturating_add(has(FORMAT_TOTAL_TIME_RUNNING));
        let each = 1usize.saturating_add(has(FORMAT_ID)).saturating_add(has(FORMAT_LOST));
        let words = match has(FORMAT_GROUP) {
            0 => times.saturating_add(each),
            _ => {
                let values = usize::try_from(self.endian.u64(body, at)?).ok()?;
                values.checked_mul(each)?.checked_add(times)?.checked_add(1)?
            }
        };
        at.checked_add(words.checked_mul(8)?)
    }

    fn lost(&self, body: &[u8]) -> Option<Kind> {
        let (id, count) = (self.endian.u64(body, 0)?, self.endian.u64(body, 8)?);
        let shape = self.shape(Some(id)).or_else(|| self.shapes.first());
        let back = shape.and_then(|s| s.trailer_cpu);
        let at = back.and_then(|b| body.len().checked_sub(b)).filter(|at| *at >= 16);
        Some(Kind::Lost {
            count,
            cpu: at.and_then(|at| self.endian.u32(body, at)),
        })
    }

    /// The event id in the trailer of a record that is no sample.
    pub(super) fn trailer_id(&self, body: &[u8]) -> Option<u64> {
        let back = self.shapes.first()?.trailer_id?;
        self.endian.u64(body, body.len().checked_sub(back)?)
    }
}
