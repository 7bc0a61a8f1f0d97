//! The program of the crate: tortures windtunnel for some minutes, and prints a table.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use windtunnel_torture::{Area, Deadline, Kind, Outcome, Stop, Stopwatch, Trial, share, table};

/// Breaks windtunnel on purpose, and prints what did not survive it.
///
/// Exits with 1 if a write was lost, something panicked, grew, hung or answered wrongly.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    /// Minutes of all areas together.
    #[arg(long, default_value_t = 2.0, value_parser = parse_minutes)]
    minutes: f64,
    /// Seed of all draws.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The program `windtunnel` [default: the one beside this program].
    #[arg(long)]
    program: Option<PathBuf>,
    /// Areas to run.
    #[arg(long, value_delimiter = ',', value_name = "AREA", value_parser = Area::parse)]
    only: Vec<Area>,
    /// Form of the result.
    #[arg(long, default_value = "table")]
    format: Format,
    /// Folder for the evidence of findings.
    #[arg(long, default_value = "target/torture")]
    evidence: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Table,
    Json,
}

fn parse_minutes(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(minutes) if minutes > 0.0 && minutes <= 100_000.0 => Ok(minutes),
        _ => Err("write a number of minutes above 0".to_owned()),
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(cli: &Cli) -> Result<ExitCode, String> {
    let own_program = fs::read_link("/proc/self/exe").map_err(|error| format!("/proc/self/exe: {error}"))?;
    let beside = || own_program.with_file_name("windtunnel");
    let program = cli.program.clone().unwrap_or_else(beside);
    let program = program.canonicalize().map_err(|error| {
        format!(
            "{}: {error}; build it (`cargo build --release`), or name another by --program",
            program.display()
        )
    })?;
    let stop = Stop::on_signals().map_err(|error| error.to_string())?;
    let scratch = tempfile::Builder::new().prefix("windtunnel-torture-").tempdir();
    let scratch = scratch.map_err(|error| error.to_string())?;
    let start = table::Start { seed: cli.seed, minutes: cli.minutes, program: program.display().to_string() };
    let trial = Trial {
        program,
        seed: cli.seed,
        deadline: Deadline::after(Duration::ZERO),
        stop: stop.clone(),
        scratch: scratch.path().to_owned(),
        evidence: cli.evidence.clone(),
    };
    let outcomes = torture(cli, &trial);
    print(cli.format, &start, &outcomes).map_err(|error| error.to_string())?;
    Ok(match (stop.is_set(), table::is_clean(&outcomes)) {
        (_, false) => ExitCode::from(1),
        (true, true) => ExitCode::from(130),
        (false, true) => ExitCode::SUCCESS,
    })
}

/// Runs the areas one after the other, each in its share of the time that is left.
fn torture(cli: &Cli, trial: &Trial) -> Vec<Outcome> {
    let chosen = |area: &Area| cli.only.is_empty() || cli.only.contains(area);
    let areas: Vec<Area> = Area::ALL.into_iter().filter(chosen).collect();
    let all = Deadline::after(Duration::from_secs_f64(cli.minutes * 60.0));
    let mut outcomes = Vec::new();
    for (index, area) in areas.iter().enumerate() {
        if trial.stop.is_set() {
            break;
        }
        let deadline = Deadline::after(share(&areas[index..], all.left()));
        let watch = Stopwatch::start();
        let outcome = windtunnel_torture::run(*area, &Trial { deadline, ..trial.clone() });
        let outcome = outcome.unwrap_or_else(|error| {
            let mut outcome = Outcome::new(*area);
            outcome.add(Kind::Wrong, error);
            outcome
        });
        let _ = writeln!(
            io::stderr(),
            "{}: {} in {} s, {} findings",
            area.name(),
            table::done(&outcome),
            watch.elapsed().as_secs(),
            outcome.findings().len()
        );
        clean(&trial.scratch);
        outcomes.push(outcome);
    }
    outcomes
}

/// Deletes the files of an area.
fn clean(scratch: &Path) {
    for entry in fs::read_dir(scratch).into_iter().flatten().flatten() {
        let _ = fs::remove_dir_all(entry.path());
    }
}

fn print(format: Format, start: &table::Start, outcomes: &[Outcome]) -> io::Result<()> {
    match format {
        Format::Table => io::stdout().write_all(table::text(start, outcomes).as_bytes()),
        Format::Json => writeln!(io::stdout(), "{:#}", table::json(start, outcomes)),
    }
}
