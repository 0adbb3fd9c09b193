//! Real recordings compared with themselves and with changed ones; rules; what is not comparable.

mod again;
mod answers;
mod asks;
mod asks_udp;
mod behind;
mod causes;
mod clients;
mod common;
mod exchanges;
mod few;
mod fewer;
mod gave_up;
mod in_part;
mod kernel;
mod names;
mod parity;
mod paths;
mod reopened;
mod rules;
mod said;
pub(super) mod samples;
mod sizes;
mod slices;
mod speed;
mod stopped;
mod streams;
mod vain;
