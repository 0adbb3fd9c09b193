//! SQL over the Parquet dataset of a batch: `<dataset>/<table>/bundle=<recording>/*.parquet`. The partition is the column `bundle`.

use std::path::{Path, PathBuf};

use polars::prelude::{AnyValue, Column, DataFrame, DataType, IntoLazy, Scalar};
use polars::sql::SQLContext;
use polars_io::SerReader;
use polars_io::parquet::read::ParquetReader;

use crate::FramesError;
use crate::query::{mistake, no_view, question, words};
use crate::rows::Rows;
use crate::statement::{prepared, run};

/// Runs one SQL statement. Only tables whose name is a word of the statement are read.
pub fn query_dataset(dataset: &Path, sql: &str) -> Result<Rows, FramesError> {
    let tables = folders(dataset)?;
    let sql = &prepared(sql, None)?;
    question(sql)?;
    let named: Vec<&(String, PathBuf)> = tables
        .iter()
        .filter(|(name, _)| words(sql).any(|w| w == name))
        .collect();
    if named.is_empty() {
        let names: Vec<&str> = tables.iter().map(|(name, _)| name.as_str()).collect();
        return Err(no_view(sql, &names));
    }
    let mut context = SQLContext::new();
    let mut help = vec![];
    for (name, path) in named {
        let frame = table(path)?;
        help.push(format!("columns of {name}: {}", names(&frame)));
        context.register(name, frame.lazy());
    }
    let result = run(&mut context, sql);
    result.map(Rows::new).map_err(|e| mistake(&e, help.join("\n")))
}

/// All partitions of a table, one under the other, in the order of their names.
fn table(path: &Path) -> Result<DataFrame, FramesError> {
    let mut whole: Option<DataFrame> = None;
    for (name, folder) in folders(path)? {
        let Some(bundle) = name.strip_prefix("bundle=").map(decoded) else {
            continue;
        };
        for file in files(&folder)? {
            let read = |e: FramesError| FramesError::Dataset {
                path: file.clone(),
                because: e.to_string(),
            };
            let opened = std::fs::File::open(&file).map_err(|e| read(e.into()))?;
            let mut part = ParquetReader::new(opened).finish().map_err(|e| read(e.into()))?;
            let rows = part.height();
            let name = Scalar::new(DataType::String, AnyValue::StringOwned(bundle.as_str().into()));
            part.insert_column(0, Column::new_scalar("bundle".into(), name, rows))?;
            match &mut whole {
                None => whole = Some(part),
                Some(w) => {
                    w.vstack_mut(&part).map_err(|e| read(e.into()))?;
                }
            }
        }
    }
    whole.ok_or_else(|| FramesError::Dataset {
        path: path.to_owned(),
        because: "it has no partition".to_owned(),
    })
}

fn names(frame: &DataFrame) -> String {
    let names: Vec<&str> = frame.get_column_names().into_iter().map(|n| n.as_str()).collect();
    names.join(", ")
}

fn folders(path: &Path) -> Result<Vec<(String, PathBuf)>, FramesError> {
    let mut found = vec![];
    for entry in entries(path)? {
        if entry.is_dir()
            && let Some(name) = entry.file_name().and_then(|n| n.to_str())
        {
            found.push((name.to_owned(), entry));
        }
    }
    Ok(found)
}

fn files(path: &Path) -> Result<Vec<PathBuf>, FramesError> {
    let mut found = entries(path)?;
    found.retain(|f| f.extension().is_some_and(|e| e == "parquet"));
    Ok(found)
}

fn entries(path: &Path) -> Result<Vec<PathBuf>, FramesError> {
    let read = |e: std::io::Error| FramesError::Dataset {
        path: path.to_owned(),
        because: e.to_string(),
    };
    let mut found = vec![];
    for entry in std::fs::read_dir(path).map_err(read)? {
        found.push(entry.map_err(read)?.path());
    }
    found.sort();
    Ok(found)
}

/// Undoes the %XX of a partition's name.
fn decoded(name: &str) -> String {
    let mut out = vec![];
    let mut rest = name.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|d| std::str::from_utf8(d).ok());
        match (first, code.and_then(|d| u8::from_str_radix(d, 16).ok())) {
            (b'%', Some(b)) => {
                out.push(b);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                out.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
