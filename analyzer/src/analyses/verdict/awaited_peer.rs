//! What is said of answers that waited for one peer to come back.

use super::sentences::{counted, duration, moment};
use crate::analyses::application::AwaitedPeer;

/// `8 answers from 10.40.0.10:5432 took up to 4.618 s, all until 9.682 s: ... they waited for that peer, as writes do for a synchronous standby (inferred)`
pub(super) fn awaited_peer(a: &AwaitedPeer) -> String {
    let others = match a.others {
        0 => String::new(),
        n => format!(", while {} took far less", counted(n, "other", "others")),
    };
    format!(
        "{} from {} took up to {} and came together at {}{others}: their threads slept until {} woke them, which serves {}; that one's connection there had ended at {} and stood again only at {}: they waited for it, as writes wait for a synchronous standby or a member of a quorum (inferred)",
        counted(a.n, "answer", "answers"),
        a.server,
        duration(a.longest_ns),
        moment(a.within_ns.1),
        a.woken_by,
        a.peer,
        moment(a.left_ns),
        moment(a.back_ns),
    )
}
