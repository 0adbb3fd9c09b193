//! Constant C expressions of a print fmt: numbers, shifts, ORs, parentheses, casts.

/// How deep parentheses and unary operators may nest. The deepest seen on 6.18 (gfp flags) is 12.
const MAX_DEPTH: u32 = 64;

/// The value of a constant expression in 64 bits; `None` when it holds a name (an enum that this kernel did not
/// resolve) or is not an expression.
pub(super) fn evaluate(text: &str) -> Option<u64> {
    let mut p = Parser {
        rest: text.as_bytes(),
        depth: 0,
    };
    let value = p.binary(0)?;
    p.skip_space();
    p.rest.is_empty().then_some(value)
}

struct Parser<'a> {
    rest: &'a [u8],
    depth: u32,
}

/// Binary operators by rising precedence, C's order. Longer ones first where one begins another.
const OPERATORS: &[(&[u8], u8)] = &[
    (b"<<", 4),
    (b">>", 4),
    (b"|", 1),
    (b"^", 2),
    (b"&", 3),
    (b"+", 5),
    (b"-", 5),
    (b"*", 6),
    (b"/", 6),
    (b"%", 6),
];

impl Parser<'_> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn eat(&mut self, token: &[u8]) -> bool {
        self.skip_space();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn operator(&mut self, least: u8) -> Option<(&'static [u8], u8)> {
        self.skip_space();
        if self.rest.starts_with(b"||") || self.rest.starts_with(b"&&") {
            return None;
        }
        let (token, level) = OPERATORS.iter().find(|(t, _)| self.rest.starts_with(t)).copied()?;
        (level >= least && self.eat(token)).then_some((token, level))
    }

    fn binary(&mut self, least: u8) -> Option<u64> {
        let mut left = self.unary()?;
        while let Some((token, level)) = self.operator(least) {
            let right = self.binary(level.saturating_add(1))?;
            left = match token {
                b"|" => left | right,
                b"^" => left ^ right,
                b"&" => left & right,
                b"<<" => left.checked_shl(u32::try_from(right).ok()?)?,
                b">>" => left.checked_shr(u32::try_from(right).ok()?)?,
                b"+" => left.wrapping_add(right),
                b"-" => left.wrapping_sub(right),
                b"*" => left.wrapping_mul(right),
                b"/" => left.checked_div(right)?,
                _ => left.checked_rem(right)?,
            };
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<u64> {
        self.depth = self.depth.checked_add(1).filter(|d| *d <= MAX_DEPTH)?;
        self.skip_space();
        let value = match self.rest.first()? {
            b'-' if self.eat(b"-") => self.unary()?.wrapping_neg(),
            b'+' if self.eat(b"+") => self.unary()?,
            b'~' if self.eat(b"~") => !self.unary()?,
            b'(' => self.parenthesis()?,
            _ => self.number()?,
        };
        self.depth = self.depth.saturating_sub(1);
        Some(value)
    }

    /// `( expression )`, or a cast: parentheses that hold only words and stars.
    fn parenthesis(&mut self) -> Option<u64> {
        let close = memchr::memchr(b')', self.rest)?;
        let inside = self.rest.get(1..close)?.trim_ascii();
        let words = inside
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b' ' | b'*' | b'\t'));
        if words && inside.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_') {
            let narrow = match inside {
                b"u8" | b"__u8" | b"uint8_t" | b"unsigned char" => u64::from(u8::MAX),
                b"u16" | b"__u16" | b"uint16_t" | b"unsigned short" => u64::from(u16::MAX),
                b"u32" | b"__u32" | b"uint32_t" | b"unsigned int" | b"unsigned" => u64::from(u32::MAX),
                _ => u64::MAX,
            };
            self.rest = self.rest.get(close.checked_add(1)?..)?;
            return Some(self.unary()? & narrow);
        }
        self.eat(b"(");
        let value = self.binary(0)?;
        self.eat(b")").then_some(value)
    }

    /// Decimal, hexadecimal or octal, with any of the suffixes u and l.
    fn number(&mut self) -> Option<u64> {
        let end = self
            .rest
            .iter()
            .position(|b| !b.is_ascii_alphanumeric() && *b != b'_')
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        let word = std::str::from_utf8(word).ok()?.trim_end_matches(['u', 'U', 'l', 'L']);
        if let Some(hex) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
            return u64::from_str_radix(hex, 16).ok();
        }
        match word.strip_prefix('0').filter(|w| !w.is_empty()) {
            Some(octal) => u64::from_str_radix(octal, 8).ok(),
            None => word.parse().ok(),
        }
    }
}
