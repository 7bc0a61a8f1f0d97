//! The settings of plug-ins, from the configuration file of a kube-apiserver (`--admission-control-config-file`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{pod_security, toleration_restriction};

/// The plug-ins that have settings here.
const PLUGINS: [&str; 3] = ["PodNodeSelector", "PodSecurity", "PodTolerationRestriction"];

/// The settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(super) pod_security: pod_security::Settings,
    pub(super) tolerations: toleration_restriction::Settings,
    /// Node selectors by namespace.
    pub(super) node_selectors: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct NodeSelectors {
    pod_node_selector_plugin_config: BTreeMap<String, String>,
}

impl Settings {
    /// Sets those of a plug-in.
    ///
    /// # Errors
    /// The plug-in has no settings here, or they are invalid.
    pub(in crate::admission) fn configure(
        &mut self,
        plugin: &str,
        configuration: &Value,
    ) -> Result<(), String> {
        let at = |error: String| format!("{plugin}: {error}");
        match plugin {
            "PodSecurity" => self.pod_security = pod_security::Settings::read(configuration).map_err(at)?,
            "PodTolerationRestriction" => {
                let read = toleration_restriction::Settings::deserialize(configuration);
                self.tolerations = read.map_err(|error| at(error.to_string()))?;
            }
            "PodNodeSelector" => {
                let read = NodeSelectors::deserialize(configuration);
                self.node_selectors =
                    read.map_err(|error| at(error.to_string()))?.pod_node_selector_plugin_config;
            }
            _ => {
                let known = PLUGINS.join(", ");
                return Err(format!("{plugin}: windtunnel reads configurations of {known} only"));
            }
        }
        Ok(())
    }
}
