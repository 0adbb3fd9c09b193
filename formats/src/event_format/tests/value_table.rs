//! Value tables, of recorded texts and of hand-made print fmts.

use super::texts::{RELEASE, recorded_event};
use crate::event_format::{EventFormat, ValueTable, ValueTableKind};

fn of(print_fmt: &str, field: &str) -> Option<ValueTable> {
    ValueTable::of(
        &EventFormat {
            print_fmt: print_fmt.to_owned(),
            ..EventFormat::default()
        },
        field,
    )
}

fn entries(print_fmt: &str, field: &str) -> Vec<(u64, String)> {
    of(print_fmt, field).map(|t| t.entries).unwrap_or_default()
}

fn values(list: &str) -> Vec<u64> {
    entries(&format!("\"%s\", __print_symbolic(REC->x, {list})"), "x")
        .iter()
        .map(|(v, _)| *v)
        .collect()
}

#[test]
fn drop_reasons_of_6_18() {
    let t = ValueTable::of(&recorded_event(RELEASE, "skb", "kfree_skb"), "reason").unwrap();
    // Counted in the text: grep -o '{ [0-9]*, "[A-Z0-9_]*" }' | wc -l
    assert_eq!((t.kind.clone(), t.entries.len()), (ValueTableKind::Symbolic, 127));
    assert_eq!(t.name(2).as_deref(), Some("NOT_SPECIFIED"));
    assert_eq!(t.name(6).as_deref(), Some("SOCKET_RCVBUFF"));
    assert_eq!(t.entries.last().unwrap(), &(128, "MAX".to_owned()));
    assert_eq!(t.name(1 << 40), None);
}

#[test]
fn fields_of_one_text_have_their_own_tables() {
    let f = recorded_event(RELEASE, "sock", "inet_sock_set_state");
    let name = |field, value| ValueTable::of(&f, field).unwrap().name(value).unwrap();
    assert_eq!(name("oldstate", 1), "TCP_ESTABLISHED");
    assert_eq!(name("newstate", 7), "TCP_CLOSE");
    assert_eq!(name("family", 10), "AF_INET6");
    assert_eq!(name("protocol", 6), "IPPROTO_TCP");
    assert_eq!(ValueTable::of(&f, "sport"), None);
    let softirq = ValueTable::of(&recorded_event(RELEASE, "irq", "softirq_entry"), "vec").unwrap();
    let names: Vec<String> = (0..11).map(|v| softirq.name(v).unwrap_or_default()).collect();
    assert_eq!(
        names,
        [
            "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU", ""
        ]
    );
}

/// `(REC->prev_state & (mask)) ? __print_flags(REC->prev_state & (mask), "|", ...) : "R"`
#[test]
fn thread_states_under_their_mask() {
    let t = ValueTable::of(&recorded_event(RELEASE, "sched", "sched_switch"), "prev_state").unwrap();
    assert_eq!(t.kind, ValueTableKind::Flags { delimiter: "|".into() });
    let letters: String = t.entries.iter().map(|(_, n)| n.as_str()).collect();
    assert_eq!(letters, "SDTtXZPI");
    assert_eq!(
        (t.name(1).unwrap(), t.name(2).unwrap(), t.name(0x41).unwrap()),
        ("S".into(), "D".into(), "S|P".into())
    );
}

