//! What is said of answers that waited for more of another server's answer than came.

use super::sentences::{counted, duration, moment};
use crate::analyses::application::AwaitedEnd;

/// `38 answers from 10.70.2.5:80 took p50 3.004 s, from 5.5 s to 15.0 s, until 10.70.2.10:8700 closed the connection on which it had answered and sent nothing more for p50 3.001 s: ...`
pub(super) fn awaited_end(a: &AwaitedEnd) -> String {
    format!(
        "{} from {} took p50 {}, from {} to {}, until {} closed the connection on which it had answered at once and sent nothing more for p50 {}: who asked waited for more of that answer than came, as where its length is told too large or its end is not recognized (inferred)",
        counted(a.n, "answer", "answers"),
        a.server,
        duration(a.p50_ns),
        moment(a.within_ns.0),
        moment(a.within_ns.1),
        a.other,
        duration(a.silent_p50_ns),
    )
}
