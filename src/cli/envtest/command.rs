//! A command that runs with the programs in a temporary folder.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};

use super::{assets, random_faults};
use crate::cli::args::EnvtestArgs;
use crate::cli::output::Shown as _;
use crate::cli::{Exit, files, print_errors};

/// The exit code of shells for a command that does not exist.
const NOT_FOUND: u8 = 127;
/// The exit code of shells for a file that is no program.
const NOT_EXECUTABLE: u8 = 126;

/// Runs the command, and returns its exit code.
///
/// # Errors
/// The folder or the log of faults cannot be created, or the process cannot be watched.
pub(super) fn run(args: &EnvtestArgs) -> Result<Exit, String> {
    let Some((program, arguments)) = args.command.split_first() else {
        return Err("expected a command after `--`, such as `windtunnel envtest -- go test ./...`".to_owned());
    };
    args.faults.fault_log.as_deref().map_or(Ok(()), files::check_file)?;
    let folder = tempfile::Builder::new()
        .prefix("windtunnel-envtest-")
        .tempdir()
        .map_err(|error| format!("cannot create a temporary folder: {error}"))?;
    assets::fill(folder.path(), args)?;
    assets::own(folder.path())?;
    let random_faults = random_faults::fill(folder.path(), &args.faults)?;
    let mut command = Command::new(program);
    command.args(arguments).env("KUBEBUILDER_ASSETS", folder.path());
    for (variable, name) in assets::VARIABLES {
        command.env(variable, folder.path().join(name));
    }
    let status = match processes::wait(command)? {
        Ok(status) => status,
        Err(error) => return Ok(not_started(program, &error)),
    };
    if let Some(random_faults) = &random_faults {
        random_faults::report(folder.path(), args, random_faults, !status.success());
    }
    Ok(exit(status))
    // Dropping the folder removes it, and programs that the command left behind end then.
}

/// The exit of a command: its exit code, or that of its signal.
fn exit(status: ExitStatus) -> Exit {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Exit::OfCommand(u8::try_from(128 + signal).unwrap_or(u8::MAX));
    }
    Exit::OfCommand(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// Explains why a command did not start, with the exit code of shells.
fn not_started(program: &OsStr, error: &io::Error) -> Exit {
    let name = Path::new(program).shown();
    let (why, code) = match error.kind() {
        io::ErrorKind::NotFound if Path::new(program).components().count() > 1 => {
            (format!("{name}: there is no such file; check the path of the command after `--`"), NOT_FOUND)
        }
        io::ErrorKind::NotFound => (
            format!("{name}: there is no such command on the PATH; install it, or write its path after `--`"),
            NOT_FOUND,
        ),
        io::ErrorKind::PermissionDenied => {
            (format!("{name}: cannot be executed; expected a program after `--`"), NOT_EXECUTABLE)
        }
        _ => (format!("{name}: cannot be started: {error}"), NOT_EXECUTABLE),
    };
    print_errors(&why);
    Exit::OfCommand(code)
}

#[cfg(unix)]
mod processes {
    //! Starts a process, and forwards signals to it.

    use std::io::{self, IsTerminal as _};
    use std::process::{Command, ExitStatus};

    use futures::future::{Either, select};
    use rustix::process::{Pid, Signal, kill_process};

    use crate::cli::terminal::signal;

    /// Waits for the end of a process that starts now. SIGTERM and SIGINT go on to it.
    ///
    /// # Errors
    /// Signals cannot be received. The inner error: the process does not start.
    pub(super) fn wait(mut command: Command) -> Result<io::Result<ExitStatus>, String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("cannot start threads: {error}"))?;
        runtime.block_on(async {
            let mut signals = signal::Signal::new()?;
            let mut child = match command.spawn() {
                Ok(child) => child,
                Err(error) => return Ok(Err(error)),
            };
            let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            let mut ended = tokio::task::spawn_blocking(move || child.wait());
            loop {
                let next = std::pin::pin!(signals.next());
                match select(&mut ended, next).await {
                    Either::Left((status, _)) => return status.map_err(|error| error.to_string()),
                    Either::Right((code, _)) => forward(pid, code),
                }
            }
        })
    }

    /// Sends a signal, by the exit code that shells use for it. On a terminal, Ctrl-C reaches the process without help.
    fn forward(pid: Option<Pid>, code: i32) {
        let signal = match code {
            130 if io::stdin().is_terminal() => return,
            130 => Signal::INT,
            _ => Signal::TERM,
        };
        // The process may have ended meanwhile.
        let _ = pid.map(|pid| kill_process(pid, signal));
    }
}

#[cfg(not(unix))]
mod processes {
    //! Starts a process.

    use std::io;
    use std::process::{Command, ExitStatus};

    /// Waits for the end of a process that starts now.
    ///
    /// # Errors
    /// None on this platform. The inner error: the process does not start.
    pub(super) fn wait(mut command: Command) -> Result<io::Result<ExitStatus>, String> {
        Ok(command.status())
    }
}
