//! What is said of fragments among dropped packets: which of which datagrams, and what became of these. No pause in it: the head of the page has all of it.

use super::sentences::counted;
use crate::analyses::drops::{Beside, Fragments, Lost};

/// Which fragments of which datagrams; whether a rule dropped them.
pub(super) fn fragments(l: &Lost, by_rule: bool) -> String {
    let Some(f) = &l.fragments else { return String::new() };
    let which = match f.nth {
        Some(1) => "the first fragments",
        Some(2) => "the second fragments",
        Some(3) => "the third fragments",
        _ if f.behind => "fragments after the first",
        _ => "fragments",
    };
    let some = match f.packets < l.count && f.packets > 0 {
        true => format!("{} of these ", f.packets),
        false => String::new(),
    };
    let bytes = match (f.bytes, f.sizes) {
        (Some(n), _) => format!(" of {n} bytes"),
        (None, (least, most)) if least > 0 => format!(" of {least} to {most} bytes"),
        _ => String::new(),
    };
    let all = match f.fragmented == f.datagrams {
        true => ", all that were fragmented".to_owned(),
        false => format!(", {} were fragmented", f.fragmented),
    };
    // Else what those dropped were sent to is said behind.
    let to = f.to.as_ref().filter(|_| f.beside.is_some());
    let to = to.map_or_else(String::new, |to| format!(" to {to}"));
    format!(
        ", {some}{which} of {}{bytes}{to}{all}{}",
        counted(f.datagrams, "datagram", "datagrams"),
        f.beside.as_ref().map_or_else(String::new, |b| beside(f, b, by_rule))
    )
}

/// They never came, and small ones did.
fn beside(f: &Fragments, b: &Beside, by_rule: bool) -> String {
    let held = match (f.behind, b.held) {
        (false, _) | (_, 0) => String::new(),
        (true, n) => {
            let counted = b.counted.map_or_else(String::new, |n| {
                format!(", by its counters {n} fragments came and nothing was put together")
            });
            format!(" (the first fragments, {n} of them, came to that host and are held there for the rest{counted})")
        }
    };
    let answered = match b.answered {
        0 => String::new(),
        n => format!(
            " and {} answered",
            if n == 1 {
                "1 was".to_owned()
            } else {
                format!("{n} were")
            }
        ),
    };
    let rule = match f.behind && by_rule {
        true => ", as where a rule asks for ports, which only the first fragment has (inferred)",
        false => "",
    };
    format!(
        ", so that none of these datagrams came to the socket there{held}, while {} of {} in one packet did{answered}{rule}",
        b.came, b.sent
    )
}
