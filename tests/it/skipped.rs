//! Reports tests that cannot run on this machine.

use std::io::Write as _;
use std::panic::Location;
use std::thread;

/// Prints `skipped: TEST: no WHAT`, which `.ci/run` reads. The test harness hides what a passing test prints,
/// but not direct writes to stderr. A single write keeps the line whole.
#[track_caller]
pub(crate) fn skipped(what: &str) {
    let line = format!("skipped: {}: no {}\n", test_name(Location::caller()), what.replace('\n', " "));
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// The name of the running test. The harness names the thread of a test after it. With `--test-threads=1`,
/// tests run on the main thread; then this is the caller's place in the source.
fn test_name(caller: &Location<'_>) -> String {
    match thread::current().name() {
        None | Some("main") => format!("{}:{}", caller.file(), caller.line()),
        Some(name) => name.to_owned(),
    }
}
