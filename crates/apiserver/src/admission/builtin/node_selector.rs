//! Adds the node selector of a namespace to its pods (`PodNodeSelector`).

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windtunnel_core::requests::admission::{
    AdmissionOperation, AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};
use windtunnel_core::resources::{NAMESPACES, PODS};

use crate::gotext::quote;
use crate::names::labels::{label_key, label_value};

const ANNOTATION: &str = "scheduler.alpha.kubernetes.io/node-selector";
/// The selector of namespaces without the annotation, in the configuration.
const DEFAULT: &str = "clusterDefaultNodeSelector";

/// The plug-in, with the selectors of its configuration: the default one, and by namespace those that its pods may have.
#[derive(Debug, Clone, Default)]
pub(super) struct PodNodeSelector(pub(super) BTreeMap<String, String>);

type Labels = BTreeMap<String, String>;

impl AdmissionPlugin for PodNodeSelector {
    fn name(&self) -> &'static str {
        "PodNodeSelector"
    }

    fn mutate(
        &mut self,
        request: &AdmissionRequest<'_>,
        pod: &mut Value,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        if !is_new_pod(request) {
            return Ok(());
        }
        let mut merged = self.of_namespace(request.namespace, cluster)?;
        let own = selector(pod);
        reject_conflict(&merged, &own)?;
        merged.extend(own);
        if !merged.is_empty() && pod["spec"].is_object() {
            pod["spec"]["nodeSelector"] = json!(merged);
        }
        Ok(())
    }

    fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: Option<&Value>,
        cluster: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        let Some(pod) = object.filter(|_| is_new_pod(request)) else { return Ok(()) };
        let own = selector(pod);
        reject_conflict(&self.of_namespace(request.namespace, cluster)?, &own)?;
        let allowed = parse(self.0.get(request.namespace).map_or("", String::as_str))?;
        if !allowed.is_empty() && own.iter().any(|(key, value)| allowed.get(key) != Some(value)) {
            let why = "pod node label selector labels conflict with its namespace whitelist";
            return Err(AdmissionRejection::Forbidden(why.to_owned()));
        }
        Ok(())
    }
}

impl PodNodeSelector {
    fn of_namespace(&self, name: &str, cluster: &dyn AdmittingCluster) -> Result<Labels, AdmissionRejection> {
        let Some(namespace) = cluster.object(&NAMESPACES, "", name) else {
            return Err(AdmissionRejection::NotFound(NAMESPACES.into(), name.to_owned()));
        };
        let default = self.0.get(DEFAULT).map_or("", String::as_str);
        parse(namespace["metadata"]["annotations"][ANNOTATION].as_str().unwrap_or(default))
    }
}

fn is_new_pod(request: &AdmissionRequest<'_>) -> bool {
    request.writes(&PODS) && request.operation == AdmissionOperation::Create
}

