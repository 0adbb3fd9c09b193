//! Any field of any event as a value, from its format alone: `inspect` and `explain` print the same.

use std::fmt;

use netmortem_formats::event_format::{BytesAccess, FieldFormat, FieldKind, IntAccess, StrAccess, ValueTable};
use netmortem_formats::{Endian, EventFormat};

/// Reads one field.
#[derive(Debug)]
pub struct FieldReader {
    /// The field's name.
    pub name: String,
    access: Access,
    /// Names of values, from the event's print fmt.
    names: Option<ValueTable>,
}

#[derive(Debug)]
enum Access {
    Signed(IntAccess),
    Unsigned(IntAccess),
    Pointer(IntAccess),
    Text(StrAccess),
    Bytes(BytesAccess),
    None,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Signed, and its name.
    Signed(i64, Option<String>),
    /// Unsigned, and its name.
    Unsigned(u64, Option<String>),
    /// An address.
    Pointer(u64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// The record ends before the field does.
    Cut,
}

impl FieldReader {
    /// Readers of all fields but the event id, common fields first.
    pub fn all_of(format: &EventFormat, endian: Endian) -> Vec<FieldReader> {
        let fields = format
            .common
            .iter()
            .chain(&format.fields)
            .filter(|f| f.name != "common_type");
        fields.map(|f| FieldReader::of(format, f, endian)).collect()
    }

    fn of(format: &EventFormat, f: &FieldFormat, endian: Endian) -> FieldReader {
        let int = || IntAccess::bind(format, &f.name, endian);
        let text = || StrAccess::bind(format, &f.name, endian).map(Access::Text);
        let access = match f.kind {
            FieldKind::Int if f.declaration.contains('*') => int().map(Access::Pointer),
            FieldKind::Int if f.signed => int().map(Access::Signed),
            FieldKind::Int => int().map(Access::Unsigned),
            FieldKind::Array { text: true, .. } => text(),
            FieldKind::DataLoc { text: true } | FieldKind::RelLoc { text: true } => text(),
            _ => BytesAccess::bind(format, &f.name, endian).map(Access::Bytes),
        };
        FieldReader {
            name: f.name.clone(),
            access: access.unwrap_or(Access::None),
            names: ValueTable::of(format, &f.name),
        }
    }

    /// Reads it.
    pub fn value(&self, payload: &[u8]) -> Value {
        let name = |v: u64| self.names.as_ref().and_then(|t| t.name(v));
        let read = match &self.access {
            Access::Signed(a) => a.i64(payload).map(|v| Value::Signed(v, name(v as u64))),
            Access::Unsigned(a) => a.u64(payload).map(|v| Value::Unsigned(v, name(v))),
            Access::Pointer(a) => a.u64(payload).map(Value::Pointer),
            Access::Text(a) => a
                .bytes(payload)
                .map(|b| Value::Text(String::from_utf8_lossy(b).into_owned())),
            Access::Bytes(a) => a.bytes(payload).map(|b| Value::Bytes(b.to_vec())),
            Access::None => None,
        };
        read.unwrap_or(Value::Cut)
    }
}

impl Value {
    /// Numbers as numbers, addresses and bytes as hexadecimal text, cut as null.
    pub fn json(&self) -> serde_json::Value {
        match self {
            Value::Signed(v, _) => (*v).into(),
            Value::Unsigned(v, _) => (*v).into(),
            Value::Text(s) => s.as_str().into(),
            Value::Cut => serde_json::Value::Null,
            Value::Pointer(_) | Value::Bytes(_) => self.to_string().into(),
        }
    }
}

/// May hold anything the recorded host wrote: who prints it on a terminal cleans it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Signed(v, None) => write!(f, "{v}"),
            Value::Unsigned(v, None) => write!(f, "{v}"),
            Value::Signed(v, Some(n)) => write!(f, "{v}({n})"),
            Value::Unsigned(v, Some(n)) => write!(f, "{v}({n})"),
            Value::Pointer(v) => write!(f, "{v:#x}"),
            Value::Text(s) if s.contains([' ', '=', '"']) || s.is_empty() => write!(f, "\"{s}\""),
            Value::Text(s) => write!(f, "{s}"),
            Value::Bytes(b) => b.iter().try_for_each(|b| write!(f, "{b:02x}")),
            Value::Cut => write!(f, "(cut)"),
        }
    }
}