#[test]
fn value_expressions() {
    assert_eq!(
        values(r#"{ 5, "a" }, {0x1f,"b"}, { 010, "c" }, { 7UL, "d" }, { 8ull, "e" }"#),
        [5, 31, 8, 7, 8]
    );
    assert_eq!(
        values(r#"{ 1 << 3, "a" }, { (1 << 4), "b" }, { 1UL<<5, "c" }, { ((((1UL))) << (6)), "d" }"#),
        [8, 16, 32, 64]
    );
    assert_eq!(
        values(r#"{ 1|4, "a" }, { (0x0001 | 0x0002), "b" }, { 1 | 1 << 2, "c" }, { 12 & ~4, "d" }"#),
        [5, 3, 5, 8]
    );
    assert_eq!(
        values(r#"{ -1, "a" }, { (-2), "b" }, { ~0UL, "c" }"#),
        [u64::MAX, u64::MAX - 1, u64::MAX]
    );
    assert_eq!(
        values(r#"{ ( unsigned long)((( gfp_t)8)|4), "a" }, { (u8)257, "b" }, { (unsigned int)-1, "c" }"#),
        [12, 1, 0xffff_ffff]
    );
    assert_eq!(
        values(r#"{ (2 + 3) * 4 - 6 / 2 % 2, "a" }, { 1 ^ 3, "b" }, { 256 >> 4, "c" }"#),
        [19, 2, 16]
    );
}

#[test]
fn what_is_no_number_is_left_out() {
    assert_eq!(
        values(r#"{ TCP_ESTABLISHED, "a" }, { 2, "b" }, { (1 << FLAG), "c" }, { sizeof(int), "d" }, { 5, "e" }"#),
        [2, 5]
    );
    assert_eq!(
        values(
            r#"{ 1 << 64, "a" }, { 1 / 0, "b" }, { 99999999999999999999, "c" }, { 08, "d" }, { 0x, "e" }, { 1, "f" }"#
        ),
        [1]
    );
    assert_eq!(
        values(r#"{ 1 +, "a" }, { , "b" }, { 1 2, "d" }, { 3, "e" }"#).last(),
        Some(&3)
    );
    assert_eq!(
        of(r#""%s", __print_symbolic(REC->x, { A, "a" }, { B, "b" })"#, "x"),
        None,
        "an old kernel's enum names only"
    );
    assert_eq!(
        entries(
            r#""%s", __print_symbolic(REC->x, { 1, "a" }, { -1, ((void *)0) })"#,
            "x"
        ),
        [(1, "a".into())]
    );
    let deep = format!(
        "{{ {}1{}, \"deep\" }}, {{ 4, \"a\" }}",
        "(".repeat(500),
        ")".repeat(500)
    );
    assert_eq!(values(&deep), [4]);
}

#[test]
fn names_are_c_strings() {
    let e = entries(
        r#""%s", __print_symbolic(REC->x, { 1, "a, b } \"q\" (" }, { 2, "two" "parts" }, {3,""})"#,
        "x",
    );
    assert_eq!(
        e,
        [(1, "a, b } \"q\" (".into()), (2, "twoparts".into()), (3, "".into())]
    );
}

#[test]
fn the_field_is_found_by_its_whole_name() {
    let p = r#""%s %s", __print_symbolic(REC->state_old, { 1, "old" }), __print_symbolic(REC->state, { 1, "new" })"#;
    assert_eq!(entries(p, "state"), [(1, "new".into())]);
    assert_eq!(entries(p, "state_old"), [(1, "old".into())]);
    assert_eq!(of(p, "stat"), None);
    assert_eq!(of(p, ""), None);
}

#[test]
fn casts_masks_and_computations() {
    let table = |argument: &str| of(&format!("\"%s\", __print_symbolic({argument}, {{ 1, \"a\" }})"), "x").is_some();
    for good in [
        "REC->x",
        "(REC->x)",
        "(u8)REC->x",
        "( __u8) REC->x",
        "(unsigned int)(REC->x)",
        "REC->x & 0xf",
        "(REC->x & ~3)",
        "((REC->x) & (1 << 4))",
    ] {
        assert!(table(good), "{good}");
    }
    for bad in [
        "REC->x >> 4",
        "(REC->x >> 8 & 0x7)",
        "REC->x & REC->y",
        "REC->x && 1",
        "REC->x + 1",
        "REC->y",
        "2ULL",
        "REC->x[0]",
        "-REC->x",
    ] {
        assert!(!table(bad), "{bad}");
    }
}

#[test]
fn the_whole_field_is_taken_before_a_masked_one() {
    let p = r#""%s", __print_flags(REC->x & 3, "|", { 1, "masked" }), __print_symbolic(REC->x, { 1, "whole" })"#;
    assert_eq!(entries(p, "x"), [(1, "whole".into())]);
}

#[test]
fn wide_variants_and_tables_inside_expressions() {
    let p = r#""%s", REC->x ? __print_flags_u64(REC->x, "", { 1ULL << 40, "big" }) : "none", __print_symbolic_u64(REC->y, {2,"b"})"#;
    assert_eq!(
        of(p, "x").unwrap().kind,
        ValueTableKind::Flags {
            delimiter: String::new()
        }
    );
    assert_eq!(entries(p, "x"), [(1 << 40, "big".into())]);
    assert_eq!(entries(p, "y"), [(2, "b".into())]);
}

/// As the kernel's `trace_print_flags_seq`.
#[test]
fn flags_take_their_bits_away_in_order() {
    let t = of(
        r#""%s", __print_flags(REC->x, "|", { 3, "both" }, { 1, "one" }, { 2, "two" }, { 8, "eight" })"#,
        "x",
    )
    .unwrap();
    let name = |v| t.name(v);
    assert_eq!(name(3).as_deref(), Some("both"));
    assert_eq!(name(1).as_deref(), Some("one"));
    assert_eq!(name(0xb).as_deref(), Some("both|eight"));
    assert_eq!(name(0x31).as_deref(), Some("one|0x30"));
    assert_eq!(name(0).as_deref(), Some(""));
    assert_eq!(name(0x30), None);
    let zero = of(r#""%s", __print_flags(REC->x, "|", { 0, "NONE" }, { 1, "one" })"#, "x").unwrap();
    assert_eq!((zero.name(0), zero.name(1)), (Some("NONE".into()), Some("one".into())));
}
