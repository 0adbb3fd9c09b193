//! Tests of the format text parser.
