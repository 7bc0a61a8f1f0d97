//! The data source of a claim, which two fields hold: `dataSource` for volumes and snapshots, `dataSourceRef` for
//! anything (KEP 1495).

use serde_json::Value;

/// Drops sources that `dataSource` cannot have, and fills the field that is absent
/// (`EnforceDataSourceBackwardsCompatibility`, `NormalizeDataSources`).
pub(super) fn pair_data_sources(claim: &mut Value, old: Option<&Value>) {
    let had_source = old.is_some_and(|old| {
        ["dataSource", "dataSourceRef"].iter().any(|field| old["spec"][*field].is_object())
    });
    let Some(spec) = claim.get_mut("spec").and_then(Value::as_object_mut) else { return };
    // Sources in other namespaces need a feature that is off.
    let other = |reference: &Value| reference["namespace"].as_str().is_some_and(|name| !name.is_empty());
    if !old.is_some_and(|old| old["spec"]["dataSourceRef"].is_object())
        && spec.get("dataSourceRef").is_some_and(other)
    {
        spec.remove("dataSourceRef");
    }
    let reference = spec.get("dataSourceRef").filter(|value| value.is_object()).cloned();
    let source = spec.get("dataSource").filter(|value| value.is_object()).cloned();
    match (source, reference) {
        (Some(source), None) if had_source || is_volume_or_snapshot(&source) => {
            spec.insert("dataSourceRef".to_owned(), source);
        }
        (Some(_), None) => {
            spec.remove("dataSource");
        }
        (None, Some(reference)) if !other(&reference) => {
            spec.insert("dataSource".to_owned(), reference);
        }
        _ => {}
    }
}

fn is_volume_or_snapshot(source: &Value) -> bool {
    let group = source["apiGroup"].as_str().unwrap_or_default();
    match source["kind"].as_str() {
        Some("PersistentVolumeClaim") => group.is_empty(),
        Some("VolumeSnapshot") => group == "snapshot.storage.k8s.io",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_fields_hold_the_source_unless_it_is_not_allowed() {
        let claim = json!({ "kind": "PersistentVolumeClaim", "name": "a" });
        let other = json!({ "apiGroup": "example.com", "kind": "K", "name": "n" });
        for (source, reference, expected) in [
            (&claim, &Value::Null, [&claim, &claim]),
            (&other, &Value::Null, [&Value::Null, &Value::Null]),
            (&Value::Null, &other, [&other, &other]),
            (&claim, &other, [&claim, &other]),
        ] {
            let mut object = json!({ "spec": { "dataSource": source, "dataSourceRef": reference } });
            pair_data_sources(&mut object, None);
            assert_eq!([&object["spec"]["dataSource"], &object["spec"]["dataSourceRef"]], expected);
        }
    }
}
