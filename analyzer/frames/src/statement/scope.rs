//! Whose columns there are: of each table of a FROM, also of what WITH names and of subqueries.

use sqlparser::ast::{
    ExcludeSelectItem, ObjectName, ObjectNamePart, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr,
    TableFactor, WildcardAdditionalOptions,
};

use super::Known;
use super::names::column;

/// What can stand in FROM.
pub(super) struct Scope<'k> {
    known: &'k [Known],
    /// What WITH names; `None`: not known.
    with: Vec<(String, Option<Vec<String>>)>,
}

/// A table of FROM.
pub(super) struct Table {
    pub name: String,
    /// `None`: not known.
    pub columns: Option<Vec<String>>,
}

impl<'k> Scope<'k> {
    /// Of a whole query, whose WITH all stand at its beginning.
    pub(super) fn of(query: &Query, known: &'k [Known]) -> Scope<'k> {
        let mut scope = Scope { known, with: vec![] };
        for cte in query.with.iter().flat_map(|w| &w.cte_tables) {
            let columns = match cte.alias.columns.is_empty() {
                true => scope.of_query(&cte.query),
                false => Some(cte.alias.columns.iter().map(|c| c.name.value.clone()).collect()),
            };
            scope.with.push((cte.alias.name.value.clone(), columns));
        }
        scope
    }

    fn named(&self, name: &str) -> Option<Vec<String>> {
        match self.with.iter().rfind(|(n, _)| n == name) {
            Some((_, columns)) => columns.clone(),
            None => Some(self.known.iter().find(|k| k.name == name)?.columns.clone()),
        }
    }

    /// Whether any table has such a column.
    pub(super) fn is_column(&self, name: &str) -> bool {
        let has = |c: &Vec<String>| c.iter().any(|c| c == name);
        self.known.iter().any(|k| has(&k.columns)) || self.with.iter().any(|(_, c)| c.as_ref().is_some_and(has))
    }

    pub(super) fn table(&self, factor: &TableFactor) -> Table {
        let (name, columns, alias) = match factor {
            TableFactor::Table { name, alias, .. } => match name.0.as_slice() {
                [ObjectNamePart::Identifier(name)] => (name.value.clone(), self.named(&name.value), alias.as_ref()),
                _ => (String::new(), None, alias.as_ref()),
            },
            TableFactor::Derived { subquery, alias, .. } => (String::new(), self.of_query(subquery), alias.as_ref()),
            _ => (String::new(), None, None),
        };
        match alias {
            Some(a) if !a.columns.is_empty() => Table {
                name: a.name.value.clone(),
                columns: Some(a.columns.iter().map(|c| c.name.value.clone()).collect()),
            },
            Some(a) => Table {
                name: a.name.value.clone(),
                columns,
            },
            None => Table { name, columns },
        }
    }

    /// The tables of a FROM.
    pub(super) fn tables(&self, select: &Select) -> Vec<Table> {
        let all = select
            .from
            .iter()
            .flat_map(|f| std::iter::once(&f.relation).chain(f.joins.iter().map(|j| &j.relation)));
        all.map(|f| self.table(f)).collect()
    }

    /// Whether a name without a table is a column of a FROM; `None`: not known.
    pub(super) fn has(&self, select: &Select, name: &str) -> Option<bool> {
        let tables = self.tables(select);
        let in_ = |t: &Table| t.columns.as_ref().is_some_and(|c| c.iter().any(|c| c == name));
        match tables.iter().any(in_) {
            true => Some(true),
            false => tables.iter().all(|t| t.columns.is_some()).then_some(false),
        }
    }

    /// Columns of a result.
    pub(super) fn of_query(&self, query: &Query) -> Option<Vec<String>> {
        self.of_body(&query.body)
    }

    fn of_body(&self, body: &SetExpr) -> Option<Vec<String>> {
        match body {
            SetExpr::Select(select) => {
                let mut all = vec![];
                for item in &select.projection {
                    match item {
                        SelectItem::Wildcard(options) if is_plain(options) => {
                            for table in self.tables(select) {
                                for name in table.columns? {
                                    match all.contains(&name) {
                                        true => all.push(format!("{name}:{}", table.name)),
                                        false => all.push(name),
                                    }
                                }
                            }
                            all.retain(|name| !excluded(options).contains(name));
                        }
                        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(of), options)
                            if is_plain(options) =>
                        {
                            let [ObjectNamePart::Identifier(of)] = of.0.as_slice() else {
                                return None;
                            };
                            let table = self.tables(select).into_iter().find(|t| t.name == of.value)?;
                            let left = excluded(options);
                            for name in table.columns?.into_iter().filter(|n| !left.contains(n)) {
                                match all.contains(&name) {
                                    true => return None,
                                    false => all.push(name),
                                }
                            }
                        }
                        SelectItem::UnnamedExpr(e) => {
                            all.push(column(item).map_or_else(|| e.to_string(), str::to_owned));
                        }
                        SelectItem::ExprWithAlias { alias, .. } => all.push(alias.value.clone()),
                        _ => return None,
                    }
                }
                Some(all)
            }
            SetExpr::Query(query) => self.of_query(query),
            SetExpr::SetOperation { left, .. } => self.of_body(left),
            _ => None,
        }
    }
}

/// Whether nothing that gives other names stands behind it.
fn is_plain(options: &WildcardAdditionalOptions) -> bool {
    let mut options = options.clone();
    (options.opt_exclude, options.opt_replace) = (None, None);
    options == WildcardAdditionalOptions::default()
}

/// What `*` leaves out.
pub(super) fn excluded(options: &WildcardAdditionalOptions) -> Vec<String> {
    let names: &[ObjectName] = match &options.opt_exclude {
        Some(ExcludeSelectItem::Single(name)) => std::slice::from_ref(name),
        Some(ExcludeSelectItem::Multiple(names)) => names,
        None => &[],
    };
    let last = |n: &ObjectName| match n.0.last() {
        Some(ObjectNamePart::Identifier(i)) => Some(i.value.clone()),
        _ => None,
    };
    names.iter().filter_map(last).collect()
}
