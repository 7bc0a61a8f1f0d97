//! `windtunnel must-gather`: writes the cluster of a record as the files of a must-gather.

use std::collections::BTreeSet;

use windtunnel_core::clock::Time;
use windtunnel_core::resources::PODS;
use windtunnel_update_status::status::AlertsResponse;

use super::args::MustGatherArgs;
use super::files::{self, records};
use super::{Exit, moment, print_output};
use crate::cli::output::Shown as _;
use crate::dump::{Source, alerts_file, log_file, object_files};
use crate::record::{Record, log_at, redact};

/// Writes the files.
///
/// # Errors
/// The record is unreadable, the folder is in use, or a file cannot be written.
pub(super) fn must_gather(args: &MustGatherArgs) -> Result<Exit, String> {
    let record = records::read(&args.record)?;
    let at = moment::of_record(&record, args.at.as_deref())?;
    let folder = args.output.shown();
    if args.output.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(format!("{folder}: expected an empty or missing folder, found files"));
    }
    let written = files_at(&record, at)?;
    for Source { path, text } in &written {
        files::write_into(&args.output, path, text)?;
    }
    print_output(&format!("wrote {} files to {folder}\n", written.len()));
    Ok(Exit::Passed)
}

/// The files of the cluster at a moment: its objects, the logs of its pods and its alerts.
fn files_at(record: &Record, at: Time) -> Result<Vec<Source>, String> {
    let view = record.view_at(at);
    let objects = view.objects().map(|(key, object)| {
        let mut value = object.to_value();
        redact(&mut value);
        (key, value)
    });
    let mut files = object_files(objects).map_err(|error| error.to_string())?;
    let containers: BTreeSet<[&str; 3]> =
        record.logs.iter().map(|log| [&*log.namespace, &*log.pod, &*log.container]).collect();
    for name in containers.into_iter().filter(|name| view.get(&PODS, name[0], name[1]).is_some()) {
        for (instance, previous) in [("current", false), ("previous", true)] {
            let lines = log_at(&record.logs, name, previous, at);
            files.extend(lines.map(|lines| log_file(name, instance, lines)));
        }
    }
    if let AlertsResponse::Answer(alerts) = AlertsResponse::from_active(record.alerts_at(at)) {
        files.push(alerts_file(&alerts));
    }
    Ok(files)
}
