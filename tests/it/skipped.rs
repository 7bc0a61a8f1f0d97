//! What a test says that cannot be made on this machine.

use std::io::Write as _;

/// Tells that a test is skipped. The harness keeps what a passing test prints, but not what is written to the stream itself.
#[expect(clippy::explicit_write, reason = "that would be kept")]
pub(crate) fn skipped(why: &str) {
    writeln!(std::io::stderr(), "skipped: {why}").unwrap();
}
