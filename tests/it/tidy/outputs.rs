//! Checks that the program writes files in one place only, which knows links of other users, pipes and full disks.

use super::source::{Token, outline};

/// Functions that write files or folders.
const WRITERS: &[[&str; 2]] = &[
    ["DirBuilder", "new"],
    ["File", "create"],
    ["File", "create_new"],
    ["File", "options"],
    ["OpenOptions", "new"],
    ["fs", "copy"],
    ["fs", "create_dir"],
    ["fs", "create_dir_all"],
    ["fs", "hard_link"],
    ["fs", "rename"],
    ["fs", "set_permissions"],
    ["fs", "symlink"],
    ["fs", "write"],
];

/// Files and folders that may use them, with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("src/cli/files/target/", "the place for all files that a user names"),
    ("src/backends/programs/", "files of programs, in a new folder of their own"),
    ("src/backends/tools/ledger.rs", "the list of clusters, in a folder of windtunnel"),
];

/// Returns the calls in a file of the program. Its tests, in modules of their own, may write as they like.
pub(super) fn check_writers(path: &str, tokens: &[Token<'_>]) -> Vec<String> {
    if !path.starts_with("src/") || EXCEPTIONS.iter().any(|(place, _)| path.starts_with(place)) {
        return Vec::new();
    }
    let paths = outline(tokens).0.into_iter().filter(|found| found.depth == 0);
    let calls = paths.filter(|found| WRITERS.iter().any(|writer| found.names.ends_with(writer)));
    calls
        .map(|found| {
            let call = found.names.join("::");
            format!("{path}:{}: `{call}`: write files by `cli::files`", found.line)
        })
        .collect()
}
