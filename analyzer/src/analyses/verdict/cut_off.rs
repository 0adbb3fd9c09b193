//! What the line on connections says of transfers that their server ended in their midst.

use super::sent::size;
use super::sentences::duration;
use crate::analyses::opens::{CutOff, Opens};

fn cut_off(c: &CutOff) -> String {
    let task = match c.task.as_str() {
        "" => String::new(),
        task => format!(" ({task})"),
    };
    let bytes = |n: u32| size(n.into());
    let anew = match c.asked {
        Some(n) => format!(
            " and asked for the same, with as many bytes as before ({}), so it starts from the beginning each time (inferred)",
            size(i64::try_from(n).unwrap_or(i64::MAX))
        ),
        None => String::new(),
    };
    let by_name = match c.task.as_str() {
        task if task.contains("redis") => " (in redis client-output-buffer-limit, and then a full resynchronisation)",
        task if task.contains("nginx") => {
            " (in nginx send_timeout, or an answer of which it cannot write to proxy_temp_path what its buffers do not hold)"
        }
        _ => "",
    };
    // Of a host with several programs the next connection may be another's.
    let back = match c.same {
        true if c.again_ns == 0 => format!("{} was back at once{anew}", c.peer),
        true => format!("{} was back within {}{anew}", c.peer, duration(c.again_ns)),
        false => match c.asked {
            Some(_) => format!("{} came again{anew}", c.peer),
            None => format!("{} went on to open connections there", c.peer),
        },
    };
    format!(
        "{}{task} cut off {} in the middle of {} transfers, one after the other, every {} (p50), each after its socket had taken {} (p50): it closed the connection itself while its last send had been taken only in part ({} of {}) and the rest was never sent; {back}; the peer had not closed before, and no retransmission timer ran out on them: a limit of the server ends them, as one of the output that it buffers for a slow reader{by_name}, or of the time of a transfer, or its program ends (inferred; its log may tell)",
        c.at,
        c.peer,
        c.connections,
        duration(c.every_ns),
        size(c.bytes),
        bytes(c.last_send.1),
        bytes(c.last_send.0),
    )
}

/// What has a name.
pub(super) fn causes(o: &Opens) -> Option<String> {
    o.cut_off.as_ref().map(cut_off)
}
