//! The engine's aggregates, and which of them it gets wrong where. The engine's own names, in small letters.

/// A function of many rows that gives one value.
struct Aggregate {
    name: &'static str,
    /// Of a constant it gives that constant, whatever the rows (a sum of ones is 1).
    constant_wrong: bool,
    /// With OVER and an order it takes all of the group, not the rows up to the current one.
    running_wrong: bool,
}

const fn aggregate(name: &'static str, constant_wrong: bool, running_wrong: bool) -> Aggregate {
    Aggregate {
        name,
        constant_wrong,
        running_wrong,
    }
}

const AGGREGATES: [Aggregate; 26] = [
    aggregate("sum", true, false),
    aggregate("total", true, false),
    aggregate("avg", true, true),
    aggregate("count", false, false),
    aggregate("min", false, false),
    aggregate("max", false, false),
    aggregate("median", true, true),
    aggregate("stddev", true, true),
    aggregate("stdev", true, true),
    aggregate("stddev_samp", true, true),
    aggregate("var", true, true),
    aggregate("variance", true, true),
    aggregate("var_samp", true, true),
    aggregate("quantile_cont", true, true),
    aggregate("quantile_disc", false, true),
    aggregate("corr", false, false),
    aggregate("first", false, false),
    aggregate("last", false, false),
    aggregate("array_agg", false, false),
    aggregate("stdev_samp", true, true),
    aggregate("covar", false, false),
    aggregate("covar_samp", false, false),
    aggregate("covar_pop", false, false),
    aggregate("string_agg", false, false),
    aggregate("listagg", false, false),
    aggregate("group_concat", false, false),
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

/// Whether it is wrong with OVER and an order.
pub(super) fn runs_wrong(name: &str) -> bool {
    of(name).is_some_and(|a| a.running_wrong)
}
