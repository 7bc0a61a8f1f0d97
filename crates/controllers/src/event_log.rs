//! The Events of a controller about its objects.

use std::collections::BTreeMap;

use windtunnel_core::clock::Time;
use windtunnel_core::{Answer, Key, Object, Rejection, Resource, View, Write};

use crate::ControllerVersion;
use crate::recorder::{Notice, Recorder, Subject};

/// How Events refer to their object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Reference {
    /// By its name, its uid and its version.
    #[default]
    Version,
    /// By its name and its uid.
    Uid,
    /// By its name alone.
    Name,
}

/// The Events of one component, by the objects that they are about.
#[derive(Debug, Clone)]
pub struct EventLog {
    component: &'static str,
    version: ControllerVersion,
    reference: Reference,
    /// With the uid of each object.
    recorders: BTreeMap<Key, (String, Recorder)>,
    /// Events to write, oldest first.
    pending: Vec<(Key, Notice)>,
}

impl EventLog {
    /// Creates a log without Events.
    pub fn of(component: &'static str) -> Self {
        let (version, reference) = (ControllerVersion::default(), Reference::default());
        Self { component, version, reference, recorders: BTreeMap::new(), pending: Vec::new() }
    }

    /// Sets how Events refer to their object.
    pub(crate) fn with_reference(self, reference: Reference) -> Self {
        Self { reference, ..self }
    }

    /// Sets the component that reports about objects of which there is no Event yet.
    pub(crate) fn set_component(&mut self, component: &'static str) {
        self.component = component;
    }

    /// Sets the version of the component, on which the fields of Events depend.
    pub fn set_version(&mut self, version: ControllerVersion) {
        self.version = version;
    }

    /// Adds an Event about an object.
    pub fn add(&mut self, about: &Key, notice: Notice) {
        self.pending.push((about.clone(), notice));
    }

    /// The writes of the added Events, each with its object. Objects that are gone get none.
    pub fn take(&mut self, view: &View, now: Time) -> Vec<(Key, Write)> {
        let pending = std::mem::take(&mut self.pending);
        let write = |(key, notice): (Key, Notice)| {
            let object = view.get_key(&key)?;
            let write = self.record(&Resource::from_object(&key, object), object, notice, view, now)?;
            Some((key, write))
        };
        pending.into_iter().filter_map(write).collect()
    }

    /// The write that records an Event about an object now; `None` if the rate limit drops it.
    pub fn record(
        &mut self,
        resource: &Resource,
        object: &Object,
        notice: Notice,
        view: &View,
        now: Time,
    ) -> Option<Write> {
        let subject = || {
            let mut subject = Subject::of(resource, object, self.component);
            if self.reference == Reference::Name {
                subject.involved.as_object_mut().map(|fields| fields.remove("uid"));
            }
            (object.uid().to_owned(), Recorder::of(subject))
        };
        let entry = self.recorders.entry(resource.key_of(object)).or_insert_with(subject);
        if entry.0 != object.uid() {
            *entry = subject();
        }
        let recorder = &mut entry.1;
        recorder.set_reporting(self.version.differences_in(view).reports_controller);
        if self.reference == Reference::Version {
            recorder.refer_to(object);
        }
        recorder.record(notice, now)
    }

    /// Forgets a deleted object.
    pub fn forget(&mut self, object: &Key) {
        self.recorders.remove(object);
        self.pending.retain(|(about, _)| about != object);
    }
}

/// Whether a request was rejected because its namespace is being deleted. Controllers report no Event about that.
pub(crate) fn is_of_terminating_namespace(rejection: &Rejection) -> bool {
    let causes = rejection.details["causes"].as_array().into_iter().flatten();
    causes.into_iter().any(|cause| cause["reason"] == "NamespaceTerminating")
}

/// The Events about pods that a controller created or deleted, and about those that it could not (`RealPodControl`). After
/// the first pod that the server rejects, the controller creates no others.
pub(crate) fn add_pod_events(events: &mut EventLog, kind: &Resource, answers: &[(Key, &Answer)]) {
    let mut rejected: Option<&Key> = None;
    for (about, answer) in answers.iter().filter(|(about, _)| about.is_kind(kind)) {
        let Some(notice) = pod_notice(answer) else { continue };
        if answer.outcome.is_err() && rejected.replace(about) == Some(about) {
            continue;
        }
        events.add(about, notice);
    }
}

fn pod_notice(answer: &Answer) -> Option<Notice> {
    let write = &answer.write;
    if write.resource != windtunnel_core::resources::PODS || write.subresource.is_some() {
        return None;
    }
    match (write.verb(), &answer.outcome) {
        ("create", Ok(pod)) => {
            Some(Notice::normal("SuccessfulCreate", format!("Created pod: {}", pod.name())))
        }
        ("create", Err(rejection)) if !is_of_terminating_namespace(rejection) => {
            Some(Notice::warning("FailedCreate", format!("Error creating: {}", rejection.message)))
        }
        ("delete", Ok(_)) => Some(Notice::normal("SuccessfulDelete", format!("Deleted pod: {}", write.name))),
        ("delete", Err(rejection)) if rejection.code != 404 => {
            Some(Notice::warning("FailedDelete", format!("Error deleting: {}", rejection.message)))
        }
        _ => None,
    }
}
