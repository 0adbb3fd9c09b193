//! Device and task names: at most 15 bytes in the kernel (IFNAMSIZ, TASK_COMM_LEN), kept inline in rows.

use std::borrow::Cow;

/// A name of at most 16 bytes; longer input is cut. Bytes are the host's choice and may be anything.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Name([u8; 16]);

impl Name {
    /// No name.
    pub const EMPTY: Name = Name([0; 16]);
    /// From the kernel's bytes.
    #[inline]
    pub fn new(bytes: &[u8]) -> Name {
        let mut b = [0; 16];
        for (d, s) in b.iter_mut().zip(bytes) {
            *d = *s;
        }
        Name(b)
    }
    /// Whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.bytes().is_empty()
    }
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.0.split(|b| *b == 0).next().unwrap_or(&[])
    }
    /// As text; invalid UTF-8 becomes U+FFFD.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.bytes())
    }
}

impl std::fmt::Debug for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.text())
    }
}
