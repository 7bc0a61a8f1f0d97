//! Adds the default tolerations of a namespace to its pods, and allows only those on its list (`PodTolerationRestriction`).

use serde::Deserialize;
use serde_json::{Value, json};
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};
use windtunnel_core::resources::{NAMESPACES, PODS};
use windtunnel_core::text_of;

use crate::gotext::json_syntax::syntax_error;
use crate::kinds::quality::quality_of_service;

const DEFAULTS: &str = "scheduler.alpha.kubernetes.io/defaultTolerations";
const ALLOWED: &str = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";

/// The plug-in.
#[derive(Debug, Clone, Default)]
pub(super) struct PodTolerationRestriction(pub(super) Settings);

/// The configuration: the lists of namespaces without annotations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    #[serde(default)]
    default: Vec<Value>,
    #[serde(default)]
    whitelist: Vec<Value>,
}

impl AdmissionPlugin for PodTolerationRestriction {
    fn name(&self) -> &'static str {
        "PodTolerationRestriction"
    }

    fn mutate(
        &mut self,
        request: &AdmissionRequest<'_>,
        pod: &mut Value,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        if !is_written(request) || !pod["spec"].is_object() {
            return Ok(());
        }
        let mut more = Vec::new();
        if request.operation == AdmissionOperation::Create {
            let own = of_namespace(request.namespace, DEFAULTS, cluster)?;
            more = own.unwrap_or_else(|| self.0.default.clone());
        }
        if quality_of_service(pod, cluster.kubernetes_minor()) != "BestEffort" {
            let key = "node.kubernetes.io/memory-pressure";
            more.push(json!({ "key": key, "operator": "Exists", "effect": "NoSchedule" }));
        }
        if !more.is_empty() {
            let given = pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
            pod["spec"]["tolerations"] = json!(merged(&[given, more].concat()));
        }
        Ok(())
    }

    fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: Option<&Value>,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let Some(pod) = object.filter(|_| is_written(request)) else { return Ok(()) };
        let tolerations = pod["spec"]["tolerations"].as_array().map(Vec::as_slice).unwrap_or_default();
        if tolerations.is_empty() {
            return Ok(());
        }
        let (allowed, scope) = match of_namespace(request.namespace, ALLOWED, cluster)? {
            Some(allowed) => (allowed, "namespace"),
            None => (self.0.whitelist.clone(), "cluster"),
        };
        let is_allowed = |given: &Value| allowed.iter().any(|allowed| includes(allowed, given));
        if allowed.is_empty() || tolerations.iter().all(is_allowed) {
            return Ok(());
        }
        Err(AdmissionRejection::Unclassified(format!(
            "pod tolerations (possibly merged with namespace default tolerations) conflict with its {scope} whitelist"
        )))
    }
}

fn is_written(request: &AdmissionRequest<'_>) -> bool {
    let operations = [AdmissionOperation::Create, AdmissionOperation::Update];
    request.writes(&PODS) && operations.contains(&request.operation)
}

/// The tolerations in an annotation of a namespace; `None` without the annotation.
fn of_namespace(
    name: &str,
    annotation: &str,
    cluster: &dyn AdmittingCluster,
) -> Result<Option<Vec<Value>>, AdmissionRejection> {
    let Some(namespace) = cluster.object(&NAMESPACES, "", name) else {
        return Err(AdmissionRejection::NotFound(NAMESPACES.into(), name.to_owned()));
    };
    match namespace["metadata"]["annotations"][annotation].as_str() {
        None => Ok(None),
        Some("") => Ok(Some(Vec::new())),
        Some(text) => {
            let error = |error: serde_json::Error| {
                AdmissionRejection::Unclassified(
                    syntax_error(text.as_bytes()).unwrap_or_else(|| error.to_string()),
                )
            };
            serde_json::from_str(text).map(Some).map_err(error)
        }
    }
}

/// The tolerations without those that others include. Of equal ones the first stays (`MergeTolerations`).
fn merged(all: &[Value]) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::new();
    for (index, one) in all.iter().enumerate() {
        let is_redundant = kept.iter().any(|other| includes(other, one))
            || all[index + 1..].iter().any(|other| other != one && includes(other, one));
        if !is_redundant {
            kept.push(one.clone());
        }
    }
    kept
}

