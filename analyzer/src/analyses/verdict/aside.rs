//! What goes well beside attempts that fail, in words.

use super::sentences::duration;
use crate::analyses::opens::aside::Aside;

/// `while it works by 10.0.0.8:8080 (inferred)`
pub(super) fn aside(of: &Aside) -> String {
    match of {
        Aside::Pool(other) => format!("while it works by {other} (inferred)"),
        Aside::Many(ends) => format!("one of {ends} ends that its program tries from there"),
        Aside::Probes(n) => format!(
            "as it probes others, {n} times well, while a check of another program finds it down, too (inferred)"
        ),
        Aside::Family { then, within_ns } => format!(
            "and {then}, of the other family, was taken at once and stood within {} (inferred)",
            duration(*within_ns)
        ),
        Aside::Few(_) => "and no answer is known to have waited for it".into(),
    }
}
