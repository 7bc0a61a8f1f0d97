//! Reports tests that cannot run on this machine.

use std::io::Write as _;

/// Reports that a test is skipped. The test harness hides what a passing test prints, but not direct writes
/// to stderr.
#[expect(clippy::explicit_write, reason = "that would be kept")]
pub(crate) fn skipped(why: &str) {
    writeln!(std::io::stderr(), "skipped: {why}").unwrap();
}
