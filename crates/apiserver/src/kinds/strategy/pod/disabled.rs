//! Fields of pods and of their templates behind feature gates that are off by default (`DropDisabledPodFields`,
//! `DropDisabledTemplateFields`).

use serde_json::Value;

/// A field of a specification, as its path through objects and lists, and the first minor that has its gate on by default.
/// `containers` means the containers of all three lists.
type Row = (&'static [&'static str], u32);

const NEVER: u32 = u32::MAX;
const CONTAINER_LISTS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

#[rustfmt::skip]
const TABLE: &[Row] = &[
    // `RecursiveReadOnlyMounts`
    (&["containers", "volumeMounts", "recursiveReadOnly"], 31),
    // `InPlacePodVerticalScaling`
    (&["containers", "resizePolicy"], 33),
    // `SELinuxChangePolicy`
    (&["securityContext", "seLinuxChangePolicy"], 33),
    // `SupplementalGroupsPolicy`
    (&["securityContext", "supplementalGroupsPolicy"], 33),
    // `UserNamespacesSupport`
    (&["hostUsers"], 33),
    // `PodLevelResources`
    (&["resources"], 34),
    // `DynamicResourceAllocation`
    (&["resourceClaims"], 34),
    (&["containers", "resources", "claims"], 34),
    // `HostnameOverride`
    (&["hostnameOverride"], 35),
    // `ContainerStopSignals`
    (&["containers", "lifecycle", "stopSignal"], NEVER),
    // `GenericWorkload`
    (&["schedulingGroup"], NEVER),
];

/// Removes fields whose gates are off, unless the old pod has them.
pub(in crate::kinds::strategy) fn drop_disabled(object: &mut Value, old: Option<&Value>, minor: u32) {
    let before = old.map_or(&Value::Null, |old| &old["spec"]);
    let Some(spec) = object.get_mut("spec") else { return };
    for (path, _) in TABLE.iter().filter(|(_, since)| minor < *since) {
        if !places(path).any(|path| is_used(before, &path)) {
            places(path).for_each(|path| remove(spec, &path));
        }
    }
    drop_sources(spec);
}

/// The paths of a row, one for each list of containers.
fn places(path: &[&'static str]) -> impl Iterator<Item = Vec<&'static str>> {
    let lists: &[&str] = if path[0] == CONTAINER_LISTS[0] { &CONTAINER_LISTS } else { &path[..1] };
    lists.iter().map(|first| [&[*first][..], &path[1..]].concat()).collect::<Vec<_>>().into_iter()
}

fn is_used(value: &Value, path: &[&str]) -> bool {
    match (value, path) {
        (Value::Array(items), _) => items.iter().any(|item| is_used(item, path)),
        (Value::Object(_), [field, rest @ ..]) => is_used(&value[*field], rest),
        (value, rest) => rest.is_empty() && !value.is_null(),
    }
}

/// Removes a field; a lifecycle that becomes empty is removed as well.
fn remove(value: &mut Value, path: &[&str]) {
    match (value, path) {
        (Value::Array(items), _) => items.iter_mut().for_each(|item| remove(item, path)),
        (Value::Object(map), [field]) => {
            map.remove(*field);
        }
        (Value::Object(map), [field, rest @ ..]) => {
            let Some(inner) = map.get_mut(*field) else { return };
            let was_empty = inner.as_object().is_some_and(serde_json::Map::is_empty);
            remove(inner, rest);
            let is_empty = inner.as_object().is_some_and(serde_json::Map::is_empty);
            if *field == "lifecycle" && is_empty && !was_empty {
                map.remove(*field);
            }
        }
        _ => {}
    }
}

/// Removes trust bundles and certificates from volumes (`ClusterTrustBundleProjection`, `PodCertificateRequest`).
fn drop_sources(spec: &mut Value) {
    for volume in spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten() {
        let sources = volume.get_mut("projected").and_then(|projected| projected.get_mut("sources"));
        for source in sources.and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(source) = source.as_object_mut() else { continue };
            for kind in ["clusterTrustBundle", "podCertificate"] {
                source.remove(kind);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn dropped(spec: &Value, old: Option<&Value>, minor: u32) -> Value {
        let mut object = json!({ "spec": spec });
        drop_disabled(&mut object, old, minor);
        object["spec"].take()
    }

    #[test]
    fn a_field_stays_from_the_minor_of_its_gate_on() {
        let spec = json!({ "initContainers": [{ "name": "c", "resizePolicy": [] }] });
        assert_eq!(dropped(&spec, None, 32), json!({ "initContainers": [{ "name": "c" }] }));
        assert_eq!(dropped(&spec, None, 33), spec);
    }

    #[test]
    fn a_field_that_the_old_pod_has_stays() {
        let spec = json!({ "containers": [{ "resources": { "claims": [{ "name": "x" }] } }] });
        let old = json!({ "spec": { "initContainers": [{ "resources": { "claims": [] } }] } });
        assert_eq!(dropped(&spec, Some(&old), 32)["containers"][0], json!({ "resources": {} }));
        let old = json!({ "spec": spec });
        assert_eq!(dropped(&spec, Some(&old), 32), spec);
    }

    #[test]
    fn a_lifecycle_with_only_a_stop_signal_vanishes() {
        let spec =
            json!({ "containers": [{ "lifecycle": { "stopSignal": "SIGTERM" } }, { "lifecycle": {} }] });
        assert_eq!(dropped(&spec, None, 36), json!({ "containers": [{}, { "lifecycle": {} }] }));
    }
}
