//! What frees of packets are called.

/// What a free is called by what is known of it: the report and `diff` say it from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// As in `drops`.
    pub expected: Option<bool>,
    /// As in `drops`.
    pub background: bool,
    /// One word.
    pub word: &'static str,
    /// Several of them, as a title.
    pub title: &'static str,
    /// What is counted of them per skb.
    pub meaning: &'static str,
}

/// Every kind, what matters most first.
pub const KINDS: [Kind; 4] = [
    Kind {
        expected: Some(false),
        background: false,
        word: "lost",
        title: "Packets lost",
        meaning: "packets lost, per skb",
    },
    Kind {
        expected: Some(false),
        background: true,
        word: "background",
        title: "Packets lost of the kernel's own traffic",
        meaning: "packets lost of the kernel's own traffic, per skb",
    },
    Kind {
        expected: None,
        background: false,
        word: "unclear",
        title: "Unclear frees",
        meaning: "unclear frees (nothing tells whether a packet was lost), per skb",
    },
    Kind {
        expected: Some(true),
        background: false,
        word: "expected",
        title: "Frees that healthy kernels do",
        meaning: "frees that healthy kernels do, per skb",
    },
];

/// The kind of a free.
pub fn kind(expected: Option<bool>, background: bool) -> &'static Kind {
    let [lost, own, unclear, usual] = &KINDS;
    match expected {
        Some(false) if background => own,
        Some(false) => lost,
        None => unclear,
        Some(true) => usual,
    }
}
