//! Processes of windtunnel that are started, watched and killed.

pub(crate) mod usage;

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use windtunnel_conformance::player::Server;

use crate::outcome::{Kind, Outcome};

/// The administrator's token of every server.
pub(crate) const TOKEN: &str = "torture";

/// The longest start of a server.
const START: Duration = Duration::from_secs(30);

/// A running `windtunnel serve --bare`; it is killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Served {
    child: Child,
    url: String,
    stderr: PathBuf,
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// The system cannot run the program.
    #[error("{0}: {1}")]
    Spawn(PathBuf, std::io::Error),
    /// The server ended or printed something else.
    #[error("the server does not start: {0}")]
    Ended(String),
    /// The server printed nothing.
    #[error("the server does not start within {} s", START.as_secs())]
    Late,
}

impl Served {
    /// Starts the program, and does not wait until it serves. `stderr` is the file for its messages.
    pub(crate) fn launch(program: &Path, data: Option<&Path>, stderr: &Path) -> Result<Self, StartError> {
        let failed = |error| StartError::Spawn(program.to_owned(), error);
        let messages = File::options().create(true).append(true).open(stderr).map_err(failed)?;
        let mut command = Command::new(program);
        command.args(["serve", "--bare", "--port", "0", "--token", TOKEN]);
        if let Some(folder) = data {
            command.arg("--data-dir").arg(folder);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(messages);
        shield(&mut command);
        let child = command.spawn().map_err(failed)?;
        Ok(Self { child, url: String::new(), stderr: stderr.to_owned() })
    }

    /// Starts the program, and waits until it serves.
    pub(crate) fn start(program: &Path, data: Option<&Path>, stderr: &Path) -> Result<Self, StartError> {
        let mut served = Self::launch(program, data, stderr)?;
        let stdout = served.child.stdout.take();
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = stdout.map(|stdout| BufReader::new(stdout).read_line(&mut line));
            // The receiver may have stopped waiting.
            let _ = sender.send(read.map(|_| line));
        });
        let line = lines.recv_timeout(START).map_err(|_| StartError::Late)?.unwrap_or_default();
        match line.trim_end().strip_prefix("serving ") {
            Some(url) => url.clone_into(&mut served.url),
            None => return Err(StartError::Ended(served.last_message())),
        }
        Ok(served)
    }

    fn last_message(&self) -> String {
        let text = std::fs::read_to_string(&self.stderr).unwrap_or_default();
        text.lines().last().unwrap_or("it prints nothing").to_owned()
    }

    /// A client of the administrator.
    pub(crate) fn client(&self) -> Result<Server, String> {
        Server::new(&self.url, TOKEN).map_err(|error| error.to_string())
    }

    /// `HOST:PORT`
    pub(crate) fn authority(&self) -> &str {
        self.url.trim_start_matches("https://")
    }

    /// The number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether the process ended without a request of ours.
    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Ends the process at once, as `kill -9` does.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Keeps a process from the signals of the terminal. Otherwise Ctrl-C would look like a crash.
pub(crate) fn shield(command: &mut Command) {
    command.process_group(0);
}

/// Adds a finding for each panic in a file of messages.
pub(crate) fn add_panics(outcome: &mut Outcome, stderr: &Path) {
    let text = std::fs::read_to_string(stderr).unwrap_or_default();
    for line in text.lines().filter(|line| is_crash(line)) {
        outcome.add(Kind::Panic, format!("the server printed `{line}`"));
    }
}

/// Whether a line is the message of a panic or of an overflow of the stack.
pub(crate) fn is_crash(line: &str) -> bool {
    line.contains("panicked at") || line.contains("has overflowed its stack")
}
