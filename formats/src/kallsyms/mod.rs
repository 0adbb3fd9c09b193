//! Kernel symbols: the text of /proc/kallsyms (or a trace.dat KALLSYMS section), indexed on first use.
//!
//! In: lines `address type name[\t[module]]`. Out: the text symbol at or below an address. Must not ask the running
//! kernel. Source: kernel `kernel/kallsyms.c` (`s_show`, `get_symbol_pos`).
//!
//! ```text
//! ffffffff81000000 T _stext
//! ffffffffc0201000 t veth_xmit\t[veth]       -> (address, range of the name in the text), sorted by address
//! ffffffffc0300000 d some_data\t[veth]       -> (address, empty range): ends the text symbol before it
//! ```

mod deltas;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

pub use deltas::{Deltas, MAX_TEXT_BYTES, expand};

/// An address this far above the nearest symbol is not inside it: kernel functions are smaller, and between modules
/// lies memory that belongs to none.
const MAX_DISTANCE: u64 = 1 << 20;

/// Address, and place and length of the name in the text; length 0 is a symbol that is not text.
type Symbol = (u64, u32, u32);

/// Symbols of the recorded kernel.
#[derive(Debug, Default)]
pub struct Kallsyms {
    text: Vec<u8>,
    index: OnceLock<Vec<Symbol>>,
}

impl Kallsyms {
    /// Keeps the text; nothing is parsed yet.
    pub fn new(text: Vec<u8>) -> Kallsyms {
        Kallsyms {
            text,
            index: OnceLock::new(),
        }
    }

    /// `name+0xoffset` parts of `addr`: the text symbol (types t, T, w, W; without its module) at or below it, and the
    /// distance in bytes. Of several names at one address the first of the text, as the kernel does. `None` when there
    /// are no symbols (or only zero addresses, as an unprivileged reader sees them), when the nearest symbol is not
    /// text, or when it is more than 1 MiB away.
    pub fn resolve(&self, addr: u64) -> Option<(&str, u64)> {
        let index = self.index.get_or_init(|| index(&self.text));
        let below = index.partition_point(|(a, _, _)| *a <= addr).checked_sub(1)?;
        let (start, at, len) = *index.get(below)?;
        let distance = addr.checked_sub(start).filter(|d| *d < MAX_DISTANCE)?;
        let name = self
            .text
            .get(at as usize..)?
            .get(..len as usize)
            .filter(|n| !n.is_empty())?;
        Some((std::str::from_utf8(name).ok()?, distance))
    }

    /// The text as it was recorded.
    pub fn text(&self) -> &[u8] {
        &self.text
    }
}

/// One symbol per address, sorted.
fn index(text: &[u8]) -> Vec<Symbol> {
    let mut out: Vec<Symbol> = Vec::new();
    let mut line_start = 0usize;
    for end in memchr::memchr_iter(b'\n', text).chain(std::iter::once(text.len())) {
        let symbol = text.get(line_start..end).and_then(|line| symbol(line, line_start));
        line_start = end.saturating_add(1);
        out.extend(symbol);
    }
    // Stable, and text before other symbols: the first text name at an address stays first.
    out.sort_by_key(|(a, _, len)| (*a, *len == 0));
    // One symbol per address; and of a run of symbols that are not text the first ends the text before it.
    out.dedup_by(|b, a| a.0 == b.0 || (a.2 == 0 && b.2 == 0));
    out.shrink_to_fit();
    out
}

/// `address type name ...`; `None` for a line that is not one, and for address 0.
fn symbol(line: &[u8], line_start: usize) -> Option<Symbol> {
    let mut address = 0u64;
    let mut at = 0usize;
    while let Some(digit) = line.get(at).and_then(|b| char::from(*b).to_digit(16)) {
        // More than 16 digits is no address.
        address = address.checked_mul(16)?.checked_add(digit.into())?;
        at = at.saturating_add(1);
    }
    if address == 0 || line.get(at) != Some(&b' ') || line.get(at.checked_add(2)?) != Some(&b' ') {
        return None;
    }
    let name_at = at.checked_add(3)?;
    let rest = line.get(name_at..)?;
    let len = rest
        .iter()
        .position(|b| matches!(b, b'\t' | b' ' | b'\r'))
        .unwrap_or(rest.len());
    let text = matches!(line.get(at.checked_add(1)?)?, b't' | b'T' | b'w' | b'W');
    let len = if text { u32::try_from(len).ok()? } else { 0 };
    Some((address, u32::try_from(line_start.checked_add(name_at)?).ok()?, len))
}
