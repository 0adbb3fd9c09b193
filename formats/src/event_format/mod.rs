//! The tracefs `format` text of one event, and the accessors bound from it.
//!
//! In: the text of `events/<system>/<name>/format` as the recorded kernel gave it. Out: [`EventFormat`], from it field
//! accessors (offset, width, sign, resolved once) and the value tables of its print fmt. Must not run a print fmt, know
//! any event by name, or trust a C declaration for anything but the name, the array-ness and the text-ness.
//!
//! Source: kernel `kernel/trace/trace_events.c` (`f_show`, `trace_event_define_fields`),
//! `include/trace/stages/stage*.h`, `kernel/trace/trace_output.c` (`trace_print_flags_seq`).
//!
//! ```text
//! name: kfree_skb
//! ID: 2310
//! format:
//! \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;      common fields
//!                                                                        (blank line)
//! \tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;          own fields
//!
//! print fmt: "name=%s reason: %s", __get_str(name), __print_symbolic(REC->reason, { 2, "NOT_SPECIFIED" }, ...)
//!
//! payload      | common fields | own fields ... | bytes that __data_loc / __rel_loc words point to |
//! __data_loc   low 16 bits: offset from the payload's start, high 16: length with its NUL
//! __rel_loc    the same, but the offset counts from the end of the word itself
//! ```

mod access;
mod declaration;
mod expression;
mod parse;
#[cfg(test)]
mod tests;
mod value_table;
mod write;

pub use access::{BytesAccess, IntAccess, StrAccess};
pub(crate) use parse::field_line;
pub use parse::{EventFormat, FieldFormat, FieldKind};
pub use value_table::{ValueTable, ValueTableKind};
