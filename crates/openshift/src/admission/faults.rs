//! The values of the annotation that injects faults. Without this check a misspelled fault would do nothing.

use serde_json::Value;
use windtunnel_controllers::faults::{ANNOTATION, FaultKind, NONE};
use windtunnel_core::Resource;
use windtunnel_core::requests::admission::{
    AdmissionPlugin, AdmissionRejection, AdmissionRequest, AdmittingCluster,
};
use windtunnel_core::resources::{CLUSTER_OPERATORS, MACHINE_CONFIG_POOLS, NODES, PODS};
use windtunnel_core::text::did_you_mean;

/// The kinds with faults, and the names of these faults.
const FAULTS: [(&Resource, &[&str]); 4] = [
    (&CLUSTER_OPERATORS, &FaultKind::OF_OPERATORS),
    (&NODES, &FaultKind::OF_NODES),
    (&PODS, &FaultKind::OF_PODS),
    (&MACHINE_CONFIG_POOLS, &FaultKind::OF_POOLS),
];

/// Rejects new values of `windtunnel.dev/fault` that no object of the kind can have.
#[derive(Debug, Clone, Copy, Default)]
pub struct FaultAnnotations;

impl AdmissionPlugin for FaultAnnotations {
    fn name(&self) -> &'static str {
        "windtunnel.dev/FaultAnnotations"
    }

    fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: Option<&Value>,
        _: &mut dyn AdmittingCluster,
    ) -> Result<(), AdmissionRejection> {
        if !request.subresource.is_empty() {
            return Ok(());
        }
        let Some(fault) = new_fault(object, request.old) else { return Ok(()) };
        check(request.resource, request.name, &fault).map_err(AdmissionRejection::Denied)
    }
}

/// The fault that a write adds to an object.
fn new_fault(object: Option<&Value>, old: Option<&Value>) -> Option<String> {
    let value = |object: Option<&Value>| {
        let annotations = object.and_then(|object| object.pointer("/metadata/annotations"));
        annotations.and_then(|annotations| annotations[ANNOTATION].as_str().map(str::to_owned))
    };
    let fault = value(object).filter(|fault| fault != NONE)?;
    (value(old).as_deref() != Some(&fault)).then_some(fault)
}

fn check(kind: &Resource, name: &str, fault: &str) -> Result<(), String> {
    let found = FAULTS
        .iter()
        .find(|(resource, _)| (&resource.group, &resource.plural) == (&kind.group, &kind.plural));
    let kind = &kind.kind;
    let Some((_, known)) = found else {
        let kinds: Vec<&str> = FAULTS.iter().map(|(resource, _)| &*resource.kind).collect();
        return Err(format!(
            "annotation {ANNOTATION} of {kind} {name:?}: this kind has no faults; the kinds with faults are {}",
            kinds.join(", ")
        ));
    };
    if known.contains(&fault) {
        return Ok(());
    }
    let hint = did_you_mean(fault, known.iter().copied());
    Err(format!(
        "annotation {ANNOTATION} of {kind} {name:?}: unknown fault {fault:?}{hint} (known: {}; to end a fault, remove \
         the annotation)",
        known.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::resources::CONFIG_MAPS;

    use super::*;

    fn rejection(resource: &Resource, old: &str, new: &str) -> String {
        let object = |fault: &str| json!({ "metadata": { "annotations": { ANNOTATION: fault } } });
        let (old, new) = (object(old), object(new));
        new_fault(Some(&new), Some(&old))
            .and_then(|fault| check(resource, "x", &fault).err())
            .unwrap_or_default()
    }

    #[test]
    fn rejects_unknown_faults_with_the_nearest_and_all_known_ones() {
        for (resource, known) in FAULTS {
            assert!(known.iter().all(|fault| rejection(resource, "", fault).is_empty()));
            let text = rejection(resource, "", &format!("{}x", known[0]));
            assert!(text.contains(&format!("did you mean `{}`?", known[0])), "{text}");
            assert!(text.contains(&known.join(", ")), "{text}");
        }
    }

    #[test]
    fn rejects_faults_of_other_kinds() {
        let text = rejection(&CONFIG_MAPS, "", "degraded");
        assert!(
            text.ends_with("the kinds with faults are ClusterOperator, Node, Pod, MachineConfigPool"),
            "{text}"
        );
    }

    #[test]
    fn accepts_the_end_of_a_fault_and_objects_that_have_an_unknown_one_already() {
        assert_eq!(rejection(&NODES, "degraded", NONE), "");
        assert_eq!(rejection(&NODES, "sad", "sad"), "");
    }
}
