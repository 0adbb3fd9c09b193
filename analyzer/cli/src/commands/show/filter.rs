//! One filter: a column, an operator and a value of the column's type.

use std::cmp::Ordering;

use netmortem_analyzer::table::{Cell, CellKind, ColumnInfo};

use crate::times;

/// A parsed filter.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// Index of the column.
    pub column: usize,
    operator: Operator,
    value: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Unknown,
    Integer(i128),
    Real(f64),
    Bool(bool),
    Text(String),
}

/// Longer spellings first: `<=` must not be read as `<`. `==` is `=`, as many languages write it.
const OPERATORS: [(&str, Operator); 8] = [
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("=", Operator::Equal),
    ("<", Operator::Less),
    (">", Operator::Greater),
    ("~", Operator::Contains),
];

impl Filter {
    /// Parses `COLUMN OPERATOR VALUE`; the error is a sentence.
    pub fn parse(text: &str, columns: &[ColumnInfo]) -> Result<Filter, String> {
        let at = text.find(['!', '<', '>', '=', '~']).unwrap_or(text.len());
        let (name, rest) = text.split_at(at);
        let (name, rest) = (name.trim(), rest.trim());
        let found = OPERATORS
            .iter()
            .find_map(|(s, o)| rest.strip_prefix(s).map(|v| (*o, v.trim())));
        let Some((operator, value)) = found else {
            return Err(format!(
                "the filter {text:?} is not COLUMN, an operator (= != < <= > >= ~), VALUE"
            ));
        };
        let Some(column) = columns.iter().position(|c| c.name == name) else {
            return Err(format!("the filter {text:?} names a column that is not there"));
        };
        let (kind, unit) = columns.get(column).map_or((CellKind::Str, ""), |c| (c.kind, c.unit));
        if operator.orders() && matches!(kind, CellKind::Str | CellKind::Bool) {
            let what = if kind == CellKind::Str { "text" } else { "yes or no" };
            return Err(format!(
                "the filter {text:?} asks which is larger, and the column {name} is {what}: use = or !=, or ~ for a part of it"
            ));
        }
        let value = Value::parse(value, operator, (kind, unit)).ok_or_else(|| match unit {
            "" | "id" => format!("the filter {text:?} has no value that fits the column {name}"),
            "ns" | "us" => format!("the filter {text:?} has no value that fits the column {name}: a time, such as 20000 ({unit}), 20us or 1.5ms"),
            unit => format!("the filter {text:?} has no value that fits the column {name}: a number ({unit})"),
        })?;
        Ok(Filter {
            column,
            operator,
            value,
        })
    }

    /// The text that a cell must be, or must not be; `None`: it asks something else.
    pub fn word(&self) -> Option<&str> {
        match (self.operator, &self.value) {
            (Operator::Equal | Operator::NotEqual, Value::Text(word)) => Some(word),
            _ => None,
        }
    }

    /// The value that a cell must have, as it is typed; `None`: another question.
    pub fn equal_to(&self) -> Option<String> {
        (self.operator == Operator::Equal).then(|| self.value.typed()).flatten()
    }

    /// Whether a cell has the value.
    pub fn has_value(&self, cell: &Cell<'_>) -> bool {
        let equal = Filter {
            operator: Operator::Equal,
            value: self.value.clone(),
            column: self.column,
        };
        equal.keeps(cell)
    }

    /// Whether a cell passes.
    pub fn keeps(&self, cell: &Cell<'_>) -> bool {
        let order = match (&self.value, cell) {
            (Value::Unknown, c) => return (*c == Cell::Null) == (self.operator == Operator::Equal),
            (_, Cell::Null) => return false,
            (Value::Text(v), c) if self.operator == Operator::Contains => return text(c).contains(v.as_str()),
            (Value::Integer(v), Cell::I64(c)) => i128::from(*c).partial_cmp(v),
            (Value::Integer(v), Cell::U64(c)) => i128::from(*c).partial_cmp(v),
            (Value::Real(v), Cell::F64(c)) => c.partial_cmp(v),
            (Value::Real(v), Cell::I64(c)) => (*c as f64).partial_cmp(v),
            (Value::Real(v), Cell::U64(c)) => (*c as f64).partial_cmp(v),
            (Value::Bool(v), Cell::Bool(c)) => c.partial_cmp(v),
            (Value::Text(v), Cell::Str(c)) => c.as_ref().partial_cmp(v.as_str()),
            _ => None,
        };
        match (self.operator, order) {
            (_, None) => false,
            (Operator::Equal, Some(o)) => o == Ordering::Equal,
            (Operator::NotEqual, Some(o)) => o != Ordering::Equal,
            (Operator::Less, Some(o)) => o == Ordering::Less,
            (Operator::LessOrEqual, Some(o)) => o != Ordering::Greater,
            (Operator::Greater, Some(o)) => o == Ordering::Greater,
            (Operator::GreaterOrEqual, Some(o)) => o != Ordering::Less,
            (Operator::Contains, _) => false,
        }
    }
}

impl Operator {
    /// Whether it asks which of two is larger.
    fn orders(self) -> bool {
        match self {
            Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => true,
            Operator::Equal | Operator::NotEqual | Operator::Contains => false,
        }
    }
}

impl Value {
    /// As it is typed; `None`: unknown.
    fn typed(&self) -> Option<String> {
        match self {
            Value::Unknown => None,
            Value::Integer(v) => Some(v.to_string()),
            Value::Real(v) => Some(v.to_string()),
            Value::Bool(v) => Some(if *v { "yes" } else { "no" }.to_owned()),
            Value::Text(v) => Some(v.clone()),
        }
    }
    fn parse(text: &str, operator: Operator, (kind, unit): (CellKind, &str)) -> Option<Value> {
        if operator == Operator::Contains {
            return Some(Value::Text(text.to_owned()));
        }
        if text.is_empty() {
            return matches!(operator, Operator::Equal | Operator::NotEqual).then_some(Value::Unknown);
        }
        let integer = text.replace('_', "").parse().ok().map(Value::Integer);
        match kind {
            CellKind::I64 | CellKind::U64 => integer.or_else(|| number(text, unit).map(Value::Real)),
            CellKind::F64 => number(text, unit).map(Value::Real),
            CellKind::Bool => match text {
                "yes" | "true" => Some(Value::Bool(true)),
                "no" | "false" => Some(Value::Bool(false)),
                _ => None,
            },
            CellKind::Str => Some(Value::Text(text.to_owned())),
        }
    }
}

/// A number; of a column of times also one with its unit, as `1.5ms`.
fn number(text: &str, unit: &str) -> Option<f64> {
    let of_column = match unit {
        "ns" => Some(1.0),
        "us" => Some(1e3),
        _ => None,
    };
    let with_unit = || Some(times::ns(text).ok()? as f64 / of_column?);
    text.parse().ok().or_else(with_unit)
}

/// A cell as text, empty where it is unknown.
pub fn text(cell: &Cell<'_>) -> String {
    match cell {
        Cell::Null => String::new(),
        Cell::I64(v) => v.to_string(),
        Cell::U64(v) => v.to_string(),
        Cell::F64(v) => v.to_string(),
        Cell::Bool(v) => v.to_string(),
        Cell::Str(s) => s.to_string(),
    }
}
