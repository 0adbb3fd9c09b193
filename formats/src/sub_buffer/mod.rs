//! ftrace ring-buffer sub-buffers ("pages"): bytes -> records and losses.

mod layout;
mod reader;
#[cfg(test)]
mod tests;

pub use layout::PageLayout;
pub use reader::{Records, SubBuffer, SubBuffers, sub_buffers};
