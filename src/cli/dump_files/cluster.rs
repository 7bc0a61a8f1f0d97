//! A cluster from files: a dump or a record.

use std::path::Path;

use windtunnel_core::Object;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::SECRETS;
use windtunnel_update_status::status::AlertsResponse;

use crate::cli::files::records;
use crate::cli::moment;
use crate::cli::output::Shown as _;
use crate::dump::Inventory;
use crate::record::{ContainerLog, Record, Secrets};
use crate::rehearsal::{CertificateEnd, Evidence};

/// The state of a cluster at one moment.
#[derive(Clone)]
pub(in crate::cli) struct Dumped {
    /// Its objects, each with its file.
    pub(in crate::cli) objects: Vec<(String, Object)>,
    /// The body of Prometheus' answer, if there is one.
    pub(in crate::cli) alerts: Option<String>,
    /// Errors of unreadable files.
    pub(in crate::cli) problems: Vec<String>,
    /// The files of a dump; `None` for a record.
    pub(in crate::cli) inventory: Option<Inventory>,
    /// The moment of a record's state; `None` for a dump.
    #[cfg_attr(not(feature = "serve"), expect(dead_code, reason = "served clusters alone show it"))]
    pub(in crate::cli) moment: Option<Time>,
    /// The ends of the certificates in Secrets whose values were removed.
    certificates: Vec<CertificateEnd>,
    /// The logs of a record.
    #[cfg_attr(not(feature = "serve"), expect(dead_code, reason = "served clusters alone show it"))]
    pub(in crate::cli) logs: Vec<ContainerLog>,
}

impl Dumped {
    /// Reads a folder, an archive, a YAML or JSON file, or a record.
    ///
    /// # Errors
    /// Nothing can be read.
    pub(in crate::cli) fn read(path: &Path, at: Option<&str>) -> Result<Self, String> {
        if records::is_record(path) {
            return Self::of_record(path, &records::read_unchanged(path)?, at);
        }
        if at.is_some() {
            return Err(format!("--at: expected a record, but {} is not one", path.shown()));
        }
        let (dump, problems) = super::read_all(path)?;
        let objects = dump.objects().map(|(place, object)| (place.to_owned(), object.clone()));
        Ok(Self {
            objects: objects.collect(),
            alerts: dump.alerts.clone(),
            problems,
            inventory: Some(dump.inventory.clone()),
            moment: None,
            certificates: Vec::new(),
            logs: Vec::new(),
        })
    }

    /// Returns a cluster of these objects, each with its file.
    #[cfg(any(test, feature = "live"))]
    pub(in crate::cli) fn of_objects(objects: Vec<(String, Object)>) -> Self {
        Self {
            objects,
            alerts: None,
            problems: Vec::new(),
            inventory: None,
            moment: None,
            certificates: Vec::new(),
            logs: Vec::new(),
        }
    }

    /// Returns the values of its Secrets.
    pub(in crate::cli) fn secrets(&self) -> Secrets {
        let objects = self.objects.iter().map(|(_, object)| object);
        Secrets::of_objects(objects.filter(|object| SECRETS.is_kind_of(object)).map(|object| &**object))
    }

    /// Returns what findings about an update are made from. `objects` are those of the cluster.
    pub(in crate::cli) fn evidence<'e>(&'e self, objects: &'e [&'e Object]) -> Evidence<'e> {
        Evidence { objects, alerts: self.alerts.as_deref(), certificates: &self.certificates }
    }

    /// Returns lines about the files of a dump: how many were read, and what their source could not collect.
    pub(in crate::cli) fn summary(&self, path: &Path) -> Vec<String> {
        let Some(inventory) = &self.inventory else { return Vec::new() };
        inventory.uncollected_lines(&path.shown()).into_iter().chain([inventory.summary()]).collect()
    }

    /// Returns the cluster without the values of its Secrets.
    pub(in crate::cli) fn without_secrets(mut self) -> Self {
        let secrets = self.secrets();
        self.certificates =
            self.objects.iter().filter_map(|(_, object)| CertificateEnd::of_secret(object)).collect();
        for (_, object) in &mut self.objects {
            *object = secrets.hidden_object(object);
        }
        self
    }

    fn of_record(path: &Path, record: &Record, at: Option<&str>) -> Result<Self, String> {
        Ok(Self::at(path, record, moment::of_record(record, at)?))
    }

    /// Returns the cluster of a record at a moment.
    pub(in crate::cli) fn at(path: &Path, record: &Record, at: Time) -> Self {
        let view = record.view_at(at);
        let objects = view.objects().map(|(_, object)| (path.shown(), object.clone()));
        let AlertsResponse::Answer(alerts) = AlertsResponse::from_active(record.alerts_at(at)) else {
            unreachable!("alerts of a record are an answer")
        };
        let (objects, alerts) = (objects.collect(), Some(alerts.to_string()));
        let (problems, inventory, logs) = (Vec::new(), None, record.logs.clone());
        let certificates = Vec::new();
        Self { objects, alerts, problems, inventory, moment: Some(at), certificates, logs }
    }
}
