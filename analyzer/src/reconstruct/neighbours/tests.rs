use super::tables::{LinkAddr, NeighbourRow, state_word};
use crate::Confidence;
use crate::testing::{B, Ctx, N, S, Script, V};

const SOFT: Ctx = Ctx::Soft(7);
const GOOD: u8 = 0x10;
const WRONG: u8 = 0x99;

fn mac(last: u8) -> V {
    B(vec![2, 0, 0, 0, 0, last])
}
fn entry(dev: &'static str, more: &[(&'static str, V)]) -> Vec<(&'static str, V)> {
    let of = [
        ("family", N(2)),
        ("dev", S(dev)),
        ("primary_key4", B(vec![10, 9, 2, 1])),
        ("lladdr_len", N(6)),
    ];
    of.into_iter().chain(more.iter().cloned()).collect()
}
fn told(r: &NeighbourRow) -> String {
    let held = |h: &Option<super::tables::Held>| match h {
        None => "-".to_string(),
        Some(h) => format!(
            "{}/{}",
            h.lladdr.map_or_else(|| "none".into(), |a| a.to_string()),
            state_word(h.state)
        ),
    };
    let err = r.err.map_or_else(|| "?".into(), |e| e.to_string());
    format!(
        "{} {} {} {} > {} err {err} pid {} port {} {}",
        r.event,
        r.dev.text(),
        r.address,
        held(&r.before),
        held(&r.after),
        r.pid,
        r.netlink,
        r.confidence.word()
    )
}

/// The life of an entry, in the order of a real recording (6.18): made, resolved, made wrong by `ip`, deleted.
#[test]
fn an_update_is_one_row_with_what_was_before_and_after() {
    let mut s = Script::new("6.18.44", &[]);
    let ev = |s: &mut Script, t, ctx, name: &str, more: &[(&'static str, V)]| {
        s.ev(t, 0, ctx, &format!("neigh:neigh_{name}"), &entry("s0", more));
    };
    ev(&mut s, 1, SOFT, "create", &[("created", N(1))]);
    ev(
        &mut s,
        2,
        SOFT,
        "event_send_done",
        &[("nud_state", N(1)), ("err", N(1))],
    );
    ev(
        &mut s,
        3,
        SOFT,
        "update",
        &[("nud_state", N(1)), ("new_lladdr", mac(GOOD)), ("new_state", N(2))],
    );
    // What the answer releases asks for another entry before the update is done.
    s.ev(
        4,
        0,
        SOFT,
        "neigh:neigh_update",
        &entry("rs", &[("new_lladdr", mac(7)), ("new_state", N(4))]),
    );
    s.ev(
        5,
        0,
        SOFT,
        "neigh:neigh_update_done",
        &entry("rs", &[("lladdr", mac(7)), ("nud_state", N(4))]),
    );
    ev(
        &mut s,
        6,
        SOFT,
        "update_done",
        &[("nud_state", N(2)), ("lladdr", mac(GOOD))],
    );
    ev(
        &mut s,
        7,
        Ctx::Task(42),
        "update",
        &[
            ("nud_state", N(2)),
            ("lladdr", mac(GOOD)),
            ("new_lladdr", mac(WRONG)),
            ("new_state", N(0x80)),
            ("pid", N(42)),
        ],
    );
    ev(
        &mut s,
        8,
        Ctx::Task(42),
        "update_done",
        &[("nud_state", N(0x80)), ("lladdr", mac(WRONG))],
    );
    // Refused: nothing changes.
    ev(
        &mut s,
        9,
        SOFT,
        "update",
        &[("nud_state", N(0x80)), ("lladdr", mac(WRONG)), ("new_state", N(4))],
    );
    ev(
        &mut s,
        10,
        SOFT,
        "update_done",
        &[
            ("nud_state", N(0x80)),
            ("lladdr", mac(WRONG)),
            ("err", N(-1i32 as u32 as u64)),
        ],
    );
    ev(
        &mut s,
        11,
        SOFT,
        "cleanup_and_release",
        &[("nud_state", N(0x20)), ("lladdr", mac(WRONG))],
    );
    ev(&mut s, 12, SOFT, "create", &[]);
    let got: Vec<String> = s.facts().neighbours.iter().map(told).collect();
    let expect = [
        "create s0 10.9.2.1 - > - err 0 pid 0 port 0 certain",
        "event_send_done s0 10.9.2.1 none/incomplete > - err 1 pid 0 port 0 certain",
        "update s0 10.9.2.1 none/incomplete > 02:00:00:00:00:10/reachable err 0 pid 0 port 0 certain",
        "update rs 10.9.2.1 none/none > 02:00:00:00:00:07/stale err 0 pid 0 port 0 certain",
        "update s0 10.9.2.1 02:00:00:00:00:10/reachable > 02:00:00:00:00:99/permanent err 0 pid 42 port 42 certain",
        "update s0 10.9.2.1 02:00:00:00:00:99/permanent > 02:00:00:00:00:99/permanent err -1 pid 0 port 0 certain",
        "cleanup_and_release s0 10.9.2.1 02:00:00:00:00:99/failed > - err 0 pid 0 port 0 certain",
        "create s0 10.9.2.1 - > - err -105 pid 0 port 0 certain",
    ];
    assert_eq!(got, expect);
}

/// Where only the begin of updates is recorded, what was asked for is all that is known.
#[test]
fn what_was_asked_for_is_weak() {
    let mut s = Script::new("6.18.44", &["neigh:neigh_update_done"]);
    let v = entry("s0", &[("new_lladdr", mac(GOOD)), ("new_state", N(2))]);
    s.ev(1, 0, SOFT, "neigh:neigh_update", &v);
    let f = s.facts();
    assert_eq!(f.neighbours[0].confidence, Confidence::Weak);
    assert_eq!(f.neighbours[0].err, None);
}

#[test]
fn an_address_is_as_long_as_its_device_says() {
    assert_eq!(
        LinkAddr::of(&[1, 2, 3, 4, 5, 6, 9, 9], 6).unwrap().to_string(),
        "01:02:03:04:05:06"
    );
    assert_eq!(LinkAddr::of(&[0; 32], 6), None);
    assert_eq!(LinkAddr::of(&[1; 32], 20), None); // InfiniBand's
    assert_eq!(LinkAddr::of(&[1; 4], 6), None);
}
