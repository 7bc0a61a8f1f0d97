//! Environment variables of containers: a container cannot be created without the ConfigMaps and Secrets they
//! refer to.

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::Resource;
use windtunnel_core::resources::{CONFIG_MAPS, SECRETS};

use super::pod_status::State;
use super::worker::PodSync;
use crate::recorder::Notice;

/// The waiting reason of a container with a missing ConfigMap, Secret or key.
pub(super) const CONFIG_ERROR: &str = "CreateContainerConfigError";

/// The delay of the next attempt.
const RETRY: SignedDuration = SignedDuration::from_secs(12);

/// A kind of source for environment variables, with its names in the kubelet's messages.
struct Source {
    resource: Resource,
    /// Its name in messages about a missing object.
    name: &'static str,
    /// Its name in messages about a missing key.
    kind: &'static str,
}

const CONFIG_MAP: Source = Source { resource: CONFIG_MAPS, name: "configmap", kind: "ConfigMap" };
const SECRET: Source = Source { resource: SECRETS, name: "secret", kind: "Secret" };

impl PodSync<'_> {
    /// The waiting state of a container that refers to a missing ConfigMap, Secret or key.
    pub(super) fn missing_config_state(&mut self, index: usize) -> Option<State> {
        let message = self.missing(index)?;
        if !self.is_waiting_for(index, CONFIG_ERROR) {
            self.record_event(Notice::warning("Failed", format!("Error: {message}")));
        }
        self.out.why = Some(message.clone());
        self.schedule_by(self.site.now + RETRY);
        Some(State::Waiting { reason: CONFIG_ERROR.to_owned(), message })
    }

    /// The error message for the first missing reference.
    fn missing(&self, index: usize) -> Option<String> {
        let spec = self.spec(index);
        let list = |field: &str| spec[field].as_array().into_iter().flatten();
        let whole = list("envFrom").find_map(|from| {
            self.missing_in(&CONFIG_MAP, &from["configMapRef"])
                .or_else(|| self.missing_in(&SECRET, &from["secretRef"]))
        });
        whole.or_else(|| {
            list("env").map(|variable| &variable["valueFrom"]).find_map(|from| {
                self.missing_in(&CONFIG_MAP, &from["configMapKeyRef"])
                    .or_else(|| self.missing_in(&SECRET, &from["secretKeyRef"]))
            })
        })
    }

    fn missing_in(&self, source: &Source, reference: &Value) -> Option<String> {
        let name = reference["name"].as_str().filter(|_| reference["optional"] != true)?;
        let namespace = self.pod.namespace();
        let Some(object) = self.site.view.get(&source.resource, namespace, name) else {
            return Some(format!("{} {name:?} not found", source.name));
        };
        let key = reference["key"].as_str()?;
        // Some clusters do not include the data of Secrets. The key may exist then.
        let has = ["data", "binaryData"].iter().any(|data| object[data].get(key).is_some());
        let is_known = source.kind == CONFIG_MAP.kind || object["data"].is_object();
        (is_known && !has).then(|| format!("couldn't find key {key} in {} {namespace}/{name}", source.kind))
    }
}
