//! `windtunnel envtest`: runs a test suite of controller-runtime with the programs that it starts, all of them this
//! program under other names.
//!
//! `apiserver.rs` has the flags of its `kube-apiserver`, `command.rs` the command that runs with it, `random_faults.rs` the
//! report of `--perturb`.

mod apiserver;
mod assets;
mod command;
mod etcd;
mod flags;
mod kubectl;
mod random_faults;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::args::EnvtestArgs;
use super::{Exit, print_errors, print_output};
use crate::cli::output::Shown as _;

/// Runs the command with the programs in a temporary folder, or fills the given folder.
///
/// # Errors
/// A file cannot be written, or no process can be started.
pub(super) fn envtest(args: &EnvtestArgs) -> Result<Exit, String> {
    match &args.folder {
        Some(folder) => fill(folder, args),
        None => command::run(args),
    }
}

/// Fills a folder that stays.
fn fill(folder: &Path, args: &EnvtestArgs) -> Result<Exit, String> {
    let notice = match assets::fill(folder, args)? {
        Some(path) => format!("kubectl is {}", path.shown()),
        None => "found no kubectl on the PATH: the one in the folder is a placeholder".to_owned(),
    };
    random_faults::fill(folder, &args.faults)?;
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    print_output(&format!("KUBEBUILDER_ASSETS={}\n{notice}\n", folder.shown()));
    Ok(Exit::Passed)
}

/// Runs the program by whose name this one was started; `None` for its own name.
pub(super) fn run_under_other_name() -> Option<ExitCode> {
    let mut words = std::env::args_os();
    let called = PathBuf::from(words.next()?);
    let name = called.file_name()?.to_str()?.trim_end_matches(".exe").to_owned();
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let outcome = match name.as_str() {
        "kube-apiserver" => apiserver::main(&assets::location(&called), &words),
        "etcd" => etcd::main(&assets::location(&called), &words),
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

/// Runs a program until a signal ends it, or until its folder is gone. `called` is the path by which it was started.
fn until_signal<Running>(
    called: &Path,
    start: impl Future<Output = Result<Running, String>>,
    stop: impl AsyncFnOnce(Running),
) -> Result<(), String> {
    let runtime = super::serve::runtime::start(Some(2))?;
    runtime.block_on(async {
        let signal = super::terminal::signal::Signal::new()?;
        let running = start.await?;
        let ends = (std::pin::pin!(signal.received()), std::pin::pin!(assets::abandoned(called)));
        futures::future::select(ends.0, ends.1).await;
        stop(running).await;
        Ok(())
    })
}
