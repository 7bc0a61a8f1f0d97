//! Programs that outlived the windtunnel process that started them.
//!
//! Every program that creates a cluster has the file of its ledger entry as its standard input. That identifies it without
//! a process id, which the system reuses.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;

use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

/// How far the descendants of a program are followed.
const GENERATIONS: usize = 100;

/// Kills the programs that have this file as their standard input, and all that they started; returns whether there were
/// any.
pub(super) fn kill_holders(file: &File) -> bool {
    let Ok(file) = file.metadata() else { return false };
    let parents = parents();
    let is_target = |process: i32| {
        let line = std::iter::successors(Some(process), |process| parents.get(process).copied());
        // The list was read while processes started and ended, so it may have a cycle.
        line.take(GENERATIONS).any(|process| is_holder(process, &file))
    };
    let targets: Vec<OwnedFd> = parents
        .keys()
        .copied()
        .filter(|process| is_target(*process))
        .filter_map(|process| {
            let open = pidfd_open(Pid::from_raw(process)?, PidfdFlags::empty()).ok()?;
            // The process may have ended before it was opened, and another one may have its number now.
            (parent(process) == parents.get(&process).copied() && is_target(process)).then_some(open)
        })
        .collect();
    for target in &targets {
        // It may have ended.
        let _ = pidfd_send_signal(target, Signal::KILL);
    }
    !targets.is_empty()
}

fn is_holder(process: i32, file: &Metadata) -> bool {
    let input = fs::metadata(format!("/proc/{process}/fd/0"));
    process != getpid().as_raw_nonzero().get()
        && input.is_ok_and(|input| (input.dev(), input.ino()) == (file.dev(), file.ino()))
}

/// The parents of all processes, by process.
fn parents() -> BTreeMap<i32, i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    processes.filter_map(|process| Some((process, parent(process)?))).collect()
}

/// The parent of a process: the second field after its name, which is in parentheses and may contain anything.
fn parent(process: i32) -> Option<i32> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    text.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}
