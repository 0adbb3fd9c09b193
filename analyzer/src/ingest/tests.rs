//! Tests of decode, check and merge.
