//! The ConfigMap that insights are published in: what it holds, and what has to change in it.

use std::collections::BTreeMap;

use kube::runtime::watcher::Event;
use serde_json::{Map, Value, json};

use super::State;
use crate::insights::informer::Informer;

/// Most bytes of all values of a ConfigMap, by the API. One byte more, and nothing would be published any more.
pub(super) const ROOM: usize = 1024 * 1024;

/// What a ConfigMap holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::insights) struct Data {
    /// `data`.
    pub(in crate::insights) texts: BTreeMap<String, String>,
    /// How many bytes `binaryData` takes of the room.
    pub(in crate::insights) binary: usize,
}

impl State {
    /// Takes in what the watch of ConfigMaps tells: their resource versions.
    pub(in crate::insights) fn config_map(&mut self, event: Event<(String, String)>) {
        self.version_in_doubt |= matches!(event, Event::InitDone);
        if self.config_map.watched(event) {
            self.doubt_config_map();
        }
    }

    /// Whether the ConfigMap has to be read: somebody else wrote it.
    pub(in crate::insights) fn wants_config_map(&self) -> bool {
        self.config_map.wants_reading()
    }

    /// Takes in the ConfigMap as it was read, with its resource version; `None`: there is none.
    pub(in crate::insights) fn config_map_read(&mut self, object: Option<(String, Data)>) {
        self.config_map.holds(object);
        self.doubt_config_map();
    }

    /// Somebody else wrote the ConfigMap.
    pub(in crate::insights) fn lose_config_map(&mut self) {
        self.config_map.lose();
    }

    /// The ConfigMap was written as [`State::patch`] asked for, and is of this resource version now.
    pub(in crate::insights) fn config_map_written(&mut self, version: String, patch: &Value) {
        let changes = patch["data"].as_object().into_iter().flatten();
        if let Some(data) = self.config_map.written(version) {
            for (key, text) in changes {
                match text.as_str() {
                    Some(text) => drop(data.texts.insert(key.clone(), text.to_owned())),
                    None => drop(data.texts.remove(key)),
                }
            }
        }
        self.control_plane_informer.published();
        self.node_informer.published();
    }

    fn doubt_config_map(&mut self) {
        self.control_plane_informer.doubt();
        self.node_informer.doubt();
    }

    /// The merge patch that the ConfigMap needs, refused where somebody else wrote it meanwhile; `None` if it is as it should
    /// be, is not there, or it is too early to tell.
    pub(in crate::insights) fn patch(&mut self) -> Option<Value> {
        let is_as_it_should_be = self.informers().into_iter().all(Informer::is_published);
        if is_as_it_should_be || self.is_patch_refused() {
            return None;
        }
        let (version, Data { texts, binary }) = self.config_map.get()?;
        let (control_plane, nodes) = (&mut self.control_plane_informer, &mut self.node_informer);
        let foreign = texts.iter().filter(|(key, _)| !control_plane.owns(key) && !nodes.owns(key));
        let foreign: usize = foreign.map(|(_, text)| text.len()).sum();
        let room = ROOM.saturating_sub(foreign + binary);
        // However many alerts fire, half of the room is for nodes if they need it.
        let of_control_plane = room - nodes.size().min(room / 2);
        let mut changes = Map::new();
        control_plane.changes(texts, of_control_plane, &mut changes);
        let left = room - control_plane.size().min(of_control_plane);
        nodes.changes(texts, left, &mut changes);
        let metadata = json!({"resourceVersion": version});
        (!changes.is_empty()).then(|| json!({"metadata": metadata, "data": changes}))
    }

    /// The API server refused the patch, and would again: the ConfigMap is immutable, or full. It is left alone until it or
    /// what is known is another.
    pub(in crate::insights) fn patch_refused(&mut self) {
        let seen = self.config_map.get().map(|(version, _)| version.to_owned());
        self.refused = seen.map(|version| (version, self.revisions()));
    }

    /// Whether that is so.
    pub(in crate::insights) fn is_patch_refused(&self) -> bool {
        let seen = self.config_map.get().map(|(version, _)| version);
        self.refused.as_ref().is_some_and(|(version, revisions)| {
            seen == Some(version.as_str()) && *revisions == self.revisions()
        })
    }
}
