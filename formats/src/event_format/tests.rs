//! Tests of the format text parser.
#![allow(clippy::arithmetic_side_effects)] // tests: a panic is their way to fail

mod access;
mod grammar;
mod oracle;
mod speed;
mod texts;
mod value_table;
mod write;
