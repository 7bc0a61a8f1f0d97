//! Gives a new pod the overhead, the node selector and the tolerations of its runtime class.

use serde_json::{Value, json};
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};
use windtunnel_core::resources::PODS;
use windtunnel_core::{Resource, text_of};

use crate::gotext::quote;

const RUNTIME_CLASSES: Resource = Resource::cluster("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses");

const DIFFERENT: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
const WITHOUT_CLASS: &str =
    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";

/// The plug-in.
#[derive(Debug, Clone, Copy)]
pub(super) struct RuntimeClass;

impl AdmissionPlugin for RuntimeClass {
    fn name(&self) -> &'static str {
        "RuntimeClass"
    }

    fn mutate(
        &mut self,
        request: &AdmissionRequest<'_>,
        pod: &mut Value,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        if !request.writes(&PODS) || request.operation != AdmissionOperation::Create {
            return Ok(());
        }
        let class = class_of(cluster, pod)?;
        let overhead = &class["overhead"]["podFixed"];
        if !class["overhead"].is_null() && has_overhead(pod) && pod["spec"]["overhead"] != *overhead {
            return Err(AdmissionRejection::Forbidden(DIFFERENT.to_owned()));
        }
        if !overhead.is_null() {
            pod["spec"]["overhead"] = overhead.clone();
        }
        let scheduling = &class["scheduling"];
        select_nodes(pod, &scheduling["nodeSelector"]).map_err(AdmissionRejection::Forbidden)?;
        tolerate(pod, &scheduling["tolerations"]);
        Ok(())
    }

    /// Checks that a valid new pod has the overhead of its runtime class, and no other.
    fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        pod: Option<&Value>,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let Some(pod) = pod.filter(|_| request.writes(&PODS)) else { return Ok(()) };
        if request.operation != AdmissionOperation::Create || pod["spec"]["overhead"].is_null() {
            return Ok(());
        }
        let class = class_of(cluster, pod)?;
        if class["overhead"].is_null() {
            return Err(AdmissionRejection::Forbidden(WITHOUT_CLASS.to_owned()));
        }
        if pod["spec"]["overhead"] != class["overhead"]["podFixed"] {
            return Err(AdmissionRejection::Forbidden(DIFFERENT.to_owned()));
        }
        Ok(())
    }
}

fn has_overhead(pod: &Value) -> bool {
    pod["spec"]["overhead"].as_object().is_some_and(|given| !given.is_empty())
}

/// The runtime class of a pod; null if it names none.
fn class_of(cluster: &dyn AdmittingCluster, pod: &Value) -> Result<Value, AdmissionRejection> {
    let Some(name) = pod["spec"]["runtimeClassName"].as_str() else { return Ok(Value::Null) };
    let why =
        || AdmissionRejection::Forbidden(format!("pod rejected: RuntimeClass {} not found", quote(name)));
    Ok(cluster.object(&RUNTIME_CLASSES, "", name).ok_or_else(why)?.to_value())
}

/// Adds the node selector of a class.
fn select_nodes(pod: &mut Value, selector: &Value) -> Result<(), String> {
    for (key, value) in selector.as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        if let Some(own) = pod["spec"]["nodeSelector"][key].as_str().filter(|own| *own != value) {
            return Err(format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {own}"
            ));
        }
        pod["spec"]["nodeSelector"][key] = json!(value);
    }
    Ok(())
}

/// Adds the tolerations of a class, without those that others cover (`MergeTolerations`).
fn tolerate(pod: &mut Value, more: &Value) {
    let Some(more) = more.as_array().filter(|more| !more.is_empty()) else { return };
    let own = pod["spec"]["tolerations"].as_array().into_iter().flatten();
    let all: Vec<Value> = own.chain(more).cloned().collect();
    let mut merged: Vec<&Value> = Vec::new();
    for (index, toleration) in all.iter().enumerate() {
        let is_covered = merged.iter().any(|other| covers(other, toleration))
            || all[index + 1..].iter().any(|other| other != toleration && covers(other, toleration));
        if !is_covered {
            merged.push(toleration);
        }
    }
    pod["spec"]["tolerations"] = json!(merged);
}

/// Whether a toleration tolerates all that another one does (`isSuperset`).
fn covers(wide: &Value, narrow: &Value) -> bool {
    if wide == narrow {
        return true;
    }
    let key = text_of(wide, "key");
    let any_key = key.is_empty() && text_of(wide, "operator") == "Exists";
    let effect = text_of(wide, "effect");
    if (key != text_of(narrow, "key") && !any_key)
        || (!effect.is_empty() && effect != text_of(narrow, "effect"))
    {
        return false;
    }
    let seconds = |toleration: &Value| toleration["tolerationSeconds"].as_i64();
    if effect == "NoExecute"
        && seconds(wide).is_some_and(|most| seconds(narrow).is_none_or(|seconds| seconds > most))
    {
        return false;
    }
    match text_of(wide, "operator") {
        "Exists" => true,
        "Equal" | "" => {
            text_of(narrow, "operator") == "Equal" && text_of(narrow, "value") == text_of(wide, "value")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerations_of_the_class_are_merged() {
        let mut pod =
            json!({ "spec": { "tolerations": [{ "key": "a", "operator": "Equal", "value": "1" }] } });
        let more = json!([{ "key": "a", "operator": "Exists" }, { "key": "b", "operator": "Exists" }]);
        tolerate(&mut pod, &more);
        assert_eq!(pod["spec"]["tolerations"], more);
    }

    #[test]
    fn node_selectors_must_not_contradict_each_other() {
        let mut pod = json!({ "spec": { "nodeSelector": { "a": "1" } } });
        assert_eq!(select_nodes(&mut pod, &json!({ "b": "2" })), Ok(()));
        assert_eq!(pod["spec"]["nodeSelector"], json!({ "a": "1", "b": "2" }));
        let why = select_nodes(&mut pod, &json!({ "a": "2" })).unwrap_err();
        assert!(why.starts_with("conflict: runtimeClass.scheduling.nodeSelector[a] = 2;"), "{why}");
    }
}
