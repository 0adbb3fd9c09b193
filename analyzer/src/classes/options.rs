//! Options of a class, hex of the attribute as the kernel sent it: what it may send. Must not panic on any bytes.

use netmortem_formats::Endian;

use crate::snapshots::bytes_of;

/// TCA_HTB_PARMS, _RATE64, _CEIL64.
const HTB: [u16; 3] = [1, 6, 7];
/// TCA_HFSC_RSC, _FSC, _USC.
const HFSC: [u16; 3] = [1, 2, 3];

/// What a class may send; `None`: not told, or of a kind that has no such thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shape {
    /// Guaranteed, bytes a second.
    pub rate: Option<u64>,
    /// With what others leave, bytes a second.
    pub ceil: Option<u64>,
    /// Lower goes first.
    pub prio: Option<u32>,
}

#[derive(Clone, Copy)]
struct Attribute<'b> {
    bytes: &'b [u8],
    endian: Endian,
}

impl<'b> Attribute<'b> {
    fn u32(self, at: usize) -> Option<u32> {
        self.endian.u32(self.bytes, at)
    }
    fn u64(self) -> Option<u64> {
        self.endian.u64(self.bytes, 0)
    }
    /// struct nlattr {len, type}, padded to 4 bytes.
    fn inner(self, number: u16) -> Option<Attribute<'b>> {
        let mut at = 0usize;
        loop {
            let here = Attribute {
                bytes: self.bytes.get(at..)?,
                ..self
            };
            let len = usize::from(self.endian.u16(here.bytes, 0)?);
            let kind = self.endian.u16(here.bytes, 2)? & 0x3fff;
            let bytes = here.bytes.get(4..len)?;
            if kind == number {
                return Some(Attribute { bytes, ..self });
            }
            at = at.checked_add(len.checked_next_multiple_of(4)?)?;
        }
    }
}

pub(crate) fn shape(kind: &str, hex: &str, endian: Endian) -> Shape {
    let bytes = bytes_of(hex).unwrap_or_default();
    let of = Attribute { bytes: &bytes, endian };
    match kind {
        "htb" => htb(of),
        "hfsc" => hfsc(of),
        _ => Shape::default(),
    }
}

/// struct tc_htb_opt {rate, ceil: struct tc_ratespec of 12 bytes, the last 4 the rate; buffer, cbuffer, quantum, level, prio}. A rate
/// that 32 bits do not hold has an attribute of its own.
fn htb(of: Attribute<'_>) -> Shape {
    let parms = of.inner(HTB[0]);
    let parm = |at| parms.and_then(|p| p.u32(at));
    let rate = |wide: u16, at| of.inner(wide).and_then(Attribute::u64).or(parm(at).map(u64::from));
    Shape {
        rate: rate(HTB[1], 8),
        ceil: rate(HTB[2], 20),
        prio: parm(40),
    }
}

/// struct tc_service_curve {m1, d, m2}: m2 is what it comes to, bytes a second.
fn hfsc(of: Attribute<'_>) -> Shape {
    let curve = |number| of.inner(number).and_then(|c| c.u32(8)).map(u64::from);
    Shape {
        rate: curve(HFSC[0]).or(curve(HFSC[1])),
        ceil: curve(HFSC[2]),
        prio: None,
    }
}
