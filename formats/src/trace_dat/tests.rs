//! Tests of trace.dat: against trace-cmd's own reading of a real recording (`oracle`), of the same recording rewritten in
//! every variant (`variants`), and of damaged files (`hostile`).

mod oracle;
mod walk;
