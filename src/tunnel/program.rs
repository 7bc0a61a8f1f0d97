//! The output of programs.

use std::fmt::Display;

/// The output of a program: nothing, or a result whose error ends up in the failure of the run.
pub trait ProgramOutput {
    /// Returns the text of the error, if there is one.
    ///
    /// # Errors
    /// The program failed.
    fn into_result(self) -> Result<(), String>;
}

impl ProgramOutput for () {
    fn into_result(self) -> Result<(), String> {
        Ok(())
    }
}

impl<T, E: Display> ProgramOutput for Result<T, E> {
    fn into_result(self) -> Result<(), String> {
        self.map(drop).map_err(|error| error.to_string())
    }
}
