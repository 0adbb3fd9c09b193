//! Cleaning, number formats and the document's own arithmetic.

use crate::clean::{MAX_NAME_CHARS, Text};
use crate::document::{Cell, Column, Table};
use crate::format::{self, TimeUnit};
use crate::layout;

fn plain(text: &str) -> String {
    text.replace('\u{202f}', " ").replace('\u{2212}', "-")
}

#[test]
fn control_bytes_and_hidden_characters_become_visible() {
    assert_eq!(Text::name("eth0\u{1b}[31m\0").as_str(), "eth0\\x1b[31m\\x00");
    assert_eq!(
        Text::name("a\u{202e}b\u{200b}c\u{85}").as_str(),
        "a\\u{202e}b\\u{200b}c\\u{85}"
    );
    assert_eq!(Text::name("a\nb\tc").as_str(), "a b c");
    assert_eq!(Text::name("Größe µ 名前").as_str(), "Größe µ 名前");
    for raw in layout::HOSTILE {
        let clean = Text::from(raw);
        assert!(
            clean.as_str().chars().all(|c| !c.is_control() && c != '\u{202e}'),
            "{clean}"
        );
    }
}

#[test]
fn bytes_that_are_not_utf8_are_shown_as_hex() {
    assert_eq!(Text::name_bytes(b"if\xff\xfe0").as_str(), "if\\xff\\xfe0");
    assert_eq!(
        Text::name_bytes(&[0xff; 10_000]).as_str().chars().count(),
        MAX_NAME_CHARS + 1
    );
}

#[test]
fn long_names_are_cut_with_an_ellipsis() {
    let cut = Text::name(&"x".repeat(10_000));
    assert_eq!(cut.as_str().chars().count(), MAX_NAME_CHARS + 1);
    assert!(cut.as_str().ends_with('…'));
    assert_eq!(
        Text::name(&"x".repeat(MAX_NAME_CHARS)).as_str().chars().count(),
        MAX_NAME_CHARS
    );
}

#[test]
fn durations_read_well_at_every_size() {
    let cases = [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1.00 µs"),
        (12_345, "12.3 µs"),
        (999_499, "999 µs"),
        (999_500, "1.00 ms"),
        (1_250_000, "1.25 ms"),
        (629_000_000, "629 ms"),
        (3_400_000_000, "3.40 s"),
        (119_999_000_000, "120 s"),
        (125_000_000_000, "2 min 05 s"),
        (-12_345, "-12.3 µs"),
        (i64::MIN, "-153 722 867 min 17 s"),
        (i64::MAX, "153 722 867 min 17 s"),
    ];
    for (ns, shown) in cases {
        assert_eq!(plain(&format::duration(ns)), shown, "{ns}");
    }
}

#[test]
fn counts_bytes_and_rates() {
    assert_eq!(plain(&format::count(1_604_812)), "1 604 812");
    assert_eq!(plain(&format::count(999)), "999");
    assert_eq!(plain(&format::count(u64::MAX)), "18 446 744 073 709 551 615");
    assert_eq!(plain(&format::signed(i64::MIN)), "-9 223 372 036 854 775 808");
    assert_eq!(plain(&format::bytes(1_023)), "1023 B");
    assert_eq!(plain(&format::bytes(1_536)), "1.50 KiB");
    assert_eq!(plain(&format::bytes(12_900_000)), "12.3 MiB");
    assert_eq!(plain(&format::bit_rate(181_000_000, 30_000_000_000)), "48.3 Mbit/s");
    assert_eq!(format::bit_rate(1, 0), format::UNKNOWN);
    assert_eq!(format::per_second(5, 0), format::UNKNOWN);
    assert_eq!(plain(&format::significant(0.012_34)), "0.0123");
    assert_eq!(plain(&format::significant(0.4)), "0.400");
    assert_eq!(plain(&format::significant(-1_234.4)), "-1 234");
    assert_eq!(plain(&format::moment(4_320_123_499)), "4.320123");
    assert_eq!(plain(&format::moment(-1_500)), "-0.000002");
    assert_eq!(plain(&format::moment(i64::MAX)), "9 223 372 036.854776");
    assert_eq!(format::significant(f64::NAN), format::UNKNOWN);
}

