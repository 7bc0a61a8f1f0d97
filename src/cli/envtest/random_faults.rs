//! The random faults of the API servers in a folder: their file, their logs, and the report after a command.

use std::fs;
use std::path::{Path, PathBuf};

use windtunnel_apiserver::service::Shared;
use windtunnel_core::requests::faults::RandomFaults;

use crate::cli::args::{EnvtestArgs, FaultArgs};
use crate::cli::faults::log::FaultLog;
use crate::cli::output::Shown as _;
use crate::cli::{files, print_notice};

/// The file next to the programs with the random faults.
const FAULTS: &str = "faults";
/// The folder next to the programs with a log for each API server.
const LOGS: &str = "fault-logs";
/// The number of faults in the report of a failure.
const SHOWN: usize = 20;

/// Writes the random faults of the API servers in a folder, or removes those of an earlier run. Returns them.
///
/// # Errors
/// A file cannot be written.
pub(super) fn fill(folder: &Path, args: &FaultArgs) -> Result<Option<RandomFaults>, String> {
    let file = folder.join(FAULTS);
    let Some(random_faults) = args.random_faults() else {
        drop(fs::remove_file(file));
        return Ok(None);
    };
    let logs = folder.join(LOGS);
    files::create_folder(&logs)?;
    files::write(&file, &format!("{random_faults}\n"))?;
    Ok(Some(random_faults))
}

/// Gives the clients of an API server the random faults in the file next to the program, if there is one.
///
/// # Errors
/// The file is invalid, or the log cannot be created.
pub(super) fn begin(called: &Path, shared: &Shared) -> Result<Option<FaultLog>, String> {
    let file = called.with_file_name(FAULTS);
    if !file.exists() {
        return Ok(None);
    }
    let text = files::read(&file)?;
    let random_faults = text.trim().parse().map_err(|why| format!("{}:1:1: {why}", file.shown()))?;
    let log = called.with_file_name(LOGS).join(format!("{}.log", std::process::id()));
    FaultLog::begin(shared, random_faults, Some(&log)).map(Some)
}

/// Reports what faults did to the clients of a command that ended: for a failure the last of them, and how to repeat it. A log
/// that cannot be written is a notice: the command has its own result.
pub(super) fn report(folder: &Path, args: &EnvtestArgs, random_faults: &RandomFaults, failed: bool) {
    let lines = lines(folder);
    let log = write_log(&lines, args, random_faults, failed).unwrap_or_else(|why| {
        print_notice(&format!("warning: {why}"));
        None
    });
    text(&lines, args, random_faults, failed, log.as_deref()).lines().for_each(print_notice);
}

/// Writes the log of all faults to the file of the user, or for a failure to a new one. Returns its path.
///
/// # Errors
/// It cannot be written.
fn write_log(
    lines: &[String],
    args: &EnvtestArgs,
    random_faults: &RandomFaults,
    failed: bool,
) -> Result<Option<PathBuf>, String> {
    let file = match &args.faults.fault_log {
        Some(file) => file.clone(),
        None if failed => new_log(random_faults.seed.unwrap_or_default())?,
        None => return Ok(None),
    };
    files::write(&file, &(lines.join("\n") + "\n"))?;
    Ok(Some(file))
}

/// Creates an empty log in the temporary folder. Its name is random, so that no other user of the machine can put a link
/// in its place.
///
/// # Errors
/// The file cannot be created.
fn new_log(seed: u64) -> Result<PathBuf, String> {
    let prefix = format!("windtunnel-faults-seed-{seed}-");
    let created = tempfile::Builder::new().prefix(&prefix).suffix(".log").tempfile();
    let kept = created.and_then(|file| file.keep().map_err(|error| error.error));
    let (_, path) = kept.map_err(|error| {
        format!("{}: cannot create the log of faults: {error}", std::env::temp_dir().shown())
    })?;
    Ok(path)
}

/// The report, with the log of all faults if there is one.
fn text(
    lines: &[String],
    args: &EnvtestArgs,
    random_faults: &RandomFaults,
    failed: bool,
    log: Option<&Path>,
) -> String {
    let (count, seed) = (lines.len(), random_faults.seed.unwrap_or_default());
    let faults = if count == 1 { "1 fault".to_owned() } else { format!("{count} faults") };
    if !failed {
        return format!("windtunnel: {faults}, seed {seed}");
    }
    let last = &lines[count.saturating_sub(SHOWN)..];
    let shown = match last.len() {
        0 => "; no client had a fault, so the failure has another cause".to_owned(),
        shown if shown == count => ":".to_owned(),
        shown => format!("; the last {shown}:"),
    };
    let list = last.iter().fold(String::new(), |list, line| list + "  " + line + "\n");
    let command: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let command = shlex::try_join(command.iter().map(String::as_str)).unwrap_or_else(|_| command.join(" "));
    let all = log.map(|log| format!("all faults: {}\n", log.shown())).unwrap_or_default();
    format!(
        "windtunnel: the command failed with seed {seed} and {faults}{shown}\n{list}\
         {all}repeat: windtunnel envtest --perturb {random_faults} -- {command}"
    )
}

/// The lines of all logs, in order of time.
fn lines(folder: &Path) -> Vec<String> {
    let logs = fs::read_dir(folder.join(LOGS)).into_iter().flatten().flatten();
    let logs: Vec<PathBuf> = logs.map(|entry| entry.path()).collect();
    let texts = logs.iter().filter_map(|log| fs::read_to_string(log).ok());
    let mut lines: Vec<String> =
        texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    lines.sort();
    lines
}
