//! Whether programs are asleep, as Linux reports it. Other systems report nothing, so that programs count as asleep.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::process::Pid;

/// The states of a thread that does nothing: asleep, stopped, traced, or ended.
const IDLE: [char; 6] = ['S', 'T', 't', 'Z', 'X', 'I'];

/// Whether all threads of a process, and of the processes that it started, are asleep.
pub(super) fn is_asleep(program: Pid) -> bool {
    let mut processes = vec![program.as_raw_nonzero().get()];
    while let Some(process) = processes.pop() {
        let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { continue };
        for thread in threads.flatten() {
            if state(&thread.path()).is_some_and(|state| !IDLE.contains(&state)) {
                return false;
            }
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            processes.extend(children.split_whitespace().filter_map(|child| child.parse::<i32>().ok()));
        }
    }
    true
}

/// The state of a thread: the field after its name, which is in parentheses and may contain anything.
fn state(thread: &Path) -> Option<char> {
    let text = fs::read_to_string(thread.join("stat")).ok()?;
    text.rsplit_once(") ")?.1.chars().next()
}

/// Threads of this process.
#[derive(Debug, Default)]
pub(super) struct Threads(Mutex<Vec<i32>>);

impl Threads {
    /// Adds the current thread.
    pub(super) fn add_current(&self) {
        #[cfg(target_os = "linux")]
        {
            let current = rustix::thread::gettid().as_raw_nonzero().get();
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(current);
        }
    }

    /// Whether all of them are asleep.
    pub(super) fn are_asleep(&self) -> bool {
        let threads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        threads.iter().all(|thread| {
            let folder = format!("/proc/self/task/{thread}");
            state(Path::new(&folder)).is_none_or(|state| IDLE.contains(&state))
        })
    }
}

/// Whether everything that was sent through connections to this local port, in either direction, was read.
pub(super) fn is_read(port: u16) -> bool {
    let Ok(table) = fs::read_to_string("/proc/self/net/tcp") else { return true };
    let port = format!(":{port:04X}");
    !table.lines().skip(1).any(|line| has_unread(line, &port).unwrap_or(false))
}

/// Whether a line of the table is a connection of this port whose receiving queue has bytes.
fn has_unread(line: &str, port: &str) -> Option<bool> {
    let mut fields = line.split_whitespace().skip(1);
    let (local, remote, _, queues) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let (_, receiving) = queues.split_once(':')?;
    let is_meant = local.ends_with(port) || remote.ends_with(port);
    Some(is_meant && receiving.chars().any(|digit| digit != '0'))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_that_waits_is_asleep_and_one_that_computes_is_not() {
        let start = |script: &str| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]).stdin(Stdio::piped());
            command.spawn().unwrap()
        };
        let (mut waits, mut computes) = (start("read line"), start("while :; do :; done"));
        let asleep = |child: &std::process::Child| {
            is_asleep(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap())
        };
        while !asleep(&waits) {
            std::thread::yield_now();
        }
        while asleep(&computes) {
            std::thread::yield_now();
        }
        for child in [&mut waits, &mut computes] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn unread_bytes_are_noticed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        assert!(is_read(port));
        server.write_all(b"x").unwrap();
        while is_read(port) {
            std::thread::yield_now();
        }
        client.read_exact(&mut [0]).unwrap();
        while !is_read(port) {
            std::thread::yield_now();
        }
    }
}
