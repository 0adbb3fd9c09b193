//! Random changes from a seed.

/// xorshift64* (Vigna 2016): small, and the same everywhere.
pub struct Random(u64);

/// Numbers that break readers.
const VALUES: [u32; 12] = [
    0,
    1,
    3,
    4,
    29,
    30,
    31,
    0x7fff_ffff,
    0x8000_0000,
    0xc000_0000,
    0xffff_fff0,
    0xffff_ffff,
];

/// Pieces of the texts' grammars.
const WORDS: &[&str] = &[
    "__print_symbolic(",
    "__print_flags(",
    "REC->",
    "REC->x & ",
    "{ ",
    " }",
    "\"",
    "\\",
    "\\\"",
    "(",
    ")",
    "((((((((",
    "[",
    "]",
    "[][]",
    ",",
    ";",
    "<<",
    ">> 64",
    "1UL<<63",
    "0x",
    "0xffffffffffffffffff",
    "-",
    "~",
    "/0",
    "%",
    "(u8)",
    "\t",
    "\n",
    "\n\n",
    "\0",
    "\tfield:",
    "__data_loc ",
    "__rel_loc ",
    "char[] ",
    "struct ",
    "*",
    "(*",
    "offset:",
    "size:",
    "signed:",
    "4294967295",
    "65536",
    "ID: 0\n",
    "name: ",
    "print fmt:",
    "\u{e9}\u{4e16}",
    "common_",
    " T ",
    "ffffffffffffffff",
];

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.max(1))
    }
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    /// 0 to `n` - 1.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() >> 16) as usize % n.max(1)
    }
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// One to four changes of any kind.
    pub fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            self.damage_once(bytes);
        }
    }

    fn damage_once(&mut self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return bytes.push(self.next() as u8);
        }
        let at = self.below(bytes.len());
        match self.below(7) {
            0 => bytes[at] ^= 1 << self.below(8),
            1 => bytes[at] = self.next() as u8,
            2 => {
                let value = self.pick(&VALUES).to_le_bytes();
                let at = at & !3;
                bytes.iter_mut().skip(at).zip(value).for_each(|(b, v)| *b = v);
            }
            // The header words of a sub-buffer.
            3 => {
                let value = self.pick(&VALUES).to_le_bytes();
                let at = (at & !4095) + 8;
                bytes.iter_mut().skip(at).zip(value).for_each(|(b, v)| *b = v);
            }
            4 => bytes.truncate(at),
            5 => {
                let end = (at + 1 + self.below(64)).min(bytes.len());
                bytes.drain(at..end);
            }
            _ => {
                let end = (at + 1 + self.below(64)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                let to = self.below(bytes.len());
                bytes.splice(to..to, copy);
            }
        }
    }

    /// The same for texts, and pieces of their grammars put in.
    pub fn damage_text(&mut self, text: &mut Vec<u8>) {
        for _ in 0..=self.below(6) {
            if self.below(3) == 0 {
                self.damage_once(text);
            } else {
                let at = self.below(text.len() + 1);
                let word = self.pick(WORDS).as_bytes();
                text.splice(at..at, word.iter().copied());
            }
        }
    }
}
