//! One program as a process of this machine: its start, its output, its end.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::ProgramEvent;

/// The greatest number of bytes of a printed line; the rest of the line becomes lines of its own, as container runtimes
/// do it.
const LINE_BYTES: u64 = 16 * 1024;

/// The greatest number of lines that wait for the engine.
const LINES: usize = 10_000;

/// The exit code of a process that was killed by a signal, in addition to the number of the signal.
const KILLED: i32 = 128;

/// A running program. Dropping it kills the process and all that it started.
#[derive(Debug)]
pub(super) struct Process {
    id: String,
    pub(super) pid: Pid,
    pub(super) group: Pid,
    child: Mutex<Child>,
    output: Arc<Mutex<Output>>,
    guard: Option<Child>,
}

/// Lines that the engine has not read yet.
#[derive(Debug, Default)]
struct Output {
    lines: VecDeque<String>,
    dropped: usize,
    open_streams: usize,
}

impl Process {
    /// Starts a program. `files` is the folder of all programs. `notify` is called for each line and at the end.
    ///
    /// # Errors
    /// The reason why it cannot be started.
    pub(super) fn start(
        id: &str,
        mut command: Command,
        files: &Path,
        notify: &Arc<dyn Fn() + Send + Sync>,
    ) -> Result<Self, String> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own, so that all processes of the program can be killed, and a Ctrl-C on the terminal
        // reaches only windtunnel. The guard leads it, so that it is there before the program.
        let guard = guard(files);
        let group = guard.as_ref().map_or(0, |guard| i32::try_from(guard.id()).unwrap_or(0));
        command.process_group(group);
        let name = command.get_program().to_string_lossy().into_owned();
        let spawned = command.spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(error) => {
                end(guard);
                return Err(format!("cannot start `{name}`: {error}"));
            }
        };
        let number = i32::try_from(child.id()).unwrap_or(i32::MAX);
        let pid = Pid::from_raw(number).ok_or("the process has no number")?;
        let group = Pid::from_raw(group).unwrap_or(pid);
        let output = Arc::new(Mutex::new(Output::default()));
        let streams: [Option<Box<dyn Read + Send>>; 2] = [
            child.stdout.take().map(|stream| Box::new(stream) as _),
            child.stderr.take().map(|stream| Box::new(stream) as _),
        ];
        for stream in streams.into_iter().flatten() {
            lock(&output).open_streams += 1;
            read(stream, Arc::clone(&output), Arc::clone(notify));
        }
        Ok(Self { id: id.to_owned(), pid, group, child: Mutex::new(child), output, guard })
    }

    /// Sends SIGTERM to the process itself, as container runtimes do.
    pub(super) fn terminate(&self) {
        // The number of an ended process may belong to another one.
        if self.exit_code().is_none() {
            let _ = kill_process(self.pid, Signal::TERM);
        }
    }

    /// Kills the process and all that it started.
    pub(super) fn kill(&self) {
        let _ = kill_process_group(self.group, Signal::KILL);
    }

    /// Stops the process and all that it started, or lets them continue.
    pub(super) fn pause(&self, is_paused: bool) {
        let signal = if is_paused { Signal::STOP } else { Signal::CONT };
        let _ = kill_process_group(self.group, signal);
        if let Some(guard) =
            self.guard.as_ref().and_then(|guard| Pid::from_raw(i32::try_from(guard.id()).ok()?))
        {
            // The guard has to notice the end of windtunnel.
            let _ = kill_process(guard, Signal::CONT);
        }
    }

    /// The exit code, if the process has ended.
    pub(super) fn exit_code(&self) -> Option<i64> {
        let ended = lock(&self.child).try_wait().ok().flatten();
        ended.map(|status| i64::from(code(status)))
    }

    /// Takes the lines that it has printed.
    pub(super) fn take_lines(&self) -> Vec<ProgramEvent> {
        let mut output = lock(&self.output);
        let printed = |line| ProgramEvent::Printed { id: self.id.clone(), line };
        let dropped = std::mem::take(&mut output.dropped);
        let notice = (dropped > 0).then(|| format!("windtunnel: {dropped} earlier lines were dropped"));
        notice.into_iter().chain(output.lines.drain(..)).map(printed).collect()
    }

    /// Whether lines wait for the engine.
    pub(super) fn has_lines(&self) -> bool {
        !lock(&self.output).lines.is_empty()
    }

    /// Whether the process has closed its output, so that no more lines come.
    pub(super) fn is_silent(&self) -> bool {
        lock(&self.output).open_streams == 0
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        let _ = lock(&self.child).wait();
        if let Some(mut guard) = self.guard.take() {
            let _ = guard.wait();
        }
    }
}

/// Ends a guard whose program was not started.
fn end(guard: Option<Child>) {
    if let Some(mut guard) = guard {
        let _ = guard.kill();
        let _ = guard.wait();
    }
}

/// Starts the leader of a new group of processes. It removes the files of all programs and kills the group when
/// windtunnel ends without doing so, however it ends: its standard input then ends. Systems without a shell have none.
fn guard(files: &Path) -> Option<Child> {
    let script = "trap '' INT TERM HUP; read -r line; rm -rf \"$1\"; kill -s KILL 0";
    let mut guard = Command::new("/bin/sh");
    guard.args(["-c", script, "windtunnel-guard"]).arg(files);
    guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    guard.spawn().ok()
}

/// Reads lines on a thread until the stream ends.
fn read(stream: Box<dyn Read + Send>, output: Arc<Mutex<Output>>, notify: Arc<dyn Fn() + Send + Sync>) {
    std::thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        loop {
            let mut line = Vec::new();
            let limited = stream.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line);
            if limited.is_err() || line.is_empty() {
                break;
            }
            let text = String::from_utf8_lossy(&line);
            let mut output = lock(&output);
            if output.lines.len() == LINES {
                output.lines.pop_front();
                output.dropped += 1;
            }
            output.lines.push_back(text.trim_end_matches(['\n', '\r']).to_owned());
            drop(output);
            notify();
        }
        lock(&output).open_streams -= 1;
        notify();
    });
}

fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| KILLED + signal)).unwrap_or(KILLED)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
