//! Tests of the symbol index.
#![allow(clippy::arithmetic_side_effects)] // tests: a panic is their way to fail

use std::time::{Duration, Instant};

use super::{Deltas, Kallsyms, MAX_TEXT_BYTES, expand};

const TEXT: &str = "\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T _text
ffffffff81000000 T startup_64
ffffffff81000100 t helper
ffffffff81000180 W weak_one
ffffffff81000200 w weak_two
ffffffff81000400 D data_first
ffffffff81000500 d data_second
ffffffff81000600 T behind_data
ffffffffc0201000 t veth_xmit\t[veth]
ffffffffc0300000 d veth_data\t[veth]
ffffffffc0200800 t early_in_module\t[veth]
";

fn resolve(text: &str, addr: u64) -> Option<(String, u64)> {
    Kallsyms::new(text.into()).resolve(addr).map(|(n, d)| (n.to_owned(), d))
}

#[test]
fn nearest_text_symbol_at_or_below() {
    let k = Kallsyms::new(TEXT.into());
    let cases = [
        (0xffff_ffff_8100_0000, Some(("_text", 0))), // the first of two names
        (0xffff_ffff_8100_00ff, Some(("_text", 0xff))),
        (0xffff_ffff_8100_0100, Some(("helper", 0))),
        (0xffff_ffff_8100_01ff, Some(("weak_one", 0x7f))),
        (0xffff_ffff_8100_03ff, Some(("weak_two", 0x1ff))),
        (0xffff_ffff_8100_0400, None), // data
        (0xffff_ffff_8100_05ff, None),
        (0xffff_ffff_8100_0601, Some(("behind_data", 1))),
        (0xffff_ffff_8110_05ff, Some(("behind_data", 0xf_ffff))),
        (0xffff_ffff_8110_0600, None), // 1 MiB behind it is nobody's
        (0xffff_ffff_c020_0fff, Some(("early_in_module", 0x7ff))),
        (0xffff_ffff_c020_1010, Some(("veth_xmit", 0x10))), // no [veth]
        (0xffff_ffff_80ff_ffff, None),
        (0, None),
        (u64::MAX, None),
    ];
    for (addr, want) in cases {
        assert_eq!(k.resolve(addr), want, "{addr:#x}");
    }
}

#[test]
fn texts_without_symbols() {
    let hidden: String = TEXT
        .lines()
        .map(|l| format!("{}{}\n", "0".repeat(16), &l[16..]))
        .collect();
    for text in ["", "\n\n", "what is this\n", &hidden] {
        assert_eq!(resolve(text, 0xffff_ffff_8100_0100), None, "{text:.40}");
    }
}

#[test]
fn damaged_lines_are_passed_over() {
    let text = "ffffffff81000000 T a\nffffffff810 \n\nffffffff81000010T b\nfffffffffffffffff T too_long\n\
        ffffffff81000020 T\nffffffff81000030 T \nffffffff81000040 T last";
    assert_eq!(resolve(text, 0xffff_ffff_8100_0012), Some(("a".into(), 0x12)));
    assert_eq!(
        resolve(text, 0xffff_ffff_8100_0041),
        Some(("last".into(), 1)),
        "no newline at the end"
    );
    assert_eq!(
        resolve(text, 0xffff_ffff_8100_0030),
        None,
        "a symbol without a name is no symbol"
    );
}

#[test]
fn thirty_two_bit_addresses() {
    assert_eq!(
        resolve("c0008000 T stext\nbf000000 t mod_fn [m]\n", 0xbf00_0004),
        Some(("mod_fn".into(), 4))
    );
}

/// The running kernel's symbols: every answer is that of a search through the whole text.
#[test]
fn live_symbols_as_a_linear_search_finds_them() {
    let text = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    let lines: Vec<(u64, &str, &str)> = text
        .lines()
        .filter_map(|l| {
            let mut words = l.split_ascii_whitespace();
            Some((
                u64::from_str_radix(words.next()?, 16).ok()?,
                words.next()?,
                words.next()?,
            ))
        })
        .filter(|(a, _, _)| *a != 0)
        .collect();
    if lines.is_empty() {
        return println!("skipped: /proc/kallsyms shows no addresses");
    }
    let k = Kallsyms::new(text.clone().into_bytes());
    let start = Instant::now();
    assert!(k.resolve(lines[lines.len() / 2].0).is_some() || lines[lines.len() / 2].1 != "t");
    println!(
        "{} symbols, {} bytes, index in {:?}",
        lines.len(),
        text.len(),
        start.elapsed()
    );
    for i in 0..400 {
        let (base, ..) = lines[i * 7919 % lines.len()];
        let addr = base + i as u64 % 90;
        let nearest = lines.iter().map(|(a, ..)| *a).filter(|a| *a <= addr).max().unwrap();
        let is_text = |t: &str| ["t", "T", "w", "W"].contains(&t);
        let first = lines.iter().find(|(a, t, _)| *a == nearest && is_text(t));
        let want = first
            .filter(|_| addr - nearest < 1 << 20)
            .map(|(a, _, n)| (*n, addr - a));
        assert_eq!(k.resolve(addr), want, "{addr:#x}");
    }
}