/// Whether a toleration tolerates everything that another one tolerates (`isSuperset`).
fn includes(wide: &Value, narrow: &Value) -> bool {
    if wide == narrow {
        return true;
    }
    let text = text_of;
    let same = |field: &str| text(wide, field) == text(narrow, field);
    let is_any_key = text(wide, "key").is_empty() && text(wide, "operator") == "Exists";
    if !same("key") && !is_any_key || !same("effect") && !text(wide, "effect").is_empty() {
        return false;
    }
    if text(wide, "effect") == "NoExecute"
        && let Some(most) = wide["tolerationSeconds"].as_i64()
        && narrow["tolerationSeconds"].as_i64().is_none_or(|seconds| seconds > most)
    {
        return false;
    }
    match text(wide, "operator") {
        "Equal" | "" => text(narrow, "operator") == "Equal" && same("value"),
        "Exists" => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::builtin::testing::Cluster;

    fn toleration(key: &str, operator: &str, value: &str) -> Value {
        json!({ "key": key, "operator": operator, "value": value, "effect": "NoSchedule" })
    }

    fn cluster(annotations: &Value) -> Cluster {
        Cluster::new(36)
            .with([(NAMESPACES, json!({ "metadata": { "name": "n", "annotations": annotations } }))])
    }

    fn admitted(
        annotations: &Value,
        settings: Settings,
        given: &[Value],
    ) -> Result<Value, AdmissionRejection> {
        let mut plugin = PodTolerationRestriction(settings);
        let mut cluster = cluster(annotations);
        let mut pod = json!({ "metadata": { "namespace": "n" }, "spec": { "tolerations": given } });
        cluster.mutate(&mut plugin, &PODS, "", &mut pod, None)?;
        cluster.validate(&plugin, &PODS, "", &pod, None)?;
        Ok(pod["spec"]["tolerations"].clone())
    }

    #[test]
    fn default_tolerations_are_merged() {
        let (a, b) = (toleration("a", "Equal", "x"), toleration("b", "Exists", ""));
        let annotations = json!({ DEFAULTS: json!([b, a]).to_string() });
        let given = [a.clone(), toleration("b", "Equal", "y")];
        assert_eq!(admitted(&annotations, Settings::default(), &given), Ok(json!([a, b])));
        let settings = || Settings { default: vec![b.clone()], ..Settings::default() };
        assert_eq!(admitted(&json!({}), settings(), &[]), Ok(json!([b])), "those of the configuration");
        assert_eq!(admitted(&json!({ DEFAULTS: "" }), settings(), &[]), Ok(json!([])), "an empty annotation");
    }

    #[test]
    fn only_tolerations_on_the_list_are_allowed() {
        let allowed = json!([toleration("a", "Exists", "")]).to_string();
        let annotations = json!({ ALLOWED: allowed });
        let given = [toleration("a", "Equal", "x")];
        assert_eq!(admitted(&annotations, Settings::default(), &given), Ok(json!(given)));
        let why = |scope: &str| {
            Err(AdmissionRejection::Unclassified(format!(
                "pod tolerations (possibly merged with namespace default tolerations) conflict with its {scope} whitelist"
            )))
        };
        let other = [toleration("c", "Exists", "")];
        assert_eq!(admitted(&annotations, Settings::default(), &other), why("namespace"));
        let settings = Settings { whitelist: given.to_vec(), ..Settings::default() };
        assert_eq!(admitted(&json!({}), settings, &other), why("cluster"));
    }

    #[test]
    fn a_pod_with_requests_tolerates_pressure_on_memory() {
        let requests = json!({ "requests": { "cpu": "1" } });
        let mut pod = json!({ "metadata": { "namespace": "n" },
            "spec": { "containers": [{ "name": "c", "resources": requests }] } });
        let mut plugin = PodTolerationRestriction::default();
        cluster(&json!({})).mutate(&mut plugin, &PODS, "", &mut pod, None).unwrap();
        assert_eq!(pod["spec"]["tolerations"][0]["key"], "node.kubernetes.io/memory-pressure");
    }

    #[test]
    fn a_limited_time_includes_only_shorter_ones() {
        let time = |seconds: Option<u32>| json!({ "key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds });
        assert!(includes(&time(Some(5)), &time(Some(4))) && includes(&time(None), &time(Some(9))));
        assert!(!includes(&time(Some(5)), &time(Some(6))) && !includes(&time(Some(5)), &time(None)));
    }
}
