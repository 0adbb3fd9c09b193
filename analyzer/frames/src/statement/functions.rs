//! The engine's aggregates, and which of them it gets wrong where. The engine's own names, in small letters.

/// A function of many rows that gives one value.
struct Aggregate {
    name: &'static str,
    /// Of a constant it gives that constant, whatever the rows (a sum of ones is 1).
    constant_wrong: bool,
    over: Over,
}

/// What it does with OVER.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    Right,
    /// With an order it takes all of the group, not the rows up to the current one.
    RunsWrong,
    /// It takes all rows, whatever the partition.
    Wrong,
}

use Over::{Right, RunsWrong, Wrong};

const fn aggregate(name: &'static str, constant_wrong: bool, over: Over) -> Aggregate {
    Aggregate {
        name,
        constant_wrong,
        over,
    }
}

/// Quantiles as other engines call them.
const ELSEWHERE: [&str; 5] = [
    "percentile_cont",
    "percentile_disc",
    "quantile",
    "approx_quantile",
    "approx_percentile",
];

const AGGREGATES: [Aggregate; 26] = [
    aggregate("sum", true, Right),
    aggregate("total", true, Right),
    aggregate("avg", true, RunsWrong),
    aggregate("count", false, Right),
    aggregate("min", false, Right),
    aggregate("max", false, Right),
    aggregate("median", true, RunsWrong),
    aggregate("stddev", true, RunsWrong),
    aggregate("stdev", true, RunsWrong),
    aggregate("stddev_samp", true, RunsWrong),
    aggregate("var", true, RunsWrong),
    aggregate("variance", true, RunsWrong),
    aggregate("var_samp", true, RunsWrong),
    aggregate("quantile_cont", true, Wrong),
    aggregate("quantile_disc", false, Wrong),
    aggregate("corr", false, Wrong),
    aggregate("first", false, Right),
    aggregate("last", false, RunsWrong),
    aggregate("array_agg", false, Wrong),
    aggregate("stdev_samp", true, RunsWrong),
    aggregate("covar", false, Wrong),
    aggregate("covar_samp", false, Wrong),
    aggregate("covar_pop", false, Wrong),
    aggregate("string_agg", false, Wrong),
    aggregate("listagg", false, Wrong),
    aggregate("group_concat", false, Wrong),
];

fn of(name: &str) -> Option<&'static Aggregate> {
    AGGREGATES.iter().find(|a| a.name == name)
}

pub(super) fn is_aggregate(name: &str) -> bool {
    of(name).is_some()
}

/// Whether it is wrong of an argument in which no row has a say.
pub(super) fn wants_rows(name: &str) -> bool {
    of(name).is_some_and(|a| a.constant_wrong)
}

/// What it does with OVER; of a name that is none of an aggregate nothing is known.
pub(super) fn with_over(name: &str) -> Over {
    match of(name) {
        Some(a) => a.over,
        None if ELSEWHERE.contains(&name) => Wrong,
        None => Right,
    }
}

/// Aggregates of other engines that nothing stands for.
const UNKNOWN: [&str; 20] = [
    "any_value",
    "arbitrary",
    "arg_max",
    "arg_min",
    "argmax",
    "argmin",
    "max_by",
    "min_by",
    "list",
    "mode",
    "histogram",
    "bit_and",
    "bit_or",
    "bit_xor",
    "kurtosis",
    "skewness",
    "entropy",
    "product",
    "mad",
    "json_agg",
];

pub(super) fn unknown(name: &str) -> bool {
    UNKNOWN.contains(&name)
}
