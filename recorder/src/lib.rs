//! The thin recorder.
