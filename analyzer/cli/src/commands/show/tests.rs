//! Filters against cells of every kind.

use netmortem_analyzer::Facts;
use netmortem_analyzer::table::{Cell, CellKind, ColumnInfo, FactTable};

use super::filter::Filter;
use super::ids::{self, Told};

const COLUMNS: [ColumnInfo; 4] = [
    ColumnInfo {
        name: "life_ns",
        unit: "ns",
        kind: CellKind::I64,
        meaning: "",
    },
    ColumnInfo {
        name: "dev",
        unit: "",
        kind: CellKind::Str,
        meaning: "",
    },
    ColumnInfo {
        name: "expected",
        unit: "",
        kind: CellKind::Bool,
        meaning: "",
    },
    ColumnInfo {
        name: "share",
        unit: "",
        kind: CellKind::F64,
        meaning: "",
    },
];

fn keeps(filter: &str, cell: Cell<'_>) -> bool {
    Filter::parse(filter, &COLUMNS).unwrap().keeps(&cell)
}

#[test]
fn numbers_compare_as_numbers() {
    assert!(keeps("life_ns>=1_000", Cell::I64(1000)));
    assert!(!keeps("life_ns > 1000", Cell::I64(1000)));
    assert!(keeps("life_ns<9", Cell::U64(8)) && !keeps("life_ns<9", Cell::U64(10)));
    assert!(keeps("life_ns=18446744073709551615", Cell::U64(u64::MAX)));
    assert!(keeps("life_ns!=-1", Cell::I64(1)) && keeps("life_ns>-2", Cell::I64(-1)));
    assert!(keeps("life_ns>1e6", Cell::I64(1_000_001)) && !keeps("life_ns>1e6", Cell::I64(1_000_000)));
    assert!(keeps("life_ns>1ms", Cell::I64(1_000_001)) && !keeps("life_ns>1ms", Cell::I64(1_000_000)));
    assert!(keeps("life_ns<=1.5us", Cell::I64(1_500)) && !keeps("life_ns<1.5 us", Cell::I64(1_500)));
    assert!(keeps("share<=0.5", Cell::F64(0.5)) && !keeps("share<0.5", Cell::F64(f64::NAN)));
}

#[test]
fn text_compares_whole_or_by_part() {
    assert!(keeps("dev=eth0", Cell::str("eth0")) && !keeps("dev=eth", Cell::str("eth0")));
    assert!(keeps("dev~th", Cell::str("eth0")) && !keeps("dev~x", Cell::str("eth0")));
    assert!(keeps("life_ns~99", Cell::I64(1990)));
    assert!(keeps("dev=a=b", Cell::str("a=b")), "the value may hold operators");
    assert!(keeps("expected=no", Cell::Bool(false)) && !keeps("expected=true", Cell::Bool(false)));
}

#[test]
fn unknown_passes_only_when_asked_for() {
    for f in ["life_ns=0", "life_ns!=0", "life_ns<1", "life_ns~", "life_ns!="] {
        assert!(!keeps(f, Cell::Null), "{f}");
    }
    assert!(keeps("life_ns=", Cell::Null) && !keeps("life_ns=", Cell::I64(0)));
    assert!(keeps("life_ns!=", Cell::I64(0)));
}

#[test]
fn mistakes_are_sentences() {
    let told = |f: &str| Filter::parse(f, &COLUMNS).unwrap_err();
    assert!(told("dev").contains("is not COLUMN"));
    assert!(told("speed=1").contains("not there"));
    assert!(told("life_ns=soon").contains("no value that fits"));
    assert!(told("life_ns<").contains("no value that fits"));
    assert!(told("life_ns>1kg").contains("1.5ms"));
    assert!(told("share<1ms").contains("no value that fits"));
    assert!(told("expected=maybe").contains("no value that fits"));
}

#[test]
fn two_signs_of_equality_are_one_and_text_is_not_ordered() {
    assert!(keeps("dev==eth0", Cell::str("eth0")) && !keeps("dev==eth0", Cell::str("=eth0")));
    assert!(keeps("life_ns == 5", Cell::I64(5)) && keeps("dev==", Cell::Null));
    for larger in ["dev<x", "dev>=eth0", "expected>no"] {
        let why = Filter::parse(larger, &COLUMNS).unwrap_err();
        assert!(why.contains("asks which is larger"), "{why}");
    }
    assert!(Filter::parse("share<0.5", &COLUMNS).is_ok());
}

/// Ids are those of the whole table, and moments count from the first event.
#[test]
fn columns_of_reading_stand_before_the_tables_own() {
    let none = Facts::empty();
    let tables = none.tables();
    let told = |view: &str| {
        let table = tables.iter().find(|t| t.name() == view).unwrap();
        let told = Told::new(table.as_ref(), None);
        let names: Vec<&str> = told.columns().iter().map(|c| c.name).collect();
        let usual = |reading, ids| -> Vec<&str> { told.usual(reading, ids).into_iter().map(|c| names[c]).collect() };
        (
            names[..2].to_vec(),
            usual(true, true)[0],
            usual(false, true)[0],
            usual(false, false)[0],
        )
    };
    assert_eq!(told("drops"), (vec!["id", "at_s"], "id", "id", "time_ns"));
    assert_eq!(told("gaps"), (vec!["at_s", "cpu"], "at_s", "cpu", "cpu"));
    assert_eq!(told("snapshots"), (vec!["what", "netns"], "what", "what", "what"));
    // Every view that `explain` names has ids, and none calls a column so itself.
    for table in &tables {
        let own = table.columns().iter().any(|c| ["id", "at_s"].contains(&c.name));
        assert!(!own, "{}", table.name());
    }
    assert_eq!(tables.iter().filter(|t| ids::kind(t.name()).is_some()).count(), 16);
}
