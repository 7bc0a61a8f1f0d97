//! `windtunnel must-gather`: writes the cluster of a record as the files of a must-gather.

use windtunnel_core::clock::Time;
use windtunnel_core::resources::PODS;
use windtunnel_update_status::status::AlertsResponse;

use super::args::MustGatherArgs;
use super::files::{self, records};
use super::{Exit, moment, print_output};
use crate::dump::{Source, alerts_file, log_file, object_files};
use crate::record::{ContainerLog, Record, redact};

/// Writes the files.
///
/// # Errors
/// The record is unreadable, the folder is in use, or a file cannot be written.
pub(super) fn must_gather(args: &MustGatherArgs) -> Result<Exit, String> {
    let record = records::read(&args.record)?;
    let at = moment::of_record(&record, args.at.as_deref())?;
    let folder = args.output.display();
    if args.output.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(format!("{folder}: expected an empty or missing folder, found files"));
    }
    let written = files_at(&record, at)?;
    for Source { path, text } in &written {
        files::write(&args.output.join(path), text)?;
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
    let instances = record.logs.iter().filter(|log| log.lines_until(at) > 0);
    for log in instances.filter(|log| view.get(&PODS, &log.namespace, &log.pod).is_some()) {
        files.extend(instance_name(record, log, at).map(|name| {
            let lines = &log.lines[..log.lines_until(at)];
            log_file([&log.namespace, &log.pod, &log.container], name, lines)
        }));
    }
    if let AlertsResponse::Answer(alerts) = AlertsResponse::from_active(record.alerts_at(at)) {
        files.push(alerts_file(&alerts));
    }
    Ok(files)
}

/// The name of the file for an instance of a container: `current` for the last one, `previous` for the one before it.
/// `None` for earlier ones, whose logs are gone.
fn instance_name(record: &Record, log: &ContainerLog, at: Time) -> Option<&'static str> {
    let is_later = |other: &&ContainerLog| {
        let name = |log: &ContainerLog| (log.namespace.clone(), log.pod.clone(), log.container.clone());
        name(other) == name(log) && other.restarts > log.restarts && other.lines_until(at) > 0
    };
    match record.logs.iter().filter(is_later).count() {
        0 => Some("current"),
        1 => Some("previous"),
        _ => None,
    }
}
