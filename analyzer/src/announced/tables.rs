//! Rows of the view `changes`.

use crate::table::{Cell, TableDef, col};

/// A change.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct ChangeRow {
    /// When the recorder had read of it, on the trace clock: soon after.
    pub at_ns: i64,
    /// Network namespace (inode).
    pub netns: u64,
    /// Its name; empty: the recorder's own.
    pub host: String,
    /// `link`, `address`, `route`, `rule`, `qdisc`, `class`, `filter`, `nexthop`, `ruleset`, `sysctl`.
    pub what: &'static str,
    /// Of which.
    pub of: String,
    /// What changed, in words.
    pub says: String,
    /// It was taken away; else it was given, set or changed.
    #[serde(skip)]
    pub took: bool,
    /// Of a device or a namespace that was not there at the start: what comes with a container, or goes.
    pub comes_and_goes: bool,
    /// It was read up to a second later than it was: more was announced than is read at once.
    pub late: bool,
    /// Process that asked for it, as its socket's port says (inferred); none: the kernel, or not known.
    pub by: Option<u32>,
    /// Its name.
    pub program: Option<String>,
}

/// The view `changes`.
pub static CHANGES: TableDef<ChangeRow> = TableDef {
    name: "changes",
    meaning: "one row per change of links, addresses, routes, rules, qdiscs, nftables' rules and settings that the kernel announced while it was recorded",
    columns: &[
        col!(
            "time_ns",
            "ns",
            I64,
            "when the recorder had read of it: soon after",
            |r, _| Cell::I64(r.at_ns)
        ),
        col!("netns", "id", U64, "network namespace", |r, _| Cell::U64(r.netns)),
        col!(
            "host",
            "",
            Str,
            "its name; null: the recorder's own",
            |r, _| match r.host.as_str() {
                "" => Cell::Null,
                host => Cell::str(host),
            }
        ),
        col!(
            "what",
            "",
            Str,
            "link, address, route, rule, qdisc, class, filter, nexthop, ruleset or sysctl",
            |r, _| { Cell::str(r.what) }
        ),
        col!("of", "", Str, "of which", |r, _| Cell::str(r.of.as_str())),
        col!("says", "", Str, "what changed", |r, _| Cell::str(r.says.as_str())),
        col!(
            "comes_and_goes",
            "",
            Bool,
            "of a device or a namespace that was not there at the start",
            |r, _| Cell::Bool(r.comes_and_goes)
        ),
        col!(
            "by",
            "id",
            U64,
            "process that asked for it, as the port of its socket says (inferred); null: the kernel itself, or not known",
            |r, _| r.by.into()
        ),
        col!("program", "", Str, "its name", |r, _| match &r.program {
            Some(p) => Cell::str(p.as_str()),
            None => Cell::Null,
        }),
    ],
};
