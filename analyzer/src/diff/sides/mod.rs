//! What is compared: the part of each recording, whether the sides are comparable, and in what their hosts differ.

pub(in crate::diff) mod common;
pub(in crate::diff) mod kernel;
pub(in crate::diff) mod load;
mod meanwhile;
pub(in crate::diff) mod options;
pub(in crate::diff) mod parity;
pub(in crate::diff) mod recorded;
pub(in crate::diff) mod settings;
pub(in crate::diff) mod slices;
mod transfers;
