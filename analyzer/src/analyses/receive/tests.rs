//! Tests on small tables; the figures of real recordings are tested in the workspace package `tests`.
