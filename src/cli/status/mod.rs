//! `windtunnel status`: prints the output of `oc adm upgrade status` for a record, a dump or a cluster.

mod insights;
#[cfg(feature = "live")]
mod live;

use std::path::Path;

use super::args::{Details, StatusArgs};
#[cfg(feature = "live")]
use super::live::connection::Connection;
use windtunnel_core::clock::Time;
use windtunnel_core::text::clock_time;
use windtunnel_update_status::status::{self, AlertsResponse, Inputs, KINDS, Moment, Report, StatusError};

use super::files::records;
use super::{Exit, dump_files, moment, print_errors, print_notice, print_output};
use crate::cli::output::Shown as _;
use crate::dump::Dump;
use crate::report::status_text as recorded;

/// The reason why no status is printed.
enum PrintError {
    /// Unreadable input.
    Input(String),
    /// Such a cluster has no status.
    Status(StatusError),
    /// The cluster returned an error.
    #[cfg(feature = "live")]
    Cluster(windtunnel_openshift::oc::CommandOutput),
}

impl From<String> for PrintError {
    fn from(message: String) -> Self {
        Self::Input(message)
    }
}

impl From<StatusError> for PrintError {
    fn from(error: StatusError) -> Self {
        Self::Status(error)
    }
}

/// Prints the status.
///
/// # Errors
/// The input is unreadable, or `oc` would crash on it.
pub(super) fn status(args: &StatusArgs) -> Result<Exit, String> {
    exit_status(print(args))
}

/// Prints the current status of a cluster.
///
/// # Errors
/// As [`status`].
#[cfg(feature = "live")]
pub(super) fn print_current(connection: &Connection, details: status::Details) -> Result<Exit, String> {
    exit_status(print_of_cluster(connection, None, details))
}

fn exit_status(printed: Result<(), PrintError>) -> Result<Exit, String> {
    match printed {
        Ok(()) => Ok(Exit::Passed),
        Err(PrintError::Input(message)) => Err(message),
        Err(PrintError::Status(error)) if error.is_crash() => Err(error.to_string()),
        Err(PrintError::Status(error)) => {
            print_errors(&error.to_string());
            Ok(Exit::Failed)
        }
        #[cfg(feature = "live")]
        Err(PrintError::Cluster(output)) => Ok(super::print_client_output(&output)),
    }
}

fn print(args: &StatusArgs) -> Result<(), PrintError> {
    if args.from_insights || args.output.is_some() {
        return insights::print(args);
    }
    if let Some(path) = &args.source.from {
        return print_of_dump(path, args);
    }
    print_text(args)?;
    insights::print_producers(args);
    Ok(())
}

/// Prints the status of a dump, and what its source could not collect.
fn print_of_dump(path: &Path, args: &StatusArgs) -> Result<(), PrintError> {
    let as_of = args.as_of.as_deref().map(moment::as_of).transpose()?;
    let dump = dump_files::read_with(path, KINDS, insights::PUBLISHED_KINDS)?;
    for line in dump.inventory.uncollected_lines(&path.shown()) {
        print_notice(&line);
    }
    let Report { complaint, text } = of_dump(&dump, path, as_of, args.details.into())?;
    // The user knows which files these are, so standard output has only the status.
    if let Some(complaint) = complaint {
        print_notice(complaint.trim_end());
    }
    print_output(&text);
    insights::print_producers_of_dump(&dump, args);
    Ok(())
}

/// Prints the text of `oc adm upgrade status`.
fn print_text(args: &StatusArgs) -> Result<(), PrintError> {
    if let Some(path) = &args.source.record {
        let Report { text, .. } = of_record(path, args)?;
        print_output(&text);
        return Ok(());
    }
    #[cfg(feature = "live")]
    if let Some(path) = &args.source.kubeconfig {
        let as_of = args.as_of.as_deref().map(moment::as_of).transpose()?;
        let connection = Connection::from_kubeconfig(path, args.context.as_deref());
        print_of_cluster(&connection, as_of, args.details.into())?;
    }
    Ok(())
}

#[cfg(feature = "live")]
fn print_of_cluster(
    connection: &Connection,
    as_of: Option<Time>,
    details: status::Details,
) -> Result<(), PrintError> {
    let Report { complaint, text } = live::of_cluster(connection, as_of, details)?;
    print_output(&(complaint.unwrap_or_default() + &text));
    Ok(())
}

fn of_record(path: &Path, args: &StatusArgs) -> Result<Report, PrintError> {
    let record = records::read(path)?;
    let at = moment::of_record(&record, args.at.as_deref())?;
    for left in &record.header.left_out {
        print_notice(&format!("with omissions: the run left out {left}"));
    }
    let inputs = recorded::inputs(&record, at).ok_or_else(|| {
        let time = clock_time(at.duration_since(record.header.epoch));
        format!("{}: there is no ClusterVersion at {time}", path.shown())
    })?;
    Ok(status::render(&inputs, Moment::at(at), args.details.into())?)
}

fn of_dump(
    dump: &Dump,
    path: &Path,
    as_of: Option<Time>,
    details: status::Details,
) -> Result<Report, PrintError> {
    let mut inputs = Inputs::gather(|resource| dump.list(resource).cloned().collect())?;
    inputs.alerts = match &dump.alerts {
        Some(body) => AlertsResponse::parse(body.as_bytes()),
        None => AlertsResponse::Unfetched(format!("no alerts in {}", path.shown())),
    };
    let at = match as_of {
        Some(at) => Moment::at(at),
        None => Moment { now: inputs.mock_now(), wall: wall() },
    };
    Ok(status::render(&inputs, at, details)?)
}

#[expect(clippy::disallowed_methods, reason = "the command line reads the wall clock")]
fn wall() -> Time {
    Time::now()
}

impl From<Details> for status::Details {
    fn from(details: Details) -> Self {
        match details {
            Details::None => Self::None,
            Details::All => Self::All,
            Details::Nodes => Self::Nodes,
            Details::Health => Self::Health,
            Details::Operators => Self::Operators,
        }
    }
}
