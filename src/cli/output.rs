//! Standard output and standard error. Text of unknown origin changes neither a terminal nor a CI system ([`visible`]), and lost
//! output is an error.

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::OnceLock;

use windtunnel_core::text::{one_line, visible};

use super::terminal::paint::paint;

/// The first error of a write.
static FAILURE: OnceLock<io::Error> = OnceLock::new();

/// A path as a part of a line.
pub(super) trait Shown {
    /// Returns the path. A line break in it begins no line.
    fn shown(&self) -> String;
}

impl Shown for Path {
    fn shown(&self) -> String {
        one_line(&self.to_string_lossy()).into_owned()
    }
}

/// Prints output. The process reports an error at its end.
pub(super) fn print_output(text: &str) {
    write(&visible(text));
}

/// Prints results or a timeline, with colours if standard output takes them.
pub(super) fn print_painted(text: &str) {
    write(&paint(&visible(text)));
}

/// Prints a notice to standard error. Further lines of it are indented.
pub(super) fn print_notice(text: &str) {
    let _ = writeln!(io::stderr(), "{}", visible(&text.replace('\n', "\n  ")));
}

/// Prints errors, one per line.
pub(super) fn print_errors(text: &str) {
    print_complaint(&text.lines().fold(String::new(), |lines, line| lines + "error: " + line + "\n"));
}

/// Prints a text to standard error.
pub(super) fn print_complaint(text: &str) {
    let _ = io::stderr().write_all(visible(text).as_bytes());
}

fn write(text: &str) {
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
