use std::error::Error;
use std::fmt;
use std::io;

use super::{code, failure, told, usage};

/// An error whose sentence may hold its cause.
#[derive(Debug)]
struct Outer {
    sentence: &'static str,
    cause: io::Error,
}

impl fmt::Display for Outer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence)
    }
}

impl Error for Outer {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.cause)
    }
}

#[test]
fn a_cause_is_told_once() {
    let outer = |sentence| {
        let cause = io::Error::from(io::ErrorKind::NotFound);
        anyhow::Error::from(Outer { sentence, cause })
    };
    let says = outer("cannot open x: entity not found").context("recording stopped");
    assert_eq!(told(&says), "recording stopped: cannot open x: entity not found");
    assert_eq!(told(&outer("cannot open x")), "cannot open x: entity not found");
}

#[test]
fn mistakes_of_usage_have_their_own_exit_code() {
    assert_eq!(code(&failure("no", "try")), 1);
    assert_eq!(code(&usage("no", "try")), 2);
    assert_eq!(code(&usage("no", "try").context("in x")), 2);
    assert_eq!(told(&usage("no", "try")), "no\n  next: try");
}
