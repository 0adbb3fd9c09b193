//! Typed views of kernel tracepoints: one folder each, bound by field name from the recording's own format texts.
//!
//! ```text
//! EventFormat -> Bound (offset, width, sign of each field; once per capture) -> read(payload) -> struct
//! ```
//! A required field that is absent makes the tracepoint unbindable (its name is reported); an `Option` field is `None`.

mod binding;

pub(crate) use binding::tracepoint;
pub use binding::{FieldType, MissingField, Raw, Text, Tracepoint};

pub mod napi_poll;
