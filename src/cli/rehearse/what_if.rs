//! Changes of a dumped cluster: `--what-if`.

use serde_json::{Value, json};
use windtunnel_core::Object;
use windtunnel_core::resources::MACHINE_CONFIG_POOLS;
use windtunnel_core::text::did_you_mean;

use crate::cli::dump_files::cluster::Dumped;

/// The fields of a pool that a change may name.
const FIELDS: [&str; 2] = ["maxUnavailable", "paused"];

/// The pools of every cluster. A dump may lack them.
const STANDARD: [&str; 2] = ["master", "worker"];

const EXPECTED: &str =
    "expected a change such as `worker.maxUnavailable=10%` or `PodDisruptionBudget/shop/web=null`";

/// Changes an object of a dump.
///
/// # Errors
/// The change cannot be parsed, or the dump has no such object.
pub(super) fn apply(dumped: &mut Dumped, change: &str) -> Result<(), String> {
    let failed = |why: String| format!("--what-if {change}: {why}");
    let (place, value) = change.split_once('=').ok_or_else(|| failed(EXPECTED.to_owned()))?;
    if place.contains('/') {
        let patch = serde_json::from_str(value)
            .map_err(|error| failed(format!("expected a JSON merge patch after `=`: {error}")))?;
        return patch_object(dumped, place, &patch).map_err(failed);
    }
    let (pool, field) = place.rsplit_once('.').ok_or_else(|| failed(EXPECTED.to_owned()))?;
    if !FIELDS.contains(&field) {
        let hint = did_you_mean(field, FIELDS);
        return Err(failed(format!(
            "expected `maxUnavailable` or `paused` of a pool, found `{field}`{hint}"
        )));
    }
    let value = field_value(field, value).map_err(failed)?;
    patch_pool(dumped, pool, &json!({ "spec": { field: value } })).map_err(failed)
}

/// The value of a field of a pool.
fn field_value(field: &str, text: &str) -> Result<Value, String> {
    if field == "paused" {
        let flag = text.parse::<bool>();
        return flag.map(Value::from).map_err(|_| format!("expected `true` or `false`, found `{text}`"));
    }
    let number = text.strip_suffix('%').unwrap_or(text).parse::<u32>();
    match number {
        Ok(number) if !text.ends_with('%') => Ok(json!(number)),
        Ok(_) => Ok(json!(text)),
        Err(_) => Err(format!("expected a number or a percentage, found `{text}`")),
    }
}

fn patch_pool(dumped: &mut Dumped, name: &str, patch: &Value) -> Result<(), String> {
    let is_pool = |object: &Object| MACHINE_CONFIG_POOLS.is_kind_of(object);
    if let Some((_, pool)) =
        dumped.objects.iter_mut().find(|(_, object)| is_pool(object) && object.name() == name)
    {
        *pool = merged(pool, patch);
        return Ok(());
    }
    if STANDARD.contains(&name) {
        let pool = json!({
            "apiVersion": MACHINE_CONFIG_POOLS.api_version(),
            "kind": MACHINE_CONFIG_POOLS.kind,
            "metadata": { "name": name },
        });
        dumped.objects.push(("--what-if".to_owned(), merged(&Object::new(pool), patch)));
        return Ok(());
    }
    let pools = dumped.objects.iter().filter(|(_, object)| is_pool(object));
    let known = pools.map(|(_, pool)| pool.name()).chain(STANDARD);
    let hint = did_you_mean(name, known);
    Err(format!("expected a MachineConfigPool of the dump, found none named `{name}`{hint}"))
}

