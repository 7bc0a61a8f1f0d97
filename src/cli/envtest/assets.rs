//! The folder with the programs of a test suite, and the files beside them with their settings.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::args::EnvtestArgs;
use crate::cli::args::controllers::Selected;
use crate::cli::files;

/// The file next to the programs with their Kubernetes version.
pub(super) const KUBERNETES: &str = "kubernetes";
/// The file next to the programs with the controllers that run next to the API server, one per line.
pub(super) const CONTROLLERS: &str = "controllers";

/// The file next to the programs with the process that removes the folder; the programs end with it.
const OWNER: &str = "owner";
/// The environment variables by which suites find single programs, with their names.
pub(super) const VARIABLES: [(&str, &str); 3] = [
    ("TEST_ASSET_KUBE_APISERVER", "kube-apiserver"),
    ("TEST_ASSET_ETCD", "etcd"),
    ("TEST_ASSET_KUBECTL", "kubectl"),
];

/// Fills a folder. Returns the `kubectl` on the PATH, if there is one.
///
/// # Errors
/// A file cannot be written.
pub(super) fn fill(folder: &Path, args: &EnvtestArgs) -> Result<Option<PathBuf>, String> {
    files::create_folder(folder)?;
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    // Test suites that start at the same time may fill the same folder, so each program exists at every moment.
    for name in ["kube-apiserver", "etcd"] {
        files::install(&program, &folder.join(name), args.copy)?;
    }
    let kubectl = on_path("kubectl", folder);
    files::install(kubectl.as_deref().unwrap_or(&program), &folder.join("kubectl"), args.copy)?;
    let minor = folder.join(KUBERNETES);
    match args.kubernetes {
        Some(kubernetes) => files::write(&minor, &format!("1.{kubernetes}\n"))?,
        None => drop(fs::remove_file(minor)),
    }
    let controllers = folder.join(CONTROLLERS);
    if args.controllers.is_empty() {
        drop(fs::remove_file(controllers));
    } else {
        let names: Vec<String> = args.controllers.iter().map(Selected::name).collect();
        files::write(&controllers, &(names.join("\n") + "\n"))?;
    }
    Ok(kubectl)
}

/// Returns the path of this program in the folder that it was started from, beside its settings. `called` is its name or path in
/// the arguments of the process. The folder may have a link to the program, so the file of the process is not enough.
pub(super) fn location(called: &Path) -> PathBuf {
    if called.components().count() > 1 {
        return called.to_owned();
    }
    let Ok(program) = std::env::current_exe().and_then(|program| program.canonicalize()) else {
        return called.to_owned();
    };
    let is_this = |file: &PathBuf| file.canonicalize().is_ok_and(|file| file == program);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|place| place.join(called)).find(is_this);
    found.unwrap_or(program)
}

/// Makes this process the owner of a folder.
///
/// # Errors
/// The file cannot be written.
pub(super) fn own(folder: &Path) -> Result<(), String> {
    files::write(&folder.join(OWNER), &format!("{}\n", std::process::id()))
}

/// Waits until the folder of a program is gone, or its owner. A folder without an owner stays.
pub(super) async fn abandoned(called: &Path) {
    const INTERVAL: std::time::Duration = std::time::Duration::from_secs(1);
    let place = called.with_file_name(OWNER);
    let owner = fs::read_to_string(&place).ok().and_then(|text| text.trim().parse::<i32>().ok());
    let Some(owner) = owner else {
        // The folder may be gone before the program looks. A folder that stays has no owner.
        let is_gone =
            called.parent().is_some_and(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        if !is_gone {
            std::future::pending::<()>().await;
        }
        return;
    };
    while place.exists() && is_running(owner) {
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Returns whether a process exists.
#[cfg(unix)]
fn is_running(process: i32) -> bool {
    let process = rustix::process::Pid::from_raw(process);
    // A process of another user exists, but rejects the test.
    process.is_some_and(|process| rustix::process::test_kill_process(process) != Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn is_running(_: i32) -> bool {
    true
}

/// Returns a program on the PATH outside of `folder`.
fn on_path(name: &str, folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    let path = std::env::var_os("PATH")?;
    let places =
        std::env::split_paths(&path).filter(|place| place.canonicalize().is_ok_and(|place| place != folder));
    places.map(|place| place.join(name)).find(|file| file.is_file())
}