fn selector(pod: &Value) -> Labels {
    let given = pod["spec"]["nodeSelector"].as_object().into_iter().flatten();
    given.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

fn reject_conflict(of_namespace: &Labels, own: &Labels) -> Result<(), AdmissionRejection> {
    let conflicts =
        |(key, value): (&String, &String)| of_namespace.get(key).is_some_and(|other| other != value);
    if own.iter().any(conflicts) {
        let why = "pod node label selector conflicts with its namespace node label selector";
        return Err(AdmissionRejection::Forbidden(why.to_owned()));
    }
    Ok(())
}

/// Parses labels such as `a=b,c=d` (`ConvertSelectorToLabelsMap`).
fn parse(text: &str) -> Result<Labels, AdmissionRejection> {
    let mut labels = Labels::new();
    for term in text.split(',').filter(|_| !text.is_empty()) {
        let parts: Vec<&str> = term.split('=').collect();
        let [key, value] = parts.as_slice() else {
            return Err(AdmissionRejection::Unclassified(format!("invalid selector: [{}]", parts.join(" "))));
        };
        let (key, value) = (key.trim(), value.trim());
        // The errors have no path: kube-apiserver shows that as `<nil>`, and the value's as the key alone.
        let invalid = |at: &str, what: &str, errors: Vec<String>| match errors.first() {
            Some(why) => {
                Err(AdmissionRejection::Unclassified(format!("{at}: Invalid value: {}: {why}", quote(what))))
            }
            None => Ok(()),
        };
        invalid("<nil>", key, label_key(key))?;
        invalid(&format!("[{key}]"), value, label_value(value))?;
        labels.insert(key.to_owned(), value.to_owned());
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::builtin::testing::Cluster;

    fn cluster(annotation: Option<&str>) -> Cluster {
        let annotations = annotation.map(|text| json!({ ANNOTATION: text }));
        Cluster::new(36)
            .with([(NAMESPACES, json!({ "metadata": { "name": "n", "annotations": annotations } }))])
    }

    fn plugin(settings: &[(&str, &str)]) -> PodNodeSelector {
        PodNodeSelector(
            settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        )
    }

    #[expect(clippy::needless_pass_by_value, reason = "the callers build it in place")]
    fn admitted(
        mut plugin: PodNodeSelector,
        mut cluster: Cluster,
        selector: Value,
    ) -> Result<Value, AdmissionRejection> {
        let mut pod = json!({ "metadata": { "namespace": "n" }, "spec": { "nodeSelector": selector } });
        cluster.mutate(&mut plugin, &PODS, "", &mut pod, None)?;
        cluster.validate(&plugin, &PODS, "", &pod, None)?;
        Ok(pod["spec"]["nodeSelector"].clone())
    }

    #[test]
    fn the_selector_of_the_namespace_or_the_default_one_is_added() {
        let given = || json!({ "c": "d" });
        let merged = admitted(plugin(&[]), cluster(Some("a = b")), given());
        assert_eq!(merged, Ok(json!({ "a": "b", "c": "d" })));
        let default = || plugin(&[(DEFAULT, "x=y")]);
        assert_eq!(admitted(default(), cluster(None), given()), Ok(json!({ "c": "d", "x": "y" })));
        assert_eq!(admitted(default(), cluster(Some("")), given()), Ok(given()), "an empty annotation");
        assert_eq!(admitted(plugin(&[]), cluster(None), Value::Null), Ok(Value::Null));
    }

    #[test]
    fn conflicts_and_selectors_outside_of_the_allowed_ones_are_rejected() {
        let conflict = "pod node label selector conflicts with its namespace node label selector";
        let outcome = admitted(plugin(&[]), cluster(Some("a=b")), json!({ "a": "c" }));
        assert_eq!(outcome, Err(AdmissionRejection::Forbidden(conflict.to_owned())));
        let allowed = || plugin(&[("n", "a=b,c=d")]);
        assert_eq!(admitted(allowed(), cluster(None), json!({ "a": "b" })), Ok(json!({ "a": "b" })));
        let outside = "pod node label selector labels conflict with its namespace whitelist";
        let outcome = admitted(allowed(), cluster(None), json!({ "e": "f" }));
        assert_eq!(outcome, Err(AdmissionRejection::Forbidden(outside.to_owned())));
        let outcome = admitted(plugin(&[]), cluster(Some("a")), json!({}));
        assert_eq!(outcome, Err(AdmissionRejection::Unclassified("invalid selector: [a]".to_owned())));
        for (annotation, expected) in
            [("-a=b", r#"<nil>: Invalid value: "-a": "#), ("a=b/c", r#"[a]: Invalid value: "b/c": "#)]
        {
            let outcome = admitted(plugin(&[]), cluster(Some(annotation)), json!({}));
            assert!(
                matches!(&outcome, Err(AdmissionRejection::Unclassified(why)) if why.starts_with(expected)),
                "{outcome:?}"
            );
        }
    }
}
