//! What the line on connections says of a server whose program refuses new ones for a time.

use super::sent::size;
use super::sentences::{counted, duration, moment};
use crate::analyses::opens::{Holder, Opens, Refuses};

fn task(name: &str) -> String {
    match name {
        "" => String::new(),
        name => format!(" ({name})"),
    }
}

/// `; 10.88.0.50 (bi-worker) had 51 of the 58 connections that stood there then idle ...`
fn holder(r: &Refuses, h: &Holder) -> String {
    let rate = (h.per_second).map_or_else(String::new, |n| format!(", opened at {n:.1}/s"));
    let closed = match h.closed_ns {
        Some(ns) => {
            let well = match h.after {
                0 => String::new(),
                n => format!(", from when on none was refused ({n} went on)"),
            };
            format!(", none closed until all of them were, at {}{well}", moment(ns))
        }
        None if h.kept => ", none of them closed by the end of the recording".to_owned(),
        None => String::new(),
    };
    format!(
        "; of {} that stood there at the last of them {} were of {}{} and idle for 1 s or more, more than all others together{rate}{closed}",
        counted(r.stood, "connection", "connections"),
        h.idle,
        h.address,
        task(&h.task),
    )
}

fn refuses(r: &Refuses) -> String {
    let when = match r.asked {
        Some(n) => format!("right after the first message of the client ({}), with", size(n.into())),
        None => "before any message of the client, with".to_owned(),
    };
    let clients: Vec<String> = r.clients.iter().map(|(name, n)| format!("{n} of {name}")).collect();
    let held = (r.holder.as_ref()).map_or_else(
        || {
            format!(
                "; {} stood there at the last of them",
                counted(r.stood, "connection", "connections")
            )
        },
        |h| holder(r, h),
    );
    format!(
        "{} of {} new connections to {}{} were closed by the server itself p50 {} after they were opened, {when} an answer of {} (p50), all from {} to {} ({}), while before and after {} went on that began alike: its program refuses them, not the network, most likely for a limit of its connections (inferred; its log may tell){held}",
        r.connections,
        r.of,
        r.at,
        task(&r.task),
        duration(r.lived_ns),
        size(r.answer),
        moment(r.within_ns.0),
        moment(r.within_ns.1),
        clients.join(", "),
        r.went_on,
    )
}

/// What has a name.
pub(super) fn causes(o: &Opens) -> Option<String> {
    o.refuses.as_ref().map(refuses)
}
