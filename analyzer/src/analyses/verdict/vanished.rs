//! Where what was sent again was seen last, in words.

use crate::analyses::transmit::Vanished;

/// `by the lists of routes 2001:db8:99:7::/64 came in the recording`
fn routes(v: &Vanished) -> String {
    let said = [(&v.routes_came, "came"), (&v.routes_went, "went")];
    let said = said.iter().filter(|(of, _)| !of.is_empty());
    let said: Vec<String> = said.map(|(of, what)| format!("{} {what}", of.join(" and "))).collect();
    match said.is_empty() {
        true => "a route, a router that announced itself, a bridge's table".into(),
        false => format!("by the lists of routes {} while this was recorded", said.join(", and ")),
    }
}

/// `all 5 segments and SYNs that were retransmitted and whose way is known were seen last when they left by vpn0, ...`
pub(in crate::analyses) fn vanished(v: &Vanished) -> String {
    let of = match v.count == v.of {
        true => format!("all {}", v.of),
        false => format!("{} of {}", v.count, v.of),
    };
    let but = match v.another_way() {
        true => format!(
            ", by which none of {} others of these connections left (most of those were seen last on {}): meanwhile they went another way ({}), on which they, or what answers them, were lost (inferred)",
            v.others.1,
            v.usual,
            routes(v)
        ),
        false => ": they, or what answers them, were lost or late beyond it (inferred)".to_owned(),
    };
    format!(
        "{of} segments and SYNs that were retransmitted and whose way is known were seen last when they left by {}{but}",
        v.dev
    )
}
