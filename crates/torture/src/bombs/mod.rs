//! Files and streams that fill the memory or never end: the program must reject or read them within its limits.

mod makers;
mod sources;

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::area::Area;
use crate::clock::{Deadline, pause};
use crate::outcome::{Kind, Outcome};
use crate::process::{is_crash, shield, usage};
use crate::trial::Trial;
use sources::{Bomb, Source, bombs};

/// The longest time that a command may run. Most take less than a second.
const PATIENCE: Duration = Duration::from_secs(30);

/// The time between two looks at a process.
const LOOK: Duration = Duration::from_millis(2);

/// The end of a command.
struct Ended {
    /// `None` if it was killed, because it did not end in time or needed too much memory.
    code: Option<i32>,
    /// Whether a signal ended it that the torture did not send.
    crashed: bool,
    peak: u64,
    late: bool,
    stderr: String,
}

/// Runs every command with its bombs, or as many as the time allows.
pub(crate) fn run(trial: &Trial) -> Result<Outcome, String> {
    let mut outcome = Outcome::new(Area::Bombs);
    let folder = trial.folder("bombs")?;
    let mut all = bombs();
    // A short run meets others each time.
    trial.draws("bombs").shuffle(&mut all);
    let mut highest = (0, "none");
    for bomb in &all {
        if trial.is_over() {
            outcome.note(format!("the time was over before all {} bombs", all.len()));
            break;
        }
        let place = folder.join(bomb.name);
        fs::create_dir_all(&place).map_err(|error| error.to_string())?;
        let ended = explode(trial, bomb, &place)?;
        judge(bomb, &ended, &mut outcome);
        outcome.count(1, "bombs");
        highest = highest.max((ended.peak, bomb.name));
        let _ = fs::remove_dir_all(&place);
    }
    outcome.note(format!("most memory: {} MiB, by {}", usage::mebibytes(highest.0), highest.1));
    Ok(outcome)
}

/// Runs one command in an empty folder.
fn explode(trial: &Trial, bomb: &Bomb, place: &Path) -> Result<Ended, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", bomb.name);
    let input = bomb.source.make(place).map_err(failed)?;
    let stderr = place.join("stderr");
    let mut command = Command::new(&trial.program);
    command.current_dir(place).env_remove("KUBECONFIG");
    let input = input.display().to_string();
    command.args(bomb.arguments.iter().map(|argument| argument.replace("INPUT", &input)));
    command.args(bomb.limits);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&stderr).map_err(failed)?);
    if bomb.source == Source::EndlessPipe {
        command.stdin(Stdio::piped());
    }
    shield(&mut command);
    let mut child = command.spawn().map_err(failed)?;
    if let Some(pipe) = child.stdin.take() {
        std::thread::spawn(move || makers::write_forever(pipe));
    }
    let mut ended = watch(&mut child, bomb.memory_max, trial);
    ended.stderr = fs::read_to_string(&stderr).unwrap_or_default();
    Ok(ended)
}

/// Waits until the command ends, and kills it if it takes too long or too much memory.
fn watch(child: &mut Child, memory_max: u64, trial: &Trial) -> Ended {
    let deadline = Deadline::after(PATIENCE);
    let mut ended = Ended { code: None, crashed: false, peak: 0, late: false, stderr: String::new() };
    loop {
        ended.peak = ended.peak.max(usage::peak(child.id()).unwrap_or(0));
        if let Ok(Some(status)) = child.try_wait() {
            ended.code = status.code();
            ended.crashed = status.code().is_none();
            return ended;
        }
        ended.late = deadline.left().is_zero();
        if ended.late || ended.peak > memory_max || trial.stop.is_set() {
            let _ = child.kill();
            let _ = child.wait();
            return ended;
        }
        pause(LOOK);
    }
}

/// Compares the end of a command with what its documentation says.
fn judge(bomb: &Bomb, ended: &Ended, outcome: &mut Outcome) {
    let Bomb { name, arguments, codes, memory_max, .. } = bomb;
    let command = format!("{name}: `windtunnel {}`", arguments.join(" "));
    if ended.peak > *memory_max {
        let (peak, limit) = (usage::mebibytes(ended.peak), usage::mebibytes(*memory_max));
        outcome.add(Kind::Growth, format!("{command} needs {peak} MiB, more than {limit}"));
    } else if ended.late {
        outcome.add(Kind::Hang, format!("{command} does not end within {} s", PATIENCE.as_secs()));
    }
    if ended.crashed || ended.stderr.lines().any(is_crash) {
        let line = ended.stderr.lines().find(|line| is_crash(line)).unwrap_or("a signal ended it");
        outcome.add(Kind::Panic, format!("{command}: {line}"));
    } else if let Some(code) = ended.code.filter(|code| !codes.contains(code)) {
        let line = ended.stderr.lines().next().unwrap_or_default();
        outcome.add(Kind::Wrong, format!("{command} exits with {code} instead of {codes:?}: {line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(ended: &Ended) -> Vec<Kind> {
        let bomb = Bomb {
            name: "b",
            source: Source::EndlessPipe,
            arguments: &["lint"],
            codes: &[2],
            limits: &[],
            memory_max: 1 << 20,
        };
        let mut outcome = Outcome::new(Area::Bombs);
        judge(&bomb, ended, &mut outcome);
        outcome.findings().iter().map(|finding| finding.kind).collect()
    }

    fn ended(code: Option<i32>) -> Ended {
        Ended { code, crashed: false, peak: 1, late: false, stderr: String::new() }
    }

    #[test]
    fn a_command_must_end_in_time_with_a_documented_code_and_little_memory() {
        assert_eq!(judged(&ended(Some(2))), []);
        assert_eq!(judged(&ended(Some(0))), [Kind::Wrong]);
        assert_eq!(judged(&Ended { peak: 2 << 20, ..ended(None) }), [Kind::Growth]);
        assert_eq!(judged(&Ended { late: true, ..ended(None) }), [Kind::Hang]);
        assert_eq!(judged(&Ended { crashed: true, ..ended(None) }), [Kind::Panic]);
        let stderr = "thread 'main' panicked at src/x.rs:1:1:\n".to_owned();
        assert_eq!(judged(&Ended { stderr, ..ended(Some(101)) }), [Kind::Panic]);
    }
}
