//! Tests of the symbol index.
