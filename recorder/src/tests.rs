//! Live recordings on this machine, and the pure parts. A live test says why it is skipped (no root, no tracefs).

mod child;
mod faults;
mod filters;
mod flight;
mod flight_beside;
mod flight_drops;
mod flight_namespaces;
mod flight_processes;
pub(crate) mod harness;
mod heard;
mod host_faults;
mod idle;
pub(crate) mod kernel_state;
mod live;
mod outputs;
mod overflow;
mod packets;
mod pair;
mod perf_ends;
mod probes;
mod profiles;
mod pure;
mod reading;
mod refused;
mod words;
