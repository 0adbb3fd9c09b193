//! Tests of the sub-buffer reader.

#![allow(clippy::arithmetic_side_effects, clippy::type_complexity)] // tests: a panic is their way to fail

mod header_event;
mod layout;
mod pages;
mod real;
mod recording;
mod speed;
mod synthetic;
