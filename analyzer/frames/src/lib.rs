//! Fact tables as data frames: SQL over them and Parquet files. The only crate that knows polars.
//!
//! In: `&dyn FactTable`. Out: Parquet bytes, or the [`Rows`] of a query. It computes nothing of its own, prints nothing, and
//! nothing but the command line may depend on it: polars costs more to build than all the rest.
//!
//! ```text
//! FactTable --frame::of()--> DataFrame --to_parquet()--> Parquet (zstd)
//!    (only the views that the query names)  --query()--> Rows, cell by cell like a FactTable
//! folder of Parquet files of a batch  --query_dataset()--> Rows
//! ```

mod dataset;
mod frame;
mod parquet;
mod query;
mod rows;
mod statement;
#[cfg(test)]
mod tests;

pub use dataset::{is_dataset, query_dataset};
pub use parquet::{rows_to_parquet, to_parquet};
pub use query::{listing, near, query};
pub use rows::{Rows, RowsColumn};

/// Why a query or an export has no result.
#[derive(Debug, thiserror::Error)]
pub enum FramesError {
    /// The data frame library refused: a mistake in the SQL, or output that cannot be written.
    #[error("{0}")]
    Polars(#[from] polars::error::PolarsError),
    /// A dataset of a batch cannot be read.
    #[error("cannot read {}: {because}", path.display())]
    Dataset {
        /// The file or folder.
        path: std::path::PathBuf,
        /// Why.
        because: String,
    },
    /// A file.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The query names no view.
    #[error("{asked}the query names no view; views: {views}")]
    NoView {
        /// What it names instead, with views that are alike; empty or a sentence.
        asked: String,
        /// Names of all views.
        views: String,
    },
    /// A statement that is no question.
    #[error("only SELECT can be asked: no query changes a recording")]
    NoSelect,
    /// `:start` of what has no one start.
    #[error(":start is of one recording: here are several, or its start is not known")]
    NoStart,
    /// A sum of a constant, which the engine gets wrong.
    #[error(
        "SUM or AVG of a number is wrong here: the engine has that number once, not once for each row; use COUNT(*)"
    )]
    SumOfANumber,
    /// What the engine gets wrong or does not know, with what to write in its place.
    #[error("{0}")]
    Refused(String),
    /// A mistake in the SQL, with what could have been meant.
    #[error("{message}\n{help}")]
    Query {
        /// What the SQL engine says.
        message: String,
        /// Views and columns that there are.
        help: String,
    },
}
