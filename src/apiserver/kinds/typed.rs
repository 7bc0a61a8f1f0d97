//! Types of fields of built-in kinds, as far as a wrong one would go unnoticed by whoever reads the object later.
//!
//! This is no schema: most fields are taken as they come. A row more is enough to check one more.

use serde_json::Value;

use super::Kind;
use crate::apiserver::gotext::json_type;

/// The Go type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Bool,
    Integer,
    Text,
    Struct(&'static str),
    /// Of elements of that type.
    List(&'static str),
    StringMap,
}

use Type::{Bool, Integer, List, StringMap, Struct, Text};

/// Plurals of one group, a field of theirs, the Go struct that has it (`*` is the kind), its type.
type Row = (&'static str, &'static [&'static str], &'static str, &'static str, Type);

const REPLICATED: &[&str] = &["deployments", "replicasets", "statefulsets"];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("", &["configmaps"], "/data", "*", StringMap),
    ("", &["configmaps"], "/immutable", "*", Bool),
    ("", &["secrets"], "/stringData", "*", StringMap),
    ("", &["nodes"], "/spec/unschedulable", "NodeSpec", Bool),
    ("", &["nodes"], "/spec/taints", "NodeSpec", List("v1.Taint")),
    ("", &["nodes"], "/status/conditions", "NodeStatus", List("v1.NodeCondition")),
    ("", &["nodes"], "/status/nodeInfo", "NodeStatus", Struct("v1.NodeSystemInfo")),
    ("", &["pods"], "/spec/containers", "PodSpec", List("v1.Container")),
    ("", &["pods"], "/spec/nodeName", "PodSpec", Text),
    ("", &["pods"], "/status/conditions", "PodStatus", List("v1.PodCondition")),
    ("apps", REPLICATED, "/spec/replicas", "*Spec", Integer),
    ("apps", REPLICATED, "/spec/selector", "*Spec", Struct("v1.LabelSelector")),
    ("batch", &["jobs"], "/spec/parallelism", "JobSpec", Integer),
    ("batch", &["jobs"], "/spec/completions", "JobSpec", Integer),
    ("batch", &["jobs"], "/spec/backoffLimit", "JobSpec", Integer),
];

impl Type {
    /// What is of another type within a value, and the type that it should have.
    fn mismatch(self, value: &Value) -> Option<(&Value, String)> {
        let wrong = |name: &str| Some((value, name.to_owned()));
        match (self, value) {
            (Bool, Value::Bool(_))
            | (Text, Value::String(_))
            | (Struct(_), Value::Object(_))
            | (List(_), Value::Array(_)) => None,
            (Integer, Value::Number(number)) if number.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) => {
                None
            }
            (StringMap, Value::Object(map)) => {
                let odd = map.values().find(|value| !value.is_string() && !value.is_null())?;
                Some((odd, "string".to_owned()))
            }
            (Bool, _) => wrong("bool"),
            (Integer, _) => wrong("int32"),
            (Text, _) => wrong("string"),
            (Struct(name), _) => wrong(name),
            (List(element), _) => wrong(&format!("[]{element}")),
            (StringMap, _) => wrong("map[string]string"),
        }
    }
}

/// Checks the fields of an object that have a known type.
///
/// # Errors
/// The words of Go's JSON decoder.
pub(crate) fn check(kind: &Kind, object: &Value) -> Result<(), String> {
    let name = &*kind.resource.kind;
    for part in ["spec", "status"] {
        if let Some(value) = object.get(part).filter(|value| !value.is_null() && !value.is_object()) {
            let capital = if part == "spec" { "Spec" } else { "Status" };
            let expected = format!("{}.{name}{capital}", kind.resource.version);
            return Err(text(value, name, part, &expected));
        }
    }
    let rows = ROWS.iter().filter(|(group, plurals, ..)| {
        *group == kind.resource.group && plurals.contains(&&*kind.resource.plural)
    });
    for (_, _, pointer, owner, kind) in rows {
        let Some(value) = object.pointer(pointer).filter(|value| !value.is_null()) else { continue };
        if let Some((odd, expected)) = kind.mismatch(value) {
            let path = pointer.trim_start_matches('/').replace('/', ".");
            return Err(text(odd, &owner.replace('*', name), &path, &expected));
        }
    }
    Ok(())
}

fn text(value: &Value, owner: &str, path: &str, expected: &str) -> String {
    let is = match value {
        Value::Number(number) if expected == "int32" => format!("number {number}"),
        _ => json_type(value).to_owned(),
    };
    format!("json: cannot unmarshal {is} into Go struct field {owner}.{path} of type {expected}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::apiserver::kinds::builtin;

    fn problem(plural: &str, object: &Value) -> String {
        let kinds = builtin::all(|| 0);
        let kind = kinds.iter().find(|kind| kind.resource.plural == plural).unwrap();
        check(kind, object).err().unwrap_or_default()
    }

    #[test]
    fn fields_of_another_type_are_named_with_the_type_they_should_have() {
        let prefix = "json: cannot unmarshal ";
        for (plural, object, why) in [
            (
                "configmaps",
                json!({ "data": { "k": 1 } }),
                "number into Go struct field ConfigMap.data of type string",
            ),
            (
                "deployments",
                json!({ "spec": { "replicas": 1.5 } }),
                "number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            ("nodes", json!({ "spec": [] }), "array into Go struct field Node.spec of type v1.NodeSpec"),
        ] {
            assert_eq!(problem(plural, &object), format!("{prefix}{why}"));
        }
        assert_eq!(problem("nodes", &json!({ "spec": { "unschedulable": null, "taints": [] } })), "");
    }
}
