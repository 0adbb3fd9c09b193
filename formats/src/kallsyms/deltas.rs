//! Symbols as a bundle keeps them: lines of /proc/kallsyms, each address as its distance from the line before, so that
//! they compress well at a level that costs little (`docs/bundle.md`, "Symbols").
//!
//! ```text
//! ffffffff81000000 T _stext                       -7f000000 T _stext
//! ffffffff81000070 T secondary_startup_64    <->  70 T secondary_startup_64
//! ffffffffc0201000 t veth_xmit\t[veth]            3f200f90 t veth_xmit\t[veth]
//! ```

/// Most bytes of the text that [`expand`] gives: those of a real kernel are some 6 MB, and 22 kB of a file could become gigabytes.
pub const MAX_TEXT_BYTES: usize = 64 << 20;

/// Builds the lines; addresses are taken modulo 2^64.
#[derive(Debug, Default)]
pub struct Deltas {
    last: u64,
    out: Vec<u8>,
}

impl Deltas {
    /// Adds a line of kallsyms, without its end. One that does not begin with an address and a space is left out.
    pub fn push(&mut self, line: &[u8]) {
        let Some((address, rest)) = number(line) else {
            return;
        };
        // Kernel addresses are the upper half: taken as signed, their distance from 0 is short, too.
        let delta = address.wrapping_sub(self.last).cast_signed();
        self.last = address;
        if delta < 0 {
            self.out.push(b'-');
        }
        hex(delta.unsigned_abs(), 1, &mut self.out);
        self.out.extend_from_slice(rest);
        self.out.push(b'\n');
    }

    /// The lines.
    pub fn text(&self) -> &[u8] {
        &self.out
    }
}

/// The text of kallsyms again, addresses with 16 digits. `None` when a line is none of those: all after it would be wrong;
/// and when the text would be larger than [`MAX_TEXT_BYTES`].
pub fn expand(deltas: &[u8]) -> Option<Vec<u8>> {
    let expected = deltas.len().saturating_mul(3) / 2;
    let mut out = Vec::with_capacity(expected.min(MAX_TEXT_BYTES));
    let mut address = 0u64;
    let mut lines = deltas;
    while !lines.is_empty() {
        let end = memchr::memchr(b'\n', lines)?;
        let (line, after) = lines.split_at_checked(end)?;
        lines = after.get(1..)?;
        let (minus, digits) = match line.strip_prefix(b"-") {
            Some(digits) => (true, digits),
            None => (false, line),
        };
        let (delta, rest) = number(digits)?;
        address = match minus {
            true => address.wrapping_sub(delta),
            false => address.wrapping_add(delta),
        };
        // 16 digits and the end of the line.
        if out.len().saturating_add(rest.len()).saturating_add(17) > MAX_TEXT_BYTES {
            return None;
        }
        hex(address, 16, &mut out);
        out.extend_from_slice(rest);
        out.push(b'\n');
    }
    Some(out)
}

/// The hexadecimal number a line begins with, and the rest, which begins with a space.
fn number(line: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    for (at, byte) in line.iter().enumerate() {
        let digit = match byte {
            b'0'..=b'9' => byte.wrapping_sub(b'0'),
            b'a'..=b'f' => byte.wrapping_sub(b'a').wrapping_add(10),
            b' ' if at > 0 => return Some((value, line.get(at..)?)),
            _ => return None,
        };
        if at >= 16 {
            return None;
        }
        value = value << 4 | u64::from(digit);
    }
    None
}

/// At least `width` lower-case digits.
fn hex(value: u64, width: u32, out: &mut Vec<u8>) {
    let digits = (64u32.saturating_sub(value.leading_zeros())).div_ceil(4).max(width);
    for n in (0..digits.min(16)).rev() {
        let digit = value.rotate_right(n.saturating_mul(4)) & 15;
        out.extend(b"0123456789abcdef".get(digit as usize));
    }
}
