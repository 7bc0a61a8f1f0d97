//! A cluster from files, whatever they are: a dump, or a record.

use std::path::Path;

use windtunnel_core::Object;
use windtunnel_core::clock::Time;
use windtunnel_update_status::status::Alerts;

use super::{dump, moment, report};
use crate::record::Record;

/// A cluster as it was at one moment.
pub(super) struct Dumped {
    /// Its objects, each with the place where it stands.
    pub(super) objects: Vec<(String, Object)>,
    /// The body of Prometheus' answer, where there is one.
    pub(super) alerts: Option<String>,
    /// What could not be read.
    pub(super) problems: Vec<String>,
    /// The moment at which a record was like this; a dump has none.
    pub(super) moment: Option<Time>,
}

impl Dumped {
    /// Reads a folder, an archive, a file of YAML or JSON, or a record.
    ///
    /// # Errors
    /// Nothing can be read there.
    pub(super) fn read(path: &Path, at: Option<&str>) -> Result<Self, String> {
        if report::is_record(path) {
            return Self::of_record(path, &report::read(path)?, at);
        }
        if at.is_some() {
            return Err(format!("--at: expected a record, of which {} is none", path.display()));
        }
        let (dump, problems) = dump::read_all(path)?;
        let objects = dump.objects().map(|(place, object)| (place.to_owned(), object.clone()));
        Ok(Self { objects: objects.collect(), alerts: dump.alerts.clone(), problems, moment: None })
    }

    fn of_record(path: &Path, record: &Record, at: Option<&str>) -> Result<Self, String> {
        Ok(Self::at(path, record, moment::of_record(record, at)?))
    }

    /// A cluster as a record tells of it, at a moment.
    pub(super) fn at(path: &Path, record: &Record, at: Time) -> Self {
        let view = record.view_at(at);
        let objects = view.objects().map(|(_, object)| (path.display().to_string(), object.clone()));
        let Alerts::Answer(alerts) = Alerts::of(record.alerts_at(at)) else {
            unreachable!("it is made of alerts")
        };
        let (objects, alerts) = (objects.collect(), Some(alerts.to_string()));
        Self { objects, alerts, problems: Vec::new(), moment: Some(at) }
    }
}
