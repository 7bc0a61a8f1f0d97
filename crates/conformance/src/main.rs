//! The program of the crate: `fuzz` compares an API server with a real one.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program prints")]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use windtunnel_conformance::areas::Area;
use windtunnel_conformance::fuzz::{Findings, Options, Pair, corpus_file, report, search, shrink, summary};
use windtunnel_conformance::oracle::OracleKinds;
use windtunnel_conformance::player::Server;

/// The number of requests between two lines about the progress.
const PROGRESS_REQUESTS: u64 = 1000;

/// Compares API servers.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Send random requests to two servers, and report what they answer differently.
    Fuzz(FuzzArgs),
}

#[derive(Debug, Args)]
struct FuzzArgs {
    /// The server to check, https://HOST:PORT.
    #[arg(long)]
    server: String,
    /// The server that is right by definition, such as a real kube-apiserver.
    #[arg(long)]
    against: String,
    /// The token of an administrator of the server; repeat it for the other server if that has another token.
    #[arg(long, required = true)]
    token: Vec<String>,
    /// Stop after this number of requests.
    #[arg(long, default_value_t = 10_000)]
    requests: u64,
    /// The seed of all cases.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The areas to vary.
    #[arg(long, value_delimiter = ',', value_parser = parse_area)]
    area: Vec<Area>,
    /// Vary only the objects of this plural.
    #[arg(long)]
    only: Option<String>,
    /// Repeat the case of this number.
    #[arg(long)]
    case: Option<u64>,
    /// The number of cases at a time.
    #[arg(long, default_value_t = 16)]
    in_flight: usize,
    /// Shrink this number of differences, the worst and most frequent ones.
    #[arg(long, default_value_t = 300)]
    shrink: usize,
    /// Write the report, and the smallest case of each difference into a file for each area, in this folder.
    #[arg(long)]
    write: Option<PathBuf>,
    /// Write this number of cases without a difference as well.
    #[arg(long, default_value_t = 0)]
    sample: usize,
}

fn parse_area(name: &str) -> Result<Area, String> {
    Area::parse(name).ok_or_else(|| format!("write {}", Area::ALL.map(Area::name).join(", ")))
}

fn main() -> ExitCode {
    let Command::Fuzz(args) = Cli::parse().command;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = runtime.map_err(|error| error.to_string()).and_then(|runtime| runtime.block_on(run(&args)));
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Exits with 1 if the servers differ.
async fn run(args: &FuzzArgs) -> Result<ExitCode, String> {
    let token = &args.token[0];
    let checked = Server::new(&args.server, token).map_err(|error| error.to_string())?;
    let right = args.token.get(1).unwrap_or(token);
    let right = Server::new(&args.against, right).map_err(|error| error.to_string())?;
    let oracle = OracleKinds::load(&right).await?;
    let options = Options {
        seed: args.seed,
        first: args.case.unwrap_or(0),
        requests: if args.case.is_some() { 1 } else { args.requests },
        areas: if args.area.is_empty() { Area::ALL.to_vec() } else { args.area.clone() },
        only: args.only.clone(),
        in_flight: if args.case.is_some() { 1 } else { args.in_flight },
        sample: args.sample,
    };
    let pair = Pair::new(right, checked);
    let mut findings = search(&pair, &oracle, &options, progress()).await;
    eprint!("{}", summary(&findings));
    // A long run may be stopped while it shrinks.
    write(args, &findings)?;
    shrink(&pair, &mut findings, args.shrink, options.in_flight).await;
    print!("{}", report(&findings));
    write(args, &findings)?;
    Ok(if findings.causes.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Prints each new cause, and the number of requests now and then.
fn progress() -> impl FnMut(&Findings, &[String]) {
    let mut next = PROGRESS_REQUESTS;
    move |findings, new| {
        for cause in new {
            eprintln!("new: {cause}");
        }
        if findings.requests >= next {
            next = findings.requests + PROGRESS_REQUESTS;
            eprintln!("{} requests, {} causes", findings.requests, findings.causes.len());
        }
    }
}

/// Writes the report and the corpus files into the folder of `--write`.
fn write(args: &FuzzArgs, findings: &Findings) -> Result<(), String> {
    let Some(folder) = &args.write else { return Ok(()) };
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(failed)?;
    std::fs::write(folder.join("report.txt"), report(findings)).map_err(failed)?;
    for area in findings.areas() {
        let name = area.name();
        for (agreeing, file) in [(false, format!("{name}.json")), (true, format!("{name}-sample.json"))] {
            if let Some(text) = corpus_file(findings, area, agreeing) {
                std::fs::write(folder.join(file), text).map_err(failed)?;
            }
        }
    }
    Ok(())
}
