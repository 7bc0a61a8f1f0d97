//! Paths of standard output and standard error, such as `/dev/stdout`.
//!
//! To open such a path again is another thing than to write to the stream: it starts at the beginning of a file, truncates it, and
//! needs the permission of a pipe that another user created.

use std::fs::{File, Metadata};
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;

use super::existing::is_same;

/// Returns the stream of this process that writes to a file, a pipe or a device.
pub(super) fn with(target: &Metadata) -> Option<File> {
    let (mut stdout, stderr) = (io::stdout(), io::stderr());
    let streams = [stdout.as_fd().try_clone_to_owned(), stderr.as_fd().try_clone_to_owned()];
    let mut files = streams.into_iter().flatten().map(File::from);
    let found = files.find(|file| file.metadata().is_ok_and(|open| is_same(&open, target)));
    // The end of a line that is not complete must not come after the file.
    let _ = stdout.flush();
    found
}