/// `cargo test -p netmortem-formats --release -- --ignored speed --nocapture`
#[test]
#[ignore = "a measurement"]
fn speed_of_the_index() {
    let mut text = String::new();
    for i in 0..200_000u64 {
        let kind = ["t", "T", "d", "r"][i as usize % 4];
        // Modules come in any order.
        let at = if i > 150_000 {
            0xffff_ffff_c000_0000 + i * 7919 % 50_000 * 64
        } else {
            0xffff_ffff_8100_0000 + i * 64
        };
        text += &format!("{at:016x} {kind} some_function_of_the_kernel_{i}\n");
    }
    let k = Kallsyms::new(text.into_bytes());
    let start = Instant::now();
    assert_eq!(
        k.resolve(0xffff_ffff_8100_0005),
        Some(("some_function_of_the_kernel_0", 5))
    );
    let took = start.elapsed();
    println!("200,000 lines, {} bytes: {took:?}", k.text().len());
    assert!(took < Duration::from_millis(500), "far from 50 ms: {took:?}");
}

fn deltas(text: &str) -> String {
    let mut deltas = Deltas::default();
    text.lines().for_each(|l| deltas.push(l.as_bytes()));
    String::from_utf8(deltas.text().to_vec()).unwrap()
}

#[test]
fn distances_become_the_text_again() {
    let short = "ffffffff81000000 T _text\nffffffff81000070 T next\nffffffffc0201000 t far\t[veth]\nffffffffc0200fff t back\t[veth]\n\
        ffffffffc0200fff t same\n0000000000000001 t low\n7fffffffffffffff t half\n8000000000000000 t other\n";
    // By hand: the first is its distance from 0, the shorter way round.
    let by_hand = "-7f000000 T _text\n70 T next\n3f200f90 t far\t[veth]\n-1 t back\t[veth]\n0 t same\n3fdff002 t low\n\
        7ffffffffffffffe t half\n1 t other\n";
    assert_eq!(deltas(short), by_hand);
    for text in [short, TEXT, "", "0000000000000000 A zero\n"] {
        assert_eq!(
            expand(deltas(text).as_bytes()),
            Some(text.as_bytes().to_vec()),
            "{text}"
        );
    }
    // What is no symbol is left out, and moves none that follow.
    assert_eq!(
        deltas("no\n\n 1 t x\nG t x\n10 t x\n11111111111111111 t x\n12 t y\n"),
        "10 t x\n2 t y\n"
    );
}

#[test]
fn distances_that_cannot_be_read_are_no_symbols() {
    for bad in [
        "1 t a\n2",
        "1 t a\n2 t b",
        "\n",
        "x t a\n",
        "- t a\n",
        "--1 t a\n",
        "1\n",
        "11111111111111111 t a\n",
    ] {
        assert_eq!(expand(bad.as_bytes()), None, "{bad}");
    }
}

/// A short line becomes one of 18 bytes: what would be larger than any kernel's text is not made.
#[test]
fn distances_do_not_grow_past_the_limit() {
    let most = MAX_TEXT_BYTES / 18;
    let text = expand("0 \n".repeat(most).as_bytes()).unwrap();
    assert_eq!(text.len(), most * 18);
    assert!(text.capacity() <= MAX_TEXT_BYTES);
    assert_eq!(expand("0 \n".repeat(most + 1).as_bytes()), None);
    let long = format!("0 t {}\n", "x".repeat(MAX_TEXT_BYTES));
    assert_eq!(expand(long.as_bytes()), None);
}

/// Of this machine.
#[test]
fn a_whole_kernels_symbols_come_back() {
    let text = match std::fs::read_to_string("/proc/kallsyms") {
        Ok(text) => text,
        Err(e) => return println!("skipped: /proc/kallsyms cannot be read: {e}"),
    };
    assert!(!text.is_empty());
    assert_eq!(expand(deltas(&text).as_bytes()), Some(text.into_bytes()));
}
