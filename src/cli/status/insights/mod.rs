//! Insights instead of the status: published ones, or those of a controller started at a moment.

#[cfg(feature = "live")]
mod live;

use std::path::Path;

use serde_json::Value;
use windtunnel_core::alert::ActiveAlert;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{CONFIG_MAPS, UPDATE_STATUSES};
use windtunnel_core::{Object, Resource};
use windtunnel_update_status::controller::snapshot::{self, Insights};
use windtunnel_update_status::insight::published::{CONFIG_MAP, NAMESPACE, UPDATE_STATUS};
use windtunnel_update_status::status::{Inputs, published};

use super::PrintError;
use crate::cli::args::StatusArgs;
use crate::cli::files::records;
use crate::cli::{dump_files, moment, print_output};
use crate::dump::Dump;
use crate::record::{Event, Record};

/// The kinds that contain published insights.
pub(super) const PUBLISHED_KINDS: &[&Resource] = &[&CONFIG_MAPS, &UPDATE_STATUSES];

/// The minor for an API server of unknown version. The newest server accepts any status update, so insights
/// report no problem that may not exist.
const NEWEST: u32 = u32::MAX;

/// Prints the sections on nodes and pools, or the insights themselves.
pub(super) fn print(args: &StatusArgs) -> Result<(), PrintError> {
    let insights = if args.from_insights { published_insights(args)? } else { computed_insights(args)? };
    match args.output {
        Some(format) => print_output(&format.text(&insights)?),
        None => {
            print_output(&published::sections_on_nodes(insights.values(), args.details.into()));
            print_section_of_producers(&insights, args);
        }
    }
    Ok(())
}

/// Prints the published health insights of producers besides the controller, if there are any.
pub(super) fn print_producers(args: &StatusArgs) {
    // A cluster without published insights has none of producers either.
    if let Ok(insights) = published_insights(args) {
        print_section_of_producers(&insights, args);
    }
}

/// As [`print_producers`], for a dump that was read with [`PUBLISHED_KINDS`].
pub(super) fn print_producers_of_dump(dump: &Dump, args: &StatusArgs) {
    if let Some(insights) = published_in(|resource| dump.list(resource).cloned().collect()) {
        print_section_of_producers(&insights, args);
    }
}

fn print_section_of_producers(insights: &Insights, args: &StatusArgs) {
    let section = published::section_of_producers(insights, args.details.into());
    if !section.is_empty() {
        print_output(&format!("\n{section}"));
    }
}

fn published_insights(args: &StatusArgs) -> Result<Insights, PrintError> {
    let found = if let Some(path) = &args.source.record {
        let record = records::read(path)?;
        let view = record.view_at(moment::of_record(&record, args.at.as_deref())?);
        published_in(|resource| view.list(resource).cloned().collect())
    } else if let Some(path) = &args.source.from {
        let dump = dump_files::read(path, PUBLISHED_KINDS)?;
        published_in(|resource| dump.list(resource).cloned().collect())
    } else {
        #[cfg(feature = "live")]
        if let Some(path) = &args.source.kubeconfig {
            return live::published(path, args.context.as_deref());
        }
        None
    };
    found.ok_or_else(not_published)
}

fn not_published() -> PrintError {
    PrintError::Input(format!(
        "there are no published insights on the ClusterVersion: expected them in the ConfigMap {NAMESPACE}/{CONFIG_MAP} or in the UpdateStatus {UPDATE_STATUS}"
    ))
}

/// Returns the insights that are published in one of these objects.
fn published_in(list: impl Fn(&Resource) -> Vec<Object>) -> Option<Insights> {
    let (config_maps, update_statuses) = (list(&CONFIG_MAPS), list(&UPDATE_STATUSES));
    let is_published = |object: &&Object| (object.namespace(), object.name()) == (NAMESPACE, CONFIG_MAP);
    let config_map: Option<&Value> = config_maps.iter().find(is_published).map(|object| &**object);
    let update_status = update_statuses.iter().find(|object| object.name() == UPDATE_STATUS);
    snapshot::published_insights(config_map, update_status.map(|object| &**object))
}

/// Returns the insights of a controller started at the moment.
fn computed_insights(args: &StatusArgs) -> Result<Insights, PrintError> {
    if let Some(path) = &args.source.record {
        let record = records::read(path)?;
        let at = moment::of_record(&record, args.at.as_deref())?;
        let view = record.view_at(at);
        let alerts = record.alerts_at(at).into_iter();
        let alerts =
            alerts.map(|(since, alert)| ActiveAlert { alert: alert.clone(), active_at: Some(since) });
        return of_objects(
            |resource| view.list(resource).cloned().collect(),
            alerts.collect(),
            kubernetes(&record, at),
            at,
        );
    }
    let as_of = args.as_of.as_deref().map(moment::as_of).transpose()?;
    if let Some(path) = &args.source.from {
        return of_dump(path, as_of);
    }
    #[cfg(feature = "live")]
    if let Some(path) = &args.source.kubeconfig {
        return live::computed(path, args.context.as_deref(), as_of);
    }
    Err(not_published())
}

fn of_dump(path: &Path, as_of: Option<Time>) -> Result<Insights, PrintError> {
    let dump = dump_files::read(path, snapshot::KINDS)?;
    let list = |resource: &Resource| dump.list(resource).cloned().collect();
    let now = match as_of {
        Some(at) => at,
        None => Inputs::gather(list)?.mock_now(),
    };
    let alerts = dump.alerts.as_deref().map(alerts_in).unwrap_or_default();
    of_objects(list, alerts, NEWEST, now)
}

fn alerts_in(body: &str) -> Vec<ActiveAlert> {
    let answer: Value = serde_json::from_str(body).unwrap_or_default();
    let alerts = answer["data"]["alerts"].as_array().into_iter().flatten();
    alerts.map(ActiveAlert::parse).collect()
}

/// Returns the minor of the API server at a moment, if the record contains it.
fn kubernetes(record: &Record, at: Time) -> u32 {
    let entries = record.entries.iter().filter(|entry| entry.at <= at).rev();
    let minor = entries.filter_map(|entry| match &entry.event {
        Event::Kubernetes { minor } => Some(*minor),
        _ => None,
    });
    minor.take(1).next().unwrap_or(NEWEST)
}

fn of_objects(
    list: impl Fn(&Resource) -> Vec<Object>,
    alerts: Vec<ActiveAlert>,
    kubernetes_minor: u32,
    now: Time,
) -> Result<Insights, PrintError> {
    let insights = snapshot::insights_from_objects(list, alerts, kubernetes_minor, now);
    insights.map_err(|error| PrintError::Input(error.to_string()))
}
