//! `windtunnel envtest`: the programs that test suites of controller-runtime start, all of them this program
//! under other names.

mod apiserver;
mod etcd;
mod flags;
mod kubectl;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::args::{EnvtestArgs, controllers};
use super::{Exit, print_errors, print_output};

/// The file next to the programs with their Kubernetes version.
const KUBERNETES: &str = "kubernetes";
/// The file next to the programs with the controllers that run next to the API server, one per line.
const CONTROLLERS: &str = "controllers";

/// Fills the folder.
///
/// # Errors
/// A file cannot be written.
pub(super) fn envtest(args: &EnvtestArgs) -> Result<Exit, String> {
    let folder = &args.folder;
    fs::create_dir_all(folder)
        .map_err(|error| format!("{}: cannot create the folder: {error}", folder.display()))?;
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    for name in ["kube-apiserver", "etcd"] {
        install(&program, &folder.join(name), args.copy)?;
    }
    let kubectl = on_path("kubectl", folder);
    install(kubectl.as_deref().unwrap_or(&program), &folder.join("kubectl"), args.copy)?;
    let minor = folder.join(KUBERNETES);
    match args.kubernetes {
        Some(kubernetes) => super::files::write(&minor, &format!("1.{kubernetes}\n"))?,
        None => drop(fs::remove_file(minor)),
    }
    let controllers = folder.join(CONTROLLERS);
    if args.controllers.is_empty() {
        drop(fs::remove_file(controllers));
    } else {
        super::files::write(&controllers, &(controllers::names(&args.controllers).join("\n") + "\n"))?;
    }
    let notice = match &kubectl {
        Some(path) => format!("kubectl is {}", path.display()),
        None => "found no kubectl on the PATH: the one in the folder is a placeholder".to_owned(),
    };
    print_output(&format!("KUBEBUILDER_ASSETS={}\n{notice}\n", absolute(folder).display()));
    Ok(Exit::Passed)
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Replaces a program. Test suites that start at the same time may fill the same folder, so the program
/// exists at every moment.
fn install(program: &Path, place: &Path, copy: bool) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: cannot be written: {error}", place.display());
    let draft = place.with_extension(format!("{}.part", std::process::id()));
    // A killed process with the same PID may have left it.
    let _ = fs::remove_file(&draft);
    link(program, &draft, copy).map_err(failed)?;
    fs::rename(&draft, place).map_err(|error| {
        let _ = fs::remove_file(&draft);
        failed(error)
    })
}

fn link(program: &Path, place: &Path, copy: bool) -> std::io::Result<()> {
    #[cfg(unix)]
    if !copy {
        return std::os::unix::fs::symlink(program, place);
    }
    let _ = copy;
    fs::copy(program, place).map(|_| ())
}

/// Returns a program on the PATH outside of `folder`.
fn on_path(name: &str, folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    let path = std::env::var_os("PATH")?;
    let places =
        std::env::split_paths(&path).filter(|place| place.canonicalize().is_ok_and(|place| place != folder));
    places.map(|place| place.join(name)).find(|file| file.is_file())
}

/// Runs the program by whose name this one was started; `None` for its own name.
pub(super) fn run_under_other_name() -> Option<ExitCode> {
    let mut words = std::env::args_os();
    let called = PathBuf::from(words.next()?);
    let name = called.file_name()?.to_str()?.trim_end_matches(".exe").to_owned();
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let outcome = match name.as_str() {
        "kube-apiserver" => apiserver::main(&called, &words),
        "etcd" => etcd::main(&words),
        "kubectl" => kubectl::main(&words),
        _ => return None,
    };
    Some(match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            print_errors(&why);
            ExitCode::FAILURE
        }
    })
}

/// Runs a program until a signal ends it.
fn until_signal<Running>(
    start: impl Future<Output = Result<Running, String>>,
    stop: impl AsyncFnOnce(Running),
) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start threads: {error}"))?;
    runtime.block_on(async {
        let signal = super::terminal::signal::Signal::new()?;
        let running = start.await?;
        signal.received().await;
        stop(running).await;
        Ok(())
    })
}
