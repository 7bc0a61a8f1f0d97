//! Runs of the shipped scenarios: virtual time by wall time.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jiff::SignedDuration;
use windtunnel::cli::Releases;
use windtunnel::engine::{self, Outcome, Session};
use windtunnel::plan::Plan;
use windtunnel::scenario;

use crate::measure::{Table, rate, thousands};

/// The required ratio of virtual time to wall time.
const REQUIRED: &str = "at least 50,000 x";

const SEED: u64 = 1;

/// The number of small scenarios in a round.
const SMALL: usize = 100;

/// A scenario file: its name and its text.
type Source = (String, String);

pub(crate) fn measure(table: &mut Table) -> Result<(), String> {
    let sources = sources(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios")))?;
    let source =
        sources.iter().find(|(file, _)| file.ends_with("update/z-stream.yaml")).ok_or("no z-stream.yaml")?;
    let parsing = table.time(|| (), |()| parse(source))?;
    table.row("z-stream: parse the plan", parsing, String::new(), "");
    let z_stream = parse(source)?;
    let installing = table.time(|| (), |()| install(&z_stream))?;
    table.row(
        "z-stream: install the cluster; from a snapshot from the third round on",
        installing,
        String::new(),
        "",
    );
    run_all(table, "z-stream: run it, from a snapshot of its cluster", std::slice::from_ref(&z_stream), 1)?;

    let minor = minor_update()?;
    run_all(table, "4.17 to 4.18: run it, from a snapshot of its cluster", std::slice::from_ref(&minor), 1)?;
    let updating = table.time(|| install(&minor), |session| advance(session?, &minor))?;
    table.row("4.17 to 4.18: run it in an installed cluster", updating, String::new(), "100 ms");

    // The canary must fail.
    let sources = sources.iter().filter(|(file, _)| !file.ends_with("canary.yaml"));
    let plans: Vec<Plan> = sources.map(parse_all).collect::<Result<Vec<_>, _>>()?.concat();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    run_all(table, &format!("all {} scenarios, one after the other", plans.len()), &plans, 1)?;
    run_all(table, &format!("all {} scenarios on {cores} cores", plans.len()), &plans, cores)?;
    small(table, cores)?;
    let record = run_plan(&z_stream)?.record;
    let writing = table.time(|| (), |()| Ok(record.hash()))?;
    table.row(
        "z-stream: its record as text, hashed",
        writing,
        format!("{} entries", record.entries.len()),
        "",
    );
    Ok(())
}

/// The smallest scenarios: an update to a release whose image does not exist.
fn small(table: &mut Table, cores: usize) -> Result<(), String> {
    const TEXT: &str = "name: small
cluster: {version: 4.14.1, nodes: {control-plane: 1, workers: 0}}
releases: {4.14.8: {pull: manifest-unknown}}
timeline:
- update: {to: 4.14.8}
- expect: {object: ClusterVersion/version, condition: {type: ReleaseAccepted, status: 'False'}, within: 10m}
";
    let source = (String::new(), TEXT.to_owned());
    let run = |()| {
        let plans = (0..SMALL).map(|_| parse(&source)).collect::<Result<Vec<_>, _>>()?;
        side_by_side(&plans, cores)
    };
    let timing = table.time(|| (), run)?;
    let each_second = rate(SMALL, timing.median);
    table.row(&format!("{SMALL} small scenarios on {cores} cores"), timing, each_second, "at least 100/s");
    Ok(())
}

/// An update of everything in a cluster to another minor.
fn minor_update() -> Result<Plan, String> {
    const TEXT: &str = "name: minor update
cluster: {version: 4.17.1}
releases: {4.18.1: }
timeline:
- update: {to: 4.18.1}
- expect: {object: ClusterVersion/version, condition: {type: Available, message: Done applying 4.18.1}, within: 3h}
";
    parse(&(String::new(), TEXT.to_owned()))
}

/// The shipped z-stream update, for variations.
pub(crate) fn z_stream() -> Result<Plan, String> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/update/z-stream.yaml"));
    parse(&source(path)?)
}

/// Runs a plan; a failure is an error, because it measures nothing.
pub(crate) fn run_plan(plan: &Plan) -> Result<Outcome, String> {
    let outcome = engine::run_plan(plan, SEED).map_err(|error| format!("{}: {error}", plan.name))?;
    match &outcome.failure {
        Some(failure) => Err(format!("{}: {}", plan.name, failure.error)),
        None => Ok(outcome),
    }
}

/// The ratio of virtual time to wall time.
fn factor(span: SignedDuration, wall: Duration) -> String {
    format!("{} x", thousands(span.as_secs_f64() / wall.as_secs_f64()))
}

fn install(plan: &Plan) -> Result<Session, String> {
    Session::start(plan, SEED).map_err(|error| error.to_string())
}

/// Runs the steps of a plan in its cluster.
fn advance(mut session: Session, plan: &Plan) -> Result<Session, String> {
    for planned in &plan.timeline {
        session.run_step(&planned.step).map_err(|error| error.to_string())?;
    }
    Ok(session)
}

fn run_all(table: &mut Table, what: &str, plans: &[Plan], threads: usize) -> Result<(), String> {
    let mut span = SignedDuration::ZERO;
    let timing = table.time(
        || (),
        |()| {
            span = side_by_side(plans, threads)?;
            Ok(())
        },
    )?;
    let hours = span.as_secs_f64() / 3600.0;
    let figure =
        format!("{hours:.2} h, {}, fastest {}", factor(span, timing.median), factor(span, timing.fastest));
    table.row(what, timing, figure, REQUIRED);
    Ok(())
}

/// Runs plans on several threads, as `windtunnel run` does. Returns their total virtual time.
fn side_by_side(plans: &[Plan], threads: usize) -> Result<SignedDuration, String> {
    let next = AtomicUsize::new(0);
    let total = Mutex::new(Ok(SignedDuration::ZERO));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(plan) = plans.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = run_plan(plan).map(|outcome| outcome.virtual_time);
                    if let Ok(mut total) = total.lock() {
                        *total = total.clone().and_then(|sum| outcome.map(|span| sum + span));
                    }
                }
            });
        }
    });
    total.into_inner().map_err(|error| error.to_string())?
}

pub(crate) fn parse((file, text): &Source) -> Result<Plan, String> {
    scenario::parse(file, text, &Releases::default()).map_err(|problems| problems.to_string())
}

/// All plans of a file, which may have a table of parameters.
fn parse_all((file, text): &Source) -> Result<Vec<Plan>, String> {
    scenario::parse_all(file, text, &Releases::default()).map_err(|problems| problems.to_string())
}

/// The YAML files below a folder, sorted by name.
fn sources(folder: &Path) -> Result<Vec<Source>, String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", folder.display());
    let entries = std::fs::read_dir(folder).map_err(wrong)?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<Result<_, _>>().map_err(wrong)?;
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        if path.join("release-metadata").is_file() {
            continue; // The manifests of a payload.
        }
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push(source(&path)?);
        }
    }
    Ok(found)
}

fn source(path: &Path) -> Result<Source, String> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
    Ok((name, text))
}
