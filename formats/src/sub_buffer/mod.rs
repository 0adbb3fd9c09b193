//! ftrace ring-buffer sub-buffers ("pages"): bytes -> records and losses.
//!
//! In: the decoded bytes of a chunk (whole sub-buffers of one CPU, in order) and the [`PageLayout`] that the
//! recording's own `header_page` text gives. Out: [`StreamItem`](crate::item::StreamItem)s with raw timestamps of the
//! recorded clock. Must not convert clocks, look into payloads, sort, or drop anything without an error or a loss.
//!
//! Source: kernel `kernel/trace/ring_buffer.c`, `include/linux/ring_buffer.h`, `Documentation/trace/ring-buffer-map.rst`.
//!
//! ```text
//! sub-buffer   0          8 (4 or 8 wide)   data_offset                       data_offset+commit        size
//!              | u64 time | long commit    | record | record | ... | record | [long missed] | unused  |
//!
//! commit word  31: events were lost before the first record   30: their count follows the records   26..0: bytes
//!
//! record       little endian: time_delta << 5 | type_len      big endian: type_len << 27 | time_delta
//!   type_len 1..28  data, payload of 4 * type_len bytes                       clock += time_delta
//!            0      data, u32 n (counts itself), payload of n - 4 bytes       clock += time_delta
//!            29     padding: time_delta 0 = nothing more in this sub-buffer; else a discarded event, u32 length
//!            30     time extend, u32 high                                     clock += high << 27 | time_delta
//!            31     time stamp, u32 high                                      clock  = high << 27 | time_delta (59 bits)
//! ```

mod header_event;
mod layout;
mod reader;
mod records;
#[cfg(test)]
mod tests;

pub use header_event::check_header_event;
pub use layout::PageLayout;
pub use reader::{SubBuffer, SubBuffers, sub_buffers};
pub use records::Records;
