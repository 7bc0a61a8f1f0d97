//! The creation times of metadata without one, which servers before 1.34 write as null: in the templates of workloads, in
//! reviews and in bookmarks. Only the encoded answers have them. Go clients read null as an absent time.

use serde_json::Value;

use super::plan::{Plan, Shape, plan};

/// The type of metadata with a creation time.
const METADATA: &str = "ObjectMeta";

/// Adds the absent times to an object, to the items of a list, or to the objects of a Table.
pub(crate) fn write(value: &mut Value) {
    let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if kind == "Table" {
        let rows = value["rows"].as_array_mut().into_iter().flatten();
        rows.filter_map(|row| row.get_mut("object")).for_each(write);
        return;
    }
    match (kind.strip_suffix("List"), value.get_mut("items").and_then(Value::as_array_mut)) {
        (Some(kind), Some(items)) => items.iter_mut().for_each(|item| write_as(&api_version, kind, item)),
        _ => write_as(&api_version, &kind, value),
    }
}

fn write_as(api_version: &str, kind: &str, object: &mut Value) {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let plan = plan();
    if let Some(index) = plan.of_kind(group, version, kind) {
        visit(plan, &Shape::Struct(index), object);
    }
}

fn visit(plan: &Plan, shape: &Shape, value: &mut Value) {
    match (shape, value) {
        (Shape::Struct(index), Value::Object(map)) if plan.embeds_metadata(*index) => {
            let structure = plan.get(*index);
            if structure.name == METADATA {
                map.entry("creationTimestamp").or_insert(Value::Null);
            }
            for (name, inner) in map {
                if let Some(field) = structure.field(name) {
                    visit(plan, &field.shape, inner);
                }
            }
        }
        (Shape::List(inside), Value::Array(items)) => {
            for item in items {
                visit(plan, inside, item);
            }
        }
        (Shape::Map(inside), Value::Object(map)) => {
            map.values_mut().for_each(|item| visit(plan, inside, item));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn templates_have_a_null_time() {
        let mut object = json!({
            "kind": "CronJobList", "apiVersion": "batch/v1", "metadata": {},
            "items": [{ "spec": { "jobTemplate": { "metadata": {}, "spec": { "template": { "metadata": {} } } } } }],
        });
        write(&mut object);
        let template = &object["items"][0]["spec"]["jobTemplate"];
        assert_eq!(template["metadata"], json!({ "creationTimestamp": null }));
        assert_eq!(template["spec"]["template"]["metadata"], json!({ "creationTimestamp": null }));
        assert_eq!(object["metadata"], json!({}), "a list has no time");
    }

    #[test]
    fn times_stay_and_custom_resources_have_their_own_types() {
        let pod = json!({ "kind": "Pod", "apiVersion": "v1", "metadata": { "creationTimestamp": "2024-01-01T00:00:00Z" } });
        let custom = json!({ "kind": "Pod", "apiVersion": "example.com/v1", "metadata": {} });
        for object in [pod, custom] {
            let mut written = object.clone();
            write(&mut written);
            assert_eq!(written, object);
        }
    }
}
