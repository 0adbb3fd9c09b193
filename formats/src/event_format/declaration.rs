//! What a field's C declaration says: its name, its type, and whether it is an array or a text.

use super::FieldKind;

/// A declaration taken apart.
pub(super) struct Declaration<'a> {
    pub name: &'a str,
    /// The type before the name.
    base: &'a str,
    /// `[...]` after the name, empty when there is none.
    brackets: &'a str,
}

/// Takes `unsigned char mac[6]`, `__data_loc char[] name`, `void (*function)(int)` apart; `None` without a name.
pub(super) fn split(declaration: &str) -> Option<Declaration<'_>> {
    let text = declaration.trim();
    if text.ends_with(')') {
        // A pointer to a function: the name stands inside.
        let at = text.find("(*")?.checked_add(2)?;
        let inner = text.get(at..)?;
        let end = inner.find(|c: char| !is_word(c)).unwrap_or(inner.len());
        let name = inner.get(..end).filter(|n| !n.is_empty())?;
        return Some(Declaration {
            name,
            base: "void *",
            brackets: "",
        });
    }
    // Cut the brackets that end the text, `[2][4]` too.
    let mut cut = text;
    while cut.ends_with(']') {
        let mut depth = 0u32;
        let open = cut.bytes().rposition(|b| {
            match b {
                b']' => depth = depth.saturating_add(1),
                b'[' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0
        })?;
        cut = cut.get(..open)?.trim_end();
    }
    let brackets = text.get(cut.len()..)?.trim();
    let start = cut.rfind(|c: char| !is_word(c)).map_or(0, |i| i.saturating_add(1));
    // `start` is behind an ASCII or wider character: take the rest only when that is a boundary.
    let name = cut.get(start..).filter(|n| !n.is_empty())?;
    Some(Declaration {
        name,
        base: cut.get(..start)?.trim_end(),
        brackets,
    })
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}

impl Declaration<'_> {
    /// The declaration without the name.
    pub fn type_text(&self) -> String {
        [self.base, self.brackets].concat()
    }

    /// What a field of this declaration and `size` bytes holds.
    pub fn kind(&self, size: u32) -> FieldKind {
        let base = self.base;
        for (prefix, rel) in [("__data_loc", false), ("__rel_loc", true)] {
            if let Some(element) = base.strip_prefix(prefix) {
                let text = is_char(element.trim().strip_suffix("[]").unwrap_or(element));
                return match (size, rel) {
                    (2 | 4, false) => FieldKind::DataLoc { text },
                    (2 | 4, true) => FieldKind::RelLoc { text },
                    _ => FieldKind::Opaque,
                };
            }
        }
        if !self.brackets.is_empty() {
            let element = self.element_size(size);
            let count = size.checked_div(element).unwrap_or(0);
            return FieldKind::Array {
                size: element,
                count,
                text: is_char(base),
            };
        }
        let by_value = !base.contains('*') && (starts_with_word(base, "struct") || starts_with_word(base, "union"));
        match size {
            1 | 2 | 4 | 8 if !by_value => FieldKind::Int,
            _ => FieldKind::Opaque,
        }
    }

    /// Bytes of one element: `size` over the number in the brackets; with a symbol or nothing in them
    /// (`[ETH_ALEN]`, `[]`), what the type is known to have; 0 when neither says.
    fn element_size(&self, size: u32) -> u32 {
        let known = known_size(self.base);
        let mut count = Some(1u32);
        for part in self
            .brackets
            .split(']')
            .map(|p| p.trim().trim_start_matches('[').trim())
        {
            if !part.is_empty() {
                count = count
                    .zip(part.parse().ok())
                    .and_then(|(a, b): (u32, u32)| a.checked_mul(b));
            }
        }
        let numbered = self.brackets.bytes().any(|b| b.is_ascii_digit());
        match count {
            Some(n) if numbered && n > 0 && size > 0 && size.checked_rem(n) == Some(0) => {
                size.checked_div(n).unwrap_or(0)
            }
            _ => known,
        }
    }
}

fn is_char(base: &str) -> bool {
    let mut words = base.split_ascii_whitespace().filter(|w| *w != "const");
    words.next() == Some("char") && words.next().is_none()
}

fn starts_with_word(text: &str, word: &str) -> bool {
    text.strip_prefix("const ")
        .unwrap_or(text)
        .strip_prefix(word)
        .is_some_and(|r| r.starts_with(' '))
}

/// Bytes of the C types whose width does not depend on the machine; 0 for others (`long`, structs, typedefs).
fn known_size(base: &str) -> u32 {
    if base.contains('*') {
        return 0;
    }
    match base.strip_prefix("const ").unwrap_or(base) {
        "char" | "signed char" | "unsigned char" | "bool" | "u8" | "s8" | "__u8" | "__s8" | "uint8_t" | "int8_t" => 1,
        "short" | "unsigned short" | "u16" | "s16" | "__u16" | "__s16" | "__be16" | "uint16_t" | "int16_t" => 2,
        "int" | "unsigned int" | "unsigned" | "u32" | "s32" | "__u32" | "__s32" | "__be32" | "uint32_t" | "int32_t" => {
            4
        }
        "long long" | "unsigned long long" | "u64" | "s64" | "__u64" | "__s64" | "__be64" | "uint64_t" | "int64_t" => 8,
        _ => 0,
    }
}
