//! `windtunnel replay`: serves a cluster and repeats the changes of a record in it.

use std::path::Path;
use std::sync::Arc;

use windtunnel_apiserver::https::random_token;
use windtunnel_apiserver::service::Shared;
use windtunnel_core::Object;
use windtunnel_core::clock::{Clock as _, ScaledClock, Time};
use windtunnel_update_status::status::AlertsResponse;

use super::dumped::{ALERTS, Files};
use super::{StartedServer, serve_until_signal};
use crate::cli::args::ReplayArgs;
use crate::cli::dump_files::cluster::Dumped;
use crate::cli::files::records;
use crate::cli::output::Shown as _;
use crate::cli::{Exit, moment, print_notice};
use crate::record::{ActiveAlerts, Event, Record, Secrets};

/// Serves until a signal.
///
/// # Errors
/// The record cannot be read, or the server cannot start.
pub(in crate::cli) fn replay(args: &ReplayArgs) -> Result<Exit, String> {
    let record = records::read_unchanged(&args.record)?;
    let until =
        args.until.as_deref().map(|text| moment::since_start(&record, "--until", text)).transpose()?;
    let until = until.unwrap_or_else(|| record.end());
    let start = record.header.epoch;
    let files = Files(Dumped::at(&args.record, &record, start));
    let minor = args.kubernetes.or_else(|| kubernetes_minor(&record));
    let server = files.server(&args.record, minor, record.header.seed, start)?;
    // The cluster uses the time of the record, up to the end of the replay.
    let clock = Arc::new(ScaledClock::starting_at(start, args.speed).ending_at(until));
    let shared = Shared::new(server, clock.clone());
    let (path, replayed) = (args.record.clone(), shared.clone());
    serve_until_signal(&args.listening, move || {
        let started = StartedServer {
            shared,
            token: random_token(),
            authority: None,
            simulated: None,
            dumped: Some(files),
            beside: None,
        };
        Ok((started, async move { apply_entries(&path, &record, until, &clock, &replayed).await }))
    })
}

/// Returns the Kubernetes minor at the start of the run.
fn kubernetes_minor(record: &Record) -> Option<u32> {
    let early = record.entries.iter().take_while(|entry| entry.at <= record.header.epoch);
    let minors = early.filter_map(|entry| match entry.event {
        Event::Kubernetes { minor } => Some(minor),
        _ => None,
    });
    minors.last()
}

/// Repeats the events after the start, each at its time.
async fn apply_entries(path: &Path, record: &Record, until: Time, clock: &ScaledClock, shared: &Shared) {
    let (mut writes, mut reported) = (0, std::collections::BTreeSet::new());
    let later = |at: Time| at > record.header.epoch && at <= until;
    let mut alerts = ActiveAlerts::default();
    let secrets = Secrets::of_record(record);
    for entry in &record.entries {
        alerts.apply(entry);
        if !later(entry.at) {
            continue;
        }
        let wait = clock.until(entry.at);
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        let now = clock.now();
        match &entry.event {
            Event::Write(write) => {
                let outcome = match (&write.after, write.removes()) {
                    (Some(after), _) if write.code < 400 => {
                        shared.with(|server| server.replay(after.to_value(), now))
                    }
                    (None, true) => {
                        let before = write.before.as_ref().map(Object::to_value).unwrap_or_default();
                        shared.with(|server| server.delete_for_replay(&before, now));
                        Ok(())
                    }
                    _ => continue,
                };
                writes += 1;
                if let Err(why) = outcome
                    && reported.insert(write.key.clone())
                {
                    print_notice(&secrets.hide(&format!("not replayed: {}: {why}", write.key)));
                }
            }
            Event::Kubernetes { minor } => shared.with(|server| server.set_kubernetes_minor(*minor)),
            Event::Alert(_) => {
                if let AlertsResponse::Answer(answer) = AlertsResponse::from_active(alerts.list()) {
                    shared.with(|server| server.set_document(ALERTS, answer.to_string()));
                }
            }
            _ => {}
        }
    }
    crate::cli::print_output(&format!("replayed {writes} writes of {}\n", path.shown()));
}