#[test]
fn a_percentage_never_rounds_to_all_or_nothing() {
    assert_eq!(plain(&format::percent(0.0)), "0 %");
    assert_eq!(plain(&format::percent(1.0)), "100 %");
    assert_eq!(plain(&format::percent(0.000_001)), "<0.001 %");
    assert_eq!(plain(&format::percent(0.999_999_9)), "99.999 %");
    assert_eq!(plain(&format::percent(0.999_96)), "99.996 %");
    assert_eq!(plain(&format::percent(0.123_45)), "12.3 %");
    assert_eq!(plain(&format::percent(0.007_5)), "0.75 %");
    assert_eq!(plain(&format::percent(0.000_12)), "0.012 %");
    assert_eq!(format::share(1, 0), format::UNKNOWN);
}

#[test]
fn unknown_is_never_zero() {
    assert_eq!(format::or_unknown(None::<u64>, format::count), "–");
    assert_eq!(Cell::known(None, Cell::Count).shown(Some(TimeUnit::Microseconds)), "–");
    assert_eq!(
        Cell::known(Some(0), Cell::Count).shown(Some(TimeUnit::Microseconds)),
        "0"
    );
}

#[test]
fn a_table_has_one_unit_of_time_where_every_value_reads_well_in_it() {
    let table = |rows: &[&[i64]]| Table {
        columns: vec![Column::time("t"), Column::time("u")],
        rows: rows
            .iter()
            .map(|row| row.iter().map(|ns| Cell::Ns(*ns)).collect())
            .collect(),
        ..Table::default()
    };
    let both = |unit| vec![Some(unit); 2];
    let units = |rows: &[&[i64]]| table(rows).time_units();
    assert_eq!(
        units(&[&[1_200, 85_000], &[3_000_000, 0]]),
        both(TimeUnit::Microseconds)
    );
    assert_eq!(units(&[&[20_000_000, 30_000_000]]), both(TimeUnit::Milliseconds));
    assert_eq!(units(&[&[150, 300]]), both(TimeUnit::Microseconds));
    assert_eq!(units(&[&[50, 300]]), both(TimeUnit::Nanoseconds));
    assert_eq!(units(&[&[0, 0]]), both(TimeUnit::Microseconds));
    // One unit per column, and none where one column holds a microsecond and half a minute.
    assert_eq!(
        units(&[&[1_010, 20_000_000], &[2_300, 30_000_000_000]]),
        [Some(TimeUnit::Microseconds), None]
    );
    let shown = |ns| plain(&Cell::Ns(ns).shown(None));
    assert_eq!([shown(1_010), shown(12_712_000), shown(0)], ["1.01 µs", "12.7 ms", "0"]);
}

#[test]
fn figures_are_found_in_folded_blocks_too() {
    let document = layout::document();
    let ids: Vec<String> = document
        .figures()
        .iter()
        .map(|(section, figure)| format!("{section}-{}", figure.id))
        .collect();
    assert!(ids.contains(&"receive-path-stage-8".to_owned()), "{ids:?}");
    let mut unique = ids.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), ids.len(), "figure ids are file names");
}

#[test]
fn moments_are_written_in_utc() {
    // Compared with `date -u -d @N`.
    assert_eq!(format::utc(0), "1970-01-01 00:00:00 UTC");
    assert_eq!(format::utc(951_782_400_000_000_000), "2000-02-29 00:00:00 UTC");
    assert_eq!(format::utc(1_795_269_802_999_999_999), "2026-11-21 14:03:22 UTC");
    assert_eq!(format::utc(-1), "1969-12-31 23:59:59 UTC");
    assert_eq!(format::utc(4_107_542_399_000_000_000), "2100-02-28 23:59:59 UTC");
}
