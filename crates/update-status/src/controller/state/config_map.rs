//! The ConfigMap that insights are published in: its content and the pending changes.

use kube::runtime::watcher::Event;
use serde_json::{Map, Value, json};

use super::State;
use crate::controller::publishing::informer::Informer;
use crate::controller::watch::ConfigMapData;

/// Maximum size of all values of a ConfigMap in bytes, by the API. With one byte more, the API server rejects
/// the whole write.
pub(in crate::controller) const ROOM: usize = 1024 * 1024;

impl State {
    /// Applies an event of the watch of ConfigMaps: their resource versions.
    pub(in crate::controller) fn config_map(&mut self, event: Event<(String, String)>) {
        self.version_in_doubt |= matches!(event, Event::InitDone);
        if self.config_map.apply_event(event) {
            self.mark_unpublished();
        }
    }

    /// Returns whether the ConfigMap must be read because another client wrote it.
    pub(in crate::controller) fn wants_config_map(&self) -> bool {
        self.config_map.wants_reading()
    }

    /// Stores the ConfigMap and its resource version after reading; `None` if it does not exist.
    pub(in crate::controller) fn config_map_read(&mut self, object: Option<(String, ConfigMapData)>) {
        self.config_map.set_content(object);
        self.mark_unpublished();
    }

    /// Returns whether the ConfigMap is known not to exist.
    pub(in crate::controller) fn lacks_config_map(&self) -> bool {
        self.config_map.is_synced() && self.config_map.get().is_none()
    }

    /// Notes that another client wrote the ConfigMap.
    pub(in crate::controller) fn discard_config_map(&mut self) {
        self.config_map.discard();
    }

    /// Notes that the ConfigMap was written with [`State::patch`], and has this resource version.
    pub(in crate::controller) fn config_map_written(&mut self, version: String, patch: &Value) {
        let changes = patch["data"].as_object().into_iter().flatten();
        if let Some(data) = self.config_map.written(version) {
            for (key, text) in changes {
                match text.as_str() {
                    Some(text) => drop(data.texts.insert(key.clone(), text.to_owned())),
                    None => drop(data.texts.remove(key)),
                }
            }
        }
        self.control_plane_informer.mark_published();
        self.node_informer.mark_published();
        self.producers.informer_mut().mark_published();
    }

    fn mark_unpublished(&mut self) {
        self.control_plane_informer.mark_unpublished();
        self.node_informer.mark_unpublished();
        self.producers.informer_mut().mark_unpublished();
    }

    /// Returns the merge patch that the ConfigMap needs, rejected if another client has written it meanwhile;
    /// `None` if it is up to date, missing, or not known yet.
    pub(in crate::controller) fn patch(&mut self) -> Option<Value> {
        let is_published = self.informers().into_iter().all(Informer::is_published);
        if is_published || self.is_patch_refused() {
            return None;
        }
        let (version, ConfigMapData { texts, binary }) = self.config_map.get()?;
        let (control_plane, nodes) = (&mut self.control_plane_informer, &mut self.node_informer);
        let producers = self.producers.informer_mut();
        let is_own = |key: &str| control_plane.owns(key) || nodes.owns(key) || producers.owns(key);
        let foreign = texts.iter().filter(|(key, _)| !is_own(key));
        let foreign: usize = foreign.map(|(_, text)| text.len()).sum();
        let room = ROOM.saturating_sub(foreign + binary);
        // However many alerts fire, insights on nodes get half of the space if they need it.
        let of_control_plane = room - nodes.size().min(room / 2);
        let mut changes = Map::new();
        control_plane.changes(texts, of_control_plane, &mut changes);
        let left = room - control_plane.size().min(of_control_plane);
        nodes.changes(texts, left, &mut changes);
        // Producers get the space that the controller's own insights leave.
        producers.changes(texts, left - nodes.size().min(left), &mut changes);
        let metadata = json!({"resourceVersion": version});
        (!changes.is_empty()).then(|| json!({"metadata": metadata, "data": changes}))
    }

    /// Notes that the API server rejected the patch and would do so again: the ConfigMap is immutable or
    /// full. It is left alone until it or the insights change.
    pub(in crate::controller) fn patch_refused(&mut self) {
        let seen = self.config_map.get().map(|(version, _)| version.to_owned());
        self.refused = seen.map(|version| (version, self.revisions()));
    }

    /// Returns whether that rejection still applies.
    pub(in crate::controller) fn is_patch_refused(&self) -> bool {
        let seen = self.config_map.get().map(|(version, _)| version);
        self.refused.as_ref().is_some_and(|(version, revisions)| {
            seen == Some(version.as_str()) && *revisions == self.revisions()
        })
    }
}
