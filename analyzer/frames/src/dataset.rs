//! SQL over folders of Parquet files: the dataset of a batch, `<dataset>/<table>/bundle=<recording>/*.parquet`, whose partition is the
//! column `bundle`, and the tables of one recording, `<folder>/<table>.parquet`.

use std::fs::File;
use std::path::{Path, PathBuf};

use polars::prelude::{AnyValue, Column, DataFrame, DataType, Scalar};
use polars_io::SerReader;
use polars_io::parquet::read::ParquetReader;

use crate::FramesError;
use crate::query::{answer, is_named, no_view, question};
use crate::rows::Rows;
use crate::statement::prepared;

/// What a partition's folder begins with.
const PARTITION: &str = "bundle=";

/// Runs one SQL statement. Only tables whose name is a word of the statement are read.
pub fn query_dataset(dataset: &Path, sql: &str) -> Result<Rows, FramesError> {
    let tables = tables(dataset)?;
    let sql = &prepared(sql, None)?;
    question(sql)?;
    let named: Vec<&(String, PathBuf)> = tables.iter().filter(|(name, _)| is_named(sql, name)).collect();
    if named.is_empty() {
        let names: Vec<&str> = tables.iter().map(|(name, _)| name.as_str()).collect();
        return Err(no_view(sql, &names));
    }
    let frames = named.iter().map(|(name, path)| {
        let frame = if path.is_dir() { partitions(path)? } else { part(path)? };
        Ok((name.clone(), frame))
    });
    answer(frames.collect::<Result<Vec<_>, FramesError>>()?, sql)
}

/// Whether [`query_dataset`] finds tables there.
#[must_use]
pub fn is_dataset(path: &Path) -> bool {
    path.is_dir() && tables(path).is_ok_and(|t| !t.is_empty())
}

/// Names of tables and where they are: files, or folders with partitions.
fn tables(path: &Path) -> Result<Vec<(String, PathBuf)>, FramesError> {
    let mut found: Vec<(String, PathBuf)> = vec![];
    for (name, folder) in folders(path)? {
        if folders(&folder)?.iter().any(|(name, _)| name.starts_with(PARTITION)) {
            found.push((name, folder));
        }
    }
    for file in files(path)? {
        if let Some(name) = file.file_stem().and_then(|n| n.to_str()) {
            found.push((name.to_owned(), file));
        }
    }
    Ok(found)
}

fn part(file: &Path) -> Result<DataFrame, FramesError> {
    let failed = |because: String| FramesError::Dataset {
        path: file.to_owned(),
        because,
    };
    let opened = File::open(file).map_err(|e| failed(e.to_string()))?;
    ParquetReader::new(opened).finish().map_err(|e| failed(e.to_string()))
}

/// All partitions of a table, one under the other, in the order of their names.
fn partitions(path: &Path) -> Result<DataFrame, FramesError> {
    let mut whole: Option<DataFrame> = None;
    for (name, folder) in folders(path)? {
        let Some(bundle) = name.strip_prefix(PARTITION).map(decoded) else {
            continue;
        };
        for file in files(&folder)? {
            let mut part = part(&file)?;
            let rows = part.height();
            let name = Scalar::new(DataType::String, AnyValue::StringOwned(bundle.as_str().into()));
            part.insert_column(0, Column::new_scalar("bundle".into(), name, rows))?;
            match &mut whole {
                None => whole = Some(part),
                Some(w) => {
                    w.vstack_mut(&part).map_err(|e| FramesError::Dataset {
                        path: file.clone(),
                        because: e.to_string(),
                    })?;
                }
            }
        }
    }
    whole.ok_or_else(|| FramesError::Dataset {
        path: path.to_owned(),
        because: "it has no partition".to_owned(),
    })
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
