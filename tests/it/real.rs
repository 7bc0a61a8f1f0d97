//! The real programs that tests run: those of Kubernetes, `oc`, etcd, the cluster-version operator and other
//! test suites.
//!
//! Tests look for them in the folder that `WINDTUNNEL_REAL` names, then on the PATH. A test prints which ones
//! it uses, and skips itself only if one is missing. CONTRIBUTING.md says how to get official releases.

use std::env;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::skipped::skipped;

/// The variable that names the folder of real programs, which comes before the PATH.
const FOLDER: &str = "WINDTUNNEL_REAL";

/// The arguments with which a program prints its version and exits; programs that are not listed have none.
const VERSION: [(&str, &[&str]); 7] = [
    ("cluster-version-operator", &["version"]),
    ("etcd", &["--version"]),
    ("kube-apiserver", &["--version"]),
    ("kube-controller-manager", &["--version"]),
    ("kube-scheduler", &["--version"]),
    ("kubectl", &["version", "--client"]),
    ("oc", &["version", "--client"]),
];

/// The paths of these programs, in their order, if all exist. Prints them with their versions, or the missing
/// ones.
pub(crate) fn programs<const N: usize>(names: [&str; N]) -> Option<[PathBuf; N]> {
    let found = names.map(find);
    let missing: Vec<&str> =
        names.iter().zip(&found).filter(|(_, path)| path.is_none()).map(|(name, _)| *name).collect();
    if !missing.is_empty() {
        skipped(&format!("{} in the folder {FOLDER} or on the PATH", missing.join(", ")));
        return None;
    }
    let found = found.map(Option::unwrap);
    for (name, path) in names.iter().zip(&found) {
        print_version(name, path);
    }
    Some(found)
}

/// The first file of this name in the folder of real programs and on the PATH.
fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> =
        env::var_os(FOLDER).map(PathBuf::from).into_iter().chain(env::split_paths(&path)).collect();
    folders.into_iter().map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Prints the version of a program, past the test harness, which hides the output of passing tests.
#[expect(clippy::explicit_write, reason = "the harness hides the output of macros")]
fn print_version(name: &str, path: &Path) {
    let version = VERSION.iter().find(|(listed, _)| *listed == name).and_then(|(_, arguments)| {
        let output = Command::new(path).args(*arguments).output().ok()?;
        String::from_utf8(output.stdout).ok()?.lines().next().map(str::to_owned)
    });
    writeln!(
        std::io::stderr(),
        "real: {} ({})",
        path.display(),
        version.as_deref().unwrap_or("version unknown")
    )
    .unwrap();
}
