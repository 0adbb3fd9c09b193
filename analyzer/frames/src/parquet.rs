//! Parquet files, zstd-compressed, one row group per 512 Ki rows.

use std::io::Write;

use netmortem_analyzer::table::FactTable;
use polars::prelude::DataFrame;
use polars_io::parquet::write::{ParquetCompression, ParquetWriter};

use crate::rows::Rows;
use crate::{FramesError, frame};

/// Writes a fact table; returns the bytes written.
pub fn to_parquet(table: &dyn FactTable, out: impl Write) -> Result<u64, FramesError> {
    write(&mut frame::of(table)?, out)
}

/// Writes the result of a query; returns the bytes written.
pub fn rows_to_parquet(rows: &Rows, out: impl Write) -> Result<u64, FramesError> {
    write(&mut rows.frame().clone(), out)
}

fn write(frame: &mut DataFrame, out: impl Write) -> Result<u64, FramesError> {
    let writer = ParquetWriter::new(out)
        .with_compression(ParquetCompression::Zstd(None))
        .with_row_group_size(Some(512 << 10));
    Ok(writer.finish(frame)?)
}
