//! Protocol Buffers, the writing half of what a trace needs: varints, fixed 64-bit numbers, texts, nested messages.
//! Spec: protobuf.dev/programming-guides/encoding.

/// A message being written.
#[derive(Debug, Clone, Default)]
pub struct Message(Vec<u8>);

/// Wire types.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LENGTH: u64 = 2;

impl Message {
    /// Empty.
    pub fn new() -> Message {
        Message::default()
    }
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
    /// A `uint32`, `uint64`, `bool` or `enum`.
    pub fn number(mut self, field: u32, value: u64) -> Message {
        self.tag(field, VARINT);
        varint(&mut self.0, value);
        self
    }
    /// An `int64`: negative ones take ten bytes.
    pub fn int(self, field: u32, value: i64) -> Message {
        self.number(field, value as u64)
    }
    /// A `fixed64`.
    pub fn fixed(mut self, field: u32, value: u64) -> Message {
        self.tag(field, FIXED64);
        self.0.extend(value.to_le_bytes());
        self
    }
    /// A `string`.
    pub fn text(mut self, field: u32, value: &str) -> Message {
        self.tag(field, LENGTH);
        varint(&mut self.0, value.len() as u64);
        self.0.extend(value.as_bytes());
        self
    }
    /// A nested message.
    pub fn message(mut self, field: u32, value: &Message) -> Message {
        self.tag(field, LENGTH);
        varint(&mut self.0, value.0.len() as u64);
        self.0.extend(&value.0);
        self
    }
    fn tag(&mut self, field: u32, wire: u64) {
        varint(&mut self.0, u64::from(field) << 3 | wire);
    }
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
