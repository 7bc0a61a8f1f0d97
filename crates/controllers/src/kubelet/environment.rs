//! What the environment of a container is made of: ConfigMaps and Secrets, without which it cannot be made.

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::Resource;
use windtunnel_core::resources::{CONFIG_MAPS, SECRETS};

use super::status::State;
use super::worker::Look;
use crate::recorder::Notice;

/// Why a container waits whose environment cannot be made.
pub(super) const LACKS_CONFIG: &str = "CreateContainerConfigError";

/// How long after it was in vain a container is tried again.
const AGAIN: SignedDuration = SignedDuration::from_secs(12);

/// Where something is read from, as the kubelet calls it.
struct Source {
    resource: Resource,
    /// As a sentence about the object begins.
    name: &'static str,
    /// As a sentence about one of its keys calls it.
    kind: &'static str,
}

const CONFIG_MAP: Source = Source { resource: CONFIG_MAPS, name: "configmap", kind: "ConfigMap" };
const SECRET: Source = Source { resource: SECRETS, name: "secret", kind: "Secret" };

impl Look<'_> {
    /// What a container waits with of whose environment something is not there.
    pub(super) fn lacks_config(&mut self, index: usize) -> Option<State> {
        let message = self.missing(index)?;
        if !self.is_waiting_for(index, LACKS_CONFIG) {
            self.tell(Notice::warning("Failed", format!("Error: {message}")));
        }
        self.out.why = Some(message.clone());
        self.look_again(self.site.now + AGAIN);
        Some(State::Waiting { reason: LACKS_CONFIG.to_owned(), message })
    }

    /// The first thing that is not there.
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
        // What a cluster does not tell of its Secrets may be there.
        let has = ["data", "binaryData"].iter().any(|data| object[data].get(key).is_some());
        let is_told = source.kind == CONFIG_MAP.kind || object["data"].is_object();
        (is_told && !has).then(|| format!("couldn't find key {key} in {} {namespace}/{name}", source.kind))
    }
}
