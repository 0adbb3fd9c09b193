//! Tests of the sub-buffer reader.