/// Merges a patch into `KIND/NAME` or `KIND/NAMESPACE/NAME`; `null` deletes the object.
fn patch_object(dumped: &mut Dumped, place: &str, patch: &Value) -> Result<(), String> {
    let parts: Vec<&str> = place.split('/').collect();
    let (kind, namespace, name) = match parts.as_slice() {
        [kind, name] => (*kind, "", *name),
        [kind, namespace, name] => (*kind, *namespace, *name),
        _ => return Err("expected KIND/NAME or KIND/NAMESPACE/NAME before `=`".to_owned()),
    };
    let place_of = |object: &Object| match object.namespace() {
        "" => format!("{}/{}", object.text("/kind"), object.name()),
        namespace => format!("{}/{namespace}/{}", object.text("/kind"), object.name()),
    };
    let is_it = |object: &Object| {
        object.text("/kind") == kind && object.namespace() == namespace && object.name() == name
    };
    if !dumped.objects.iter().any(|(_, object)| is_it(object)) {
        let of_kind = dumped.objects.iter().filter(|(_, object)| object.text("/kind") == kind);
        let names: Vec<String> = of_kind.map(|(_, object)| place_of(object)).collect();
        let hint = did_you_mean(place, names.iter().map(String::as_str));
        return Err(format!("the dump has no {place}{hint}"));
    }
    if patch.is_null() {
        dumped.objects.retain(|(_, object)| !is_it(object));
        return Ok(());
    }
    for (_, object) in dumped.objects.iter_mut().filter(|(_, object)| is_it(object)) {
        *object = merged(object, patch);
    }
    Ok(())
}

fn merged(object: &Object, patch: &Value) -> Object {
    let mut value = object.to_value();
    merge(&mut value, patch);
    Object::new(value)
}

/// Merges a patch into a value (RFC 7386).
fn merge(value: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    let Some(own) = value.as_object_mut() else { return };
    for (name, field) in fields {
        if field.is_null() {
            own.remove(name);
        } else {
            merge(own.entry(name.clone()).or_insert(Value::Null), field);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dumped() -> Dumped {
        let pool = json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": { "name": "edge" }, "spec": { "paused": true },
        });
        let budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": { "name": "web", "namespace": "shop" }, "spec": { "minAvailable": 1, "selector": {} },
        });
        Dumped::of_objects([pool, budget].map(|object| ("a.yaml".to_owned(), Object::new(object))).to_vec())
    }

    fn changed(change: &str) -> Vec<Value> {
        let mut dumped = dumped();
        apply(&mut dumped, change).unwrap();
        dumped.objects.iter().map(|(_, object)| object["spec"].clone()).collect()
    }

    #[test]
    fn a_change_of_a_pool_or_of_an_object_is_merged() {
        let budget = json!({ "minAvailable": 1, "selector": {} });
        assert_eq!(
            changed("edge.maxUnavailable=10%"),
            [json!({ "paused": true, "maxUnavailable": "10%" }), budget.clone()]
        );
        assert_eq!(changed("edge.paused=false"), [json!({ "paused": false }), budget.clone()]);
        assert_eq!(
            changed("worker.maxUnavailable=3"),
            [json!({ "paused": true }), budget, json!({ "maxUnavailable": 3 })]
        );
        assert_eq!(
            changed(r#"PodDisruptionBudget/shop/web={"spec":{"minAvailable":null,"maxUnavailable":1}}"#),
            [json!({ "paused": true }), json!({ "selector": {}, "maxUnavailable": 1 })]
        );
        assert_eq!(changed("PodDisruptionBudget/shop/web=null"), [json!({ "paused": true })]);
    }

    #[test]
    fn a_wrong_change_names_what_is_expected() {
        for (change, expected) in [
            ("worker", "expected a change such as"),
            ("egde.maxUnavailable=1", "found none named `egde`; did you mean `edge`?"),
            ("edge.maxUnavailible=1", "found `maxUnavailible`; did you mean `maxUnavailable`?"),
            ("edge.maxUnavailable=many", "expected a number or a percentage, found `many`"),
            ("edge.paused=no", "expected `true` or `false`, found `no`"),
            ("PodDisruptionBudget/shop/wep=null", "; did you mean `PodDisruptionBudget/shop/web`?"),
            ("PodDisruptionBudget/shop/web={", "expected a JSON merge patch after `=`"),
        ] {
            let error = apply(&mut dumped(), change).unwrap_err();
            assert!(
                error.starts_with(&format!("--what-if {change}: ")) && error.contains(expected),
                "{error}"
            );
        }
    }
}
