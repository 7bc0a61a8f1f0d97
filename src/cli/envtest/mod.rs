//! `windtunnel envtest`: what suites of controller-runtime start, played by this program under other names.

mod apiserver;
mod etcd;
mod flags;
mod kubectl;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::args::EnvtestArgs;
use super::{Exit, complain, controllers, say};

/// The file beside the programs that tells which Kubernetes they are.
const KUBERNETES: &str = "kubernetes";
/// The file beside the programs that tells which controllers work beside the API server, a line each.
const CONTROLLERS: &str = "controllers";

/// Fills the folder.
///
/// # Errors
/// What cannot be written there.
pub(super) fn envtest(args: &EnvtestArgs) -> Result<Exit, String> {
    let folder = &args.folder;
    fs::create_dir_all(folder)
        .map_err(|error| format!("{}: no folder can be made here: {error}", folder.display()))?;
    let program =
        std::env::current_exe().map_err(|error| format!("this program cannot be found: {error}"))?;
    for name in ["kube-apiserver", "etcd"] {
        put(&program, &folder.join(name), args.copy)?;
    }
    let kubectl = on_path("kubectl", folder);
    put(kubectl.as_deref().unwrap_or(&program), &folder.join("kubectl"), args.copy)?;
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
    let told = match &kubectl {
        Some(path) => format!("kubectl is {}", path.display()),
        None => "there is no kubectl on the PATH: what stands in for it only says so".to_owned(),
    };
    say(&format!("KUBEBUILDER_ASSETS={}\n{told}\n", absolute(folder).display()));
    Ok(Exit::Passed)
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Puts a program somewhere, in place of what is there. Suites that begin at the same time may fill one folder, so it is
/// there at every moment.
fn put(program: &Path, place: &Path, copy: bool) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: cannot be written: {error}", place.display());
    let draft = place.with_extension(format!("{}.part", std::process::id()));
    // What a killed process of this number left.
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

/// A program of the PATH that does not stand in `folder`.
fn on_path(name: &str, folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    let path = std::env::var_os("PATH")?;
    let places =
        std::env::split_paths(&path).filter(|place| place.canonicalize().is_ok_and(|place| place != folder));
    places.map(|place| place.join(name)).find(|file| file.is_file())
}

/// Plays the program by whose name this one was called; `None` for its own.
pub(super) fn stand_in() -> Option<ExitCode> {
    let mut words = std::env::args_os();
    let called = PathBuf::from(words.next()?);
    let name = called.file_name()?.to_str()?.trim_end_matches(".exe").to_owned();
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let ended = match name.as_str() {
        "kube-apiserver" => apiserver::main(&called, &words),
        "etcd" => etcd::main(&words),
        "kubectl" => kubectl::main(&words),
        _ => return None,
    };
    Some(match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            complain(&why);
            ExitCode::FAILURE
        }
    })
}

/// Does what a program does until a signal ends it.
fn until_signal<Running>(
    start: impl Future<Output = Result<Running, String>>,
    stop: impl AsyncFnOnce(Running),
) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| format!("no threads can be started: {error}"))?;
    runtime.block_on(async {
        let signal = super::signal::Signal::new()?;
        let running = start.await?;
        signal.received().await;
        stop(running).await;
        Ok(())
    })
}
