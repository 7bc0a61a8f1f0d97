//! Standard output, and the error for output that is lost.

use std::io::{self, Write as _};
use std::sync::OnceLock;

/// The first error of a write.
static FAILURE: OnceLock<io::Error> = OnceLock::new();

/// Prints output. The process reports an error at its end.
pub(super) fn print_output(text: &str) {
    let mut stdout = io::stdout();
    if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
        && is_loss(&error)
    {
        let _ = FAILURE.set(error);
    }
}

/// Returns why a part of the output is lost.
pub(super) fn failure() -> Option<String> {
    FAILURE.get().map(|error| format!("standard output: cannot be written: {error}"))
}

/// Returns whether an error loses output. A reader such as `head` may close the pipe early.
fn is_loss(error: &io::Error) -> bool {
    error.kind() != io::ErrorKind::BrokenPipe
}
