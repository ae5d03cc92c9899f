//! The form of an error message: what failed, why, and what to do about it.

use std::fmt::Display;

/// Adds to an error what failed and what to do about it.
pub trait OrRemedy<T> {
    /// The message becomes `WHAT: error. Remedy: REMEDY`; `what` is asked only in case of an error.
    fn or_remedy<W: Display>(self, what: impl FnOnce() -> W, remedy: &str) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> OrRemedy<T> for Result<T, E> {
    fn or_remedy<W: Display>(self, what: impl FnOnce() -> W, remedy: &str) -> anyhow::Result<T> {
        self.map_err(|error| anyhow::anyhow!("{}: {:#}. Remedy: {remedy}", what(), error.into()))
    }
}
