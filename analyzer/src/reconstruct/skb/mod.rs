//! stub
pub mod tables;
